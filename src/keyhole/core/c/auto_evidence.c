/* What the reads of a feature say about it: does it add something to what is predicted, or not? */
#include "auto.h"

/* With u what the kept features leave of a label and z the value, both in standard deviations, a read
   counts how much likelier u is if z adds +-sqrt(h) z to it than if z adds nothing: for either sign the
   logarithm of N(u; +-sqrt(h) z, 1 - h) / N(u; 0, 1). Were there k features that add alike and noise
   that is as large, each would explain 1 / (1 + k) of the label's variance: that is h, a fifth at most.
   Who hopes for more loses what adds less than is hoped for.

   What was found before a read does not disturb it, and each read counts for what it was when it was
   made. A feature whose values were all alike so far has shown no z: its reads count as they do in the
   mean over z, so that it is neither read all the time nor never again. Sums that do not fall below a
   floor are Page's test for a change. */

enum { FEW = 4 }; /* features of which each may explain as much as is hoped for, at least */
#define LEAST -8.0 /* so unlikely and no less: what changes need not make up for all of its past */
#define CUT 3.0    /* standard deviations: what is farther out counts as that far, or one row would decide */

/* What expert e, having learnt the rows of the batch, leaves of their labels. */
static f64 left_over(kh_batch *batch, i64 e, i64 t)
{
    i64 b = batch->S.n;
    f64 left = AT(batch->labels, t) - batch->label.at[0];
    for (i64 q = 0; q < AT(batch->runs.size, e); q++) {
        i64 a = AT2(batch->runs.place, e, q);
        f64 x = a < b ? AT2(batch->values, t, a) - batch->centre.at[a] : 1.0;
        if (!isnan(x)) left -= AT2(batch->runs.theta, e, q) * x;
    }
    return left;
}

static f64 cut(f64 value) { return f_min(f_max(value, -CUT), CUT); }

void kh_weigh_reads(kh_auto *auto_, kh_batch *batch, ints *features, floats *values, kh_room *room)
{
    i64 mark = room->used;
    kh_state *state = &auto_->state;
    i64 e = AT(auto_->settings.experts.judges, kh_leader(&auto_->settings, state));
    f64 unit = kh_unit_of(&state->mixture, e);
    if (!(unit > 0.0)) return;
    i64 used = i_max(AT(batch->runs.size, e) - 1, 0); /* without the constant */
    f64 h = 1.0 / (1.0 + (f64)i_max(auto_->settings.k, FEW));
    floats sizes = take_floats(room, features->n), before = {TAKE(room, f64, 2 * used), used, 2, 1};
    kh_typical_sizes(&state->kept, features, &sizes);
    for (i64 q = 0; q < used; q++) {
        const f64 *sums = ROW(state->evidence, AT(batch->S, AT2(batch->runs.place, e, q)));
        AT2(before, q, 0) = sums[0], AT2(before, q, 1) = sums[1];
    }
    for (i64 t = 0; t < batch->rows.at[0]; t++) {
        f64 v = cut(left_over(batch, e, t) / unit), plain = 0.5 * (v * v - kh_log(1.0 - h));
        for (i64 a = 0; a < features->n; a++) {
            f64 value = AT2(*values, t, a), size = sizes.at[a], *sums = ROW(state->evidence, features->at[a]);
            if (isnan(value)) continue;
            f64 z = size > 0.0 ? cut(value / size) : 0.0, square = size > 0.0 ? z * z : 1.0;
            f64 common = plain - 0.5 * (v * v + h * square) / (1.0 - h), along = sqrt(h) * z * v / (1.0 - h);
            sums[0] = f_max(sums[0] + common + along, LEAST);
            sums[1] = f_max(sums[1] + common - along, LEAST);
        }
    }
    for (i64 q = 0; q < used; q++) { /* of these u says nothing: they were used to predict */
        f64 *sums = ROW(state->evidence, batch->S.at[AT2(batch->runs.place, e, q)]);
        sums[0] = AT2(before, q, 0), sums[1] = AT2(before, q, 1);
    }
    room->used = mark;
}
