"""The search behind `best_for_money`: relax, settle, branch on items; best bound first."""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.exact.priced_kernels import GAIN, PER_UNIT, complete, exchange, rounded
from keyhole.blocks.exact.priced_market import Market, part_of, widest
from keyhole.blocks.exact.priced_relaxation import PricedNode
from keyhole.blocks.exact.priced_settle import settle_priced
from keyhole.blocks.exact.relaxation import IN, OUT, Split
from keyhole.blocks.exact.splits import levels, split_off
from keyhole.blocks.exact.subset_kernels import TOLERANCE
from keyhole.problem import Floats, Indices

ROOM = 2.5e8  # bytes of open nodes; beyond, the search goes deep first and the heap stops growing
SINGLES = 12  # features that are each forced into one of the first models
EXCHANGED = 4  # of the first models, the best so many are improved by exchange
NONE = (-1, -1)


@dataclass(slots=True, eq=False)
class Node:
    """A part of the search: states of features and items, and the relaxation to start from."""

    state: NDArray[np.int8]
    paid: NDArray[np.int8]
    q: Floats
    hints: tuple[float, float] = (0.0, 0.0)
    bound: float = -math.inf
    branch: int = -1

    def child(self, side: int) -> Node:
        """This node with its branching feature or item IN or OUT."""
        state, paid = self.state.copy(), self.paid.copy()
        if self.branch < len(state):
            state[self.branch] = side
        else:
            paid[self.branch - len(state)] = side
        return Node(state, paid, self.q.copy(), self.hints, self.bound)

    def key(self, deep: bool) -> float:
        """What the heap sorts by: the bound, or the number of open features."""
        return float((self.state == 0).sum()) if deep else self.bound


