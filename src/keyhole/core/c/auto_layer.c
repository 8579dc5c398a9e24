/* The last layer: bends what the experts predict, and adds what the past says. */
#include "auto.h"
#include "lanes.h"

KH_LAYOUT(kh_layer, KH_LAYER)

enum { SQUARES, ROUNDS };             /* layer.spread */
enum { AS_IT_IS, BENT };              /* the guesses that are judged; then the one with the past */
enum { CONSTANT, PREDICTION, KINKS }; /* places of x; then the past */

static bool looks_back(const kh_layer *last) { return last->b.n > KINKS + last->kinks.n; }

KH_API void kh_know(kh_layer *last, floats *past)
{
    floats labels = some_floats(past->at, KH_INPUTS), errors = some_floats(past->at + KH_INPUTS, KH_INPUTS);
    KH_CHECK(past->n == KH_PASTS);
    kh_past_inputs(&last->labels, &labels);
    kh_past_inputs(&last->errors, &errors);
}

KH_API void kh_note_past(kh_layer *last, floats *past, ints *told)
{
    kh_know(last, past);
    for (i64 i = 0; i < KH_PASTS; i++) { /* finite numbers: 0 where it says nothing */
        f64 *value = &past->at[i];
        *value = isnan(*value) ? 0.0 : f_max(f_min(*value, 0x1.fffffffffffffp1023), -0x1.fffffffffffffp1023);
    }
    AT(*told, 0) = i_min(last->labels.told.at[0], KH_LABELS);
    AT(*told, 1) = i_min(last->errors.told.at[0], KH_LABELS);
}

KH_API void kh_begin_layer(kh_layer *last, f64 variance, kh_room *room)
{
    i64 mark = room->used, places = last->b.n;
    if (places == 0) return;
    last->unit.at[0] = sqrt(last->spread.at[SQUARES] / f_max(last->spread.at[ROUNDS], 1.0));
    floats ridge = take_floats(room, places);
    for (i64 i = 0; i < places; i++) ridge.at[i] = variance;
    ridge.at[CONSTANT] = 1.0;
    if (!(variance > 0.0 && kh_inverse_root(&last->A, &ridge, &last->b, &last->root, &last->along, room))) {
        for (i64 i = 0; i < places * places; i++) last->root.at[i] = 0.0;
        for (i64 i = 0; i < places; i++) last->along.at[i] = 0.0;
    }
    room->used = mark;
}

KH_WIDE static void guess(const kh_layer *last, f64 prediction, f64 centre, const f64 *past, f64 *restrict x,
                  f64 *restrict z, floats *guesses)
{
    i64 h = last->kinks.n, places = last->b.n, first = 0;
    f64 g = prediction - centre, unit = last->unit.at[0], sum = 0.0, s = 1.0;
    x[CONSTANT] = 1.0;
    x[PREDICTION] = g;
    for (i64 i = 0; i < h; i++) x[KINKS + i] = fabs(g - last->kinks.at[i] * unit);
    for (i64 i = 0; i < places - KINKS - h; i++) {
        f64 value = i < KH_INPUTS ? past[i] - centre : past[i];
        x[KINKS + h + i] = isnan(value) ? 0.0 : value;
    }
    for (i64 i = 0; i < places; i++) z[i] = 0.0;
    for (i64 j = 0; j < places; j++) {
        const f64 *restrict row = last->root.at + j * places;
        f64 value = x[j];
        for (i64 i = j; i < places; i++) z[i] += value * row[i];
    }
    AT(*guesses, AS_IT_IS) = prediction;
    for (i64 e = BENT; e < guesses->n - 1; e++) {
        i64 stop = e == BENT ? KINKS + h : places;
        for (i64 i = first; i < stop; i++) {
            s += z[i] * z[i];
            sum += z[i] * last->along.at[i];
        }
        first = stop;
        guesses->at[e] = prediction + sum / s;
        if (!isfinite(guesses->at[e])) guesses->at[e] = prediction; /* squares of labels leave no room */
    }
}

KH_API f64 kh_foresee(kh_layer *last, f64 prediction, f64 centre, floats *past, kh_room *room)
{
    i64 mark = room->used, places = last->b.n;
    f64 *x = TAKE(room, f64, places), *z = TAKE(room, f64, places);
    floats guesses = take_floats(room, last->judge.losses.n);
    floats nothing = take_floats(room, KH_PASTS);
    for (i64 i = 0; i < KH_PASTS; i++) nothing.at[i] = NAN;
    guess(last, prediction, centre, past->n == KH_PASTS ? past->at : nothing.at, x, z, &guesses);
    f64 found = kh_mix(&last->judge, &guesses);
    room->used = mark;
    return found;
}

/* Add a round to the sums, which fade. */
KH_WIDE static void learn(kh_layer *last, f64 fade, const f64 *restrict x, f64 missed)
{
    i64 places = last->b.n;
    last->spread.at[SQUARES] += x[PREDICTION] * x[PREDICTION];
    last->spread.at[ROUNDS] += 1.0;
    for (i64 i = 0; i < places; i++) {
        f64 *restrict row = last->A.at + i * places, xi = x[i];
        last->b.at[i] = fade * last->b.at[i] + xi * missed;
        for (i64 j = 0; j <= i; j++) row[j] = fade * row[j] + xi * x[j];
    }
}

KH_API void kh_correct(kh_layer *last, f64 fade, f64 centre, floats *pasts, floats *y, floats *predictions,
                       kh_room *room)
{
    i64 mark = room->used, places = last->b.n, n = y->n, wide = last->judge.losses.n, first = 0;
    f64 *x = TAKE(room, f64, places), *z = TAKE(room, f64, places);
    floats now = take_floats(room, KH_PASTS), guesses = {TAKE(room, f64, n * wide), n, wide, 1};
    bool back = looks_back(last), told = pasts->n == n && pasts->m == KH_PASTS;
    KH_CHECK(predictions->n == n);
    if (isnan(centre) && n > 0) {
        floats all = floats_at(guesses, 0);
        for (i64 e = 0; e < wide; e++) all.at[e] = y->at[0];
        centre = y->at[0];
        kh_charge(&last->judge, &all, y->at[0]);
        kh_remember_label(&last->labels, y->at[0]);
        first = 1;
    }
    for (i64 t = first; t < n; t++) {
        floats row = floats_at(guesses, t);
        f64 missed = y->at[t] - predictions->at[t];
        if (back && !told) kh_know(last, &now);
        guess(last, predictions->at[t], centre, told ? ROW(*pasts, t) : now.at, x, z, &row);
        learn(last, fade, x, missed);
        if (!back) continue;
        kh_remember_label(&last->labels, y->at[t]);
        kh_remember_label(&last->errors, missed);
    }
    guesses = (floats){guesses.at + first * wide, n - first, wide, 1};
    floats labels = some_floats(y->at + first, n - first);
    floats out = some_floats(predictions->at + first, n - first);
    kh_mix_rows(&last->judge, &guesses, &labels, &out);
    room->used = mark;
}
