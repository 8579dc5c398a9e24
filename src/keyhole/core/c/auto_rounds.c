/* AutoLearner's rounds: predict, learn, and close a batch; and many of them in one call. */
#include "auto.h"

/* Centred values; 0 where absent, or where there is no centre yet; cut off far beyond the peak. */
static void gather(const f64 *row, const i64 *columns, kh_batch *batch, f64 far, floats *x)
{
    i64 b = batch->S.n;
    const f64 *centre = batch->centre.at, *peaks = batch->peak.at;
    for (i64 a = 0; a < b; a++) {
        f64 value = kh_taken(row[columns ? columns[a] : a]) - centre[a], peak = peaks[a];
        if (isnan(value)) value = 0.0;
        if (peak > 0.0) value = f_min(f_max(value, -far * peak), far * peak);
        x->at[a] = value;
    }
    AT(*x, b) = 1.0;
}

/* Proper mode: the best k of the leading memory, weighted by all memories: a linear model fixed before
   x. Weights of v features from n rounds are taken n / (n + v) times. */
static f64 play_properly(kh_auto *auto_, kh_batch *batch, f64 label, const f64 *along)
{
    kh_mixture *mixture = &auto_->state.mixture;
    kh_memories *kept = &auto_->state.kept;
    f64 value = label;
    for (i64 e = 0; e < mixture->recent.n; e++) {
        f64 share = 0.0;
        i64 m = AT(auto_->settings.experts.memory, e), size = AT(batch->runs.size, e);
        for (i64 r = 0; r < mixture->belief.n; r++) share += AT2(mixture->belief, r, e);
        if (m >= 0 && size > 0) {
            f64 n = AT2(kept->n, m, kept->who.n) * AT(kept->scale, m);
            share *= n / (n + (f64)size);
        }
        value += share * along[e];
    }
    return f_min(f_max(value, mixture->span.at[KH_LOW]), mixture->span.at[KH_HIGH]);
}

KH_API f64 kh_predict_auto(kh_auto *a, kh_batch *batch, floats *values, floats *past, kh_room *room)
{
    i64 mark = room->used;
    floats x = take_floats(room, batch->S.n + 1), guesses = take_floats(room, a->state.mixture.losses.n);
    f64 middle = batch->label.at[0];
    KH_CHECK(values->n == batch->S.n);
    gather(values->at, NULL, batch, a->settings.far, &x);
    kh_guess_runs(&batch->runs, &x, &guesses);
    if (!isnan(middle))
        for (i64 e = 0; e < batch->runs.size.n; e++) guesses.at[e] += middle;
    f64 prediction = kh_mix(&a->state.mixture, &guesses);
    if (!isnan(middle)) {
        if (a->settings.proper) prediction = play_properly(a, batch, middle, batch->runs.along.at);
        if (a->last.b.n > 0) prediction = kh_foresee(&a->last, prediction, middle, past, room);
        prediction = kh_chain_one(a, &batch->S, values, prediction, room);
    }
    room->used = mark;
    return prediction;
}

/* All rows through the experts, which learn row by row and do not hang on what is predicted. */
static void guess_rows(kh_auto *auto_, kh_batch *batch, floats *X, floats *y, const i64 *columns,
                       floats *guesses, floats *along, kh_room *room)
{
    i64 mark = room->used, b = batch->S.n, E = batch->runs.size.n;
    f64 label = batch->label.at[0], *centre = batch->centre.at;
    floats x = take_floats(room, b + 1);
    for (i64 t = 0; t < y->n; t++) {
        i64 row = batch->rows.at[0];
        const f64 *seen = ROW(*X, t);
        f64 *values = ROW(batch->values, row), *as_they_are = ROW(*along, t);
        floats guess = floats_at(*guesses, t);
        gather(seen, columns, batch, auto_->settings.far, &x);
        kh_guess_runs(&batch->runs, &x, &guess);
        for (i64 e = 0; e < E; e++) {
            as_they_are[e] = batch->runs.along.at[e];
            if (!isnan(label)) guess.at[e] += label;
        }
        if (isnan(label)) label = batch->label.at[0] = y->at[t];
        for (i64 a = 0; a < b; a++) {
            values[a] = kh_taken(seen[columns ? columns[a] : a]);
            if (isnan(centre[a])) centre[a] = values[a];
        }
        AT(batch->labels, row) = y->at[t];
        batch->rows.at[0] = row + 1;
        kh_learn_runs(&batch->runs, y->at[t] - label);
    }
    room->used = mark;
}

