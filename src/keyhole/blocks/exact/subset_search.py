"""The search behind `best_subset`: relax, settle, branch, enumerate; best bound first."""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.exact.relaxation import IN, OPEN, OUT, NodeArrays, Split, settle
from keyhole.blocks.exact.splits import levels, split_off
from keyhole.blocks.exact.subset_kernels import TOLERANCE, Leaf, enumerate_all, improve, swaps
from keyhole.problem import Floats, Indices, ProblemError

LEAF = 1e6  # a node with fewer completions than this is enumerated: about as dear as bounding it
ROOM = 2.5e8  # bytes of open nodes; beyond, the search goes deep first and the heap stops growing

_split, _thetas = split_off, levels


@dataclass(slots=True, eq=False)
class Node:
    """A part of the search: feature states, and the relaxation's solution to start from."""

    state: NDArray[np.int8]
    q: Floats
    lam: float = 0.0
    bound: float = 0.0
    branch: int = -1

    def child(self, side: int) -> Node:
        """This node with its branching feature IN or OUT."""
        state = self.state.copy()
        state[self.branch] = side
        return Node(state, self.q.copy(), self.lam, self.bound)

    def key(self, deep: bool) -> float:
        """What the heap sorts by: the bound, or the number of open features."""
        return float((self.state == 0).sum()) if deep else self.bound


class Search:
    """Branch and bound in scaled units: A has unit diagonal, b = products with y, y'y = 1.

    The incumbent is S (-1 marks unused places) of value `best`; no subset is below `lower`. Better
    ones have only columns in `alive`: G, c, the split R, e and all nodes are of these columns.
    """

    def __init__(self, A: Floats, b: Floats, k: int) -> None:
        self.A, self.b, self.k = A, b, k
        self.S: Indices = np.full(k, -1, dtype=np.int64)
        self.best, self.lower, self.nodes = 1.0, 0.0, 0
        self.G, self.c = A, b
        self.alive: Indices = np.arange(len(b), dtype=np.int64)
        self.R, self.e = A, np.zeros_like(b)  # no split yet
        self.top = Node(np.zeros(len(b), dtype=np.int8), np.zeros_like(b), bound=-math.inf)

    def first(self, start: list[int]) -> None:
        """Incumbents: forward selection and swaps, from nothing and from `start`."""
        for given in ([], start):
            S = np.full(self.k, -1, dtype=np.int64)
            S[: len(given)] = given
            size, best = swaps(self.A, self.b, self.k, S, len(given))
            if best < self.best:
                S[size:] = -1
                self.best, self.S = best, S

    def settle(self, node: Node, *, finish: bool) -> float:
        """Bound one node; if told so, finish it when it is small. Its bound, infinite when done."""
        G, c, k, state = self.G, self.c, self.k, node.state
        S, S_best = np.full((2, k), -1, dtype=np.int64)
        v = np.zeros_like(c)
        goal, rounds = self.best - TOLERANCE, 12 if finish else 60
        low, slack, node.lam, node.branch, size = settle(
            Split(self.R, self.e, c), k, NodeArrays(state, node.q, v), node.lam, goal, rounds, S
        )
        best = improve(G, c, k, S, size, self.best, S_best)
        self.nodes += 1
        node.bound = max(node.bound, low)
        if finish and node.bound < math.inf:
            I, C = np.flatnonzero(state == IN), np.flatnonzero(state == OPEN)  # noqa: E741
            if math.comb(len(C), k - len(I)) <= LEAF:
                # Without a relaxation v = 0 and any order is a falling one: strong columns first.
                C = C[np.argsort(-(v if v.any() else np.abs(c))[C])]
                leaf = Leaf(I, C, v[C], slack)
                best, visited = enumerate_all(G, c, leaf, k - len(I), best, S_best)
                self.nodes += visited
                node.bound = math.inf
        if best < self.best:
            self.best, self.S = best, np.where(S_best >= 0, self.alive[S_best], -1)
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
            if turn == 0 or not live.all():
                values, vectors = np.linalg.eigh(self.G)
            if turn == 0:
                if values[0] < -1e-8:
                    raise ProblemError("G must be positive semidefinite")
                # No subset beats all columns together. Directions below 1e-12 are rounding.
                solid = values > 1e-12
                self.lower = 1.0 - float(((vectors.T @ self.c)[solid] ** 2 / values[solid]).sum())
                thetas = _thetas(values, self.k)
            before = self.lower
            gains: list[tuple[float, float, Floats]] = []
            for theta in thetas:
                split = _split(values, vectors, self.k, theta, weight if turn else None)
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
        self.alive = self.alive[live]
        self.top.state, self.top.q = self.top.state[live], self.top.q[live]
        self.G = np.ascontiguousarray(self.A[np.ix_(self.alive, self.alive)])
        self.c = self.b[self.alive]
        self.R = np.ascontiguousarray(self.R[np.ix_(live, live)])
        self.e = self.e[live]

    def resplit(self, R: Floats, e: Floats) -> tuple[float, Floats]:
        """Bound the root with another split, keep the better one; the bound and its gains per e."""
        old = self.R, self.e
        self.R, self.e = R, e
        # The state is shared: what one split settles is settled.
        node = Node(self.top.state, np.zeros_like(self.c))
        self.settle(node, finish=False)
        if node.bound > self.top.bound:
            self.top = node
        else:
            self.R, self.e = old
        if node.lam == 0.0:
            return node.bound, np.zeros_like(e)
        z = np.minimum(np.abs(node.q) * np.sqrt(e / node.lam), 1.0)
        return node.bound, node.q**2 * (1.0 - z) / np.maximum(z, 1e-300)

    def run(self, deadline: float) -> bool:
        """Search below the root, best bound first, until the deadline; whether it is solved."""
        self.top.bound = self.lower
        heap: list[tuple[float, int, Node]] = [(0.0, 0, self.top)]
        count, deep = 1, False
        room = ROOM / (9 * len(self.c) + 500)
        if time.monotonic() < deadline and self.settle(self.top, finish=True) == math.inf:
            heap = []
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
                if self.settle(child, finish=True) < math.inf:
                    heapq.heappush(heap, (child.key(deep), count, child))
                    count += 1
        self.lower = min([self.best, *(node.bound for _, _, node in heap)])
        return self.lower >= self.best - TOLERANCE
