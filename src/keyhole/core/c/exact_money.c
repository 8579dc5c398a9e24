/* Nodes of the search for the best subset for money: their relaxation, and what it settles. */
#include "exact.h"

typedef struct {
    i64 begun, relaxing, step, left, places;
    f64 bound, lam, mu;                          /* of the node, and the prices to go on from */
    f64 found, best_lam, best_mu, try_lam, try_mu; /* of the relaxation that is under way */
    floats g, price, edge, z;
    kh_point trial;
} buying;

/* Copies what a trial found to the node. */
static void keep_best(kh_point *node, kh_point *trial)
{
    size_t m = 8 * (size_t)node->q.n;
    memcpy(node->q.at, trial->q.at, m);
    memcpy(node->v.at, trial->v.at, m);
    memcpy(node->rest.at, trial->rest.at, m);
    memcpy(node->price.at, trial->price.at, m);
    memcpy(node->slack.at, trial->slack.at, 8 * (size_t)node->slack.n);
}

/* A multiplier after one step: up if more than there is was taken, down if less. */
static f64 stepped(f64 extra, f64 now, f64 goal, f64 found)
{
    if (goal <= 0.0) return extra;
    if (extra <= 0.0) return found;
    return extra * f_min(4.0, f_max(0.25, now / goal));
}

/* Fills z, how much of each open feature the relaxation has; the units and the features of z. */
static f64 shares(kh_item_market *market, kh_split *split, kh_point *node, floats *q, floats *price,
                  floats *z, f64 *many)
{
    f64 spent = 0.0;
    *many = 0.0;
    for (i64 j = 0; j < q->n; j++) {
        f64 x = q->at[j], e = split->e.at[j];
        z->at[j] = 0.0;
        if (node->state.at[j] == OPEN && x != 0.0) {
            z->at[j] = x * x * e >= price->at[j] ? 1.0 : fabs(x) * sqrt(e / price->at[j]);
            *many += z->at[j];
        }
    }
    for (i64 i = 0; i < node->paid.n; i++) {
        if (node->paid.at[i] != OPEN) continue;
        f64 most = 0.0;
        for (i64 p = market->firsts.at[i]; p < market->firsts.at[i + 1]; p++)
            most = f_max(most, z->at[market->members.at[p]]);
        spent += most * (f64)market->units.at[i];
    }
    return spent;
}

/* Pushes the bound of a node up; whether it is done. The node is left at the best point. Prices that are
   shared follow what the members bring; lam and mu rise while the relaxation takes more than there is. */
static bool relax(kh_split *split, kh_item_market *market, kh_point *node, f64 goal, i64 rounds, buying *now,
                  i64 *effort)
{
    i64 m = node->q.n;
    kh_point *trial = &now->trial;
    f64 rate = market->rate, left = (f64)now->left, places = (f64)now->places;
    f64 spent = rate * (f64)(market->limit - now->left), value, lam, mu;
    if (!now->relaxing) {
        memcpy(trial->q.at, node->q.at, 8 * (size_t)m);
        kh_remainder(split, &node->state, &trial->q, &now->g, effort);
        f64 base = kh_base(split, &node->state, &trial->q, &now->g, &trial->v, true);
        kh_least(market, trial, left, now->places, now->lam, now->mu, &value, &now->best_lam, &now->best_mu);
        now->found = base + spent - value;
        keep_best(node, trial);
        now->try_lam = now->lam > 0.0 ? f_max(now->lam, rate) : now->best_lam;
        now->try_mu = now->lam > 0.0 ? now->mu : now->best_mu;
        memcpy(now->price.at, trial->price.at, 8 * (size_t)m);
        now->relaxing = 1;
        now->step = 0;
    }
    for (; now->step < rounds; now->step++) {
        if (*effort <= 0) return false;
        kh_converge(split, &node->state, &now->price, &now->edge, &trial->q, &now->g, effort);
        f64 base = kh_base(split, &node->state, &trial->q, &now->g, &trial->v, true);
        kh_least(market, trial, left, now->places, now->try_lam, now->try_mu, &value, &lam, &mu);
        *effort -= 100 * m;
        f64 gained = base + spent - value - now->found;
        if (gained > 0.0) {
            now->found = base + spent - value;
            now->best_lam = lam;
            now->best_mu = mu;
            keep_best(node, trial);
            if (now->found >= goal) break;
        }
        f64 before = now->try_lam, many;
        f64 taken = shares(market, split, node, &trial->q, &now->price, &now->z, &many);
        bool fits = fabs(taken - left) < 0.01 * left || (before <= rate && taken <= left);
        if (now->step > 2 && fits && gained < 0.005 * (goal - now->found)) break;
        now->try_lam = rate + stepped(before - rate, taken, left, lam - rate);
        now->try_mu = stepped(now->try_mu, many, places, mu);
        if (now->try_mu < 1e-15) now->try_mu = 0.0;
        /* The trial's price is at the prices found; half of it, so that shares do not swing. */
        f64 scale = lam > 0.0 ? now->try_lam / lam : 1.0, old = before > 0.0 ? now->try_lam / before : 1.0;
        for (i64 j = 0; j < m; j++) {
            f64 fresh = (trial->price.at[j] - mu) * scale;
            now->price.at[j] = now->try_mu + 0.5 * (f_max(now->price.at[j] - now->try_mu, 0.0) * old + fresh);
        }
    }
    now->relaxing = 0;
    now->lam = now->best_lam;
    now->mu = now->best_mu;
    return true;
}