/* Predict and learn rows whose labels are as plausible as they will be. */
static void learn_rows(kh_auto *a, kh_batch *batch, floats *X, floats *y, const i64 *columns, floats *predictions,
                       floats *pasts, kh_room *room)
{
    i64 mark = room->used, n = y->n, E = a->state.mixture.recent.n;
    kh_mixture *mixture = &a->state.mixture;
    f64 before = batch->label.at[0];
    floats guesses = {TAKE(room, f64, n * (E + 1)), n, E + 1, 1}, along = {TAKE(room, f64, n * E), n, E, 1};
    guess_rows(a, batch, X, y, columns, &guesses, &along, room);
    if (!a->settings.proper) kh_mix_rows(mixture, &guesses, y, predictions);
    for (i64 t = 0; t < n && a->settings.proper; t++) {
        floats row = floats_at(guesses, t);
        f64 label = t > 0 ? batch->label.at[0] : before;
        AT(*predictions, t) = kh_mix(mixture, &row);
        if (!isnan(label)) predictions->at[t] = play_properly(a, batch, label, ROW(along, t));
        kh_charge(mixture, &row, y->at[t]);
    }
    if (a->last.b.n > 0) kh_correct(&a->last, a->settings.fade, before, pasts, y, predictions, room);
    kh_note_labels(&a->state, y);
    room->used = mark;
}

i64 kh_learn_auto_rows(kh_auto *a, kh_batch *batch, i64 number, i64 round, floats *X, floats *y,
                        const i64 *columns, floats *predictions, floats *pasts, kh_room *room)
{
    i64 mark = room->used, t = 0, many = 0, found = KH_AS_BEFORE;
    i64 first = isnan(a->state.mixture.span.at[KH_LOW]); /* its label is charged to no one */
    ints sitting = take_ints(room, a->settings.width), *S = &batch->S;
    const i64 *seen = columns;
    floats told = take_floats(room, y->n);
    for (i64 i = 0; i < y->n; i++) told.at[i] = y->at[i];
    if (round == 0 && a->chain.p.n > 0) {
        kh_sitting_first(a, &batch->S, &sitting);
        S = &sitting, seen = sitting.at;
    }
    for (; t < y->n; t += many) {
        floats rows = {X->at + t * X->m, y->n - t, X->m, 1}, labels = some_floats(told.at + t, y->n - t);
        f64 by = 0.0;
        found = kh_heed_labels(a, batch, &rows, columns, &labels, &many, &by);
        floats out = some_floats(predictions->at + t, many), now = *pasts;
        if (pasts->n == y->n) now = (floats){pasts->at + t * pasts->m, many, pasts->m, 1};
        rows.n = labels.n = many;
        learn_rows(a, batch, &rows, &labels, columns, &out, &now, room);
        kh_chain_rows(a, S, &rows, seen, &labels, &out, room);
        if (round > 0) {
            i64 skip = t == 0 ? first : 0;
            floats charged = some_floats(labels.at + skip, many - skip), played = some_floats(out.at + skip, many - skip);
            kh_note_played(&a->state, &played, &charged);
            kh_note_rows(&a->state.ring, batch, number, round + t, many);
        }
        if (found == KH_WAS_WILD) kh_forget_wild_label(a, batch);
        if (found == KH_MOVED) kh_move_labels(a, batch, by);
    }
    room->used = mark;
    return found;
}

