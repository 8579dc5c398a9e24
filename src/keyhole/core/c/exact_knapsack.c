/* What features can bring at most for the money that is left, each item's price shared out among its members. */

/* Each unit costs lam, each feature mu, and an item's price is shared out among its open members in
   proportion to what they bring, which pays it in full or uses them up. Whatever lam, mu and the shares are,
   it holds. */
#include "exact.h"

/* Fills rest, price and slack; the sum of rest, the units of items paid in full, how many features stay. For
   all S of the node: sum of v over S <= lam * cost(S) + mu |S| + sum of rest (all open ones), where cost
   counts items that are not paid yet. */
static f64 share_out(kh_item_market *market, kh_point *node, f64 lam, f64 mu, f64 *spent, i64 *many)
{
    i64 m = node->v.n;
    const int8_t *restrict state = node->state.at;
    f64 *restrict rest = node->rest.at, *restrict price = node->price.at;
    for (i64 j = 0; j < m; j++) {
        rest[j] = state[j] == OPEN ? f_max(node->v.at[j] - mu, 0.0) : 0.0;
        price[j] = mu;
    }
    *spent = 0.0;
    *many = 0;
    for (i64 i = 0; i < node->paid.n; i++) {
        node->slack.at[i] = 0.0;
        if (node->paid.at[i] != OPEN) continue;
        const i64 *first = market->members.at + market->firsts.at[i],
                  *end = market->members.at + market->firsts.at[i + 1];
        f64 cap = lam * (f64)market->units.at[i], total = 0.0;
        i64 n = 0;
        for (const i64 *j = first; j < end; j++) {
            if (state[*j] == OPEN) {
                total += rest[*j];
                n++;
            }
        }
        f64 left = total > cap ? (total - cap) / total : 0.0;
        for (const i64 *j = first; j < end; j++) {
            if (state[*j] == OPEN) {
                price[*j] += total > 0.0 ? cap * rest[*j] / total : cap / (f64)n;
                rest[*j] *= left;
            }
        }
        node->slack.at[i] = f_max(cap - total, 0.0);
        if (total > cap) *spent += (f64)market->units.at[i];
    }
    f64 total = 0.0;
    for (i64 j = 0; j < m; j++) {
        total += rest[j];
        *many += rest[j] > 0.0;
    }
    return total;
}

/* The least, over lam >= rate, of (lam - rate) left + sum of rest; lam, and how many stay. It is convex and
   piecewise linear where nothing is shared: tangents from both sides meet. */
static f64 at_price(kh_item_market *market, kh_point *node, f64 left, f64 mu, f64 hint, f64 *lam, i64 *many)
{
    i64 count;
    f64 rate = market->rate, spent, value = share_out(market, node, rate, mu, &spent, many), best = value;
    *lam = rate;
    if (spent <= left) return value;
    f64 low = 0.0, low_value = value, low_slope = left - spent;
    f64 high = f_max(hint - rate, 1e-3 * value / (left + 1.0)), high_value = value, high_slope = 0.0;
    bool closed = false;
    for (i64 turn = 0; turn < 40; turn++) {
        f64 x = high;
        if (closed) {
            x = (low_value - high_value + high_slope * high - low_slope * low) / (high_slope - low_slope);
            if (!(low + 1e-3 * (high - low) < x && x < high - 1e-3 * (high - low))) x = 0.5 * (low + high);
        }
        value = share_out(market, node, rate + x, mu, &spent, &count);
        value += x * left;
        if (value < best) {
            best = value;
            *lam = rate + x;
            *many = count;
        }
        if (spent > left) {
            low = x;
            low_value = value;
            low_slope = left - spent;
            if (!closed) high *= 4.0;
        } else {
            closed = true;
            high = x;
            high_value = value;
            high_slope = left - spent;
        }
        if (closed && high - low < 1e-7 * high) break;
    }
    return best;
}

/* At least what v brings for so many units and features; the node is left at the prices that say so. */
KH_API void kh_least(kh_item_market *market, kh_point *node, f64 left, i64 places, f64 hint_lam, f64 hint_mu,
                     f64 *value, f64 *lam, f64 *mu)
{
    i64 many;
    f64 spent;
    *value = at_price(market, node, left, 0.0, hint_lam, lam, &many);
    *mu = 0.0;
    if (many > places) {
        f64 low = 0.0, high = 0.0;
        for (i64 j = 0; j < node->v.n; j++)
            if (node->state.at[j] == OPEN) high = f_max(high, node->v.at[j]);
        f64 now = 0.0 < hint_mu && hint_mu < high ? hint_mu : 0.5 * high;
        for (i64 turn = 0; turn < 16; turn++) {
            f64 at, new = at_price(market, node, left, now, *lam, &at, &many);
            new += now * (f64)places;
            if (new < *value) {
                *value = new;
                *lam = at;
                *mu = now;
            }
            if (many > places)
                low = now;
            else
                high = now;
            now = 0.5 * (low + high);
        }
    }
    share_out(market, node, *lam, *mu, &spent, &many);
}
