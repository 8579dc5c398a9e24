/* Models for money: greedy choice within a limit, exchanges, and relaxations made whole. */
#include "exact.h"

static const f64 NO_GAIN = 1e-14; /* of y'y: rounding */

/* How good it is to get this gain for so many units; at most 0 if it is not. */
static f64 worthwhile(kh_item_market *market, f64 gain, i64 cost, f64 lam, i64 style)
{
    f64 net = gain - market->rate * (f64)cost;
    if (gain <= NO_GAIN || net <= 0.0) return 0.0;
    return style == PER_UNIT ? net / f_max((f64)cost, 1e-3) : net - lam * (f64)cost;
}

/* What the members of a shared item bring together, as if they did not overlap, and the best of them.
   Members are counted that pay for their own items; -1 where the item cannot be bought. */
static f64 bundle(kh_item_market *market, bytes *paid, const f64 *gains, i64 i, i64 left, f64 lam, i64 *best)
{
    i64 price = market->units.at[i];
    f64 total = -(market->rate + lam) * (f64)price, most = 0.0;
    *best = -1;
    for (i64 p = market->firsts.at[i]; p < market->firsts.at[i + 1]; p++) {
        i64 j = market->members.at[p], cost = kh_exact_missing(market, paid, j);
        if (cost < price || cost > left || gains[j] <= NO_GAIN) continue;
        f64 net = gains[j] - (market->rate + lam) * (f64)(cost - price);
        if (net > 0.0) total += net;
        if (net > most) {
            most = net;
            *best = j;
        }
    }
    return total;
}

/* The feature to buy next, -1 if none is worth it. What is paid for comes first if it may. */
static i64 next_best(kh_item_market *market, bytes *paid, const f64 *gains, i64 m, i64 left, f64 lam,
                     i64 style)
{
    i64 best = -1, j;
    f64 top = 0.0;
    bool all_welcome = market->most >= m;
    for (j = 0; j < m; j++) {
        if (gains[j] <= NO_GAIN) continue;
        i64 cost = kh_exact_missing(market, paid, j);
        if (cost < 0 || cost > left) continue;
        f64 score = worthwhile(market, gains[j], cost, lam, style);
        if (cost == 0 && all_welcome) score += 1e12;
        if (score > top) {
            best = j;
            top = score;
        }
    }
    for (i64 i = 0; i < paid->n && style == GAIN; i++) {
        if (paid->at[i] != OPEN || market->firsts.at[i + 1] - market->firsts.at[i] < 2) continue;
        f64 score = bundle(market, paid, gains, i, left, lam, &j);
        if (score > top && j >= 0) {
            best = j;
            top = score;
        }
    }
    return best;
}

/* Completes S[:size] greedily within the limit, in place; without a feature and an item, -1 for none. */
KH_API void kh_complete(floats *G, floats *c, kh_item_market *market, ints *S, i64 size, i64 feature,
                        i64 item, i64 style, f64 lam, i64 *new_size, f64 *objective, kh_room *room)
{
    i64 mark = room->used, m = c->n, most = i_min(market->most, m), left = market->limit, n = 0;
    floats L = {TAKE(room, f64, most * m), most, m, 1}, D = take_floats(room, m), r = take_floats(room, m);
    bytes paid = {TAKE(room, int8_t, market->units.n), market->units.n, 1, 1};
    bool *used = TAKE(room, bool, m);
    f64 *gains = TAKE(room, f64, m), value = 1.0;
    kh_untouched(G, c, &D, &r);
    memset(paid.at, OPEN, (size_t)paid.n);
    memset(used, 0, (size_t)m);
    if (item >= 0) AT(paid, item) = OUT;
    if (feature >= 0) used[feature] = true;
    for (i64 p = 0; p < size; p++) {
        i64 i = AT(*S, p);
        f64 gain = kh_include(G, &L, n, i, &D, &r);
        if (gain < 0.0) continue;
        i64 cost = kh_exact_pay(market, &paid, i);
        left -= cost;
        value += market->rate * (f64)cost - gain;
        used[i] = true;
        S->at[n++] = i;
    }
    while (n < market->most) {
        for (i64 j = 0; j < m; j++)
            gains[j] = D.at[j] >= DEPENDENT && !used[j] ? r.at[j] * r.at[j] / D.at[j] : 0.0;
        i64 i = next_best(market, &paid, gains, m, left, lam, style);
        if (i < 0) break;
        i64 cost = kh_exact_pay(market, &paid, i);
        left -= cost;
        value += market->rate * (f64)cost - kh_include(G, &L, n, i, &D, &r);
        used[i] = true;
        AT(*S, n++) = i;
    }
    room->used = mark;
    *new_size = n;
    *objective = value;
}