KH_API void kh_learn_auto(kh_auto *a, kh_batch *batch, i64 number, i64 round, floats *values, f64 y, floats *past,
                          kh_room *room)
{
    f64 prediction = 0.0;
    floats X = {values->at, 1, values->n, 1}, label = some_floats(&y, 1), out = some_floats(&prediction, 1);
    floats pasts = {past->at, past->n > 0, past->n, 1};
    kh_learn_auto_rows(a, batch, number, round, &X, &label, NULL, &out, &pasts, room);
}

/* The model as people are shown it: the best k of the memory that leads, when the batch ends. */
static void note_model(kh_settings *s, kh_state *state, kh_batch *batch)
{
    i64 lead = kh_leader(s, state), rows = batch->rows.at[0];
    kh_ensemble *runs = &batch->runs;
    for (i64 e = 0; e < runs->size.n; e++) {
        if (AT(s->experts.features, e) != KH_ON_BEST || AT(s->experts.memory, e) != lead) continue;
        for (i64 q = 0; q < runs->size.at[e]; q++) {
            i64 a = AT2(runs->place, e, q);
            if (a < batch->S.n) AT(state->played, batch->S.at[a]) += rows; /* not the constant */
        }
        break;
    }
    AT(state->played, s->d) += rows;
}

/* The gains of Algorithm 2 within the batch, the batch's own means taken out of its products. */
static void judge(kh_state *state, kh_batch *batch, floats *G, floats *c, f64 yy, kh_room *room)
{
    i64 mark = room->used, b = batch->S.n, slots = batch->slots.n;
    f64 rows = (f64)batch->rows.at[0];
    floats around = {TAKE(room, f64, b * b), b, b, 1}, products = take_floats(room, b);
    floats levels = take_floats(room, slots), gains = {TAKE(room, f64, slots * b), slots, b, 1};
    for (i64 a = 0; a < b; a++) {
        f64 mean = AT2(*G, a, b);
        products.at[a] = c->at[a] - mean * c->at[b] / rows;
        for (i64 q = a; q < b; q++) AT2(around, a, q) = AT2(*G, a, q) - mean * AT2(*G, q, b) / rows;
    }
    f64 variance = f_max(yy - c->at[b] * c->at[b] / rows, 0.0);
    kh_sweep(&around, &products, variance, &batch->slots, &levels, &gains, room);
    for (i64 i = 0; i < slots * b; i++) gains.at[i] = -gains.at[i] / rows;
    kh_net *net = &state->net;
    kh_feed(&batch->S, &batch->p, &batch->weight, &gains, &net->L, &net->squares, &net->largest);
    kh_renew(&state->space.odds, &net->L, &batch->S, &batch->weight);
    room->used = mark;
}

