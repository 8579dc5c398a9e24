/* A price list: what is paid for already, what each feature still costs, what to buy with the money. */
#include "draw.h"
#include "fit.h"

KH_LAYOUT(kh_market, KH_MARKET)
KH_LAYOUT(kh_basket, KH_BASKET)

KH_API void kh_empty_basket(kh_market *shop, kh_basket *held)
{
    for (i64 i = 0; i < held->paid.n; i++) held->paid.at[i] = false;
    for (i64 j = 0; j < held->more.n; j++) {
        i64 cost = 0;
        for (i64 a = AT(shop->first, j); a < AT(shop->first, j + 1); a++)
            cost += AT(shop->units, AT(shop->need, a));
        held->more.at[j] = cost;
    }
}

KH_API i64 kh_take_feature(kh_market *shop, kh_basket *held, i64 j)
{
    i64 cost = AT(held->more, j);
    if (cost <= 0) return cost;
    for (i64 a = AT(shop->first, j); a < AT(shop->first, j + 1); a++) {
        i64 i = AT(shop->need, a);
        if (AT(held->paid, i)) continue;
        held->paid.at[i] = true;
        for (i64 h = AT(shop->start, i); h < AT(shop->start, i + 1); h++)
            AT(held->more, AT(shop->holder, h)) -= shop->units.at[i];
    }
    return cost;
}

kh_basket kh_take_basket(kh_market *shop, kh_room *room)
{
    i64 items = shop->units.n, listed = shop->barred.n;
    kh_basket held = {{TAKE(room, bool, items), items, 1, 1}, take_ints(room, listed)};
    kh_empty_basket(shop, &held);
    return held;
}

i64 kh_cost_of(kh_market *shop, ints *S, kh_room *room)
{
    i64 mark = room->used, cost = 0;
    kh_basket held = kh_take_basket(shop, room);
    for (i64 i = 0; i < S->n; i++) cost += kh_take_feature(shop, &held, S->at[i]);
    room->used = mark;
    return cost;
}

KH_API i64 kh_missing(i64 j, kh_market *shop, bools *paid)
{
    i64 price = 0;
    for (i64 a = AT(shop->first, j); a < AT(shop->first, j + 1); a++) {
        i64 i = AT(shop->need, a);
        price += AT(*paid, i) ? 0 : AT(shop->units, i);
    }
    return price;
}

KH_API void kh_pay(i64 j, kh_market *shop, bools *paid)
{
    for (i64 a = AT(shop->first, j); a < AT(shop->first, j + 1); a++) AT(*paid, AT(shop->need, a)) = true;
}

KH_API i64 kh_buy_all(ints *order, kh_market *shop, bools *paid, i64 left)
{
    for (i64 i = 0; i < order->n; i++) {
        i64 price = kh_missing(order->at[i], shop, paid);
        if (price > left) continue;
        kh_pay(order->at[i], shop, paid);
        left -= price;
    }
    return left;
}

KH_API i64 kh_paid_for(kh_market *shop, bools *paid, ints *out)
{
    i64 n = 0;
    for (i64 j = 0; j < shop->first.n - 1; j++)
        if (kh_missing(j, shop, paid) == 0) AT(*out, n++) = j;
    return n;
}

void kh_any_order(u64 seed, i64 t, i64 purpose, ints *out, kh_room *room)
{
    i64 mark = room->used;
    floats u = take_floats(room, out->n);
    kh_uniforms(seed, t, purpose, &u);
    kh_argsort(&u, out, room);
    room->used = mark;
}

static bools nothing_paid(kh_market *shop, kh_room *room)
{
    bools paid = {TAKE(room, bool, shop->units.n), shop->units.n, 1, 1};
    for (i64 i = 0; i < paid.n; i++) paid.at[i] = false;
    return paid;
}

KH_API i64 kh_fill_up(u64 seed, i64 t, i64 purpose, ints *support, kh_market *shop, ints *out, kh_room *room)
{
    i64 mark = room->used;
    bools paid = nothing_paid(shop, room);
    ints order = take_ints(room, shop->first.n - 1);
    i64 left = kh_buy_all(support, shop, &paid, shop->limit);
    kh_any_order(seed, t, purpose, &order, room);
    kh_buy_all(&order, shop, &paid, left);
    i64 many = kh_paid_for(shop, &paid, out);
    room->used = mark;
    return many;
}

void kh_split_prices(kh_market *shop, floats *parts, kh_room *room)
{
    i64 mark = room->used;
    floats sharing = take_floats(room, shop->units.n);
    for (i64 i = 0; i < sharing.n; i++) sharing.at[i] = 0.0;
    for (i64 a = 0; a < shop->need.n; a++) AT(sharing, shop->need.at[a]) += 1.0;
    for (i64 j = 0; j < parts->n; j++) {
        parts->at[j] = 0.0;
        for (i64 a = AT(shop->first, j); a < AT(shop->first, j + 1); a++) {
            i64 i = shop->need.at[a];
            parts->at[j] += (f64)shop->units.at[i] / sharing.at[i];
        }
    }
    room->used = mark;
}

/* By score, by score per price alone, by score per price if shared items are split: the best first. */
static void order_by(i64 rule, floats *score, kh_market *shop, bools *nobody, floats *split, ints *order,
                     kh_room *room)
{
    i64 mark = room->used, d = score->n;
    floats key = take_floats(room, d);
    for (i64 j = 0; j < d; j++) {
        f64 price = 1.0;
        if (rule == 1) price = f_max(1.0, (f64)kh_missing(j, shop, nobody));
        else if (rule == 2) price = f_max(1e-9, split->at[j]);
        key.at[j] = -score->at[j] / price;
    }
    kh_argsort(&key, order, room);
    room->used = mark;
}

KH_API i64 kh_best_buy(floats *score, kh_market *shop, ints *out, kh_room *room)
{
    i64 mark = room->used, d = score->n, items = shop->units.n;
    bools nobody = nothing_paid(shop, room), best = nothing_paid(shop, room), paid = nothing_paid(shop, room);
    floats split = take_floats(room, shop->first.n - 1);
    ints order = take_ints(room, d);
    f64 found = -1.0;
    kh_split_prices(shop, &split, room);
    for (i64 rule = 0; rule < 3; rule++) {
        f64 total = 0.0;
        order_by(rule, score, shop, &nobody, &split, &order, room);
        for (i64 i = 0; i < items; i++) paid.at[i] = false;
        kh_buy_all(&order, shop, &paid, shop->limit);
        for (i64 j = 0; j < d; j++)
            if (kh_missing(j, shop, &paid) == 0) total += score->at[j];
        if (!(total > found)) continue;
        found = total;
        memcpy(best.at, paid.at, (size_t)items * sizeof(bool));
    }
    i64 many = kh_paid_for(shop, &best, out);
    room->used = mark;
    return many;
}
