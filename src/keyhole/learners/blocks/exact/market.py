"""What subsets cost: items and who needs them; and models for money, by greedy choice and exchange.

Units are scaled as in `subset.py`; the objective of S is rss(S) + rate * cost(S). Money is whole
units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.core.structs import hold
from keyhole.learners.blocks.exact.slices import kept, to_the_end
from keyhole.problem import Floats, Indices

GAIN, PER_UNIT = 0, 1  # what the greedy choice goes by: gain less lam per unit, or gain per unit


class ItemMarket(NamedTuple):
    """Items in order of how many features need them, and the rules of the search.

    Feature j needs the items needs[starts[j]:starts[j + 1]]; the features that need item i are
    members[firsts[i]:firsts[i + 1]]. At most `limit` units may be spent on at most `most` features;
    a unit costs `rate` of y'y on top of the residual.
    """

    units: Annotated[Indices, "items"]
    starts: Annotated[Indices, "m+1"]
    needs: Annotated[Indices, "uses"]
    firsts: Annotated[Indices, "items+1"]
    members: Annotated[Indices, "uses"]
    limit: int
    most: int
    rate: float


def market_of(
    needs: Sequence[Sequence[int]], units: Sequence[int], limit: int, most: int, rate: float
) -> ItemMarket:
    """The market of features with these needs. Items that the same features need become one."""
    wanted: dict[int, list[int]] = {}
    for j, need in enumerate(needs):
        for i in need:
            wanted.setdefault(i, []).append(j)
    joint: dict[tuple[int, ...], int] = {}
    for i, buyers in wanted.items():
        joint[tuple(buyers)] = joint.get(tuple(buyers), 0) + units[i]
    ordered = sorted(joint, key=lambda features: (len(features), features))
    new_needs: list[list[int]] = [[] for _ in needs]
    for i, features in enumerate(ordered):
        for j in features:
            new_needs[j].append(i)
    prices = np.array([joint[features] for features in ordered], dtype=np.int64)
    rows = *_rows(new_needs), *_rows(ordered)
    return hold(ItemMarket(prices, *rows, limit=int(limit), most=int(most), rate=float(rate)))


def part_of(market: ItemMarket, columns: Indices) -> ItemMarket:
    """The market of some of the features, renumbered; items keep their numbers."""
    needs = [market.needs[market.starts[j] : market.starts[j + 1]].tolist() for j in columns]
    buyers: list[list[int]] = [[] for _ in market.units]
    for j, need in enumerate(needs):
        for i in need:
            buyers[i].append(j)
    starts, flat = _rows(needs)
    firsts, members = _rows(buyers)
    return hold(market._replace(starts=starts, needs=flat, firsts=firsts, members=members))


def limited(market: ItemMarket, limit: int) -> ItemMarket:
    """The same market with another limit."""
    return hold(market._replace(limit=limit))


def _rows(rows: Sequence[Sequence[int]]) -> tuple[Indices, Indices]:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return starts, np.array([x for row in rows for x in row], dtype=np.int64)


def widest(market: ItemMarket) -> int:
    """At least as many as any affordable set has features: shared prices split among who shares."""
    sharing = np.diff(market.firsts)
    parts = np.zeros(len(market.starts) - 1)
    for j in range(len(parts)):
        need = market.needs[market.starts[j] : market.starts[j + 1]]
        parts[j] = (market.units[need] / sharing[need]).sum()
    spent = np.cumsum(np.sort(parts))
    return min(int((spent <= market.limit * (1.0 + 1e-12)).sum()), market.most)


def grown(
    A: Floats, b: Floats, market: ItemMarket, given: Sequence[int] | Indices, style: int, lam: float
) -> tuple[float, Indices]:
    """Complete the given features greedily within the limit; the objective, and the features.

    By gain less lam per unit, and what that leaves by gain alone; or by gain per unit.
    """
    S = np.zeros(len(b), dtype=np.int64)
    S[: len(given)] = given
    size, value = _complete(A, b, market, S, len(given), -1, -1, style, lam)
    if lam > 0.0:
        size, value = _complete(A, b, market, S, size, -1, -1, GAIN, 0.0)
    return value, S[:size]


def exchanged(
    A: Floats, b: Floats, market: ItemMarket, given: Indices, value: float
) -> tuple[float, Indices]:
    """Drop a feature or an item and complete without it, as long as that helps; as `grown`."""
    S = np.zeros(len(b), dtype=np.int64)
    S[: len(given)] = given
    size, value = to_the_end(_exchange, A, b, market, S, len(given), value, kept(0))
    return value, S[:size]


@c_function("kh_complete", "A[m,m] b[m] S[m]", writes="S", room="most*m + 4*m + items", long=True)
def _complete(
    A: Floats, b: Floats, market: ItemMarket, S: Indices, size: int, feature: int, item: int,
    style: int, lam: float,
) -> tuple[int, float]:  # fmt: skip
    raise NotImplementedError


@c_function(
    "kh_exchange",
    "A[m,m] b[m] S[m] kept[.]",
    writes="S kept",
    room="most*m + 5*m + items",
    long=True,
)
def _exchange(
    A: Floats, b: Floats, market: ItemMarket, S: Indices, size: int, value: float, kept: Floats,
    effort: int,
) -> tuple[bool, int, float]:  # fmt: skip
    raise NotImplementedError
