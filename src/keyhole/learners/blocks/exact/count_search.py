"""The search for the best k features: nodes that are small enough are enumerated."""

from __future__ import annotations

import math

import numpy as np

from keyhole.learners.blocks.exact.models import TOLERANCE, Leaf, enumerate_all, rss, swaps
from keyhole.learners.blocks.exact.nodes import IN, OPEN, room_of, settle_count
from keyhole.learners.blocks.exact.search import Node, Search
from keyhole.learners.blocks.exact.slices import kept, to_the_end
from keyhole.problem import Floats, Indices

LEAF = 1e6  # a node with fewer completions than this is enumerated: about as dear as bounding it


class CountSearch(Search):
    """Branch and bound among subsets of at most k columns.

    `rounded` is the last relaxation as a model, in the columns that are alive (`size` of them), and
    every subset of that node has rss >= slack - sum of v over its open part.
    """

    checks = True

    def __init__(self, A: Floats, b: Floats, k: int) -> None:
        super().__init__(A, b, items=0)
        self.k, self.slack, self.size = k, 0.0, 0
        self.rounded: Indices = np.full(k, -1, dtype=np.int64)

    def first(self, start: list[int]) -> None:
        """Forward selection and swaps, from nothing and from `start`."""
        for given in ([], start):
            S = np.full(self.k, -1, dtype=np.int64)
            S[: len(given)] = given
            size, best = swaps(self.A, self.b, self.k, S, len(given))
            if best < self.best:
                self.best, self.S = best, S[:size]

    def widest(self) -> int:
        """k."""
        return self.k

    def relax(self, node: Node, rounds: int) -> float:
        """As it says in `Search`."""
        room = kept(room_of(len(self.c), 0, self.k))
        work, goal = self.work, self.best - TOLERANCE
        given = self.split, self.k, work, node.hints[0], goal, rounds, self.rounded, room
        work.v[:] = 0.0
        low, self.slack, lam, branch, self.size = to_the_end(settle_count, *given, until=self.until)
        node.hints, node.branch = (lam, 0.0), branch
        return float(low)

    def improve(self, node: Node, finish: bool) -> None:
        """After swaps if it is better; a small node is enumerated."""
        G, c, k, best = self.G, self.c, self.k, self.best
        S, found = self.rounded, np.full(k, -1, dtype=np.int64)
        if rss(G, c, S, self.size) < best:
            size, best = swaps(G, c, k, S, self.size)
            found[:size] = S[:size]
        if finish and node.bound < math.inf:
            I, C = np.flatnonzero(node.state == IN), np.flatnonzero(node.state == OPEN)  # noqa: E741
            if math.comb(len(C), k - len(I)) <= LEAF:
                # Without a relaxation v = 0 and any order is a falling one: strong columns first.
                v = self.work.v[: len(c)]
                C = C[np.argsort(-(v if v.any() else np.abs(c))[C], kind="stable")]
                leaf = Leaf(I, C, v[C], self.slack)
                best, visited = enumerate_all(G, c, leaf, k - len(I), best, found)
                self.nodes += visited
                node.bound = math.inf
        if best < self.best:
            self.best, self.S = best, self.alive[found[found >= 0]]

    def shares(self, node: Node) -> Floats:
        """At its price: a feature is worth e q^2 / z + lam z."""
        if node.hints[0] == 0.0:
            return np.ones_like(node.q)
        z: Floats = np.minimum(np.abs(node.q) * np.sqrt(self.split.e / node.hints[0]), 1.0)
        return z
