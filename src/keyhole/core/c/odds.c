/* Whom the runs of a bank play: outright where experts are few, by a tree of sums where many. */
#include "draw.h"
#include "greedy.h"

KH_LAYOUT(kh_odds, KH_ODDS)

#define BLOCK 16 /* EXPERTS_PER_LEAF of odds.py; SHIFT is its SHIFT_STEP */
#define SHIFT 16.0
#define STEPS 4.0               /* from one rate to half of it */
#define LN2 0.6931471805599453
#define FAR 1125899906842624.0 /* 2^50: no exponent gets here, unless the sums were made up */

KH_API f64 kh_even_rate(f64 eta)
{
    if (!(0.0 < eta && eta < INFINITY)) return 0.0;
    return kh_pow(2.0, floor(STEPS * (kh_log(eta) / LN2) + 0.5) / STEPS);
}

static f64 sum_of_block(const f64 *L, i64 d, i64 block, f64 rate, f64 shift)
{
    f64 total = 0.0, none = kh_exp(-shift);
    for (i64 j = block * BLOCK; j < i_min((block + 1) * BLOCK, d); j++)
        /* Most of very many experts were never told of. */
        total += L[j] == 0.0 ? none : kh_exp(-rate * L[j] - shift);
    return total;
}

static void build(kh_odds *known, i64 i, const f64 *L, i64 d)
{
    f64 *sums = ROW(known->sums, i), rate = AT(known->rate, i), shift = AT(known->shift, i);
    i64 leaves = known->sums.m / 2;
    for (i64 block = 0; block < (d + BLOCK - 1) / BLOCK; block++)
        sums[leaves + block] = sum_of_block(L, d, block, rate, shift);
    for (i64 v = leaves - 1; v > 0; v--) sums[v] = sums[2 * v] + sums[2 * v + 1];
}

static f64 least(const f64 *L, i64 d)
{
    f64 low = L[0];
    for (i64 j = 1; j < d; j++) low = f_min(low, L[j]);
    return low;
}

/* Build the tree of run i unless it stands, for this rate. */
static void prepare(kh_odds *known, i64 i, const f64 *L, i64 d, f64 eta)
{
    if (isnan(AT(known->rate, i))) AT(known->low, i) = least(L, d);
    f64 rate = kh_even_rate(eta), best = -rate * AT(known->low, i);
    if (!(fabs(best) < FAR)) rate = best = 0.0;
    f64 shift = SHIFT * (f64)(i64)floor(best / SHIFT); /* never -0 */
    if (rate != AT(known->rate, i) || shift != AT(known->shift, i)) {
        AT(known->rate, i) = rate;
        AT(known->shift, i) = shift;
        build(known, i, L, d);
    }
}

KH_API i64 kh_follow(kh_odds *known, i64 i, floats *L, f64 u)
{
    const f64 *sums = ROW(known->sums, i);
    i64 leaves = known->sums.m / 2, v = 1;
    f64 left = u * sums[1], reached = 0.0;
    while (v < leaves) {
        v *= 2;
        if (!(left < sums[v]) && sums[v + 1] > 0.0) { /* where nothing is, rounding must not lead */
            left -= sums[v];
            v++;
        }
    }
    i64 first = (v - leaves) * BLOCK, last = first;
    for (i64 j = first; j < i_min(first + BLOCK, L->n); j++) {
        f64 weight = kh_exp(-AT(known->rate, i) * AT(*L, j) - AT(known->shift, i));
        if (weight > 0.0) {
            last = j;
            reached += weight;
            if (left < reached) break;
        }
    }
    return last;
}

KH_API void kh_draw_by(u64 seed, i64 round, floats *L, floats *eta, kh_odds *known, ints *j)
{
    if (known->sums.m == 0) {
        kh_probabilities(L, eta, &known->p);
        kh_draw_experts(seed, round, &known->p, j);
        return;
    }
    for (i64 i = 0; i < j->n; i++) {
        floats row = floats_at(*L, i);
        prepare(known, i, row.at, row.n, AT(*eta, i));
        AT(*j, i) = kh_follow(known, i, &row, kh_uniform(seed, round, 2 * i, 0));
    }
}

KH_API f64 kh_chance(kh_odds *known, floats *L, i64 i, i64 j)
{
    if (known->sums.m == 0) return AT2(known->p, i, j);
    return kh_exp(-AT(known->rate, i) * AT2(*L, i, j) - AT(known->shift, i)) / AT2(known->sums, i, 1);
}

KH_API void kh_renew(kh_odds *known, floats *L, ints *S, floats *weight)
{
    i64 leaves = known->sums.m / 2;
    if (leaves == 0) return;
    for (i64 i = 0; i < known->sums.n; i++) {
        f64 *sums = ROW(known->sums, i), rate = AT(known->rate, i);
        if (isnan(rate)) continue;
        for (i64 a = 0; a < S->n; a++) {
            if (!(AT2(*weight, i, a) > 0.0)) continue;
            i64 j = AT(*S, a), v = leaves + j / BLOCK;
            AT(known->low, i) = f_min(AT(known->low, i), AT2(*L, i, j));
            sums[v] = sum_of_block(ROW(*L, i), L->m, j / BLOCK, rate, AT(known->shift, i));
            while (v > 1) {
                v /= 2;
                sums[v] = sums[2 * v] + sums[2 * v + 1];
            }
        }
    }
}
