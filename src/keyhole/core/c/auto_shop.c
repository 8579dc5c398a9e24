/* What AutoLearner buys where features have prices: what is kept, what is explored. */
#include "auto.h"

enum { ASIDE = 8, COSTS = 80 }; /* these numbers stand in buy.py too */
enum { SELDOM = 4, BEGINNING = 64, LATER = 64, HALF = 2 };
#define DISPLACE 0.5
#define BOLD 1.0
#define FIRST_RATE 1e-3
#define LEAST_RATE 1e-5
#define UNSPENT 0.8
#define OPTIMISM 0.7
enum { DEAR = KH_PURPOSE + 1 };

/* What memory m would keep; the money that is left, and whether there was too little of it. */
i64 kh_select_for(kh_purchase *p, i64 m, i64 money, f64 rate, bool *was_short)
{
    kh_space *space = &p->a->state.space;
    kh_selecting into = kh_writing(space, m);
    i64 left = 0, too_little = 0;
    kh_empty_basket(p->shop, &p->held);
    kh_state *state = &p->a->state;
    f64 threshold = AT(p->a->settings.thresholds, m);
    kh_select_priced_into(&state->kept, m, threshold, &into, p->shop, &p->held, money, rate,
                          &AT(space->picked, m), &AT(space->noise, m), &left, &too_little, p->room);
    kh_name_chosen(state, m);
    if (was_short) *was_short = too_little;
    return left;
}

/* What the features that memory m would keep promise together. */
f64 kh_gain_for(kh_purchase *p, i64 m, i64 money, f64 rate)
{
    kh_space *space = &p->a->state.space;
    f64 gain = 0.0;
    kh_select_for(p, m, money, rate, NULL);
    for (i64 rank = 0; rank < space->picked.at[m]; rank++) gain += AT2(space->gains, m, rank);
    return gain;
}

/* Whether a batch explores where exploring has batches for itself: often at the beginning, and while a
   memory that forgets leads; else when the number is a square, and once in LATER. */
static bool explores(i64 number, i64 lead)
{
    if (number < BEGINNING || lead != KH_LONGEST_MEMORY) return number % SELDOM == 0;
    i64 root = (i64)sqrt((f64)number);
    return number % LATER == 0 || root * root == number || (root + 1) * (root + 1) == number;
}

/* The money that explores, unless that is too dear: enough for a feature, if half the limit is. */
static i64 usual_share(kh_spending *spending, i64 limit)
{
    i64 share = kh_floor(limit, ASIDE);
    return share < spending->cheapest && spending->cheapest <= kh_floor(limit, HALF) ? spending->cheapest : share;
}

/* Where money is dear: how much of it explores, and the rate at which the leader keeps more. */
static i64 plan(kh_purchase *p, i64 lead, i64 aside, f64 *chosen_rate)
{
    f64 rate = p->a->state.rate.at[0], whole = kh_gain_for(p, lead, p->limit, rate);
    f64 other = rate > 0.0 ? kh_gain_for(p, lead, p->limit, 0.0) : whole;
    if (other > KH_MORE * whole) rate = 0.0, whole = other;
    f64 lost = whole - kh_gain_for(p, lead, p->limit - aside, rate);
    if (lost * COSTS > whole) aside = explores(p->number, lead) ? kh_floor(p->limit, HALF) : 0;
    *chosen_rate = rate;
    return aside;
}

/* The rate rises while something is left for want of money, and falls when much is unspent. */
static void adapt(kh_state *state, f64 noise, i64 limit, i64 money, i64 unspent, bool was_short)
{
    f64 unit = noise / (f64)i_max(limit, 1), *rate = state->rate.at;
    if (*rate <= 0.0) *rate = FIRST_RATE * unit;
    else if (was_short) *rate = f_min(1.1 * *rate, 1e300);
    else if ((f64)(money - unspent) < UNSPENT * (f64)money) *rate = f_max(0.9 * *rate, LEAST_RATE * unit);
}

