/* The ridge on curves: its sums, its Cholesky root, and what it adds to a prediction. */
#include "shapes.h"

KH_LAYOUT(kh_ridge, KH_RIDGE)

/* rows i of one block of columns, in the columns of another: A += z z'. */
static inline void add_block(f64 *restrict A, i64 P, const f64 *restrict z, i64 s, i64 t)
{
    const f64 *restrict there = z + t * KH_COLUMNS;
    for (i64 i = s * KH_COLUMNS; i < (s + 1) * KH_COLUMNS; i++) {
        f64 *restrict row = A + i * P + t * KH_COLUMNS, zi = z[i];
        for (i64 j = 0; j < KH_COLUMNS; j++) row[j] += zi * there[j];
    }
}

KH_WIDE static void add_blocks(f64 *A, i64 P, const f64 *z, i64 blocks, const bool *fresh)
{
    bool there[256];
    for (i64 s = 0; s < blocks; s++) {
        there[s] = false;
        for (i64 i = 0; i < KH_COLUMNS; i++) there[s] = there[s] || z[s * KH_COLUMNS + i] != 0.0;
        if (!there[s]) continue;
        for (i64 t = 0; t <= s; t++)
            if (there[t] && (!fresh || fresh[s] || fresh[t])) add_block(A, P, z, s, t);
    }
}

KH_API void kh_add_columns(kh_ridge *ridge, floats *z, bools *fresh, f64 missed)
{
    i64 P = ridge->c.n, blocks = P / KH_COLUMNS;
    KH_CHECK(z->n == P && blocks <= 256 && (fresh->n == 0 || fresh->n == blocks));
    add_blocks(ridge->A.at, P, z->at, blocks, fresh->n > 0 ? fresh->at : NULL);
    for (i64 i = 0; i < P; i++)
        if (fresh->n == 0 || fresh->at[i / KH_COLUMNS]) ridge->c.at[i] += z->at[i] * missed;
}

/* One pivot after the other: rows are columns of L; the inverse of each pivot stands on the diagonal. */
KH_WIDE static void factorise(f64 *L, f64 *restrict along, i64 v)
{
    for (i64 k = 0; k < v; k++) {
        f64 *restrict lead = L + k * v, scale = 1.0 / sqrt(f_max(lead[k], 1.0)); /* A + I: at least 1 */
        for (i64 j = k + 1; j < v; j++) lead[j] *= scale;
        lead[k] = scale;
        along[k] *= scale;
        for (i64 i = k + 1; i < v; i++) {
            f64 factor = lead[i], *restrict row = L + i * v;
            if (factor == 0.0) continue;
            for (i64 j = i; j < v; j++) row[j] -= factor * lead[j];
            along[i] -= factor * along[k];
        }
    }
}

KH_API void kh_solve_ridge(kh_ridge *ridge)
{
    i64 P = ridge->c.n, v = 0, *used = ridge->used.at;
    for (i64 i = 0; i < P; i++)
        if (AT2(ridge->A, i, i) > 0.0) used[v++] = i;
    for (i64 i = v; i < P; i++) used[i] = 0;
    f64 *L = ridge->root.at, *along = ridge->along.at, total = 0.0;
    for (i64 a = 0; a < v; a++) {
        for (i64 q = 0; q < a; q++) L[q * v + a] = AT2(ridge->A, used[a], used[q]);
        L[a * v + a] = AT2(ridge->A, used[a], used[a]) + 1.0;
        along[a] = AT(ridge->c, used[a]);
    }
    factorise(L, along, v);
    for (i64 i = v; i < P; i++) along[i] = 0.0;
    for (i64 i = 0; i < v; i++) total += along[i];
    for (i64 i = v * v; i < P * P; i++) L[i] = 0.0; /* of equal sums, equal bytes */
    for (i64 a = 0; a < v; a++)
        for (i64 q = 0; q < a; q++) L[a * v + q] = 0.0;
    AT(ridge->size, 0) = isfinite(total) ? v : 0;
}

KH_WIDE static f64 shrunk(const f64 *L, const f64 *along, f64 *restrict x, i64 v)
{
    f64 sum = 0.0, s = 1.0;
    for (i64 k = 0; k < v; k++) {
        const f64 *restrict lead = L + k * v;
        f64 zk = x[k] * lead[k];
        if (zk == 0.0) continue;
        sum += zk * along[k];
        s += zk * zk;
        for (i64 j = k + 1; j < v; j++) x[j] -= zk * lead[j];
    }
    return sum / s;
}

KH_API f64 kh_guess_ridge(kh_ridge *ridge, floats *z, kh_room *room)
{
    i64 mark = room->used, v = AT(ridge->size, 0);
    f64 *x = TAKE(room, f64, v);
    for (i64 a = 0; a < v; a++) x[a] = AT(*z, AT(ridge->used, a));
    f64 guess = shrunk(ridge->root.at, ridge->along.at, x, v);
    room->used = mark;
    return guess;
}
