/* What subsets cost: items, who needs them, and what follows once some are settled. */
#include "exact.h"

KH_LAYOUT(kh_item_market, KH_ITEM_MARKET)

/* The units that feature j still costs when some items are IN; -1 if one of them is OUT. */
i64 kh_exact_missing(kh_item_market *market, bytes *paid, i64 j)
{
    i64 total = 0;
    for (i64 p = AT(market->starts, j); p < AT(market->starts, j + 1); p++) {
        i64 i = AT(market->needs, p);
        if (AT(*paid, i) == OUT) return -1;
        if (paid->at[i] == OPEN) total += market->units.at[i];
    }
    return total;
}

/* Buys all items of feature j; the units that takes. */
i64 kh_exact_pay(kh_item_market *market, bytes *paid, i64 j)
{
    i64 total = 0;
    for (i64 p = AT(market->starts, j); p < AT(market->starts, j + 1); p++) {
        i64 i = AT(market->needs, p);
        if (AT(*paid, i) == OPEN) {
            total += market->units.at[i];
            paid->at[i] = IN;
        }
    }
    return total;
}

static bool wanted(kh_item_market *market, bytes *state, i64 i)
{
    for (i64 p = AT(market->firsts, i); p < AT(market->firsts, i + 1); p++)
        if (AT(*state, AT(market->members, p)) == OPEN) return true;
    return false;
}

/* Settles what follows from what is settled; units and features left, -1 if impossible. Features that are IN
   pay their items, those that cannot be paid are OUT, items that nobody may still need are OUT. Where `most`
   allows all features, whatever is paid for is IN. */
KH_API void kh_exact_follow(kh_item_market *market, bytes *state, bytes *paid, i64 *left, i64 *places)
{
    i64 m = state->n;
    bool all_welcome = market->most >= m, possible = true;
    for (bool again = true; again && possible;) {
        again = false;
        *left = market->limit;
        *places = market->most;
        for (i64 j = 0; j < m && possible; j++) {
            if (state->at[j] != IN) continue;
            --*places;
            kh_exact_pay(market, paid, j);
            possible = kh_exact_missing(market, paid, j) >= 0;
        }
        for (i64 i = 0; i < paid->n; i++)
            if (paid->at[i] == IN) *left -= market->units.at[i];
        possible &= *left >= 0 && *places >= 0;
        for (i64 j = 0; j < m && possible; j++) {
            if (state->at[j] != OPEN) continue;
            i64 cost = kh_exact_missing(market, paid, j);
            if (cost < 0 || cost > *left || *places == 0) {
                state->at[j] = OUT;
                again = true;
            } else if (cost == 0 && all_welcome) {
                state->at[j] = IN;
                again = true;
            }
        }
        for (i64 i = 0; i < paid->n && possible; i++) {
            if (paid->at[i] == OPEN && (!wanted(market, state, i) || market->units.at[i] > *left)) {
                paid->at[i] = OUT;
                again = true;
            }
        }
    }
    if (!possible) *left = *places = -1;
}
