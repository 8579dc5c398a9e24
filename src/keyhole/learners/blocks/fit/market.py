"""A price list for compiled code: what is paid for already, and what each feature still costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.problem import Indices

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
