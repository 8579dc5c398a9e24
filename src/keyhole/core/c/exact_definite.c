/* Whether every k x k principal submatrix is positive definite: a search that prunes. */
#include "exact.h"

enum { NO, YES, UNDECIDED = -1 };

typedef struct {
    i64 begun, t;
    f64 steps;
    floats W, most;
    ints place;
} proving;

/* most[i] = max over i <= a < b of W_ab^2 / (W_aa W_bb), for i from the end down to `first`. */
KH_API void kh_coherence(floats *W, i64 first, floats *most)
{
    i64 d = most->n;
    const f64 *at = W->at;
    AT(*most, d - 1) = 0.0;
    for (i64 a = d - 2; a >= first; a--) {
        f64 largest = 0.0;
        for (i64 b = a + 1; b < d; b++) {
            f64 x = at[a * d + b] * at[a * d + b] / at[b * d + b];
            if (x > largest) largest = x;
        }
        most->at[a] = f_max(most->at[a + 1], largest / at[a * d + a]);
    }
}

/* Writes the chosen ones of the levels below t, then a and b. */
static void note(ints *witness, ints *place, i64 t, i64 a, i64 b)
{
    for (i64 p = 0; p < t; p++) AT(*witness, p) = place->at[p] - 1;
    AT(*witness, t) = a;
    AT(*witness, t + 1) = b;
}

/* The Schur complement of i in the later ones; the first that it leaves nothing of, or -1. */
static i64 complement(const f64 *W, f64 *into, i64 d, i64 i)
{
    for (i64 a = i + 1; a < d; a++) {
        f64 h = W[i * d + a] / W[i * d + i];
        const f64 *restrict old = W + a * d, *restrict pivot = W + i * d;
        f64 *restrict new = into + a * d;
        for (i64 b = a; b < d; b++) new[b] = old[b] - h * pivot[b];
        if (!(new[a] > 0.0)) return a;
    }
    return -1;
}

/* A pair from place i on that is not definite. */
static bool bad_pair(const f64 *W, i64 d, i64 i, i64 *first, i64 *second)
{
    for (i64 a = i; a < d; a++) {
        for (i64 b = a + 1; b < d; b++) {
            if (!(W[a * d + b] * W[a * d + b] / W[b * d + b] / W[a * d + a] < 1.0)) {
                *first = a;
                *second = b;
                return true;
            }
        }
    }
    return false;
}

static i64 begin(proving *now, floats *M, ints *witness)
{
    i64 d = M->n;
    for (i64 p = 0; p < witness->n; p++) witness->at[p] = -1;
    for (i64 a = 0; a < d; a++) {
        if (!(AT2(*M, a, a) > 0.0)) {
            AT(*witness, 0) = a;
            return NO;
        }
    }
    memcpy(now->W.at, M->at, 8 * (size_t)(d * d));
    floats most = some_floats(now->most.at, d);
    kh_coherence(M, 0, &most);
    now->begun = 1;
    now->steps = (f64)(d * d);
    return YES;
}

/* Depth first over sets I, ascending: level t holds the Schur complement W of the t chosen ones in the later
   candidates. */
KH_API void kh_all_definite(floats *M, i64 k, f64 limit, ints *witness, floats *kept, i64 effort, i64 *done,
                            i64 *answer, f64 *steps)
{
    i64 d = M->n, a, b;
    kh_room own = {(char *)kept->at, 8 * kept->n, 0};
    proving *now = TAKE(&own, proving, 1);
    now->W = take_floats(&own, (k - 1) * d * d);
    now->most = take_floats(&own, (k - 1) * d);
    now->place = take_ints(&own, k - 1);
    *done = true;
    *steps = 0.0;
    *answer = now->begun ? YES : begin(now, M, witness);
    if (*answer == NO) return;
    i64 t = now->t, *place = now->place.at;
    while (t >= 0 && effort > 0) {
        const f64 *W = now->W.at + t * d * d;
        i64 i = place[t], r = k - t;
        effort--;
        if (i + r > d || ((f64)r - 1.0) * ((f64)r - 1.0) * now->most.at[t * d + i] < 1.0) {
            t--;
            continue;
        }
        bool bad;
        if (r == 2) {
            bad = bad_pair(W, d, i, &a, &b); /* as `most` says there is */
        } else {
            place[t]++;
            a = i;
            b = complement(W, now->W.at + (t + 1) * d * d, d, i);
            bad = b >= 0;
        }
        *steps = now->steps;
        if (bad) {
            note(witness, &now->place, t, a, b);
            *answer = NO;
            return;
        }
        KH_CHECK(r > 2);
        floats next = {now->W.at + (t + 1) * d * d, d, d, 1};
        floats most = some_floats(now->most.at + (t + 1) * d, d);
        kh_coherence(&next, i + 1, &most);
        now->steps += (f64)((d - i) * (d - i));
        effort -= (d - i) * (d - i);
        if (now->steps > limit) {
            *steps = now->steps;
            *answer = UNDECIDED;
            return;
        }
        place[++t] = i + 1;
    }
    now->t = t;
    *steps = now->steps;
    *done = t < 0;
}
