/* Implausible values: how far what was seen reaches, and what is learnt of a value far beyond. */
#include "auto.h"

/* Rules and reasons are in docs/algorithms/auto-rules.md, "Implausible values". */
#define MARGIN 0.75 /* these numbers stand in reach.py too */
#define FADES 0.8
#define TIE 0.015625 /* what the lowest or the highest value counts when it comes again */
#define SURE 1.4
#define WILD 5.0
#define UNUSUAL 8.0 /* standard deviations, of so many values at least: */
#define KNOWN 16.0
enum { FIRST = 4, FEW = 8 };
#define OFF 2.0 /* standard deviations: a label so far off needs the values that are far out */
enum { LOW, HIGH, NEXT_LOW, NEXT_HIGH, DOUBT, COUNT, KH_REACH }; /* a row of state.reach */

static f64 *reach_of(kh_state *state, i64 j) { return ROW(state->reach, KH_INDEX(j, state->reach.n)); }

static f64 cut(f64 value, f64 low, f64 high) { return f_min(f_max(value, low), high); }

static bool is_far_out(const f64 *reach, f64 far, f64 value)
{
    f64 margin = MARGIN * far * (reach[HIGH] - reach[LOW]) * (1.0 + FEW / f_max(reach[COUNT], 1.0));
    return reach[COUNT] >= FIRST && margin > 0.0 && (value > reach[HIGH] + margin || value < reach[LOW] - margin);
}

static void widen(f64 *reach, f64 value)
{
    if (reach[COUNT] == 1.0) reach[LOW] = reach[HIGH] = value;
    f64 low = reach[LOW], high = reach[HIGH];
    reach[LOW] = f_min(low, value);
    reach[HIGH] = f_max(high, value);
    if (reach[COUNT] <= 2.0) {
        reach[NEXT_LOW] = reach[HIGH];
        reach[NEXT_HIGH] = reach[LOW];
    } else {
        reach[NEXT_LOW] = f_min(reach[NEXT_LOW], f_max(low, value));
        reach[NEXT_HIGH] = f_max(reach[NEXT_HIGH], f_min(high, value));
    }
}

/* Whether one of the first values is far from all others; it is taken back. */
static bool take_back(f64 *reach, f64 far)
{
    if (reach[COUNT] < FIRST || reach[COUNT] > FEW) return false;
    f64 above = reach[NEXT_HIGH] - reach[LOW], below = reach[HIGH] - reach[NEXT_LOW];
    if (above > 0.0 && reach[HIGH] - reach[NEXT_HIGH] > WILD * far * above) reach[HIGH] = reach[NEXT_HIGH];
    else if (below > 0.0 && reach[NEXT_LOW] - reach[LOW] > WILD * far * below) reach[LOW] = reach[NEXT_LOW];
    else return false;
    return true;
}

/* Note a value: does it show that one of the first was wild, or that everything is elsewhere now? The sign
   of a doubt says on which side the last value was that was far out. */
static i64 note(f64 *reach, f64 far, f64 value, bool believed)
{
    bool out = is_far_out(reach, far, value), above = value > reach[HIGH], was_above = reach[DOUBT] > 0.0;
    f64 doubt = FADES * fabs(reach[DOUBT]);
    bool seen = reach[COUNT] > 0.0 && (value == reach[LOW] || value == reach[HIGH]);
    reach[COUNT] += seen ? TIE : 1.0;
    reach[DOUBT] = copysign(out ? doubt + 1.0 : doubt, (out ? above : was_above) ? 1.0 : -1.0);
    bool again = out && doubt >= SURE;
    if (out && !(again || believed)) return KH_AS_BEFORE;
    widen(reach, value);
    return take_back(reach, far) ? KH_WAS_WILD : again && above == was_above ? KH_MOVED : KH_AS_BEFORE;
}

KH_API i64 kh_heed(floats *reach, f64 far, f64 value, i64 believed)
{
    KH_CHECK(reach->n == KH_REACH);
    return note(reach->at, far, value, believed);
}

/* The first values are as they are: nothing is learnt from them, and doubts begin later. */
static void see_one(f64 *reach, f64 far, f64 value) { note(reach, far, value, reach[COUNT] < FEW); }