/* Settles what every subset below `goal` must or must not have; whether that matters. A subset with item i is
   above the bound by the item's slack, one without it by the rest of its members; one with feature j by the
   slack of all its items, one without it by its rest. */
static bool fix(kh_item_market *market, kh_point *node, f64 mu, f64 bound, f64 goal)
{
    bool touched = false;
    for (i64 i = 0; i < node->paid.n; i++) {
        if (node->paid.at[i] != OPEN) continue;
        f64 lost = 0.0;
        for (i64 p = market->firsts.at[i]; p < market->firsts.at[i + 1]; p++)
            lost += node->rest.at[market->members.at[p]];
        if (bound + node->slack.at[i] >= goal) {
            node->paid.at[i] = OUT;
        } else if (bound + lost >= goal) {
            node->paid.at[i] = IN;
            touched = true;
        }
    }
    for (i64 j = 0; j < node->state.n; j++) {
        if (node->state.at[j] != OPEN) continue;
        f64 dear = f_max(mu - node->v.at[j], 0.0);
        for (i64 p = market->starts.at[j]; p < market->starts.at[j + 1]; p++)
            dear += node->slack.at[market->needs.at[p]];
        if (bound + dear >= goal) {
            node->state.at[j] = OUT;
            touched |= node->q.at[j] != 0.0;
        } else if (bound + node->rest.at[j] >= goal) {
            node->state.at[j] = IN;
            touched = true;
        }
    }
    return touched;
}

/* No subset of a node beats all its columns together, at the price of what is paid. */
static f64 without_relaxation(floats *G, floats *c, kh_item_market *market, kh_point *node, i64 left,
                              kh_room *room)
{
    i64 mark = room->used, n = 0;
    ints live = take_ints(room, c->n);
    for (i64 j = 0; j < c->n; j++)
        if (node->state.at[j] != OUT) live.at[n++] = j;
    f64 value = kh_rss(G, c, &live, n, room) + market->rate * (f64)(market->limit - left);
    room->used = mark;
    return value;
}

/* What follows from what is settled; whether there is anything to decide. */
static bool undecided(kh_item_market *market, kh_point *node, buying *now)
{
    kh_exact_follow(market, &node->state, &node->paid, &now->left, &now->places);
    if (now->left < 0) memset(node->state.at, OUT, (size_t)node->state.n);
    for (i64 j = 0; j < node->state.n; j++)
        if (node->state.at[j] == OPEN) return true;
    return false;
}

static buying *resumed(floats *kept, kh_point *node)
{
    i64 m = node->q.n;
    kh_room own = {(char *)kept->at, 8 * kept->n, 0};
    buying *now = TAKE(&own, buying, 1);
    now->g = take_floats(&own, m);
    now->price = take_floats(&own, m);
    now->edge = take_floats(&own, m);
    now->z = take_floats(&own, m);
    now->trial = *node;
    now->trial.q = take_floats(&own, m);
    now->trial.v = take_floats(&own, m);
    now->trial.rest = take_floats(&own, m);
    now->trial.price = take_floats(&own, m);
    now->trial.slack = take_floats(&own, node->paid.n);
    return now;
}

KH_API void kh_settle_priced(floats *G, kh_split *split, kh_item_market *market, kh_point *whole, f64 lam,
                             f64 mu, f64 goal, i64 rounds, floats *kept, i64 effort, i64 *done, f64 *bound,
                             f64 *last_lam, f64 *last_mu, i64 *branch, kh_room *room)
{
    i64 m = split->c.n;
    kh_point part = kh_part_of(whole, m), *node = &part;
    f64 many;
    buying *now = resumed(kept, node);
    if (!now->begun) {
        now->begun = 1;
        now->bound = -INFINITY;
        now->lam = lam;
        now->mu = mu;
    }
    bool usable = true, some = true;
    for (i64 j = 0; j < m; j++) usable &= split->e.at[j] > 0.0;
    *branch = -1;
    *done = true;
    for (bool again = true; again;) {
        if (!now->relaxing) {
            memset(node->z.at, 0, 8 * (size_t)m);
            some = undecided(market, node, now);
            if (!some) break;
        }
        if (!usable) {
            now->found = without_relaxation(G, &split->c, market, node, now->left, room);
        } else if (relax(split, market, node, goal, rounds, now, &effort)) {
            shares(market, split, node, &node->q, &node->price, &node->z, &many);
        } else {
            *done = false;
            return;
        }
        now->bound = f_max(now->bound, now->found);
        if (now->bound >= goal) break;
        again = usable && fix(market, node, now->mu, now->found, goal);
    }
    *bound = INFINITY;
    *last_lam = now->lam;
    *last_mu = now->mu;
    if (some && now->bound < goal && undecided(market, node, now)) {
        *bound = now->bound;
        *branch = kh_branch_on(market, node, &split->c);
    }
}
