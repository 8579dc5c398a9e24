/* How AutoLearner fills a batch: what is kept, what the safety net reads, what is explored. */
#include "auto.h"

KH_LAYOUT(kh_expert_table, KH_EXPERT_TABLE)
KH_LAYOUT(kh_settings, KH_SETTINGS)
KH_LAYOUT(kh_net, KH_NET_SUMS)
KH_LAYOUT(kh_space, KH_SPACE)
KH_LAYOUT(kh_state, KH_STATE)
KH_LAYOUT(kh_spending, KH_SPENDING)
KH_LAYOUT(kh_auto, KH_AUTO)

/* The chance of a feature that is not played to be read by the net all the same. */
static f64 filled(kh_settings *s, i64 played)
{
    return s->net == s->d ? 1.0 : (f64)(s->net - played) / (f64)(s->d - played);
}

/* The features the net reads, kept ones among them; and how many different ones it plays. */
static i64 cast_net(kh_settings *s, kh_state *state, kh_batch *batch, i64 number, ints *net, kh_room *room)
{
    i64 mark = room->used;
    floats eta = take_floats(room, s->slots);
    f64 f0 = filled(s, s->slots), spread = 1.0 / (f0 + (1.0 - f0) / (f64)s->d);
    for (i64 i = 0; i < s->slots; i++) {
        f64 largest = AT(state->net.largest, i);
        f64 seen = spread * largest * largest + AT(state->net.squares, i);
        eta.at[i] = seen > 0.0 ? sqrt(kh_log((f64)s->d) / seen) : 1.0;
    }
    kh_draw_by(s->seed, number, &state->net.L, &eta, &state->space.odds, &batch->slots);
    i64 played = kh_draw_shared(s->seed, number, s->d, &batch->slots, s->net, net, room);
    room->used = mark;
    return played;
}

/* What a loss counts: kept features are read for certain (1), those of the net as in `SharedReads`,
   explored ones by a rule with unknown chances (0). */
static void weigh(kh_settings *s, kh_state *state, kh_batch *batch, ints *net, i64 played, kh_room *room)
{
    i64 mark = room->used, slots = s->slots;
    floats p = {TAKE(room, f64, slots * net->n), slots, net->n, 1}, weight = p;
    weight.at = TAKE(room, f64, slots * net->n);
    ints place = take_ints(room, slots);
    for (i64 i = 0; i < slots; i++) {
        place.at[i] = kh_place_of(net, AT(batch->slots, i));
        for (i64 a = 0; a < net->n; a++)
            AT2(p, i, a) = kh_chance(&state->space.odds, &state->net.L, i, net->at[a]);
    }
    kh_shared_weights(&p, &place, filled(s, slots), filled(s, played), &weight);
    for (i64 a = 0; a < batch->S.n; a++) {
        i64 j = batch->S.at[a], why = batch->why.at[a], in_net = kh_place_of(net, j);
        for (i64 i = 0; i < slots; i++) {
            AT2(batch->p, i, a) = kh_chance(&state->space.odds, &state->net.L, i, j);
            AT2(batch->weight, i, a) = why == KH_KEPT ? 1.0 : why == KH_NET ? AT2(weight, i, in_net) : 0.0;
        }
    }
    for (i64 i = 0; i < slots; i++) batch->slots.at[i] = kh_place_of(&batch->S, batch->slots.at[i]);
    room->used = mark;
}

/* What was bought, in the order of the features. */
static void list_marked(kh_auto *a, ints *S, kh_room *room)
{
    kh_space *space = &a->state.space;
    i64 mark = room->used;
    ints some = take_ints(room, S->n + 1), more = take_ints(room, S->n + 1);
    for (i64 i = 0; i < S->n; i++) S->at[i] = AT(space->marked, i);
    kh_sort(S, a->settings.d, &some, &more);
    room->used = mark;
}

/* What is paid for is read, whatever it was paid for. */
static void read_what_is_paid(kh_purchase *p)
{
    for (i64 j = 0; p->listed && j < p->a->settings.d; j++)
        if (AT(p->held.more, j) == 0 && !AT(p->shop->barred, j)) kh_mark(&p->a->state.space, j, KH_EXPLORED);
}

