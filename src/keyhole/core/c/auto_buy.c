/* How AutoLearner fills a batch, or buys for one example, where features have prices. */
#include "auto.h"

static kh_purchase purchase_of(kh_auto *a, kh_spending *spending, i64 number, i64 limit, kh_room *room)
{
    kh_market *shop = &spending->shop;
    return (kh_purchase){.a = a, .spending = spending, .shop = shop, .number = number, .limit = limit, .room = room};
}

static i64 limit_of(kh_spending *spending, kh_state *state, i64 round, i64 size)
{
    if (spending->horizon <= 0) return spending->shop.limit;
    i64 rounds = round < spending->complete ? size : i_max(spending->horizon - round, size);
    return i_min(spending->shop.limit, kh_floor(state->purse.at[0], rounds));
}

static void list_marked(kh_space *space, ints *S)
{
    for (i64 j = 0, a = 0; j < space->why.n && a < S->n; j++)
        if (space->why.at[j] != KH_UNREAD) S->at[a++] = j;
}

/* Past what came up to be read for the first time: the last that was bought, or known before. */
static void walk_on(kh_auto *a)
{
    i64 far = 1;
    for (i64 i = 0; i < a->settings.width; i++) {
        i64 j = kh_unread_at(a, i);
        if (j < 0 || AT(a->state.space.why, j) != KH_UNREAD) far = i + 1;
    }
    a->state.walk.at[0] = (a->state.walk.at[0] + far) % a->settings.d;
}

/* Begin a batch without a net whose features S are marked. */
static void fill(kh_auto *a, kh_batch *batch, i64 lead, kh_room *room)
{
    kh_begin_batch(&a->state, batch);
    kh_leave_net(batch);
    kh_start_runs(&a->settings, &a->state, batch, lead, a->settings.pool, room);
}

KH_API i64 kh_buy(kh_auto *a, kh_batch *batch, i64 number, i64 round, i64 size, kh_room *room)
{
    kh_set_aside_if_misled(a);
    i64 lead = kh_note_leader(&a->settings, &a->state), limit = limit_of(&a->spending, &a->state, round, size);
    kh_purchase p = purchase_of(a, &a->spending, number, limit, room);
    i64 many = i_min(kh_go_shopping(&p, lead, true), a->settings.width); /* more would cost more */
    kh_lay_out(batch, many);
    list_marked(&a->state.space, &batch->S);
    if (a->settings.seats < a->settings.d) walk_on(a);
    kh_seat(&a->state, &batch->S, room);
    fill(a, batch, lead, room);
    kh_begin_layer(&a->last, kh_spread(&a->state.label, 0), room);
    return many;
}

KH_API i64 kh_buy_once(kh_auto *a, kh_spending *spending, i64 number, ints *S, kh_room *room)
{
    kh_purchase p = purchase_of(a, spending, number, spending->shop.limit, room);
    i64 many = kh_go_shopping(&p, kh_leader(&a->settings, &a->state), false);
    list_marked(&a->state.space, S);
    return many;
}

KH_API i64 kh_affordable(kh_auto *a, ints *S, kh_room *room)
{
    i64 mark = room->used, lead = kh_leader(&a->settings, &a->state), limit = a->spending.shop.limit;
    kh_purchase p = purchase_of(a, &a->spending, 0, limit, room);
    f64 rate = a->spending.rate > 0.0 ? a->spending.rate : a->state.rate.at[0];
    p.held = kh_take_basket(p.shop, room);
    if (a->spending.rate == 0.0) {
        f64 whole = kh_gain_for(&p, lead, limit, rate);
        if (kh_gain_for(&p, lead, limit, 0.0) > KH_MORE * whole) rate = 0.0;
    }
    kh_select_for(&p, lead, limit, rate, NULL);
    i64 many = AT(a->state.space.picked, lead);
    for (i64 i = 0; i < many; i++) AT(*S, i) = AT2(a->state.space.chosen, lead, i);
    room->used = mark;
    return many;
}

KH_API void kh_reopen_bought(kh_auto *a, kh_batch *batch, ints *S, kh_room *room)
{
    i64 mark = room->used, d = a->settings.d;
    kh_space *space = &a->state.space;
    ints none = take_ints(room, d + 1), nothing = {none.at, 0, 1, 1}, ends = {none.at, 1, 1, 1};
    bools barred = {TAKE(room, bool, d), d, 1, 1};
    for (i64 j = 0; j < d; j++) none.at[j] = 0, barred.at[j] = true;
    none.at[d] = 0;
    for (i64 i = 0; i < S->n; i++) AT(barred, S->at[i]) = false;
    kh_market only = {nothing, none, nothing, ends, nothing, barred, 0}; /* all of S, for nothing */
    kh_purchase p = purchase_of(a, &a->spending, 0, 0, room);
    p.shop = &only;
    p.held = kh_take_basket(&only, room);
    kh_clear_all_marks(space);
    for (i64 i = 0; i < S->n; i++) {
        AT(batch->S, i) = S->at[i];
        space->why.at[S->at[i]] = KH_EXPLORED;
    }
    for (i64 m = 0; m < a->state.kept.tau.n; m++) {
        kh_select_for(&p, m, 0, 0.0, NULL);
        for (i64 rank = 0; rank < space->picked.at[m]; rank++)
            AT(space->why, AT2(space->chosen, m, rank)) = KH_KEPT;
    }
    fill(a, batch, kh_leader(&a->settings, &a->state), room);
    room->used = mark;
}
