/* History: rows whose values are all known, taken in before or between rounds. */
#include "auto.h"

#define FIRST ((i64)1 << 40) /* batches of history are numbered from here on: their draws are no one else's */

/* The row as it was learnt, of the features that shapes saw. */
static void note(kh_auto *a, kh_batch *batch, const f64 *x, f64 y, i64 found, kh_room *room)
{
    i64 mark = room->used;
    ints S = take_ints(room, a->settings.width);
    kh_sitting_first(a, &batch->S, &S);
    kh_note_history(a, &S, x, y);
    if (found == KH_AS_BEFORE) kh_close_chain(a, room);
    else kh_empty_chain(a); /* what was predicted for this row was of before, too */
    room->used = mark;
}

/* All values of a row into the longest memory; older sums count `keep` times. */
static void take_in(kh_auto *auto_, kh_batch *batch, const f64 *x, f64 y, f64 keep, i64 found, kh_room *room)
{
    i64 mark = room->used, d = auto_->settings.d;
    kh_state *state = &auto_->state;
    floats z = take_floats(room, d + 1), seen = take_floats(room, d + 1);
    floats row = take_floats(room, d);
    memcpy(row.at, x, (size_t)d * sizeof(f64));
    kh_heed_row(auto_, batch, &row);
    x = row.at;
    if (auto_->chain.p.n > 0) note(auto_, batch, x, y, found, room);
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
    floats all = {row.at, 1, d, 1};
    ints every = take_ints(room, d);
    for (i64 j = 0; j < d; j++) {
        every.at[j] = j;
        all.at[j] = seen.at[j] > 0.0 ? z.at[j] : NAN;
    }
    kh_weigh_reads(auto_, batch, &every, &all, room);
    state->studied.at[0]++;
    kh_begin_trial(&auto_->settings, state);
    room->used = mark;
}

enum { MIXTURES = 4 };

/* What the experts of all mixtures have lost: copied out, or put back; nothing where there is no copy. */
static void charge_no_one(kh_auto *a, f64 **before, kh_room *room)
{
    floats all[MIXTURES] = {a->state.mixture.losses, a->last.judge.losses, a->chain.first.losses,
                            a->chain.second.losses};
    for (i64 i = 0; i < MIXTURES; i++) {
        size_t size = (size_t)all[i].n * sizeof(f64);
        if (room) before[i] = memcpy(TAKE(room, f64, all[i].n), all[i].at, size);
        else if (before[i]) memcpy(all[i].at, before[i], size);
        else memset(all[i].at, 0, size);
    }
}

/* A row as a round of its own; what experts lose is charged to no one. What its label shows. */
static i64 play(kh_auto *a, kh_batch *batch, f64 *x, f64 y, kh_room *room)
{
    i64 mark = room->used, number = FIRST + a->state.studied.at[0];
    f64 *before[MIXTURES], prediction = 0.0;
    kh_choose(a, batch, number, a->spending.complete, 1, room); /* it may set aside what was studied before */
    charge_no_one(a, before, room);
    floats X = {x, 1, a->settings.d, 1}, label = some_floats(&y, 1), out = some_floats(&prediction, 1);
    floats now = {NULL, 0, 0, 1};
    i64 found = kh_learn_auto_rows(a, batch, 0, 0, &X, &label, batch->S.at, &out, &now, room);
    if (found == KH_WAS_WILD)
        for (i64 i = 0; i < MIXTURES; i++) before[i] = NULL; /* what was lost before was lost on a wild label */
    charge_no_one(a, before, NULL);
    room->used = mark;
    return found;
}

KH_API void kh_study_auto(kh_auto *a, kh_batch *batch, floats *X, floats *y, f64 keep, kh_room *room)
{
    for (i64 t = 0; t < y->n; t++) {
        i64 found = play(a, batch, ROW(*X, t), y->at[t], room);
        take_in(a, batch, ROW(*X, t), batch->labels.at[0], keep, found, room);
    }
}
