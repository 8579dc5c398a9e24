/* History: rows whose values are all known, taken in before or between rounds. */
#include "auto.h"

#define FIRST ((i64)1 << 40) /* batches of history are numbered from here on: their draws are no one else's */

/* All values of a row into the longest memory; older sums count `keep` times. */
static void take_in(kh_auto *auto_, kh_batch *batch, const f64 *x, f64 y, f64 keep, kh_room *room)
{
    i64 mark = room->used, d = auto_->settings.d;
    kh_state *state = &auto_->state;
    floats z = take_floats(room, d + 1), seen = take_floats(room, d + 1);
    kh_add_value(&state->label, 0, y);
    for (i64 j = 0; j < d; j++) {
        z.at[j] = seen.at[j] = 0.0;
        if (isnan(x[j])) continue;
        kh_add_value(&state->values, j, x[j]);
        z.at[j] = x[j] - kh_centre(&state->values, j);
        seen.at[j] = 1.0;
        AT(state->peaks, j) = f_max(state->peaks.at[j], fabs(z.at[j]));
    }
    z.at[d] = seen.at[d] = 1.0;
    kh_fold_row(&state->kept, KH_LONGEST_MEMORY, keep, &z, &seen, y - kh_centre(&state->label, 0), room);
    floats row = {TAKE(room, f64, d), 1, d, 1};
    ints every = take_ints(room, d);
    for (i64 j = 0; j < d; j++) {
        every.at[j] = j;
        row.at[j] = seen.at[j] > 0.0 ? z.at[j] : NAN;
    }
    kh_weigh_reads(auto_, batch, &every, &row, room);
    state->studied.at[0]++;
    kh_begin_trial(&auto_->settings, state);
    room->used = mark;
}

/* A row as a round of its own; what experts lose is charged to no one. */
static void play(kh_auto *a, kh_batch *batch, f64 *x, f64 y, kh_room *room)
{
    i64 mark = room->used, number = FIRST + a->state.studied.at[0];
    floats losses = a->state.mixture.losses, judged = a->last.judge.losses;
    f64 *before = TAKE(room, f64, losses.n), *judged_before = TAKE(room, f64, judged.n), prediction = 0.0;
    memcpy(before, losses.at, (size_t)losses.n * sizeof(f64));
    memcpy(judged_before, judged.at, (size_t)judged.n * sizeof(f64));
    kh_choose(a, batch, number, a->spending.complete, 1, room);
    floats X = {x, 1, a->settings.d, 1}, label = some_floats(&y, 1), out = some_floats(&prediction, 1);
    floats now = {NULL, 0, 0, 1};
    kh_learn_auto_rows(a, batch, &X, &label, batch->S.at, &out, &now, room);
    memcpy(losses.at, before, (size_t)losses.n * sizeof(f64));
    memcpy(judged.at, judged_before, (size_t)judged.n * sizeof(f64));
    room->used = mark;
}

KH_API void kh_study_auto(kh_auto *a, kh_batch *batch, floats *X, floats *y, f64 keep, kh_room *room)
{
    for (i64 t = 0; t < y->n; t++) {
        play(a, batch, ROW(*X, t), y->at[t], room);
        take_in(a, batch, ROW(*X, t), y->at[t], keep, room);
    }
}
