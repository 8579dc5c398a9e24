/* All subsets of a node with few of them, depth first. */
#include "exact.h"

/* Level t holds G (W) and c (res) of the later candidates with I and t chosen ones projected out, so that a
   pair costs O(1). */
typedef struct {
    i64 begun, t, visited;
    f64 best;
    floats W, diag, res, top, used, left;
    ints chosen, place, stop;
} walk;

/* Writes I plus the n chosen ones of C as the incumbent; -1 marks unused places. */
static void record(ints *S_best, ints *I, ints *C, const i64 *chosen, i64 n)
{
    for (i64 p = 0; p < S_best->n; p++) S_best->at[p] = -1;
    for (i64 p = 0; p < I->n; p++) AT(*S_best, p) = I->at[p];
    for (i64 p = 0; p < n; p++) AT(*S_best, I->n + p) = AT(*C, chosen[p]);
}

/* G and c of the candidates with I projected out; what I leaves of y. */
static f64 project(floats *G, floats *c, ints *I, ints *C, walk *now, kh_room *room)
{
    i64 mark = room->used, m = c->n, s = 0;
    floats L = {TAKE(room, f64, I->n * m), I->n, m, 1}, D = take_floats(room, m), r = take_floats(room, m);
    kh_untouched(G, c, &D, &r);
    f64 left = 1.0;
    for (i64 p = 0; p < I->n; p++) {
        f64 gain = kh_include(G, &L, s, I->at[p], &D, &r);
        if (gain >= 0.0) {
            left -= gain;
            s++;
        }
    }
    for (i64 a = 0; a < C->n; a++) {
        for (i64 b = a; b < C->n; b++) {
            f64 x = AT2(*G, C->at[a], C->at[b]);
            for (i64 t = 0; t < s; t++) x -= L.at[t * m + C->at[a]] * L.at[t * m + C->at[b]];
            now->W.at[a * C->n + b] = x;
        }
        now->diag.at[a] = D.at[C->at[a]];
        now->res.at[a] = r.at[C->at[a]];
    }
    room->used = mark;
    return left;
}

static void begin(walk *now, floats *G, floats *c, ints *I, ints *C, floats *v, i64 r, kh_room *room)
{
    i64 m = C->n, levels = i_max(r - 1, 1), wide = m + r + 1;
    now->begun = 1;
    now->left.at[0] = project(G, c, I, C, now, room);
    /* top[n, i]: the sum of n values of v from i on, summed directly (differences would cancel). */
    memset(now->top.at, 0, 8 * (size_t)((r + 1) * wide));
    for (i64 n = 1; n <= r; n++)
        for (i64 i = m - 1; i >= 0; i--)
            now->top.at[n * wide + i] = v->at[i] + now->top.at[(n - 1) * wide + i + 1];
    for (i64 t = 0; t < levels; t++) {
        now->place.at[t] = 0;
        now->stop.at[t] = m;
        now->used.at[t] = 0.0;
    }
}

/* The second of the last two, for i as the first. */
KH_WIDE static void last_pairs(walk *now, ints *S_best, ints *I, ints *C, i64 t, i64 i, i64 end)
{
    i64 m = C->n;
    const f64 *row = now->W.at + (t * m + i) * m, *diag = now->diag.at + t * m, *res = now->res.at + t * m;
    f64 left = now->left.at[t + 1], f = res[i] / diag[i], inverse = 1.0 / diag[i], wanted = left - now->best;
    for (i64 j = i + 1; j < end; j++) {
        f64 x = res[j] - f * row[j], D = diag[j] - row[j] * row[j] * inverse;
        if (x * x > wanted * D && D >= DEPENDENT) {
            AT(now->chosen, t + 1) = j;
            now->best = left - x * x / D;
            wanted = left - now->best;
            record(S_best, I, C, now->chosen.at, t + 2);
        }
    }
}

/* The next level: what is left of the candidates up to `end` once i is chosen. */
KH_WIDE static void descend(walk *now, i64 m, i64 t, i64 i, i64 end)
{
    const f64 *from = now->W.at + t * m * m, *row = from + i * m, *diag = now->diag.at + t * m,
              *res = now->res.at + t * m;
    f64 *into = now->W.at + (t + 1) * m * m;
    for (i64 a = i + 1; a < end; a++) {
        f64 h = row[a] / diag[i];
        now->diag.at[(t + 1) * m + a] = diag[a] - h * row[a];
        now->res.at[(t + 1) * m + a] = res[a] - h * res[i];
        const f64 *restrict old = from + a * m, *restrict pivot = row;
        f64 *restrict new = into + a * m;
        for (i64 b = a + 1; b < end; b++) new[b] = old[b] - h * pivot[b];
    }
}

/* The best of I plus at most r of C, where no T of C leaves less than slack - sum of v over T; v falls. */
KH_API void kh_enumerate_all(floats *G, floats *c, ints *I, ints *C, floats *v, f64 slack, i64 r, f64 best,
                             ints *S_best, floats *kept, i64 effort, i64 *done, f64 *found, i64 *visited,
                             kh_room *room)
{
    i64 m = C->n, levels = i_max(r - 1, 1), wide = m + r + 1;
    kh_room own = {(char *)kept->at, 8 * kept->n, 0};
    walk *now = TAKE(&own, walk, 1);
    now->W = take_floats(&own, levels * m * m);
    now->diag = take_floats(&own, levels * m);
    now->res = take_floats(&own, levels * m);
    now->top = take_floats(&own, (r + 1) * wide);
    now->used = take_floats(&own, levels);
    now->left = take_floats(&own, r + 1);
    now->chosen = take_ints(&own, r);
    now->place = take_ints(&own, levels);
    now->stop = take_ints(&own, levels);
    if (!now->begun) {
        begin(now, G, c, I, C, v, r, room);
        now->best = best;
    }
    i64 t = now->t;
    while (t >= 0 && effort > 0) {
        i64 i = now->place.at[t], n = r - t;
        effort--;
        f64 least = slack - now->used.at[t] - now->top.at[n * wide + i];
        if (i >= now->stop.at[t] || least >= now->best - TOLERANCE) {
            t--;
            continue;
        }
        now->place.at[t]++;
        f64 D = now->diag.at[t * m + i], x = now->res.at[t * m + i];
        if (D < DEPENDENT) continue;
        now->visited++;
        now->chosen.at[t] = i;
        now->left.at[t + 1] = now->left.at[t] - x / D * x;
        if (now->left.at[t + 1] < now->best) {
            now->best = now->left.at[t + 1];
            record(S_best, I, C, now->chosen.at, t + 1);
        }
        if (n == 1) continue;
        f64 used = now->used.at[t] + v->at[i];
        f64 need = slack - used - (now->best - TOLERANCE); /* the other n - 1 must bring more v than this */
        f64 others = now->top.at[(n - 2) * wide + i + 1];
        i64 end = i + 1;
        while (end < now->stop.at[t] && others + v->at[end] > need) end++;
        if (n == 2) {
            last_pairs(now, S_best, I, C, t, i, end);
            effort -= end - i;
            continue;
        }
        descend(now, m, t, i, end);
        effort -= (end - i) * (end - i);
        t++;
        now->place.at[t] = i + 1;
        now->stop.at[t] = end;
        now->used.at[t] = used;
    }
    now->t = t;
    *done = t < 0;
    *found = now->best;
    *visited = now->visited;
}
