/* What AutoLearner buys for a batch, or for one example: what is kept, and what is left for exploring. */
#include "auto.h"

enum { ASIDE = 8, COSTS = 80 }; /* these numbers stand in engine.py too */
enum { OFTEN = 4, AT_FIRST = 8, BEGINNING = 64, LATER = 128 };

kh_purchase kh_begin_purchase(kh_auto *a, kh_spending *spending, i64 number, i64 limit, kh_room *room)
{
    kh_purchase p = {.a = a, .spending = spending, .shop = &spending->shop, .number = number, .room = room};
    p.limit = p.left = limit;
    p.listed = kh_priced(p.shop);
    p.cheapest = 1;
    p.everything = a->settings.d;
    kh_clear_marks(&a->state.space);
    if (!p.listed) return p;
    p.held = kh_take_basket(p.shop, room);
    p.cheapest = p.everything = 0;
    for (i64 j = 0; j < p.held.more.n; j++) {
        i64 price = p.held.more.at[j];
        if (price > 0 && !p.shop->barred.at[j] && (p.cheapest == 0 || price < p.cheapest)) p.cheapest = price;
    }
    for (i64 i = 0; i < p.shop->units.n; i++) p.everything += p.shop->units.at[i];
    return p;
}

i64 kh_more(kh_purchase *p, i64 j)
{
    if (p->listed) return AT(p->held.more, j);
    return AT(p->a->state.space.why, j) == KH_UNREAD;
}

bool kh_buy(kh_purchase *p, i64 j, i64 why)
{
    kh_space *space = &p->a->state.space;
    if (AT(space->why, j) != KH_UNREAD || kh_more(p, j) > p->left) return false;
    p->left -= p->listed ? kh_take_feature(p->shop, &p->held, j) : 1;
    return kh_mark(space, j, why);
}

i64 kh_select_for(kh_purchase *p, i64 m, i64 money)
{
    kh_state *state = &p->a->state;
    kh_selecting into = kh_writing(&state->space, m);
    kh_means means = {p->shop, &p->held, money, p->spending->rate, NULL};
    kh_select(&state->kept, m, AT(p->a->settings.thresholds, m), &into, &means, &AT(state->space.picked, m),
              &AT(state->space.noise, m), p->room);
    kh_name_chosen(state, m);
    if (p->listed) kh_empty_basket(p->shop, &p->held);
    return money - means.left;
}

/* What the features that memory m chose promise together. */
static f64 gain_of(kh_space *space, i64 m)
{
    f64 gain = 0.0;
    for (i64 rank = 0; rank < AT(space->picked, m); rank++) gain += AT2(space->gains, m, rank);
    return gain;
}

/* Whether a batch explores where not all do: often while a memory that forgets leads, for then something
   has changed; else at first more often than later. */
static bool explores(i64 number, i64 lead)
{
    if (lead != KH_LONGEST_MEMORY) return number % OFTEN == 0;
    return number % (number < BEGINNING ? AT_FIRST : LATER) == 0;
}

/* What the dearest feature costs that this money buys. */
static i64 dearest(kh_purchase *p, i64 money)
{
    i64 most = 0;
    for (i64 j = 0; j < p->held.more.n; j++) {
        i64 price = p->held.more.at[j];
        if (price <= money && !p->shop->barred.at[j]) most = i_max(most, price);
    }
    return most;
}

/* How much of the money is set aside for exploring: an eighth, or what the cheapest feature costs, in few
   batches if that takes too much of what the leader promises. Where it would be more than half, one batch
   in OFTEN explores with as much as it takes. */
static i64 set_aside(kh_purchase *p, i64 lead, i64 money, ints *known)
{
    kh_space *space = &p->a->state.space;
    if (kh_is_quiet(&p->a->state, p->number) || p->spending->rate > 0.0 || p->everything <= money) return 0;
    i64 usual = kh_floor(money, ASIDE);
    usual = i_max(usual, p->cheapest);
    i64 spent = kh_select_for(p, lead, money);
    if (2 * usual > money) {
        if (p->number % OFTEN != 0) return 0;
        known->n = AT(space->picked, lead); /* there is no money for more: let it be spent on others */
        for (i64 rank = 0; rank < known->n; rank++) known->at[rank] = AT2(space->chosen, lead, rank);
        return i_min(usual, money);
    }
    if (explores(p->number, lead)) return p->number % KH_LOOK_OUT == 0 ? i_max(usual, dearest(p, money)) : usual;
    if (spent <= money - usual) return usual;
    f64 whole = gain_of(space, lead);
    kh_select_for(p, lead, money - usual);
    return (whole - gain_of(space, lead)) * COSTS <= whole ? usual : 0;
}

/* What bends takes what lines leave, where money has no fixed worth. */
static void keep_bent(kh_purchase *p)
{
    const ints *bent = &p->a->chain.bent;
    for (i64 i = 0; i < bent->n && p->spending->rate == 0.0; i++) {
        if (bent->at[i] < 0 || p->a->state.space.many.at[0] >= p->a->settings.pool) return;
        if (!kh_barred(p, bent->at[i])) kh_buy(p, bent->at[i], KH_KEPT);
    }
}

/* By rank; at the same rank the memory that did best of late first. What proper mode plays comes first. */
void kh_keep(kh_purchase *p, i64 apart, ints *known)
{
    kh_settings *s = &p->a->settings;
    kh_state *state = &p->a->state;
    kh_space *space = &state->space;
    i64 memories = state->kept.tau.n, mark = p->room->used;
    ints order = take_ints(p->room, memories);
    kh_rank_memories(s, state, &order, p->room);
    i64 lead = order.at[0], aside = set_aside(p, lead, p->limit - apart, known) + apart;
    for (i64 m = 0; m < memories; m++) kh_select_for(p, m, p->limit - aside);
    p->left = p->limit - aside;
    for (i64 rank = 0; s->proper && rank < i_min(i_min(s->k, s->pool), AT(space->picked, lead)); rank++)
        kh_buy(p, AT2(space->chosen, lead, rank), KH_KEPT);
    for (i64 rank = 0; rank < space->chosen.m; rank++)
        for (i64 q = 0; q < memories; q++) {
            i64 m = order.at[q];
            if (rank < AT(space->picked, m) && space->many.at[0] < s->pool)
                kh_buy(p, AT2(space->chosen, m, rank), KH_KEPT);
        }
    keep_bent(p);
    p->left += aside;
    p->room->used = mark;
}
