/* The pair of sets by which least squares is furthest from supermodular. */
#include "exact.h"

static const f64 NO_GAIN = 1e-12; /* gains below this part of y'y are rounding */

typedef struct {
    i64 begun, s;
    f64 best;
    floats W, r;
    ints chosen, inside;
} pairing;

/* max of q_R' C_R^-1 q_R / |q_R|^2 over R alone, |R| <= most, for the S that `inside` marks, of which W and r
   are what it leaves of G and c; how many sets there were. */
KH_API f64 kh_best_beside(floats *W, floats *r, ints *inside, i64 most, f64 best, ints *found, ints *sets,
                          kh_room *room)
{
    i64 mark = room->used, d = r->n, m = 0, t = 0;
    i64 *left = TAKE(room, i64, d), *R = TAKE(room, i64, most), *place = TAKE(room, i64, most);
    f64 *q = TAKE(room, f64, d), *L = TAKE(room, f64, most * most), *x = TAKE(room, f64, most);
    f64 *explained = TAKE(room, f64, most + 1), *single = TAKE(room, f64, most + 1);
    for (i64 a = 0; a < d; a++) {
        if (inside->at[a] == 0 && AT2(*W, a, a) >= DEPENDENT) {
            left[m] = a;
            q[m++] = r->at[a] / sqrt(AT2(*W, a, a));
        }
    }
    explained[0] = single[0] = 0.0;
    place[0] = 0;
    while (t >= 0) {
        if (place[t] >= m) {
            t--;
            continue;
        }
        i64 i = place[t]++, own = left[i];
        f64 rest = 1.0, z = q[i], *row = L + t * most;
        sets->at[0]++;
        for (i64 u = 0; u < t; u++) {
            i64 other = left[R[u]];
            f64 v = AT2(*W, own, other) / sqrt(AT2(*W, own, own) * AT2(*W, other, other));
            for (i64 p = 0; p < u; p++) v -= row[p] * L[u * most + p];
            v /= L[u * most + u];
            row[u] = v;
            rest -= v * v;
            z -= v * x[u];
        }
        /* The same span with more gains to compare with: the ratio is not larger. */
        if (rest < DEPENDENT) continue;
        row[t] = sqrt(rest);
        x[t] = z / row[t];
        R[t] = i;
        explained[t + 1] = explained[t] + x[t] * x[t];
        single[t + 1] = single[t] + q[i] * q[i];
        if (single[t + 1] > NO_GAIN && explained[t + 1] > best * single[t + 1]) {
            best = explained[t + 1] / single[t + 1];
            for (i64 a = 0; a < d; a++) found->at[a] = inside->at[a];
            for (i64 u = 0; u <= t; u++) AT(*found, left[R[u]]) = 2;
        }
        if (t + 1 < most) place[++t] = i + 1;
    }
    room->used = mark;
    return best;
}

/* The same over disjoint S, R with |R| >= 2, |S| + |R| <= k. Level s holds G and c with s columns projected
   out. In `found`, members of S are marked 1 and those of R 2. */
KH_API void kh_worst_pair(floats *G, floats *c, i64 k, ints *found, floats *kept, i64 effort, i64 *done,
                          f64 *worst, kh_room *room)
{
    i64 d = c->n, levels = i_max(k - 1, 1), count = 0;
    ints sets = some_ints(&count, 1);
    kh_room own = {(char *)kept->at, 8 * kept->n, 0};
    pairing *now = TAKE(&own, pairing, 1);
    now->W = take_floats(&own, levels * d * d);
    now->r = take_floats(&own, levels * d);
    now->chosen = take_ints(&own, levels);
    now->inside = take_ints(&own, d);
    if (!now->begun) {
        now->begun = 1;
        memcpy(now->W.at, G->at, 8 * (size_t)(d * d));
        memcpy(now->r.at, c->at, 8 * (size_t)d);
        now->best = kh_best_beside(G, c, &now->inside, k, 0.0, found, &sets, room);
    }
    i64 s = now->s, *chosen = now->chosen.at;
    while (s >= 0 && effort > 10 * count) {
        i64 i = chosen[s];
        if (i >= d || k - s - 1 < 2) {
            if (--s >= 0) now->inside.at[chosen[s] - 1] = 0;
            continue;
        }
        chosen[s]++;
        const f64 *W = now->W.at + s * d * d, *restrict pivot = W + i * d, *old = now->r.at + s * d;
        if (pivot[i] < DEPENDENT) continue;
        floats next = {now->W.at + (s + 1) * d * d, d, d, 1}, r = some_floats(now->r.at + (s + 1) * d, d);
        for (i64 a = 0; a < d; a++) {
            f64 h = pivot[a] / pivot[i], *restrict into = next.at + a * d;
            const f64 *restrict row = W + a * d;
            r.at[a] = old[a] - h * old[i];
            for (i64 b = 0; b < d; b++) into[b] = row[b] - h * pivot[b];
        }
        effort -= d * d;
        now->inside.at[i] = 1;
        now->best = kh_best_beside(&next, &r, &now->inside, k - s - 1, now->best, found, &sets, room);
        chosen[++s] = i + 1;
    }
    now->s = s;
    *done = s < 0;
    *worst = now->best;
}