KH_API void kh_see(floats *reach, f64 far, floats *values, ints *features, floats *y)
{
    i64 d = reach->n - 1;
    KH_CHECK(values->n == y->n && features->n == y->n && values->m == features->m && reach->m == KH_REACH);
    for (i64 t = 0; t < y->n; t++) {
        for (i64 i = 0; i < features->m; i++) {
            i64 j = AT2(*features, t, i);
            f64 value = AT2(*values, t, i);
            if (0 <= j && j < d && !isnan(value)) see_one(ROW(*reach, j), far, value);
        }
        see_one(ROW(*reach, d), far, AT(*y, t));
    }
}

static f64 learnt(const f64 *reach, f64 value) { return cut(value, reach[LOW], reach[HIGH]); }

/* Whether a value of the row is unusual: then an unusual label may well be right. */
static bool is_unusual(kh_auto *a, kh_batch *batch, const f64 *row, const i64 *columns)
{
    kh_running *values = &a->state.values;
    for (i64 i = 0; i < batch->S.n; i++) {
        i64 j = batch->S.at[i];
        f64 reads = AT(values->reads, j), value = kh_taken(row[columns ? columns[i] : i]), spread = kh_spread(values, j);
        if (reads < (spread > 0.0 ? KNOWN : FIRST) || isnan(value)) continue;
        f64 off = value - AT(values->reference, j) - AT(values->total, j) / reads;
        if (off * off > UNUSUAL * UNUSUAL * spread) return true;
    }
    return false;
}

i64 kh_heed_labels(kh_auto *a, kh_batch *batch, floats *X, const i64 *columns, floats *y, i64 *rows, f64 *by)
{
    f64 far = a->settings.far, *reach = reach_of(&a->state, a->settings.d);
    for (i64 t = 0; t < y->n; t++) {
        f64 value = y->at[t], low = reach[LOW], high = reach[HIGH];
        i64 found = note(reach, far, value, is_far_out(reach, far, value) && is_unusual(a, batch, ROW(*X, t), columns));
        y->at[t] = found == KH_MOVED ? cut(value, low, high) : learnt(reach, value);
        if (found == KH_AS_BEFORE) continue;
        *by = found == KH_MOVED && !isnan(batch->label.at[0]) ? value - batch->label.at[0] : 0.0;
        *rows = t + 1;
        return found;
    }
    *rows = y->n;
    return KH_AS_BEFORE;
}

static void move_past(kh_past *past, f64 by)
{
    for (i64 i = 0; i < past->last.n; i++) past->last.at[i] += by;
    for (i64 i = 0; i < past->faded.n; i++) past->faded.at[i] += by * past->weight.at[i];
}

/* Labels may be anywhere up to that end of the reach which they moved beyond; the other may be of history
   that was set aside. */
static void see(kh_mixture *mixture, const f64 *reach)
{
    if (reach[DOUBT] > 0.0) mixture->span.at[KH_HIGH] = reach[HIGH];
    else mixture->span.at[KH_LOW] = reach[LOW];
}

void kh_move_labels(kh_auto *a, kh_batch *batch, f64 by)
{
    kh_state *state = &a->state;
    if (state->label.reads.at[0] > 0.0) state->label.reference.at[0] += by;
    kh_move_trial(state, by);
    if (a->last.b.n > 0) move_past(&a->last.labels, by);
    see(&state->mixture, reach_of(state, a->settings.d));
    see(&a->last.judge, reach_of(state, a->settings.d));
    see(&a->chain.first, reach_of(state, a->settings.d));
    see(&a->chain.second, reach_of(state, a->settings.d));
    kh_empty_chain(a); /* curves and trees of what is predicted, and rows of before, are of another level */
    kh_seal(&state->ring);
    batch->label.at[0] += by;
    for (i64 t = 0; t < batch->rows.at[0]; t++) AT(batch->labels, t) += by;
}

static void clear(floats *sums)
{
    for (i64 i = 0; i < sums->n * sums->m; i++) sums->at[i] = 0.0;
}

static void forget_past(kh_past *past)
{
    past->told.at[0] = 0;
    clear(&past->last);
    clear(&past->faded);
    clear(&past->weight);
}