/* Writes S[:size] without a feature, or without those that need an item; how many are left. */
static i64 without(kh_item_market *market, ints *S, i64 size, i64 feature, i64 item, ints *kept)
{
    i64 n = 0;
    for (i64 p = 0; p < size; p++) {
        i64 j = S->at[p];
        bool drop = j == feature;
        for (i64 u = market->starts.at[j]; u < market->starts.at[j + 1]; u++)
            drop |= market->needs.at[u] == item;
        if (!drop) AT(*kept, n++) = j;
    }
    return n;
}

typedef struct {
    i64 begun, turn, better, size;
    f64 value;
} exchanging;

/* Drops a feature or an item and completes without it, as long as that helps. */
KH_API void kh_exchange(floats *G, floats *c, kh_item_market *market, ints *S, i64 size, f64 value,
                        floats *kept, i64 effort, i64 *done, i64 *new_size, f64 *objective, kh_room *room)
{
    i64 mark = room->used, m = c->n;
    exchanging *now = (exchanging *)kept->at;
    KH_CHECK(kept->n * 8 >= (i64)sizeof *now);
    ints trial = take_ints(room, m);
    if (!now->begun) *now = (exchanging){.begun = 1, .size = size, .value = value};
    *done = false;
    while (effort > 0 && !*done) {
        i64 turn = now->turn++, feature = turn < m ? turn : -1, item = turn < m ? -1 : turn - m;
        if (turn == m + market->units.n) {
            *done = !now->better;
            now->turn = now->better = 0;
            continue;
        }
        /* An item of one member is the same as that. */
        if (item >= 0 && AT(market->firsts, item + 1) - market->firsts.at[item] < 2) continue;
        if (without(market, S, now->size, feature, item, &trial) == now->size) continue;
        for (i64 style = GAIN; style <= PER_UNIT; style++) {
            i64 left = without(market, S, now->size, feature, item, &trial), n;
            f64 new;
            kh_complete(G, c, market, &trial, left, feature, item, style, 0.0, &n, &new, room);
            effort -= (n * n + 1) * m;
            if (new < now->value - 1e-13) {
                memcpy(S->at, trial.at, 8 * (size_t)n);
                now->size = n;
                now->value = new;
                now->better = 1;
                break;
            }
        }
    }
    room->used = mark;
    *new_size = now->size;
    *objective = now->value;
}

/* Writes what is IN, then OPEN features by falling z as far as they can be paid; how many. Those of which z
   is not above 0 are left out, and of equal ones the first comes first. */
KH_API i64 kh_rounded(kh_item_market *market, kh_point *node, ints *S, kh_room *room)
{
    i64 mark = room->used, m = S->n, left = market->limit, n = 0, some = 0;
    bytes paid = {TAKE(room, int8_t, market->units.n), market->units.n, 1, 1};
    i64 *order = TAKE(room, i64, m);
    memset(paid.at, OPEN, (size_t)paid.n);
    for (i64 j = 0; j < m; j++) {
        if (node->state.at[j] == IN) {
            left -= kh_exact_pay(market, &paid, j);
            AT(*S, n++) = j;
        } else if (node->state.at[j] == OPEN && node->z.at[j] > 0.0) {
            i64 p = some++;
            for (; p > 0 && node->z.at[order[p - 1]] < node->z.at[j]; p--) order[p] = order[p - 1];
            order[p] = j;
        }
    }
    for (i64 p = 0; p < some && n < market->most; p++) {
        if (kh_exact_missing(market, &paid, order[p]) > left) continue;
        left -= kh_exact_pay(market, &paid, order[p]);
        AT(*S, n++) = order[p];
    }
    room->used = mark;
    return n;
}
