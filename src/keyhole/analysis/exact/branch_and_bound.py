"""Branch and bound for the best subset: greedy models, then relax, settle, branch by best bound.

What a node is bounded by, and which models are tried, is up to what limits a subset: the number of
its features or what it costs (`best_subset.py`). Scaled units: G has unit diagonal (or is a part of
such a matrix) and y'y = 1. With prices the objective of S is rss(S) + rate * cost(S), and money is
whole units. Features and items are each OPEN (may enter), IN (must), OUT (must not)."""

from __future__ import annotations

import heapq
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import ADDITIONS_PER_SLICE, OutOfTime, c_function, kept, to_the_end
from keyhole.core.records import hold
from keyhole.problem import Floats, Indices, ProblemError

MIN_IMPROVEMENT = 1e-10  # a subset that is better by less than this part of y'y is not looked for
FEW = 1000  # columns whose relaxation takes no time worth asking for
QUARTERS = 60  # a relaxation of more takes about so many times the eigenvalues of a quarter of them


class Leaf(NamedTuple):
    """A node small enough to enumerate: what is in, the candidates C, and what these may bring.

    v (of C, descending) and slack bound: rss(I + T) >= slack - sum of v over T.
    """

    I: Indices  # noqa: E741
    C: Indices
    v: Floats
    slack: float


@c_function("kh_include", "G[m,m] L[.,m] D[m] r[m]", writes="L D r")
def include(G: Floats, L: Floats, s: int, i: int, D: Floats, r: Floats) -> float:
    """Project column i out of all others, as row s of a Cholesky factor; its gain, or -1.

    D_j and r_j are what is left of the square of column j and of its product with y: at first the
    diagonal of G, and c.
    """
    raise NotImplementedError


@c_function("kh_rss", "G[m,m] c[m] S[.]", room="size*size + 2*size")
def rss(G: Floats, c: Floats, S: Indices, size: int) -> float:
    """Residual sum of squares of S[:size], by a small Cholesky; dependent columns add nothing."""
    raise NotImplementedError


def swaps(G: Floats, c: Floats, k: int, S: Indices, size: int) -> tuple[int, float]:
    """Complete S[:size] greedily to k columns, then exchange one at a time as long as that helps.

    In place; the size and the rss.
    """
    size, left = to_the_end(_swaps, G, c, k, S, size, kept(0))
    return size, left


def enumerate_all(
    G: Floats, c: Floats, leaf: Leaf, r: int, best: float, S_best: Indices
) -> tuple[float, int]:
    """Best of I plus at most r of C by depth-first enumeration; (best, partial sets visited).

    It is written to S_best, -1 for unused places, if it is better than `best`.
    """
    m, levels = len(leaf.C), max(r - 1, 1)
    room = kept(levels * (m * m + 2 * m + 3) + (r + 1) * (m + r + 1) + 2 * r + 1)
    best, visited = to_the_end(_enumerate, G, c, *leaf, r, best, S_best, room)
    return best, visited


@c_function(
    "kh_swaps", "G[m,m] c[m] S[.] kept[.]", writes="S kept", room="k*m + k + 2*m", long=True
)
def _swaps(
    G: Floats, c: Floats, k: int, S: Indices, size: int, kept: Floats, effort: int
) -> tuple[bool, int, float]:
    raise NotImplementedError


@c_function(
    "kh_enumerate_all",
    "G[m,m] c[m] I[forced] C[n] v[n] S_best[.] kept[.]",
    writes="S_best kept",
    room="forced*m + 2*m",
    long=True,
)
def _enumerate(
    G: Floats, c: Floats, I: Indices, C: Indices, v: Floats, slack: float, r: int,  # noqa: E741
    best: float, S_best: Indices, kept: Floats, effort: int,
) -> tuple[bool, float, int]:  # fmt: skip
    raise NotImplementedError


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


States = NDArray[np.int8]

OPEN, IN, OUT = 0, 1, 2


class Split(NamedTuple):
    """G = R + diag(e) with e >= 0 and R positive semidefinite, and the products c with y."""

    R: Annotated[Floats, "m m"]
    e: Annotated[Floats, "m"]
    c: Annotated[Floats, "m"]


class Point(NamedTuple):
    """What is settled of features and items, the relaxation's point q, and what follows from it.

    v is what a feature may bring, z how much of it the relaxation has. Where there are prices, rest
    is what is left of v after them, price what a feature pays, slack what an item's members cannot
    pay of its price. All are changed in place. It may be wider than a node, which is then its first
    part.
    """

    state: Annotated[States, "width"]
    paid: Annotated[States, "items"]
    q: Annotated[Floats, "width"]
    v: Annotated[Floats, "width"]
    z: Annotated[Floats, "width"]
    rest: Annotated[Floats, "width"]
    price: Annotated[Floats, "width"]
    slack: Annotated[Floats, "items"]