static i64 limit_of(kh_spending *spending, kh_state *state, i64 round, i64 size)
{
    if (spending->horizon <= 0) return spending->shop.limit;
    i64 rounds = round < spending->complete ? size : i_max(spending->horizon - round, size);
    return i_min(spending->shop.limit, kh_floor(state->purse.at[0], rounds));
}

KH_API i64 kh_choose(kh_auto *a, kh_batch *batch, i64 number, i64 round, i64 size, kh_room *room)
{
    i64 mark = room->used, played = 0;
    kh_settings *s = &a->settings;
    kh_state *state = &a->state;
    kh_set_aside_if_misled(a);
    i64 lead = kh_note_leader(s, state);
    kh_purchase p = kh_begin_purchase(a, &a->spending, number, limit_of(&a->spending, state, round, size), room);
    ints net = take_ints(room, kh_is_quiet(state, number) ? 0 : s->net), known = {take_ints(room, s->width).at, 0, 1, 1};
    kh_keep(&p, net.n < s->d ? net.n : 0, &known);
    if (net.n > 0) played = cast_net(s, state, batch, number, &net, room);
    for (i64 i = 0; i < net.n; i++) kh_buy(&p, net.at[i], KH_NET);
    i64 walked = kh_explore(&p, lead, &known);
    state->walk.at[0] = (state->walk.at[0] + walked) % s->d;
    read_what_is_paid(&p);
    kh_lay_out(batch, i_min(state->space.many.at[0], s->width)); /* more would cost more */
    list_marked(a, &batch->S, room);
    kh_seat(state, &batch->S, room);
    kh_begin_batch(state, batch);
    if (net.n > 0) weigh(s, state, batch, &net, played, room);
    else kh_leave_net(batch);
    kh_start_runs(s, state, batch, lead, room);
    kh_begin_layer(&a->last, kh_spread(&state->label, 0), room);
    room->used = mark;
    return batch->S.n;
}

KH_API i64 kh_choose_once(kh_auto *a, kh_spending *spending, i64 number, ints *S, kh_room *room)
{
    i64 mark = room->used, lead = kh_leader(&a->settings, &a->state);
    kh_purchase p = kh_begin_purchase(a, spending, number, spending->shop.limit, room);
    ints known = {take_ints(room, a->settings.width).at, 0, 1, 1};
    kh_keep(&p, 0, &known);
    kh_explore(&p, lead, &known);
    read_what_is_paid(&p);
    S->n = a->state.space.many.at[0];
    list_marked(a, S, room);
    room->used = mark;
    return S->n;
}

KH_API i64 kh_affordable(kh_auto *a, ints *S, kh_room *room)
{
    i64 mark = room->used, lead = kh_leader(&a->settings, &a->state), limit = a->spending.shop.limit;
    kh_purchase p = kh_begin_purchase(a, &a->spending, 0, limit, room);
    kh_select_for(&p, lead, limit);
    i64 many = AT(a->state.space.picked, lead);
    for (i64 i = 0; i < many; i++) AT(*S, i) = AT2(a->state.space.chosen, lead, i);
    room->used = mark;
    return many;
}

KH_API void kh_reopen(kh_auto *a, kh_batch *batch, ints *S, kh_room *room)
{
    kh_state *state = &a->state;
    kh_space *space = &state->space;
    kh_clear_marks(space);
    for (i64 i = 0; i < S->n; i++) {
        AT(batch->S, i) = S->at[i];
        kh_mark(space, S->at[i], KH_EXPLORED);
    }
    for (i64 m = 0; m < state->kept.tau.n; m++) { /* of what was read, for nothing */
        kh_selecting into = kh_writing(space, m);
        kh_means means = {&a->spending.shop, NULL, 0, 0.0, space->why.at};
        kh_select(&state->kept, m, AT(a->settings.thresholds, m), &into, &means, &AT(space->picked, m),
                  &AT(space->noise, m), room);
        kh_name_chosen(state, m);
    }
    for (i64 m = 0; m < state->kept.tau.n; m++)
        for (i64 rank = 0; rank < space->picked.at[m]; rank++)
            AT(space->why, AT2(space->chosen, m, rank)) = KH_KEPT;
    kh_begin_batch(state, batch);
    kh_leave_net(batch);
    kh_start_runs(&a->settings, state, batch, kh_leader(&a->settings, state), room);
}