KH_API void kh_finish_auto(kh_auto *auto_, kh_batch *batch, i64 number, kh_room *room)
{
    kh_settings *s = &auto_->settings;
    kh_state *state = &auto_->state;
    i64 mark = room->used, rows = batch->rows.at[0], b = batch->S.n;
    if (rows == 0) return;
    kh_heed_values(auto_, batch);
    for (i64 t = 0; t < rows; t++) {
        kh_add_value(&state->label, 0, AT(batch->labels, t));
        for (i64 a = 0; a < b; a++) kh_add_value(&state->values, batch->S.at[a], AT2(batch->values, t, a));
    }
    floats values = {TAKE(room, f64, rows * b), rows, b, 1}, labels = take_floats(room, rows);
    floats G = {TAKE(room, f64, (b + 1) * (b + 1)), b + 1, b + 1, 1};
    floats c = take_floats(room, b + 1), count = take_floats(room, b + 1);
    f64 middle = kh_centre(&state->label, 0);
    for (i64 a = 0; a < b; a++) {
        f64 offset = kh_centre(&state->values, batch->S.at[a]), *peak = &AT(state->peaks, batch->S.at[a]);
        for (i64 t = 0; t < rows; t++) {
            f64 value = values.at[t * b + a] = batch->values.at[t * b + a] - offset;
            if (fabs(value) > *peak) *peak = fabs(value); /* not if NaN */
        }
    }
    for (i64 t = 0; t < rows; t++) labels.at[t] = batch->labels.at[t] - middle;
    if (!kh_all_seated(&state->kept, &batch->S)) { /* others came in between, with labels that are late */
        kh_purchase p = kh_begin_purchase(auto_, &auto_->spending, 0, auto_->spending.shop.limit, room);
        for (i64 m = 0; m < state->kept.tau.n; m++) kh_select_for(&p, m, p.limit);
        kh_seat(state, &batch->S, room);
    }
    kh_note_seats(&state->ring, &state->kept);
    f64 yy = kh_products(&values, &labels, rows, &G, &c, &count, room);
    kh_fold(&state->kept, &batch->S, &G, &c, &count, yy, rows);
    kh_note_fold(auto_, batch, number);
    kh_weigh_reads(auto_, batch, &batch->S, &values, room);
    note_model(s, state, batch);
    if (s->slots > 0 && b > 0) judge(state, batch, &G, &c, yy, room);
    kh_close_chain(auto_, room);
    room->used = mark;
}

enum { ROUND, NUMBER, SIZE, ASKED, CLOSED, READ }; /* a clock: rounds asked in all; then of the batch */

/* The next batch. */
static void open_batch(kh_auto *a, kh_batch *batch, i64 *clock, kh_room *room)
{
    kh_settings *s = &a->settings;
    clock[NUMBER]++;
    clock[SIZE] = i_min(s->longest, i_max(s->shortest, clock[ROUND] / s->growth));
    clock[ASKED] = clock[CLOSED] = 0;
    kh_choose(a, batch, clock[NUMBER], clock[ROUND], clock[SIZE], room);
}

static void note_bought(ints *S, shorts *bought, i64 first, i64 stop)
{
    for (i64 i = first; i < stop; i++)
        for (i64 a = 0; a < bought->m; a++) AT2(*bought, i, a) = a < S->n ? (int32_t)S->at[a] : -1;
}

KH_API i64 kh_play_auto(kh_auto *a, kh_batch *batch, ints *clock, floats *X, floats *y, shorts *bought,
                   floats *predictions, kh_room *room)
{
    i64 t = 0, n = y->n, d = X->m, *at = clock->at;
    KH_CHECK(clock->n > READ && bought->n == n && predictions->n == n && d == a->settings.d);
    while (t < n) {
        if (at[ASKED] == at[SIZE]) open_batch(a, batch, at, room);
        i64 many = i_min(n - t, at[SIZE] - at[ASKED]);
        floats rows = {X->at + t * d, many, d, 1}, labels = some_floats(y->at + t, many);
        floats out = some_floats(predictions->at + t, many), now = {NULL, 0, 0, 1};
        i64 fault = kh_first_oversized(&rows, &labels, &batch->S), played = fault < 0 ? many : fault;
        rows.n = labels.n = out.n = played;
        kh_learn_auto_rows(a, batch, at[NUMBER], at[ROUND] + 1, &rows, &labels, batch->S.at, &out, &now, room);
        note_bought(&batch->S, bought, t, t + played);
        if (a->spending.horizon > 0) a->state.purse.at[0] -= played * kh_cost_of(&a->spending.shop, &batch->S, room);
        at[ROUND] += played, at[ASKED] += played, at[CLOSED] += played;
        t += played;
        if (fault >= 0) break;
        if (at[CLOSED] == at[SIZE]) kh_finish_auto(a, batch, at[NUMBER], room);
    }
    at[READ] = batch->S.n;
    return t;
}
