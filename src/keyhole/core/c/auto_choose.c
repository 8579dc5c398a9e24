/* How AutoLearner fills a batch: what is kept, what the safety net reads, what is explored. */
#include "auto.h"

KH_LAYOUT(kh_expert_table, KH_EXPERT_TABLE)
KH_LAYOUT(kh_settings, KH_SETTINGS)
KH_LAYOUT(kh_net, KH_NET_SUMS)
KH_LAYOUT(kh_space, KH_SPACE)
KH_LAYOUT(kh_state, KH_STATE)
KH_LAYOUT(kh_spending, KH_SPENDING)
KH_LAYOUT(kh_auto, KH_AUTO)

/* By rank; at the same rank the memory that did best of late comes first. */
static void keep(kh_settings *s, kh_state *state, i64 most, kh_room *room)
{
    i64 mark = room->used, memories = state->kept.tau.n;
    kh_space *space = &state->space;
    ints order = take_ints(room, memories);
    kh_rank_memories(s, state, &order, room);
    kh_select_all(s, state, most);
    kh_clear_marks(space);
    if (most > s->pool) /* nothing else needs the room: the leader comes first altogether */
        for (i64 rank = 0; rank < AT(space->picked, order.at[0]); rank++)
            kh_mark(space, AT2(space->chosen, order.at[0], rank), KH_KEPT);
    for (i64 rank = 0; rank < most; rank++)
        for (i64 q = 0; q < memories; q++) {
            i64 m = order.at[q];
            if (rank < AT(space->picked, m) && space->many.at[0] < most)
                kh_mark(space, AT2(space->chosen, m, rank), KH_KEPT);
        }
    room->used = mark;
}

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

/* What may be kept at most. Who has studied rows that were known in full knows every feature: net and
   exploration, which look out for changes, then have one batch of LOOK_OUT. With a budget of 1 and
   something to choose from, every other batch explores. */
static i64 may_keep(kh_settings *s, kh_state *state, i64 number)
{
    if (kh_trusts_history(state) && number % KH_LOOK_OUT != 0) return s->width;
    return s->width == 1 && s->d > 1 && number % 2 == 0 ? 0 : s->pool;
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

static void list_marked(kh_settings *s, kh_space *space, ints *S, kh_room *room)
{
    i64 mark = room->used;
    ints some = take_ints(room, s->width + 1), more = take_ints(room, s->width + 1);
    for (i64 a = 0; a < s->width; a++) AT(*S, a) = AT(space->marked, a);
    kh_sort(S, s->d, &some, &more);
    room->used = mark;
}

KH_API void kh_choose(kh_auto *a, kh_batch *batch, i64 number, kh_room *room)
{
    i64 mark = room->used, played = 0;
    kh_settings *s = &a->settings;
    kh_state *state = &a->state;
    kh_set_aside_if_misled(a);
    i64 lead = kh_note_leader(s, state), most = may_keep(s, state, number);
    ints net = take_ints(room, s->slots > 0 && most <= s->pool ? s->net : 0);
    keep(s, state, most, room);
    if (net.n > 0) played = cast_net(s, state, batch, number, &net, room);
    for (i64 i = 0; i < net.n; i++) kh_mark(&state->space, net.at[i], KH_NET);
    kh_explore(a, number, lead, room);
    list_marked(s, &state->space, &batch->S, room);
    kh_seat(state, &batch->S, room);
    kh_begin_batch(state, batch);
    if (net.n > 0) weigh(s, state, batch, &net, played, room);
    else kh_leave_net(batch);
    kh_start_runs(s, state, batch, lead, most, room);
    kh_begin_layer(&a->last, kh_spread(&state->label, 0), room);
    room->used = mark;
}

KH_API void kh_reopen(kh_auto *a, kh_batch *batch, ints *S, kh_room *room)
{
    kh_settings *s = &a->settings;
    kh_space *space = &a->state.space;
    keep(s, &a->state, s->pool, room);
    for (i64 i = 0; i < S->n; i++) {
        AT(batch->S, i) = S->at[i];
        kh_mark(space, S->at[i], KH_EXPLORED);
    }
    kh_begin_batch(&a->state, batch);
    kh_leave_net(batch);
    for (i64 i = 0; i < space->many.at[0]; i++) { /* only what was read can be used */
        i64 j = space->marked.at[i], place = kh_place_of(S, j);
        if (place == S->n || S->at[place] != j) space->why.at[j] = KH_UNREAD;
    }
    kh_start_runs(s, &a->state, batch, kh_leader(s, &a->state), s->pool, room);
}
