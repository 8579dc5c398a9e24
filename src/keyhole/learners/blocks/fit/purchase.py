"""Purchase of features by price: what each still costs, what to buy with the money for one example.

An item is paid once, whichever features need it, and what is fully paid for is read. Amounts are
whole units, so that nothing here is ever a cent above the limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.draw.philox import Seed
from keyhole.problem import Floats, Indices, Problem

Flags = NDArray[np.bool_]


class Market(NamedTuple):
    """Items at whole prices, the items that each feature needs, and the features each item serves.

    Feature j needs the items need[first[j]:first[j + 1]]; item i serves the features
    holder[start[i]:start[i + 1]]. `barred`: features that cannot be had. `limit`: what may be spent
    on one example. Without items there are no prices.
    """

    units: Annotated[Indices, "items"]
    first: Annotated[Indices, "listed+1"]
    need: Annotated[Indices, "needs"]
    start: Annotated[Indices, "items+1"]
    holder: Annotated[Indices, "needs"]
    barred: Annotated[Flags, "listed"]
    limit: int


def market(
    units: Sequence[int], needs: Sequence[Sequence[int]], limit: int, barred: Sequence[int] = ()
) -> Market:
    """The market of a price list.

    >>> shop = market([2, 5], [[], [0], [0, 1]], limit=6)
    >>> shop.holder.tolist(), shop.start.tolist()
    ([1, 2, 2], [0, 2, 3])
    """
    served: list[list[int]] = [[] for _ in units]
    for j, need in enumerate(needs):
        for i in need:
            served[i].append(j)
    off = np.zeros(len(needs), dtype=np.bool_)
    off[list(barred)] = True
    listed = (_ends(needs), _flat(needs), _ends(served), _flat(served))
    return Market(np.array(units, dtype=np.int64), *listed, off, limit)


def _ends(lists: Sequence[Sequence[int]]) -> Indices:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _flat(lists: Sequence[Sequence[int]]) -> Indices:
    return np.array([number for some in lists for number in some], dtype=np.int64)


class Basket(NamedTuple):
    """What was bought so far: items that are paid for, and what each feature costs on top."""

    paid: Annotated[Flags, "items"]
    more: Annotated[Indices, "listed"]


def basket(shop: Market) -> Basket:
    """An empty basket."""
    paid, more = np.empty(len(shop.units), dtype=np.bool_), np.empty(len(shop.barred), np.int64)
    held = Basket(paid, more)
    empty(shop, held)
    return held


@c_function("kh_empty_basket")
def empty(shop: Market, held: Basket) -> None:
    """Take everything out of a basket."""
    raise NotImplementedError


@c_function("kh_take_feature")
def take(shop: Market, held: Basket, j: int) -> int:
    """Buy the items that feature j still needs; what they cost."""
    raise NotImplementedError


Paid = NDArray[np.bool_]  # item by item


def shop_of(problem: Problem, *, listed: bool = False) -> Market:
    """The market of a problem; where features are counted, unless `listed`, it has no price list.

    Its limit is then how many are read.

    >>> shop = shop_of(Problem(3, 1, 4, prices=[0, 1, 2], panels={"both": (1, [1, 2])}))
    >>> shop.units, shop.first, shop.need, shop.limit
    (array([1, 2, 1]), array([0, 0, 2, 4]), array([0, 2, 1, 2]), 4)
    """
    prices = problem.prices
    if prices is None or (problem.counted and not listed):
        return market([], [], problem.reads)
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