def point(m: int, items: int) -> Point:
    """Nothing is settled, and nothing is known."""
    state, paid = np.zeros(m, dtype=np.int8), np.zeros(items, dtype=np.int8)
    q, v, z, rest, price = (np.zeros(m) for _ in range(5))
    return hold(Point(state, paid, q, v, z, rest, price, np.zeros(items)))


@c_function("kh_settle_count", "S[.] kept[.]", writes="S kept", room="m", long=True)
def settle_count(
    split: Split, k: int, node: Point, lam: float, goal: float, rounds: int, S: Indices,
    kept: Floats, effort: int,
) -> tuple[bool, float, float, float, int, int]:  # fmt: skip
    """Bound a node and settle features as far as that goes: (bound, slack, lam, branch, size).

    At most k features; lam is the price of one at which the relaxation has k of them. The bound is
    infinite when nothing below `goal` is left in the node but, perhaps, S[:size], which is the
    relaxation's solution rounded. Else every subset in the node has rss >= slack - sum of v over
    its OPEN part. An e with zeros means that there is no relaxation: then v = 0 and slack = 0.
    """
    raise NotImplementedError


@c_function("kh_settle_priced", "G[m,m] kept[.]", writes="kept", room="m*m + 3*m", long=True)
def settle_priced(
    G: Floats, split: Split, market: ItemMarket, node: Point, lam: float, mu: float, goal: float,
    rounds: int, kept: Floats, effort: int,
) -> tuple[bool, float, float, float, int]:  # fmt: skip
    """Bound a node and settle as far as that goes: (bound, lam, mu, branch).

    rss(S) >= base - sum of v over S for every S of the node. What v can bring for the money that is
    left is bounded from above: each unit costs lam, each feature mu, and an item's price is shared
    out among its open members in proportion to what they bring, which pays it in full or uses them
    up. Whatever lam, mu and the shares are, the bound is valid.

    It is infinite when nothing below `goal` is left in the node but, perhaps, what is IN. A branch
    is a feature, or an item i as m + i where m is the number of features. An e with zeros means
    that there is no relaxation.
    """
    raise NotImplementedError


def room_of(m: int, items: int, k: int) -> int:
    """The numbers that settling a node of so many features and items has to keep."""
    return 8 * m + items + k


SWEEPS = np.array([1.0, 0.5, 0.25, 0.1, 0.1, 0.05, 0.05])