/* What each feature promises; -1 for those that are not looked at, where they are too many. */
static void sample(kh_purchase *p, i64 m, f64 optimism, floats *score)
{
    kh_settings *s = &p->a->settings;
    kh_space *space = &p->a->state.space;
    if (s->seats == s->d) {
        kh_judge_all(p->a, 2 * p->number, m, optimism, score, p->room);
        return;
    }
    for (i64 j = 0; j < s->d; j++) score->at[j] = -1.0;
    floats some = some_floats(space->score.at, kh_draw_candidates(p->a, p->number));
    kh_judge_candidates(p->a, 2 * p->number, m, optimism, &some);
    for (i64 i = 0; i < some.n; i++) AT(*score, space->candidates.at[i]) = some.at[i];
    for (i64 i = 0; i < s->width; i++) {
        i64 j = kh_unread_at(p->a, i);
        if (j >= 0) AT(*score, j) = KH_NEVER * (2.0 - (f64)i / (f64)s->width);
    }
}

/* Now and then a feature that exploring cannot pay for comes first, the most promising one. */
static i64 displace(kh_purchase *p, i64 aside)
{
    kh_settings *s = &p->a->settings;
    i64 mark = p->room->used, first = -1;
    if (!(kh_uniform(s->seed, p->number, DEAR, 0) < DISPLACE / sqrt((f64)p->number))) return 0;
    floats score = take_floats(p->room, s->d);
    sample(p, KH_LONGEST_MEMORY, BOLD, &score);
    for (i64 j = 0; j < s->d; j++) {
        i64 more = AT(p->held.more, j);
        bool dear = aside < more && more <= p->limit && !AT(p->shop->barred, j);
        if (dear && (first < 0 || score.at[j] > score.at[first])) first = j;
    }
    p->room->used = mark;
    if (first < 0) return 0;
    p->a->state.space.why.at[first] = KH_EXPLORED;
    return kh_take_feature(p->shop, &p->held, first);
}

/* Marks what is kept; the money that is left for exploring. By rank, at the same rank the memory that
   did best of late first. */
static i64 keep(kh_purchase *p, bool quiet, bool learn)
{
    kh_state *state = &p->a->state;
    kh_space *space = &state->space;
    i64 mark = p->room->used, memories = state->kept.tau.n, limit = p->limit, spent = 0;
    ints order = take_ints(p->room, memories);
    kh_rank_memories(&p->a->settings, state, &order, p->room);
    bool fixed = p->spending->rate > 0.0, was_short = false;
    i64 lead = order.at[0], usual = usual_share(p->spending, limit), aside = fixed || quiet ? 0 : usual;
    f64 rate = fixed ? p->spending->rate : state->rate.at[0];
    i64 unspent = kh_select_for(p, lead, limit - aside, rate, &was_short);
    bool dear = rate > FIRST_RATE * AT(space->noise, lead) / (f64)i_max(limit, 1);
    if ((was_short || dear) && !fixed) {
        aside = plan(p, lead, usual, &rate);
        if (quiet) aside = 0;
        unspent = kh_select_for(p, lead, limit - aside, rate, &was_short);
    }
    i64 money = limit - aside;
    if (learn && !fixed && aside <= usual)
        adapt(state, space->noise.at[lead], limit, money, unspent, was_short);
    for (i64 q = 1; q < memories; q++) kh_select_for(p, order.at[q], money, rate, NULL);
    kh_clear_all_marks(space);
    kh_empty_basket(p->shop, &p->held);
    if (!fixed && !quiet) spent = displace(p, aside);
    for (i64 rank = 0; rank < space->chosen.m; rank++)
        for (i64 q = 0; q < memories; q++) {
            if (rank >= AT(space->picked, order.at[q])) continue;
            i64 j = AT2(space->chosen, order.at[q], rank);
            if (AT(space->why, j) == KH_KEPT || spent + AT(p->held.more, j) > money) continue;
            space->why.at[j] = KH_KEPT;
            spent += kh_take_feature(p->shop, &p->held, j);
        }
    p->room->used = mark;
    return limit - spent;
}

