/* Greedy steps on second moments: what every feature would gain in each of them. */
#include "fit.h"
#include "lanes.h"

/* A feature of which less than this share is new, given those chosen before, adds nothing: what the
   pseudo-inverse does with a singular design. Sums in float64 resolve about 1e-13. */
#define NEW 1e-10

KH_API void kh_sweep(floats *G, floats *c, f64 yy, ints *chosen, floats *levels, floats *gains, kh_room *room)
{
    i64 mark = room->used, n = gains->n, m = gains->m, rank = 0;
    f64 *factors = TAKE(room, f64, n * m), *restrict D = TAKE(room, f64, m), *restrict r = TAKE(room, f64, m);
    f64 level = f_max(yy, 0.0);
    KH_CHECK(G->n == m && G->m == m && c->n == m && chosen->n >= n && levels->n >= n);
    for (i64 a = 0; a < m; a++) D[a] = G->at[a * m + a], r[a] = c->at[a];
    for (i64 i = 0; i < n; i++) {
        f64 *restrict gain = gains->at + i * m, *restrict row = factors + rank * m;
        levels->at[i] = level;
        for (i64 a = 0; a < m; a++)
            gain[a] = D[a] > NEW * G->at[a * m + a] ? f_min(r[a] * r[a] / D[a], level) : 0.0;
        i64 v = KH_INDEX(chosen->at[i], m);
        if (!(D[v] > NEW * G->at[v * m + v])) continue;
        f64 root = sqrt(D[v]), step = r[v] / root;
        for (i64 a = 0; a < v; a++) row[a] = G->at[a * m + v];
        for (i64 a = v; a < m; a++) row[a] = G->at[v * m + a];
        kh_project_out(row, factors, rank, m, v, 1.0);
        for (i64 a = 0; a < m; a++) {
            row[a] /= root;
            D[a] -= row[a] * row[a];
            r[a] -= row[a] * step;
        }
        D[v] = 0.0;
        rank++;
        level = f_max(level - step * step, 0.0);
    }
    room->used = mark;
}
