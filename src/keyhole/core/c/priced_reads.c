/* How budgeted experts draw when features have prices: who is affordable, the bins, what a loss counts. */
#include "draw.h"
#include "fit.h"
#include "greedy.h"

/* p over the features that the money left buys; all of them alike if it has no weight there. */
KH_API void kh_chances(floats *p, kh_market *shop, bools *paid, i64 left, floats *out)
{
    f64 total = 0.0;
    i64 able = 0;
    for (i64 j = 0; j < p->n; j++) {
        AT(*out, j) = -1.0;
        if (kh_missing(j, shop, paid) > left) continue;
        out->at[j] = p->at[j];
        total += p->at[j];
        able++;
    }
    for (i64 j = 0; j < p->n; j++) {
        if (out->at[j] < 0.0) out->at[j] = 0.0;
        else out->at[j] = total > 0.0 ? out->at[j] / total : 1.0 / (f64)able;
    }
}

/* What feature j costs beside what is paid, once or in a bin. */
static i64 extra(i64 j, kh_market *shop, bools *paid, const bool *more)
{
    i64 price = 0;
    for (i64 a = AT(shop->first, j); a < AT(shop->first, j + 1); a++) {
        i64 i = AT(shop->need, a);
        price += AT(*paid, i) || more[i] ? 0 : AT(shop->units, i);
    }
    return price;
}

KH_API i64 kh_pack(kh_market *shop, bools *paid, i64 left, ints *bin_of, bools *filled, kh_room *room)
{
    i64 d = bin_of->n, items = filled->m, mark = room->used, many = 0;
    floats price = take_floats(room, d);
    ints order = take_ints(room, d), spare = take_ints(room, d);
    for (i64 j = 0; j < d; j++) price.at[j] = -(f64)kh_missing(j, shop, paid);
    kh_argsort(&price, &order, room);
    for (i64 q = 0; q < d; q++) {
        i64 j = order.at[q], best = -1, least = 0;
        AT(*bin_of, j) = -1;
        if (-price.at[j] > (f64)left) continue;
        for (i64 b = 0; b < many; b++) {
            i64 more = extra(j, shop, paid, ROW(*filled, b));
            if (more <= spare.at[b] && (best < 0 || more < least)) best = b, least = more;
        }
        if (best < 0) {
            best = many++;
            least = kh_missing(j, shop, paid);
            spare.at[best] = left;
            memset(ROW(*filled, best), 0, (size_t)items * sizeof(bool));
        }
        bin_of->at[j] = best;
        spare.at[best] -= least;
        bools bin = {ROW(*filled, best), items, 1, 1};
        kh_pay(j, shop, &bin);
    }
    room->used = mark;
    return many;
}

KH_API void kh_take_turn(i64 j, i64 explores, kh_market *shop, bools *paid, ints *bin_of, bools *filled,
                         bools *after)
{
    memcpy(after->at, paid->at, (size_t)paid->n * sizeof(bool));
    kh_pay(j, shop, after);
    if (!explores) return;
    const bool *bin = ROW(*filled, AT(*bin_of, j));
    for (i64 i = 0; i < after->n; i++) after->at[i] = after->at[i] || bin[i];
}

/* Whether paying for f pays for e too. */
static bool paid_by(i64 e, i64 f, kh_market *shop, bools *paid)
{
    for (i64 a = AT(shop->first, e); a < AT(shop->first, e + 1); a++) {
        bool found = AT(*paid, AT(shop->need, a));
        for (i64 b = AT(shop->first, f); b < AT(shop->first, f + 1); b++)
            found = found || shop->need.at[a] == shop->need.at[b];
        if (!found) return false;
    }
    return true;
}

/* With which probability a run gets to see e. */
static f64 seen(i64 e, floats *p, kh_market *shop, bools *paid, ints *bin_of, bools *filled, f64 explores)
{
    if (kh_missing(e, shop, paid) == 0) return 1.0;
    f64 by_bin = 0.0, by_itself = 0.0;
    for (i64 b = 0; b < filled->n; b++) {
        if (extra(e, shop, paid, ROW(*filled, b)) != 0) continue;
        for (i64 f = 0; f < p->n; f++)
            if (bin_of->at[f] == b) by_bin += p->at[f];
    }
    for (i64 f = 0; f < p->n; f++)
        if (p->at[f] > 0.0 && paid_by(e, f, shop, paid)) by_itself += p->at[f];
    return explores * by_bin + (1.0 - explores) * by_itself;
}

KH_API void kh_weigh_turn(floats *p, kh_market *shop, bools *before, bools *after, ints *bin_of,
                          bools *filled, f64 explores, floats *out)
{
    for (i64 e = 0; e < p->n; e++) {
        AT(*out, e) = 0.0;
        if (AT(*bin_of, e) < 0 || kh_missing(e, shop, after) != 0) continue;
        f64 q = seen(e, p, shop, before, bin_of, filled, explores);
        out->at[e] = q > 0.0 ? 1.0 / q : 0.0;
    }
}

static i64 cost(kh_market *shop, bools *paid)
{
    i64 total = 0;
    for (i64 i = 0; i < paid->n; i++) total += paid->at[i] ? shop->units.at[i] : 0;
    return total;
}

KH_API i64 kh_draw_in_turn(u64 seed, i64 round, floats *p, kh_market *shop, f64 share, ints *j,
                           floats *chance, floats *weight, ints *S, bools *filled, kh_room *room)
{
    i64 n = p->n, d = p->m, items = shop->units.n, mark = room->used;
    bools paid = {TAKE(room, bool, items), items, 1, 1}, after = {TAKE(room, bool, items), items, 1, 1};
    ints some = take_ints(room, d); /* bins of the features, then their order */
    bool done = false;
    memset(paid.at, 0, (size_t)items * sizeof(bool));
    for (i64 i = 0; i < n; i++) {
        i64 left = shop->limit - cost(shop, &paid);
        floats its = floats_at(*p, i), chances = floats_at(*chance, i), weights = floats_at(*weight, i);
        kh_chances(&its, shop, &paid, left, &chances);
        i64 played = AT(*j, i) = kh_categorical(kh_uniform(seed, round, 2 * i, 0), &chances);
        if (done) {
            for (i64 e = 0; e < d; e++) weights.at[e] = 0.0;
            kh_pay(played, shop, &paid);
            continue;
        }
        f64 hazard = share / ((f64)n - share * (f64)i);
        bools packed = *filled;
        packed.n = kh_pack(shop, &paid, left, &some, filled, room);
        done = kh_uniform(seed, round, 2 * i + 1, 0) < hazard;
        kh_take_turn(played, done, shop, &paid, &some, &packed, &after);
        kh_weigh_turn(&chances, shop, &paid, &after, &some, &packed, hazard, &weights);
        memcpy(paid.at, after.at, (size_t)items * sizeof(bool));
    }
    kh_any_order(seed, round, 2 * n, &some, room);
    kh_buy_all(&some, shop, &paid, shop->limit - cost(shop, &paid));
    i64 many = kh_paid_for(shop, &paid, S);
    room->used = mark;
    return many;
}