def levels(values: Floats, k: int) -> list[float]:
    """The levels worth trying as theta in `split_off`, from the eigenvalues of G."""
    missing = int((values < 1e-6).sum())
    if missing == 0:
        return [0.0]
    return sorted({float(values[i]) for i in (missing, len(values) // (2 * k)) if i < len(values)})


def split_off(
    values: Floats,
    vectors: Floats,
    k: int,
    theta: float,
    weight: Floats | None,
    until: float = math.inf,
) -> tuple[Floats, Floats] | None:
    """R (positive semidefinite) and e > 0 with w'Gw >= w'Rw + sum_j e_j w_j^2 for k-sparse w.

    G comes as eigenvalues and vectors. Raising small ones to theta adds N = sum (theta - λ)+ uu',
    w'Nw <= (sum |w_j| sqrt(N_jj))^2 <= k sum N_jj w_j^2 (Cauchy-Schwarz, k terms). So with any
    δ that keeps R = G + N - diag(δ) positive semidefinite, e = δ - k diag(N) will do. theta = 0 is
    the usual split; a theta helps when few directions are (nearly) missing, as in one-hot groups.
    δ is one number, or, given the gains of the relaxation per unit of e, `weight`, it follows them;
    OutOfTime if that takes longer than `until`.
    """
    raised = np.maximum(values, theta)
    G = (vectors * raised) @ vectors.T
    N = (vectors**2) @ (raised - values)
    e = raised[0] - k * N
    if e.min() <= 1e-9:
        return None
    delta = np.full(len(e), raised[0])
    if weight is not None:
        delta -= 0.5 * e.min()
        least = delta[0]
        P = (vectors / (raised - least)) @ vectors.T
        spread(P, delta, weight / weight.max(), SWEEPS * raised[0], least, until)
        # P drifts; this puts the smallest eigenvalue of R back to zero, from either side.
        delta += np.linalg.eigvalsh(G - np.diag(delta))[0]
    delta -= 1e-12  # eigenvalues are rounded
    e = delta - k * N
    return (G - np.diag(delta), e) if e.min() > 1e-9 else None


def spread(
    P: Floats, delta: Floats, weight: Floats, mus: Floats, least: float, until: float = math.inf
) -> None:
    """Sweeps of coordinate ascent on sum(weight δ) + mu log det(G - diag(δ)), δ >= least.

    P is the inverse of G - diag(δ). Along one coordinate the determinant falls by the factor
    1 - t P_jj, so the best step is known, t = 1/P_jj - mu/weight_j, and stays inside the cone.
    """
    steps, at_once = len(mus) * len(delta), 1 + ADDITIONS_PER_SLICE // P.size
    for first in range(0, steps, at_once):
        if time.monotonic() > until:
            raise OutOfTime
        _spread(P, delta, weight, mus, least, first, min(first + at_once, steps))


@c_function(
    "kh_spread_diagonal", "P[d,d] delta[d] weight[d] mus[.]", writes="P delta", room="d", long=True
)
def _spread(
    P: Floats, delta: Floats, weight: Floats, mus: Floats, least: float, first: int, end: int
) -> None:
    raise NotImplementedError


# Bytes of open nodes; beyond, the search goes deep first and the heap stops growing.
MAX_HEAP_BYTES = 2.5e8


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


class BranchAndBound(ABC):
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
        self.below = "0"  # what `lower` is, for people
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
        """Bound the root as far as there is time; whether it is solved.

        A root of few columns is bounded once in any case.
        """
        self.until = deadline
        try:
            return self._root()
        except OutOfTime:
            return False

    def _eigen(self) -> tuple[Floats, Floats]:
        """Eigenvalues and vectors of G; OutOfTime if a relaxation would take too long."""
        quarter, began = len(self.c) // 4, time.monotonic()
        if len(self.c) > FEW:
            if began < self.until:
                np.linalg.eigh(self.G[:quarter, :quarter])
            if began + QUARTERS * (time.monotonic() - began) >= self.until:
                raise OutOfTime
        values, vectors = np.linalg.eigh(self.G)
        return values, vectors

    def _root(self) -> bool:
        """Bound the root, drop columns no better subset has, and again; whether it is solved.

        At its solution (q, z) the relaxation gains q_j^2 (1/z_j - 1) per unit of e_j. These gains,
        summed over the turns so that they settle, say where the next split should put its diagonal.
        """
        weight, deadline = np.zeros_like(self.b), self.until
        for turn in range(12):
            self.until = math.inf if turn == 0 and len(self.c) <= FEW else deadline
            live = self.top.state != OUT
            self.keep(live)
            weight = weight[live]
            if not live.any():
                self.lower = self.best
                return True
            if turn == 0 or not live.all():
                values, vectors = self._eigen()
                k = max(self.widest(), 1)
            if turn == 0:
                if self.checks and values[0] < -1e-8:
                    raise ProblemError("G must be positive semidefinite")
                # No subset beats all columns together. Directions below 1e-12 are rounding.
                solid = values > 1e-12
                explained = float(((vectors.T @ self.c)[solid] ** 2 / values[solid]).sum())
                if 1.0 - explained >= self.lower:
                    self.lower, self.below = 1.0 - explained, "the rss of all columns"
                thetas = levels(values, k)
            before = self.lower
            gains: list[tuple[float, float, Floats]] = []
            for theta in thetas:
                weighted = weight if turn else None
                split = split_off(values, vectors, k, theta, weighted, self.until)
                if split is not None:
                    bound, gain = self.resplit(*split)
                    gains.append((bound, theta, gain))
            bound = max((bound for bound, _, _ in gains), default=0.0)
            if bound > self.lower:
                self.lower, self.below = bound, "relaxation bound"
            if self.lower >= self.best - MIN_IMPROVEMENT:
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
        try:
            self.settle(node, finish=False)
        except OutOfTime:
            self.split = old
            raise
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
        room = MAX_HEAP_BYTES / (9 * len(self.c) + len(self.top.paid) + 500)
        if time.monotonic() >= deadline or self._open(self.top):
            heap = [(self.top.key(deep), 0, self.top)]
        while heap and time.monotonic() < deadline:
            if len(heap) < room / 2 if deep else len(heap) > room:
                deep = not deep
                heap = [(node.key(deep), number, node) for _, number, node in heap]
                heapq.heapify(heap)
            node = heapq.heappop(heap)[2]
            if node.bound >= self.best - MIN_IMPROVEMENT:
                continue
            for side in (IN, OUT):
                child = node.child(side)
                if self._open(child):
                    heapq.heappush(heap, (child.key(deep), count, child))
                    count += 1
        self.lower = min([self.best, *(node.bound for _, _, node in heap)])
        return self.lower >= self.best - MIN_IMPROVEMENT

    def _open(self, node: Node) -> bool:
        """Whether a node may still have better subsets after it was settled, if there was time."""
        try:
            return self.settle(node, finish=True) < math.inf
        except OutOfTime:
            return True