/* All that is left goes to what promises most beyond its price, what was never read first. */
static void explore(kh_purchase *p, i64 m, i64 left)
{
    kh_space *space = &p->a->state.space;
    i64 mark = p->room->used, d = p->a->settings.d;
    f64 rate = p->a->state.rate.at[0];
    floats scores = take_floats(p->room, d);
    sample(p, m, p->a->settings.optimism, &scores);
    for (i64 j = 0; j < d; j++)
        if (space->why.at[j] != KH_UNREAD || AT(p->shop->barred, j)) scores.at[j] = -INFINITY;
    for (;;) {
        f64 best = -INFINITY;
        i64 v = -1;
        for (i64 j = 0; j < d; j++) {
            if (!(scores.at[j] > best)) continue; /* a price only takes from it, and few get past here */
            i64 more = AT(p->held.more, j);
            f64 score = scores.at[j] - rate * (f64)more;
            bool can = 0 < more && more <= left && space->why.at[j] == KH_UNREAD;
            if (can && score > best) v = j, best = score;
        }
        if (v < 0) break;
        space->why.at[v] = KH_EXPLORED;
        left -= kh_take_feature(p->shop, &p->held, v);
    }
    p->room->used = mark;
}

/* What is spent on an unpaid item and those of its members that might be worth their own price. */
static i64 explore_panel(kh_purchase *p, floats *score, i64 i, i64 left)
{
    kh_market *shop = p->shop;
    i64 fee = shop->units.at[i], spent = 0;
    f64 rate = p->spending->rate, surplus = -rate * (f64)fee;
    for (i64 h = AT(shop->start, i); h < AT(shop->start, i + 1); h++) {
        i64 j = AT(shop->holder, h);
        surplus += f_max(0.0, AT(*score, j) - rate * (f64)(AT(p->held.more, j) - fee));
    }
    if (!(surplus > 0.0)) return 0;
    for (i64 h = shop->start.at[i]; h < shop->start.at[i + 1]; h++) {
        i64 j = shop->holder.at[h], more = p->held.more.at[j], own = p->held.paid.at[i] ? more : more - fee;
        if (!(score->at[j] > rate * (f64)own && spent + more <= left)) continue;
        AT(p->a->state.space.why, j) = KH_EXPLORED;
        spent += kh_take_feature(shop, &p->held, j);
    }
    return spent;
}

/* What might gain more than it costs; of an item that several need, what all of them might. */
static void explore_if_worth(kh_purchase *p, i64 left)
{
    kh_space *space = &p->a->state.space;
    kh_market *shop = p->shop;
    i64 mark = p->room->used, d = p->a->settings.d, m = KH_LONGEST_MEMORY;
    f64 rate = p->spending->rate, noise = AT(space->noise, m);
    floats score = take_floats(p->room, d);
    sample(p, m, OPTIMISM, &score);
    for (i64 j = 0; j < d; j++) {
        if (score.at[j] < KH_NEVER) score.at[j] = f_min(score.at[j], noise);
        if (space->why.at[j] != KH_UNREAD || AT(shop->barred, j)) score.at[j] = 0.0;
    }
    for (i64 j = 0; j < d; j++) {
        i64 more = AT(p->held.more, j);
        if (!(score.at[j] > rate * (f64)more && 0 < more && more <= left)) continue;
        space->why.at[j] = KH_EXPLORED;
        left -= kh_take_feature(shop, &p->held, j);
    }
    for (i64 i = 0; i < shop->units.n; i++)
        if (!p->held.paid.at[i] && AT(shop->start, i + 1) - shop->start.at[i] > 1)
            left -= explore_panel(p, &score, i, left);
    p->room->used = mark;
}

/* Marks what is read and why; how many features that is: whatever is paid for is read. */
i64 kh_go_shopping(kh_purchase *p, i64 lead, bool learn)
{
    kh_space *space = &p->a->state.space;
    i64 mark = p->room->used, many = 0;
    p->held = kh_take_basket(p->shop, p->room);
    bool quiet = kh_trusts_history(&p->a->state) && p->number % KH_LOOK_OUT != 0;
    i64 left = keep(p, quiet, learn);
    if (p->spending->rate > 0.0) explore_if_worth(p, left);
    else explore(p, p->number % 2 == 0 ? KH_LONGEST_MEMORY : lead, left);
    for (i64 j = 0; j < space->why.n; j++) {
        if (space->why.at[j] == KH_UNREAD && AT(p->held.more, j) == 0 && !AT(p->shop->barred, j))
            space->why.at[j] = KH_EXPLORED;
        many += space->why.at[j] != KH_UNREAD;
    }
    p->room->used = mark;
    return many;
}
