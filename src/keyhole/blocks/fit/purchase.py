"""What to buy with the money for one example: in a random order, or by score and price.

An item is paid once, whichever features need it, and what is fully paid for is read. Amounts are
whole units, so that nothing here is ever a cent above the limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import Seed, uniforms
from keyhole.blocks.fit.market import Market, market
from keyhole.blocks.jit.decorators import inner, kernel, succeeds
from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices, Problem

Paid = NDArray[np.bool_]  # item by item


def shop_of(problem: Problem) -> Market:
    """The market of a problem. Without prices it is empty, and its limit counts features.

    >>> shop = shop_of(Problem(3, 1, 4, prices=[0, 1, 2], panels={"both": (1, [1, 2])}))
    >>> shop.units, shop.first, shop.need, shop.limit
    (array([1, 2, 1]), array([0, 0, 2, 4]), array([0, 2, 1, 2]), 4)
    """
    prices = problem.prices
    if prices is None:
        return market([], [], problem.limit)
    return market(prices.units, prices.needs, problem.limit)


@kernel
def _priced(shop: Market) -> bool:
    return len(shop.first) > 1


@succeeds(_priced)
def priced(shop: Market) -> bool:
    """Whether there are prices."""
    return len(shop.first) > 1


@kernel
def _nothing_paid(shop: Market) -> Paid:
    return np.zeros(len(shop.units), dtype=np.bool_)


@succeeds(_nothing_paid)
def nothing_paid(shop: Market) -> Paid:
    """No item is paid yet."""
    return np.zeros(len(shop.units), dtype=np.bool_)


@c_function("kh_missing", "paid[items]")
@kernel
def missing(j: int, shop: Market, paid: Paid) -> int:
    """What feature j costs when some items are paid already; 0 if and only if all of its are."""
    price = 0
    for a in range(shop.first[j], shop.first[j + 1]):
        if not paid[shop.need[a]]:
            price += shop.units[shop.need[a]]
    return price


@c_function("kh_pay", "paid[items]", writes="paid")
@inner
def pay(j: int, shop: Market, paid: Paid) -> None:
    """Pay what feature j needs."""
    for a in range(shop.first[j], shop.first[j + 1]):
        paid[shop.need[a]] = True


@c_function("kh_buy_all", "order[n] paid[items]", writes="paid")
@kernel
def buy(order: Indices, shop: Market, paid: Paid, left: int) -> int:
    """Buy features one after the other, leaving out what the money left does not buy; what is
    left then.
    """
    for j in order:
        price = missing(j, shop, paid)
        if price <= left:
            pay(j, shop, paid)
            left -= price
    return left


@c_function("kh_paid_for", "paid[items] out[n]", writes="out")
@kernel
def paid_for(shop: Market, paid: Paid, out: Indices) -> int:
    """All features whose items are paid, ascending, free ones included; how many."""
    n = 0
    for j in range(len(shop.first) - 1):
        if missing(j, shop, paid) == 0:
            out[n] = j
            n += 1
    return n


@kernel
def _any_order(seed: Seed, t: int, purpose: int, d: int) -> Indices:
    u = np.empty(d)
    uniforms(seed, t, purpose, u)
    return np.argsort(u, kind="mergesort")


@succeeds(_any_order)
def any_order(seed: Seed, t: int, purpose: int, d: int) -> Indices:
    """The features in a random order, all orders alike."""
    u = np.empty(d)
    uniforms(seed, t, purpose, u)
    return np.argsort(u, kind="stable")


@c_function("kh_fill_up", "support[m] out[n]", writes="out", room="3*listed+items+3")
@kernel
def fill(seed: Seed, t: int, purpose: int, support: Indices, shop: Market, out: Indices) -> int:
    """The support, what fits beside it in a random order, and whatever that pays for, ascending.

    Returns how many. The support must be affordable.
    """
    paid = nothing_paid(shop)
    left = buy(support, shop, paid, shop.limit)
    buy(any_order(seed, t, purpose, len(shop.first) - 1), shop, paid, left)
    return paid_for(shop, paid, out)


@kernel
def _split_prices(shop: Market) -> Floats:
    sharing, parts = np.zeros(len(shop.units)), np.zeros(len(shop.first) - 1)
    for i in shop.need:
        sharing[i] += 1.0
    for j in range(len(parts)):
        for a in range(shop.first[j], shop.first[j + 1]):
            parts[j] += shop.units[shop.need[a]] / sharing[shop.need[a]]
    return parts


@succeeds(_split_prices)
def split_prices(shop: Market) -> Floats:
    """What each feature costs if the price of an item is split among all who need it."""
    parts = np.empty(len(shop.first) - 1)
    _split_into(shop, parts)
    return parts


@c_function("kh_split_prices", "parts[listed]", writes="parts", room="items")
def _split_into(shop: Market, parts: Floats) -> None:
    raise NotImplementedError


@inner
def _worth(shop: Market, paid: Paid, score: Floats) -> float:
    total = 0.0
    for j in range(len(score)):
        if missing(j, shop, paid) == 0:
            total += score[j]
    return total


@c_function("kh_best_buy", "score[listed] out[n]", writes="out", room="4*listed+4*items")
@kernel
def best_buy(score: Floats, shop: Market, out: Indices) -> int:
    """Features of a large total score for the money, ascending; how many.

    The best of three greedy orders: by score, by score per price alone, by score per price if
    shared items are split; each leaves out what does not fit. Where nothing is shared, the total is
    at least half of what is possible: one of them begins with the best of all, another is as good
    as the fractional knapsack but for one feature.
    """
    d, nobody = len(score), nothing_paid(shop)
    split, best, found = _split_prices(shop), nobody, -1.0
    for rule in range(3):
        key = np.empty(d)
        for j in range(d):
            price = 1.0
            if rule == 1:
                price = max(1.0, float(missing(j, shop, nobody)))
            elif rule == 2:
                price = max(1e-9, split[j])
            key[j] = -score[j] / price
        paid = nobody.copy()
        buy(np.argsort(key, kind="mergesort"), shop, paid, shop.limit)
        total = _worth(shop, paid, score)
        if total > found:
            best, found = paid, total
    return paid_for(shop, best, out)
