"""Forward selection under prices, step by step against the rule written out with sets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from keyhole.learners.blocks.fit.purchase import Market, basket, market
from keyhole.learners.blocks.fit.stepwise_selection import (
    MIN_NEW_PART,
    Selecting,
    select,
    select_into,
)
from keyhole.learners.blocks.sums.memories import Memories, memories, remember
from keyhole.problem import Floats

D, THRESHOLD = 9, 1.5
UNITS = [3, 5, 2, 7, 4, 6, 1]  # five of their own, a panel's fee, a draw
NEEDS: list[list[int]] = [[0], [1, 5], [5], [2, 5], [3], [4], [], [6], [0, 6]]


def learnt(seed: int) -> Memories:
    """Sums of rows that read everything: exact, so that steps can be worked out from the data."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, D)) @ (np.eye(D) + 0.3 * rng.standard_normal((D, D)))
    y = X @ (rng.standard_normal(D) * (rng.random(D) < 0.7)) + rng.standard_normal(120)
    kept = memories(D, [math.inf])
    remember(kept, np.arange(D), X - X.mean(axis=0), y - y.mean())
    return kept


def run(kept: Memories, shop: Market, money: int, rate: float) -> tuple[list[int], int]:
    """What is chosen, and the money left."""
    gains, r, square, ready = np.empty(D), np.empty(D), np.empty(D), np.empty(D, dtype=np.bool_)
    room = Selecting(np.empty(D, dtype=np.int64), gains, r, square, np.empty((D + 3, D)), ready)
    args = kept, 0, THRESHOLD, room, shop, basket(shop), money, rate
    size, _, left = select_into(*args)
    return room.chosen[:size].tolist(), left


def excesses(kept: Memories, chosen: Sequence[int]) -> Floats:
    """excess^2 of every feature given those chosen, by least squares on the moments; 0 if none."""
    G, c, n = kept.G[0], kept.c[0], float(kept.n[0, -1])
    V = [*chosen, D]
    P = np.linalg.inv(G[np.ix_(V, V)])
    gains, noise = np.zeros(D), max(kept.yy[0] - c[V] @ P @ c[V], 1e-3 * kept.yy[0]) / n
    for j in set(range(D)) - set(chosen):
        new = (G[j, j] - G[j, V] @ P @ G[V, j]) / G[j, j]
        r = (c[j] - G[j, V] @ P @ c[V]) / math.sqrt(n * G[j, j])
        if new > MIN_NEW_PART:
            excess = abs(r) / math.sqrt(new) - THRESHOLD * math.sqrt(noise / n)
            gains[j] = max(excess, 0.0) ** 2
    return gains


def by_rule(kept: Memories, money: int, rate: float, *, shared: bool = True) -> list[int]:
    """The rule with sets. shared=False is the broken twin: panels are judged by one member."""
    chosen, items = list[int](), set[int]()
    while True:
        gains = excesses(kept, chosen)
        cost = [sum(UNITS[i] for i in set(need) - items) for need in NEEDS]
        fits = [j for j in range(D) if gains[j] > 0 and cost[j] <= money]
        options = [(gains[j] - rate * cost[j], j) for j in fits]
        for i in set(range(len(UNITS))) - items if shared else ():
            members = [j for j in fits if i in NEEDS[j]]
            if sum(i in need for need in NEEDS) < 2:
                continue
            own = {j: cost[j] - UNITS[i] for j in members}
            members.sort(key=lambda j: -gains[j] / own[j] if own[j] else -math.inf)
            for m in range(1, len(members) + 1):
                some = members[:m]
                if UNITS[i] + sum(own[j] for j in some) <= money:
                    score = sum(gains[j] - rate * own[j] for j in some) - rate * UNITS[i]
                    options.append((score, max(some, key=lambda j: gains[j])))
        score, v = max(options, default=(0.0, -1))
        if score <= 0.0:
            return chosen
        money -= cost[v]
        items |= set(NEEDS[v])
        chosen.append(v)


CASES = [(seed, money, rate) for seed in range(12) for money in (4, 9, 14, 40)
         for rate in (0.0, 0.02, 0.2)]  # fmt: skip


def test_every_step_is_the_rule() -> None:
    shop = market(UNITS, NEEDS, limit=0)
    caught = 0
    for seed, money, rate in CASES:
        kept = learnt(seed)
        chosen, left = run(kept, shop, money, rate)
        assert chosen == by_rule(kept, money, rate)
        items = {i for j in chosen for i in NEEDS[j]}
        assert left == money - sum(UNITS[i] for i in items) >= 0
        caught += chosen != by_rule(kept, money, rate, shared=False)
    assert caught >= 3  # judging panels by their members makes a difference


@pytest.mark.parametrize("seed", range(4))
def test_without_prices_it_is_plain_forward_selection(seed: int) -> None:
    kept, shop = learnt(seed), market([], [[]] * D, limit=0)
    assert run(kept, shop, 0, 0.3)[0] == select(kept, 0, D, THRESHOLD).chosen.tolist()


def test_what_cannot_be_had_is_not_chosen() -> None:
    kept = learnt(0)
    free = run(kept, market(UNITS, NEEDS, limit=0), 40, 0.0)[0]
    without = run(kept, market(UNITS, NEEDS, 0, barred=free[:1]), 40, 0.0)[0]
    assert free[0] not in without
    assert len(without) > 0