static void forget_net(kh_state *state)
{
    clear(&state->net.L);
    clear(&state->net.squares);
    clear(&state->net.largest);
    for (i64 i = 0; i < state->space.odds.rate.n; i++) state->space.odds.rate.at[i] = NAN; /* built anew */
}

void kh_forget_wild_label(kh_auto *a, kh_batch *batch)
{
    kh_state *state = &a->state;
    const f64 *reach = reach_of(state, a->settings.d);
    f64 width = reach[HIGH] - reach[LOW];
    if (state->label.reads.at[0] > 0.0) { /* what was taken in */
        kh_restate(&state->label, 0, reach[LOW] + 0.5 * width, width * width / 12.0);
        for (i64 m = 0; m < state->kept.tau.n; m++) kh_forget(&state->kept, m, 0.0);
        forget_net(state);
    }
    kh_go_on_without(a, 0.0, reach[LOW], reach[HIGH]);
    if (a->last.b.n > 0) {
        forget_past(&a->last.labels);
        forget_past(&a->last.errors);
        clear(&a->last.along);
    }
    batch->label.at[0] = learnt(reach, batch->label.at[0]); /* what is under way */
    clear(&batch->runs.theta);
    kh_begin_trial(&a->settings, state);
}

/* Whether the far-out values of row t are needed: without them the label is off by more standard deviations
   than they may explain within their reach. */
static bool are_needed(kh_auto *a, kh_batch *batch, i64 t)
{
    i64 e = AT(a->settings.experts.judges, kh_leader(&a->settings, &a->state)), b = batch->S.n;
    f64 unit = kh_unit_of(&a->state.mixture, e), left = AT(batch->labels, t) - batch->label.at[0], more = 0.0;
    for (i64 q = 0; q < AT(batch->runs.size, e); q++) {
        i64 i = AT2(batch->runs.place, e, q);
        f64 theta = AT2(batch->runs.theta, e, q), value = i < b ? AT2(batch->values, t, i) : NAN;
        const f64 *reach = i < b ? reach_of(&a->state, batch->S.at[i]) : NULL;
        if (i == b) left -= theta;
        else if (is_far_out(reach, a->settings.far, value)) more += fabs(theta) * (reach[HIGH] - reach[LOW]);
        else if (!isnan(value)) left -= theta * (value - batch->centre.at[i]);
    }
    return unit > 0.0 && fabs(left) - more > OFF * unit;
}

/* Note a value of feature j; forget the feature if one of its first values was wild. */
static void heed(kh_auto *a, i64 j, f64 *value, bool believed)
{
    kh_state *state = &a->state;
    f64 *reach = reach_of(state, j), far = a->settings.far;
    if (isnan(*value)) return;
    if (note(reach, far, *value, believed) == KH_WAS_WILD) {
        kh_forget_feature(&state->kept, j);
        kh_forget_one(&state->values, j);
        AT(state->peaks, j) = 0.0;
        kh_forget_in_rows(a, j);
        kh_seal(&state->ring);
    }
    if (is_far_out(reach, far, *value)) *value = NAN;
}

void kh_heed_values(kh_auto *a, kh_batch *batch)
{
    i64 rows = batch->rows.at[0];
    const f64 *label = reach_of(&a->state, a->settings.d);
    for (i64 t = 0; t < rows; t++) {
        AT(batch->labels, t) = learnt(label, batch->labels.at[t]);
        f64 *row = ROW(batch->values, t);
        bool believed = are_needed(a, batch, t);
        for (i64 i = 0; i < batch->S.n; i++) heed(a, batch->S.at[i], row + i, believed);
    }
    for (i64 i = 0; i < batch->S.n; i++) {
        const f64 *reach = reach_of(&a->state, batch->S.at[i]);
        for (i64 t = 0; t < rows; t++)
            if (!isnan(AT2(batch->values, t, i))) AT2(batch->values, t, i) = learnt(reach, AT2(batch->values, t, i));
    }
}

void kh_heed_row(kh_auto *a, kh_batch *batch, floats *x)
{
    bool believed = are_needed(a, batch, 0);
    for (i64 j = 0; j < x->n; j++) {
        heed(a, j, x->at + j, believed);
        if (!isnan(AT(*x, j))) x->at[j] = learnt(reach_of(&a->state, j), x->at[j]);
    }
}
