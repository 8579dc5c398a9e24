/* Predict nearly as well as the best of several experts, for labels of unknown range. */
#include "auto.h"

KH_LAYOUT(kh_mixture, KH_MIXTURE)

enum { RATES_N = 3, POWER = 5 };
static const f64 RATES[RATES_N] = {0.0, 0.01, 0.1}; /* these numbers stand in mixture.py too */
#define FREEDOM 9.0
#define SHARE 0.25
#define NOTHING 100.0
#define ANEW 1e-6

KH_API f64 kh_mix(kh_mixture *mixture, floats *guesses)
{
    i64 E = mixture->recent.n;
    f64 low = mixture->span.at[KH_LOW], high = mixture->span.at[KH_HIGH], bold = 0.0, least = INFINITY;
    f64 *restrict guess = guesses->at;
    const f64 *belief = mixture->belief.at, *losses = mixture->losses.at, *prior = mixture->prior.at;
    KH_CHECK(guesses->n == E + 1 && mixture->losses.n == E + 1 && mixture->belief.n == RATES_N);
    if (isnan(low)) {
        for (i64 e = 0; e <= E; e++) guess[e] = 0.0;
        return 0.0;
    }
    for (i64 e = 0; e < E; e++) {
        f64 share = 0.0;
        guess[e] = f_min(f_max(guess[e], low), high);
        for (i64 r = 0; r < RATES_N; r++) share += belief[r * E + e];
        bold += share * guess[e];
    }
    for (i64 e = 0; e <= E; e++)
        if (prior[e] > 0.0) least = f_min(least, losses[e]);
    guess[E] = f_min(f_max(bold, low), high); /* rounding must not carry it beyond */
    f64 Y = 0.5 * (high - low), middle = low + 0.5 * (high - low), below = 0.0, above = 0.0;
    if (!(Y > 0.0)) return middle;
    /* In units of Y, so that the largest labels do not overflow. Neither sum is 0: guesses lie in
       [-1, 1] and the best weight is its prior. */
    for (i64 e = 0; e <= E; e++) {
        f64 g = (guess[e] - middle) / Y, lag = (losses[e] - least) / Y / Y;
        if (lag > NOTHING || prior[e] == 0.0) continue;
        below += prior[e] * kh_exp(-0.5 * (lag + (1.0 + g) * (1.0 + g)));
        above += prior[e] * kh_exp(-0.5 * (lag + (1.0 - g) * (1.0 - g)));
    }
    return middle + 0.5 * Y * (kh_log(above) - kh_log(below));
}

void kh_start_over(kh_mixture *mixture)
{
    i64 E = mixture->recent.n;
    const f64 *prior = mixture->prior.at;
    for (i64 e = 0; e < E; e++) mixture->recent.at[e] = 0.0;
    for (i64 i = 0; i < KH_NOISE_SUMS; i++) AT(mixture->noise, i) = 0.0;
    for (i64 r = 0; r < RATES_N; r++)
        for (i64 e = 0; e < E; e++) AT2(mixture->belief, r, e) = prior[e] / (1.0 - prior[E]) / RATES_N;
}

void kh_begin_anew(kh_mixture *mixture, f64 low, f64 high)
{
    kh_start_over(mixture);
    for (i64 e = 0; e < mixture->losses.n; e++) mixture->losses.at[e] = 0.0;
    mixture->span.at[KH_LOW] = low;
    mixture->span.at[KH_HIGH] = high;
}

f64 kh_unit_of(const kh_mixture *mixture, i64 e)
{
    f64 recent = AT(mixture->recent, e);
    f64 window = KH_WINDOW * (1.0 - kh_pow(1.0 - 1.0 / KH_WINDOW, mixture->noise.at[KH_ROUNDS]));
    return window > 0.0 && recent > 0.0 ? sqrt(recent / window) : 0.0;
}

/* Bayes' rule, then the chance of a change: from every expert to one drawn from the prior. */
static void believe(kh_mixture *mixture, const f64 *guess, f64 y)
{
    i64 E = mixture->recent.n;
    const f64 *prior = mixture->prior.at, *noise = mixture->noise.at;
    f64 *belief = mixture->belief.at, scale = FREEDOM * noise[KH_LOSS] / noise[KH_WEIGHT];
    f64 least = INFINITY, total = 0.0;
    if (!(scale > 0.0)) return; /* nobody has lost anything */
    for (i64 e = 0; e < E; e++)
        if (prior[e] > 0.0) least = f_min(least, (y - guess[e]) * (y - guess[e]));
    for (i64 e = 0; e < E; e++) {
        if (!(prior[e] > 0.0)) continue;
        f64 loss = (y - guess[e]) * (y - guess[e]), ratio = (scale + least) / (scale + loss), likely = 1.0;
        for (int i = 0; i < POWER; i++) likely *= ratio;
        for (i64 r = 0; r < RATES_N; r++) {
            belief[r * E + e] *= likely;
            total += belief[r * E + e];
        }
    }
    for (i64 r = 0; r < RATES_N; r++) {
        f64 *row = belief + r * E, mass = 0.0;
        for (i64 e = 0; e < E; e++) {
            row[e] /= total;
            mass += row[e];
        }
        f64 change = f_max(RATES[r], 1.0 / (noise[KH_ROUNDS] + 1.0));
        f64 stay = (1.0 - ANEW) * (1.0 - change), move = (1.0 - ANEW) * change * mass;
        f64 fresh = (move + ANEW / RATES_N) / (1.0 - prior[E]);
        for (i64 e = 0; e < E; e++) row[e] = stay * row[e] + fresh * prior[e];
    }
}

KH_API void kh_charge(kh_mixture *mixture, floats *guesses, f64 y)
{
    i64 E = mixture->recent.n;
    const f64 *guess = guesses->at;
    f64 *span = mixture->span.at, *noise = mixture->noise.at, fade = 1.0 - 1.0 / KH_WINDOW;
    KH_CHECK(guesses->n == E + 1);
    if (isnan(span[KH_LOW])) { /* the first label tells the units, and is no one's fault */
        span[KH_LOW] = span[KH_HIGH] = y;
        return;
    }
    for (i64 e = 0; e < E; e++) {
        f64 loss = (y - guess[e]) * (y - guess[e]);
        mixture->losses.at[e] += loss;
        mixture->recent.at[e] = fade * mixture->recent.at[e] + loss;
    }
    f64 loss = (y - guess[E]) * (y - guess[E]);
    mixture->losses.at[E] += loss;
    span[KH_LOW] = f_min(span[KH_LOW], y);
    span[KH_HIGH] = f_max(span[KH_HIGH], y);
    /* A window that grows with time: after it is full, the old rounds are weighted down a little. */
    noise[KH_WEIGHT] += 1.0;
    noise[KH_LOSS] += loss;
    f64 most = f_max(KH_WINDOW, SHARE * noise[KH_ROUNDS]);
    noise[KH_ROUNDS] += 1.0;
    if (noise[KH_WEIGHT] > most) {
        noise[KH_LOSS] *= most / noise[KH_WEIGHT];
        noise[KH_WEIGHT] = most;
    }
    believe(mixture, guess, y);
}

void kh_mix_rows(kh_mixture *mixture, floats *guesses, floats *y, floats *predictions)
{
    for (i64 t = 0; t < y->n; t++) {
        floats row = floats_at(*guesses, t);
        AT(*predictions, t) = kh_mix(mixture, &row);
        kh_charge(mixture, &row, y->at[t]);
    }
}