class PricedSearch:
    """Branch and bound in scaled units: A has unit diagonal, b = products with y, y'y = 1.

    The incumbent S has the objective `best`; no subset is below `lower`. Better ones have only
    columns in `alive`: G, c, the market, the split R, e and all nodes are of these columns.
    """

    def __init__(self, A: Floats, b: Floats, market: Market) -> None:
        m = len(b)
        self.A, self.b, self.whole, self.market = A, b, market, market
        self.S: Indices = np.zeros(0, dtype=np.int64)
        self.best, self.lower, self.nodes = 1.0, -math.inf, 0
        self.G, self.c = A, b
        self.alive: Indices = np.arange(m, dtype=np.int64)
        self.R, self.e = A, np.zeros_like(b)  # no split yet
        self.top = Node(
            np.zeros(m, dtype=np.int8), np.zeros(len(market.units), dtype=np.int8), np.zeros_like(b)
        )

    def first(self, start: list[int]) -> None:
        """Incumbents: greedy choice by gain, gain per unit and gain less a price, then exchange."""
        limit = max(self.market.limit, 1)
        strong = np.argsort(-(self.b**2), kind="stable")[:SINGLES].tolist()
        tries = [(given, GAIN, 0.0) for given in ([], start, *([j] for j in strong))]
        tries += [(given, PER_UNIT, 0.0) for given in ([], *([j] for j in strong))]
        tries += [([], GAIN, price / limit) for price in (0.01, 0.03, 0.1, 0.3, 1.0)]
        found = [self._grown(*one) for one in tries if self._affordable(one[0])]
        found.sort(key=lambda one: one[0])
        for value, S in found[:EXCHANGED]:
            trial = np.concatenate([S, np.zeros(len(self.b) - len(S), dtype=np.int64)])
            size, value = exchange(self.A, self.b, self.market, trial, len(S), value)
            if value < self.best:
                self.best, self.S = value, trial[:size]

    def tighten(self) -> None:
        """Where money is part of the objective, nothing better costs more than this."""
        if self.market.rate > 0.0:
            all_together = 1.0 - float(self.b @ np.linalg.lstsq(self.A, self.b, rcond=None)[0])
            most = (self.best - all_together + 1e-9) / self.market.rate
            if most < self.market.limit:
                self.whole = self.market = self.market._replace(limit=max(math.ceil(most), 0))

    def _grown(self, given: list[int], style: int, lam: float) -> tuple[float, Indices]:
        S = np.zeros(len(self.b), dtype=np.int64)
        S[: len(given)] = given
        size, value = complete(self.A, self.b, self.market, S, len(given), NONE, style, lam)
        if lam > 0.0:
            size, value = complete(self.A, self.b, self.market, S, size, NONE, GAIN, 0.0)
        return value, S[:size]

    def _affordable(self, given: list[int]) -> bool:
        starts, market = self.market.starts, self.market
        items = {int(i) for j in given for i in market.needs[starts[j] : starts[j + 1]]}
        return len(given) <= market.most and market.units[[*items]].sum() <= market.limit

    def settle(self, node: Node, rounds: int) -> float:
        """Bound one node and try its relaxation, rounded, as a model; infinite when done."""
        m, goal, z = len(self.c), self.best - TOLERANCE, np.zeros_like(self.c)
        v, rest, price = np.zeros((3, m))
        slack = np.zeros(len(node.paid))
        arrays = PricedNode(node.state, node.paid, node.q, v, rest, price, slack)
        low, lam, mu, node.branch = settle_priced(
            self.G, Split(self.R, self.e, self.c), self.market, arrays, node.hints, goal, rounds, z
        )
        node.hints = lam, mu
        self.nodes += 1
        node.bound = max(node.bound, low)
        if (node.state != OUT).any():
            S = np.zeros(m, dtype=np.int64)
            size = rounded(self.market, node.state, z, S)
            size, value = complete(self.G, self.c, self.market, S, size, NONE, GAIN, 0.0)
            if value < self.best:
                size, value = exchange(self.G, self.c, self.market, S, size, value)
                self.best, self.S = value, self.alive[S[:size]]
        return node.bound

    def root(self, deadline: float) -> bool:
        """Bound the root, drop columns no better subset has, and again; whether it is solved.

        As in `Search.root`: the gains of the relaxation per unit of e say where the next split
        should put its diagonal.
        """
        weight = np.zeros_like(self.b)
        for turn in range(12):
            live = self.top.state != OUT
            self.keep(live)
            weight = weight[live]
            if not live.any():
                self.lower = self.best
                return True
            if turn == 0 or not live.all():
                values, vectors = np.linalg.eigh(self.G)
                k = max(widest(self.market), 1)
            if turn == 0:
                # No subset beats all columns together. Directions below 1e-12 are rounding.
                solid = values > 1e-12
                self.lower = 1.0 - float(((vectors.T @ self.c)[solid] ** 2 / values[solid]).sum())
                thetas = levels(values, k)
            before = self.lower
            gains: list[tuple[float, float, Floats]] = []
            for theta in thetas:
                split = split_off(values, vectors, k, theta, weight if turn else None)
                if split is not None:
                    bound, gain = self.resplit(*split)
                    gains.append((bound, theta, gain))
            self.lower = max([self.lower, *(bound for bound, _, _ in gains)])
            if self.lower >= self.best - TOLERANCE:
                return True
            if not gains or time.monotonic() > deadline:
                return False
            _, theta, gain = max(gains, key=lambda found: found[0])
            thetas = [theta]
            weight += np.sqrt(gain / max(gain.max(), 1e-300)) + 0.1
            stuck = (self.top.state == OUT).mean() < 0.05
            if turn > 1 and stuck and self.lower - before < 0.02 * (self.best - before):
                return False
        return False

    def keep(self, live: NDArray[np.bool_]) -> None:
        """Forget the other columns. A part of a valid split is a valid split."""
        if live.all():
            return
        self.alive = self.alive[live]
        self.market = part_of(self.whole, self.alive)
        self.top.state, self.top.q = self.top.state[live], self.top.q[live]
        self.G = np.ascontiguousarray(self.A[np.ix_(self.alive, self.alive)])
        self.c = self.b[self.alive]
        self.R = np.ascontiguousarray(self.R[np.ix_(live, live)])
        self.e = self.e[live]

    def resplit(self, R: Floats, e: Floats) -> tuple[float, Floats]:
        """Bound the root with another split, keep the better one; the bound and its gains per e."""
        old = self.R, self.e
        self.R, self.e = R, e
        # The states are shared: what one split settles is settled.
        node = Node(self.top.state, self.top.paid, np.zeros_like(self.c))
        self.settle(node, 60)
        if node.bound > self.top.bound:
            self.top = node
        else:
            self.R, self.e = old
        # At the relaxation's solution e_j q_j / z_j = (c - Rq)_j.
        free = (node.state != OUT) & (node.state != IN) & (node.q != 0.0)
        pull = np.abs(self.c - R @ node.q)
        z = np.where(free, np.minimum(e * np.abs(node.q) / np.maximum(pull, 1e-300), 1.0), 1.0)
        return node.bound, node.q**2 * (1.0 - z) / np.maximum(z, 1e-300)

    def run(self, deadline: float) -> bool:
        """Search below the root, best bound first, until the deadline; whether it is solved."""
        self.top.bound = self.lower
        heap: list[tuple[float, int, Node]] = []
        count, deep = 1, False
        room = ROOM / (9 * len(self.c) + len(self.top.paid) + 500)
        if time.monotonic() >= deadline or self.settle(self.top, 12) < math.inf:
            heap = [(self.top.key(deep), 0, self.top)]
        while heap and time.monotonic() < deadline:
            if len(heap) < room / 2 if deep else len(heap) > room:
                deep = not deep
                heap = [(node.key(deep), number, node) for _, number, node in heap]
                heapq.heapify(heap)
            node = heapq.heappop(heap)[2]
            if node.bound >= self.best - TOLERANCE:
                continue
            for side in (IN, OUT):
                child = node.child(side)
                if self.settle(child, 12) < math.inf:
                    heapq.heappush(heap, (child.key(deep), count, child))
                    count += 1
        self.lower = min([self.best, *(node.bound for _, _, node in heap)])
        return self.lower >= self.best - TOLERANCE
