"""What to buy with the money for one example: in a random order, or by score and price.

An item is paid once, whichever features need it, and what is fully paid for is read. Amounts are
whole units, so that nothing here is ever a cent above the limit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import Seed, uniforms
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.problem import Floats, Indices, Problem

Paid = NDArray[np.bool_]  # item by item


class Till(NamedTuple):
    """The prices of a problem for compiled code, and the money for one example, in units.

    Feature j needs the items items[first[j]], ..., items[first[j + 1] - 1]. Without prices `first`
    is empty, and the limit is the number of features that may be read.
    """

    units: Indices
    first: Indices
    items: Indices
    limit: int


def till_of(problem: Problem) -> Till:
    """The till of a problem.

    >>> till = till_of(Problem(3, 1, 4, prices=[0, 1, 2], panels={"both": (1, [1, 2])}))
    >>> till.units, till.first, till.items, till.limit
    (array([1, 2, 1]), array([0, 0, 2, 4]), array([0, 2, 1, 2]), 4)
    """
    prices = problem.prices
    if prices is None:
        nothing = np.empty(0, dtype=np.int64)
        return Till(nothing, nothing, nothing, problem.limit)
    lengths = [0, *(len(need) for need in prices.needs)]
    items = [i for need in prices.needs for i in need]
    return Till(
        np.array(prices.units, dtype=np.int64),
        np.cumsum(np.array(lengths, dtype=np.int64)),
        np.array(items, dtype=np.int64),
        problem.limit,
    )


@kernel
def priced(till: Till) -> bool:
    """Whether there are prices."""
    return len(till.first) > 0


@kernel
def nothing_paid(till: Till) -> Paid:
    """No item is paid yet."""
    return np.zeros(len(till.units), dtype=np.bool_)


@kernel
def missing(j: int, till: Till, paid: Paid) -> int:
    """What feature j costs when some items are paid already; 0 if and only if all of its are."""
    price = 0
    for a in range(till.first[j], till.first[j + 1]):
        if not paid[till.items[a]]:
            price += till.units[till.items[a]]
    return price


@inner
def pay(j: int, till: Till, paid: Paid) -> None:
    """Pay what feature j needs."""
    for a in range(till.first[j], till.first[j + 1]):
        paid[till.items[a]] = True


@kernel
def buy(order: Indices, till: Till, paid: Paid, left: int) -> int:
    """Buy features one after the other, leaving out what the money left does not buy; what is
    left then.
    """
    for j in order:
        price = missing(j, till, paid)
        if price <= left:
            pay(j, till, paid)
            left -= price
    return left


@kernel
def paid_for(till: Till, paid: Paid, out: Indices) -> int:
    """All features whose items are paid, ascending, free ones included; how many."""
    n = 0
    for j in range(len(till.first) - 1):
        if missing(j, till, paid) == 0:
            out[n] = j
            n += 1
    return n


@kernel
def any_order(seed: Seed, t: int, purpose: int, d: int) -> Indices:
    """The features in a random order, all orders alike."""
    u = np.empty(d)
    uniforms(seed, t, purpose, u)
    return np.argsort(u, kind="mergesort")


@kernel
def fill(seed: Seed, t: int, purpose: int, support: Indices, till: Till, out: Indices) -> int:
    """The support, what fits beside it in a random order, and whatever that pays for, ascending.

    Returns how many. The support must be affordable.
    """
    paid = nothing_paid(till)
    left = buy(support, till, paid, till.limit)
    buy(any_order(seed, t, purpose, len(till.first) - 1), till, paid, left)
    return paid_for(till, paid, out)


@kernel
def split_prices(till: Till) -> Floats:
    """What each feature costs if the price of an item is split among all who need it."""
    sharing, parts = np.zeros(len(till.units)), np.zeros(len(till.first) - 1)
    for i in till.items:
        sharing[i] += 1.0
    for j in range(len(parts)):
        for a in range(till.first[j], till.first[j + 1]):
            parts[j] += till.units[till.items[a]] / sharing[till.items[a]]
    return parts


@inner
def _worth(till: Till, paid: Paid, score: Floats) -> float:
    total = 0.0
    for j in range(len(score)):
        if missing(j, till, paid) == 0:
            total += score[j]
    return total


@kernel
def best_buy(score: Floats, till: Till, out: Indices) -> int:
    """Features of a large total score for the money, ascending; how many.

    The best of three greedy orders: by score, by score per price alone, by score per price if
    shared items are split; each leaves out what does not fit. Where nothing is shared, the total is
    at least half of what is possible: one of them begins with the best of all, another is as good
    as the fractional knapsack but for one feature.
    """
    d, nobody = len(score), nothing_paid(till)
    split, best, found = split_prices(till), nobody, -1.0
    for rule in range(3):
        key = np.empty(d)
        for j in range(d):
            price = 1.0
            if rule == 1:
                price = max(1.0, float(missing(j, till, nobody)))
            elif rule == 2:
                price = max(1e-9, split[j])
            key[j] = -score[j] / price
        paid = nobody.copy()
        buy(np.argsort(key, kind="mergesort"), till, paid, till.limit)
        total = _worth(till, paid, score)
        if total > found:
            best, found = paid, total
    return paid_for(till, best, out)
