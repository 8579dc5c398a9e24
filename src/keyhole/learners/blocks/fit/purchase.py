"""What to buy with the money for one example: in a random order, or by score and price.

An item is paid once, whichever features need it, and what is fully paid for is read. Amounts are
whole units, so that nothing here is ever a cent above the limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.keyed import Seed
from keyhole.learners.blocks.fit.market import Market, market
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


def priced(shop: Market) -> bool:
    """Whether there are prices."""
    return len(shop.first) > 1


def nothing_paid(shop: Market) -> Paid:
    """No item is paid yet."""
    return np.zeros(len(shop.units), dtype=np.bool_)


@c_function("kh_missing", "paid[items]")
def missing(j: int, shop: Market, paid: Paid) -> int:
    """What feature j costs when some items are paid already; 0 if and only if all of its are."""
    raise NotImplementedError


@c_function("kh_pay", "paid[items]", writes="paid")
def pay(j: int, shop: Market, paid: Paid) -> None:
    """Pay what feature j needs."""
    raise NotImplementedError


@c_function("kh_buy_all", "order[n] paid[items]", writes="paid")
def buy(order: Indices, shop: Market, paid: Paid, left: int) -> int:
    """Buy features one after the other, leaving out what the money left does not buy; what is
    left then.
    """
    raise NotImplementedError


@c_function("kh_paid_for", "paid[items] out[n]", writes="out")
def paid_for(shop: Market, paid: Paid, out: Indices) -> int:
    """All features whose items are paid, ascending, free ones included; how many."""
    raise NotImplementedError


@c_function("kh_fill_up", "support[m] out[n]", writes="out", room="3*listed+items+3")
def fill(seed: Seed, t: int, purpose: int, support: Indices, shop: Market, out: Indices) -> int:
    """The support, what fits beside it in a random order, and whatever that pays for, ascending.

    Returns how many. The support must be affordable.
    """
    raise NotImplementedError


@c_function("kh_best_buy", "score[listed] out[n]", writes="out", room="4*listed+4*items")
def best_buy(score: Floats, shop: Market, out: Indices) -> int:
    """Features of a large total score for the money, ascending; how many.

    The best of three greedy orders: by score, by score per price alone, by score per price if
    shared items are split; each leaves out what does not fit. Where nothing is shared, the total is
    at least half of what is possible: one of them begins with the best of all, another is as good
    as the fractional knapsack but for one feature.
    """
    raise NotImplementedError
