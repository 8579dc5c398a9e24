"""Branch and bound for the best subset: relax, settle, branch; best bound first.

What a node is bounded by, and which models are tried, is up to what limits a subset: the number of
its features (`count_search.py`) or what it costs (`priced_search.py`).
"""

from __future__ import annotations

import heapq
import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole.core.structs import hold
from keyhole.learners.blocks.exact.models import TOLERANCE
from keyhole.learners.blocks.exact.nodes import IN, OUT, Split, States, point
from keyhole.learners.blocks.exact.slices import OutOfTime
from keyhole.learners.blocks.exact.splits import levels, split_off
from keyhole.problem import Floats, Indices, ProblemError

ROOM = 2.5e8  # bytes of open nodes; beyond, the search goes deep first and the heap stops growing


@dataclass(slots=True, eq=False)
class Node:
    """A part of the search: states of features and items, and the relaxation to start from.

    `hints` are the prices of a unit (or of a feature, where features are counted) and of a feature.
    """

    state: States
    paid: States
    q: Floats
    hints: tuple[float, float] = (0.0, 0.0)
    bound: float = -math.inf
    branch: int = -1

    def child(self, side: int) -> Node:
        """This node with its branching feature or item IN or OUT."""
        state, paid, m = self.state.copy(), self.paid.copy(), len(self.state)
        if self.branch < m:
            state[self.branch] = side
        else:
            paid[self.branch - m] = side
        return Node(state, paid, self.q.copy(), self.hints, self.bound)

    def key(self, deep: bool) -> float:
        """What the heap sorts by: the bound, or the number of open features."""
        return float((self.state == 0).sum()) if deep else self.bound


class Search(ABC):
    """Branch and bound in scaled units: A has unit diagonal, b = products with y, y'y = 1.

    The incumbent S has the objective `best`; no subset is below `lower`. Better ones have only
    columns in `alive`: G, c, the split of G and all nodes are of these columns. Nodes are settled
    at the point `work`, which is as wide as A.
    """

    checks = False  # whether it is still to be checked that A is semidefinite

    def __init__(self, A: Floats, b: Floats, items: int) -> None:
        m = len(b)
        self.A, self.b, self.G, self.c = A, b, A, b
        self.S: Indices = np.zeros(0, dtype=np.int64)
        self.best, self.lower, self.nodes = 1.0, 0.0, 0
        self.alive: Indices = np.arange(m, dtype=np.int64)
        self.split = Split(A, np.zeros(m), b)  # none yet
        self.work = point(m, items)
        self.top = Node(np.zeros(m, np.int8), np.zeros(items, np.int8), np.zeros(m))
        self.until = math.inf  # when to leave a node that takes long

    @abstractmethod
    def first(self, start: list[int]) -> None:
        """Incumbents to begin with; `start` is one to try."""

    @abstractmethod
    def widest(self) -> int:
        """At least as many as any subset has features."""

    @abstractmethod
    def relax(self, node: Node, rounds: int) -> float:
        """Bound the node and settle what follows, at the point `work`; infinite when done."""

    @abstractmethod
    def improve(self, node: Node, finish: bool) -> None:
        """Try the relaxation, rounded, as a model; finish the node if it is small and told so."""

    @abstractmethod
    def shares(self, node: Node) -> Floats:
        """How much of each feature the relaxation of a node has, 1 for what is in."""

    def settle(self, node: Node, *, finish: bool) -> float:
        """Bound one node; if told so, finish it when it is small. Its bound, infinite when done."""
        work, m = self.work, len(node.state)
        work.state[:m], work.paid[:], work.q[:m] = node.state, node.paid, node.q
        low = self.relax(node, 12 if finish else 60)
        node.state[:], node.paid[:], node.q[:] = work.state[:m], work.paid, work.q[:m]
        self.nodes += 1
        node.bound = max(node.bound, low)
        self.improve(node, finish)
        return node.bound

    def root(self, deadline: float) -> bool:
        """Bound the root, drop columns no better subset has, and again; whether it is solved.

        At its solution (q, z) the relaxation gains q_j^2 (1/z_j - 1) per unit of e_j. These gains,
        summed over the turns so that they settle, say where the next split should put its diagonal.
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
                k = max(self.widest(), 1)
            if turn == 0:
                if self.checks and values[0] < -1e-8:
                    raise ProblemError("G must be positive semidefinite")
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
        places = np.flatnonzero(live)
        self.alive = self.alive[places]
        self.top.state, self.top.q = self.top.state[places], self.top.q[places]
        self.G, self.c = self.A[self.alive[:, None], self.alive], self.b[self.alive]
        R, e, _ = self.split
        self.split = Split(R[places[:, None], places], e[places], self.c)

    def resplit(self, R: Floats, e: Floats) -> tuple[float, Floats]:
        """Bound the root with another split, keep the better one; the bound and its gains per e."""
        old, self.split = self.split, hold(Split(R, e, self.c))
        # The states are shared: what one split settles is settled.
        node = Node(self.top.state, self.top.paid, np.zeros_like(self.c))
        self.settle(node, finish=False)
        z = self.shares(node)
        if node.bound > self.top.bound:
            self.top = node
        else:
            self.split = old
        return node.bound, node.q**2 * (1.0 - z) / np.maximum(z, 1e-300)

    def run(self, deadline: float) -> bool:
        """Search below the root, best bound first, until the deadline; whether it is solved."""
        self.top.bound, self.until, self.split = self.lower, deadline, hold(self.split)
        heap: list[tuple[float, int, Node]] = []
        count, deep = 1, False
        room = ROOM / (9 * len(self.c) + len(self.top.paid) + 500)
        if time.monotonic() >= deadline or self._open(self.top):
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
                if self._open(child):
                    heapq.heappush(heap, (child.key(deep), count, child))
                    count += 1
        self.lower = min([self.best, *(node.bound for _, _, node in heap)])
        return self.lower >= self.best - TOLERANCE

    def _open(self, node: Node) -> bool:
        """Whether a node may still have better subsets after it was settled, if there was time."""
        try:
            return self.settle(node, finish=True) < math.inf
        except OutOfTime:
            return True
