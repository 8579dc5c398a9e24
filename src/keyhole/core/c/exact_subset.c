/* Models of k features: columns projected out one by one, forward selection, exchanges. */
#include "exact.h"

/* Projects column i out of all others, as row s of a Cholesky factor; its gain, or -1. D_j and r_j are
   what is left of the square of column j and of its product with y. */
KH_API KH_WIDE f64 kh_include(floats *G, floats *L, i64 s, i64 i, floats *D, floats *r)
{
    i64 m = D->n;
    if (AT(*D, i) < DEPENDENT) return -1.0;
    f64 root = sqrt(D->at[i]), a = r->at[i] / root;
    const f64 *restrict column = ROW(*G, i);
    f64 *restrict row = ROW(*L, s), *restrict left = D->at, *restrict rest = r->at;
    for (i64 j = 0; j < m; j++) row[j] = column[j];
    for (i64 t = 0; t < s; t++) {
        const f64 *restrict other = ROW(*L, t);
        f64 h = other[i];
#pragma GCC unroll 4
        for (i64 j = 0; j < m; j++) row[j] -= h * other[j];
    }
    for (i64 j = 0; j < m; j++) {
        row[j] /= root;
        left[j] -= row[j] * row[j];
        rest[j] -= a * row[j];
    }
    return a * a;
}

void kh_untouched(floats *G, floats *c, floats *D, floats *r)
{
    for (i64 j = 0; j < c->n; j++) {
        AT(*D, j) = AT2(*G, j, j);
        AT(*r, j) = AT(*c, j);
    }
}

/* By a small Cholesky; dependent columns add nothing. */
KH_API f64 kh_rss(floats *G, floats *c, ints *S, i64 size, kh_room *room)
{
    i64 mark = room->used, n = 0;
    f64 *L = TAKE(room, f64, size * size), *a = TAKE(room, f64, size), left = 1.0;
    i64 *kept = TAKE(room, i64, size);
    for (i64 p = 0; p < size; p++) {
        const f64 *column = ROW(*G, AT(*S, p));
        f64 *row = L + n * size, D = column[S->at[p]];
        for (i64 t = 0; t < n; t++) {
            const f64 *other = L + t * size;
            f64 x = column[kept[t]];
            for (i64 u = 0; u < t; u++) x -= row[u] * other[u];
            x /= other[t];
            row[t] = x;
            D -= x * x;
        }
        if (D < DEPENDENT) continue;
        f64 x = c->at[S->at[p]];
        for (i64 u = 0; u < n; u++) x -= row[u] * a[u];
        row[n] = sqrt(D);
        a[n] = x / row[n];
        left -= a[n] * a[n];
        kept[n++] = S->at[p];
    }
    room->used = mark;
    return left;
}

/* Completes S[:size] greedily to k columns, in place. */
KH_API void kh_forward(floats *G, floats *c, i64 k, ints *S, i64 size, i64 *new_size, f64 *rss, kh_room *room)
{
    i64 mark = room->used, m = c->n, n = 0;
    floats L = {TAKE(room, f64, k * m), k, m, 1}, D = take_floats(room, m), r = take_floats(room, m);
    kh_untouched(G, c, &D, &r);
    f64 left = 1.0;
    for (i64 p = 0; p < size; p++) {
        f64 gain = kh_include(G, &L, n, AT(*S, p), &D, &r);
        if (gain >= 0.0) {
            S->at[n++] = S->at[p];
            left -= gain;
        }
    }
    while (n < k) {
        f64 best = 0.0;
        i64 i = -1;
        for (i64 j = 0; j < m; j++) {
            if (D.at[j] >= DEPENDENT && r.at[j] * r.at[j] > best * D.at[j]) {
                best = r.at[j] * r.at[j] / D.at[j];
                i = j;
            }
        }
        if (i < 0) break;
        left -= kh_include(G, &L, n, i, &D, &r);
        AT(*S, n++) = i;
    }
    room->used = mark;
    *new_size = n;
    *rss = left;
}

typedef struct {
    i64 begun, size, p, since;
    f64 left;
} swapping;

/* Exchanges one column of S at a time as long as that helps. */
KH_API void kh_swaps(floats *G, floats *c, i64 k, ints *S, i64 size, floats *kept, i64 effort, i64 *done,
                     i64 *new_size, f64 *rss, kh_room *room)
{
    i64 mark = room->used;
    swapping *now = (swapping *)kept->at;
    KH_CHECK(kept->n * 8 >= (i64)sizeof *now);
    ints trial = take_ints(room, k);
    if (!now->begun) {
        *now = (swapping){.begun = 1};
        kh_forward(G, c, k, S, size, &now->size, &now->left, room);
        effort -= k * k * c->n;
    }
    while (now->since < now->size && effort > 0) {
        for (i64 t = 0; t < now->size - 1; t++) trial.at[t] = S->at[t < now->p ? t : t + 1];
        i64 n;
        f64 left;
        kh_forward(G, c, k, &trial, now->size - 1, &n, &left, room);
        effort -= k * k * c->n;
        if (left < now->left - 1e-13) {
            memcpy(S->at, trial.at, 8 * (size_t)n);
            now->size = n;
            now->left = left;
            now->since = 0;
        } else {
            now->since++;
        }
        now->p = (now->p + 1) % i_max(now->size, 1);
    }
    room->used = mark;
    *done = now->since >= now->size;
    *new_size = now->size;
    *rss = now->left;
}
