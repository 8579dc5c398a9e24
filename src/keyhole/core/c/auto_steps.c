/* Step by step: how far predictions are off after so many steps, and what going on has saved. */
#include "auto.h"

KH_LAYOUT(kh_steps, KH_STEPS)

enum { PREDICTION, ERROR };  /* of steps.recent */
enum { SUM, COUNT };         /* of steps.errors */
enum { LESS, BEFORE, PAIRS };/* of steps.saved: error that went, error before, how many examples */
enum { FEWEST = 64 };        /* examples, before errors are told apart by the prediction; again at twice as many */
enum { FEW_PAIRS = 20 };     /* examples that went on, before it is known what that saves */
#define FADE 0.999           /* what an example counts one example later */
#define PRIOR 6.0            /* examples of the mean error, in each bin */
#define LARGEST 50.0         /* times the mean: an error counts no more, */
#define FREE 30.0            /* once so many were seen */

static i64 bin_of(const kh_steps *steps, i64 p, f64 guess)
{
    const f64 *cuts = ROW(steps->cuts, p);
    i64 bin = 0, many = AT(steps->bins, p);
    while (bin < many && cuts[bin] < guess) bin++;
    return bin;
}

static f64 mean_error(const kh_steps *steps, i64 p)
{
    f64 sum = 0.0, count = 0.0;
    for (i64 b = 0; b < steps->errors.m; b++) sum += AT3(steps->errors, p, b, SUM), count += AT3(steps->errors, p, b, COUNT);
    return count > 0.0 ? sum / count : 0.0;
}

KH_API f64 kh_expected_error(kh_steps *steps, i64 p, f64 guess)
{
    i64 b = bin_of(steps, p, guess);
    return (AT3(steps->errors, p, b, SUM) + PRIOR * mean_error(steps, p)) / (AT3(steps->errors, p, b, COUNT) + PRIOR);
}

/* Bins of equal numbers of the last predictions, with the errors of these. */
static void bin_anew(kh_steps *steps, i64 p, kh_room *room)
{
    i64 mark = room->used, n = i_min(AT(steps->many, p), steps->recent.m), bins = steps->errors.m;
    floats guesses = take_floats(room, n);
    ints order = take_ints(room, n);
    f64 *cuts = ROW(steps->cuts, p), *errors = ROW(steps->errors, p);
    for (i64 i = 0; i < n; i++) guesses.at[i] = AT3(steps->recent, p, i, PREDICTION), order.at[i] = i;
    kh_argsort(&guesses, &order, room);
    i64 many = 0;
    for (i64 b = 1; b < bins; b++) {
        f64 cut = guesses.at[order.at[b * n / bins]];
        if (many == 0 || cut > cuts[many - 1]) cuts[many++] = cut;
    }
    AT(steps->bins, p) = many;
    for (i64 b = many; b < bins - 1; b++) cuts[b] = 0.0;
    for (i64 b = 0; b < 2 * bins; b++) errors[b] = 0.0;
    for (i64 i = 0; i < n; i++) {
        i64 b = bin_of(steps, p, guesses.at[i]);
        errors[2 * b + SUM] += AT3(steps->recent, p, i, ERROR);
        errors[2 * b + COUNT] += 1.0;
    }
    room->used = mark;
}

static f64 learn_error(kh_steps *steps, i64 p, f64 guess, f64 y, kh_room *room)
{
    f64 error = (y - guess) * (y - guess), mean = mean_error(steps, p), *errors = ROW(steps->errors, p);
    i64 seen = AT(steps->many, p), place = seen % steps->recent.m;
    if ((f64)seen >= FREE && mean > 0.0) error = f_min(error, LARGEST * mean);
    for (i64 b = 0; b < 2 * steps->errors.m; b++) errors[b] *= FADE;
    i64 bin = bin_of(steps, p, guess);
    errors[2 * bin + SUM] += error;
    errors[2 * bin + COUNT] += 1.0;
    AT3(steps->recent, p, place, PREDICTION) = guess;
    AT3(steps->recent, p, place, ERROR) = error;
    seen = ++steps->many.at[p];
    if (seen >= FEWEST && (seen & (seen - 1)) == 0) bin_anew(steps, p, room);
    return error;
}

KH_API void kh_learn_steps(kh_steps *steps, ints *at, floats *guesses, f64 y, kh_room *room)
{
    i64 mark = room->used, n = at->n;
    f64 *error = TAKE(room, f64, n);
    for (i64 i = 0; i < n; i++) error[i] = learn_error(steps, AT(*at, i), AT(*guesses, i), y, room);
    for (i64 i = 0; i < n; i++)
        for (i64 j = i + 1; j < n; j++) {
            f64 *saved = &AT3(steps->saved, AT(*at, i), AT(*at, j), LESS);
            saved[LESS] = FADE * saved[LESS] + error[i] - error[j];
            saved[BEFORE] = FADE * saved[BEFORE] + error[i];
            saved[PAIRS] += 1.0;
        }
    room->used = mark;
}

KH_API f64 kh_gain_of_going_on(kh_steps *steps, i64 p, f64 guess, ints *to, floats *price)
{
    f64 error = kh_expected_error(steps, p, guess), best = -INFINITY;
    for (i64 i = 0; i < to->n; i++) {
        const f64 *saved = &AT3(steps->saved, p, AT(*to, i), LESS);
        if (saved[PAIRS] < FEW_PAIRS) return INFINITY;
        f64 share = saved[BEFORE] > 0.0 ? saved[LESS] / saved[BEFORE] : 0.0;
        best = f_max(best, share * error - AT(*price, i));
    }
    return best;
}
