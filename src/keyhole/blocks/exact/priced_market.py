"""What subsets cost, for kernels: items, who needs them, and what follows once some are settled.

Items and features are each OPEN, IN (bought, used) or OUT (neither can be). Money is whole units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keyhole.blocks.exact.relaxation import IN, OPEN, OUT, States
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Indices


class Market(NamedTuple):
    """Items in order of how many features need them, and the rules of the search.

    Feature j needs the items needs[starts[j]:starts[j + 1]]; the features that need item i are
    members[firsts[i]:firsts[i + 1]]. At most `limit` units may be spent on at most `most` features;
    a unit costs `rate` of y'y on top of the residual.
    """

    units: Indices
    starts: Indices
    needs: Indices
    firsts: Indices
    members: Indices
    limit: int
    most: int
    rate: float


def market_of(
    needs: Sequence[Sequence[int]], units: Sequence[int], limit: int, most: int, rate: float
) -> Market:
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
    return Market(
        np.array([joint[features] for features in ordered], dtype=np.int64),
        *_rows(new_needs),
        *_rows(ordered),
        limit=int(limit),
        most=int(most),
        rate=float(rate),
    )


def part_of(market: Market, columns: Indices) -> Market:
    """The market of some of the features, renumbered; items keep their numbers."""
    needs = [market.needs[market.starts[j] : market.starts[j + 1]].tolist() for j in columns]
    buyers: list[list[int]] = [[] for _ in market.units]
    for j, need in enumerate(needs):
        for i in need:
            buyers[i].append(j)
    starts, flat = _rows(needs)
    firsts, members = _rows(buyers)
    return market._replace(starts=starts, needs=flat, firsts=firsts, members=members)


def _rows(rows: Sequence[Sequence[int]]) -> tuple[Indices, Indices]:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return starts, np.array([x for row in rows for x in row], dtype=np.int64)


def widest(market: Market) -> int:
    """At least as many as any affordable set has features: shared prices split among who shares."""
    sharing = np.diff(market.firsts)
    parts = np.zeros(len(market.starts) - 1)
    for j in range(len(parts)):
        need = market.needs[market.starts[j] : market.starts[j + 1]]
        parts[j] = (market.units[need] / sharing[need]).sum()
    spent = np.cumsum(np.sort(parts))
    return min(int((spent <= market.limit * (1.0 + 1e-12)).sum()), market.most)


@kernel
def missing(market: Market, paid: States, j: int) -> int:
    """The units that feature j still costs when some items are IN; -1 if one of them is OUT."""
    total = 0
    for p in range(market.starts[j], market.starts[j + 1]):
        i = market.needs[p]
        if paid[i] == OUT:
            return -1
        if paid[i] == OPEN:
            total += market.units[i]
    return total


@kernel
def pay(market: Market, paid: States, j: int) -> int:
    """Buy all items of feature j; the units that takes."""
    total = 0
    for p in range(market.starts[j], market.starts[j + 1]):
        i = market.needs[p]
        if paid[i] == OPEN:
            total += market.units[i]
            paid[i] = IN
    return total


@kernel
def follow(market: Market, state: States, paid: States) -> tuple[int, int]:
    """Settle what follows from what is settled; units and features left, -1 if impossible.

    Features that are IN pay their items, those that cannot be paid are OUT, items that nobody may
    still need are OUT. Where `most` allows all features, whatever is paid for is IN.
    """
    m, all_welcome = len(state), market.most >= len(state)
    left, room = -1, -1
    again = True
    while again:
        again = False
        left, room = market.limit, market.most
        for j in range(m):
            if state[j] == IN:
                room -= 1
                pay(market, paid, j)
                if missing(market, paid, j) < 0:
                    return -1, -1
        for i in range(len(paid)):
            if paid[i] == IN:
                left -= market.units[i]
        if left < 0 or room < 0:
            return -1, -1
        for j in range(m):
            if state[j] != OPEN:
                continue
            cost = missing(market, paid, j)
            if cost < 0 or cost > left or room == 0:
                state[j] = OUT
                again = True
            elif cost == 0 and all_welcome:
                state[j] = IN
                again = True
        for i in range(len(paid)):
            if paid[i] == OPEN:
                wanted = False
                for p in range(market.firsts[i], market.firsts[i + 1]):
                    wanted |= state[market.members[p]] == OPEN
                if not wanted or market.units[i] > left:
                    paid[i] = OUT
                    again = True
    return left, room
