"""Best subset of least squares, of k features or for money: branch and bound, else an interval."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.analysis.exact.branch_and_bound import (
    FEW,
    GAIN,
    IN,
    MIN_IMPROVEMENT,
    OPEN,
    OUT,
    PER_UNIT,
    BranchAndBound,
    ItemMarket,
    Leaf,
    Node,
    Point,
    enumerate_all,
    exchanged,
    grown,
    limited,
    market_of,
    part_of,
    room_of,
    rss,
    settle_count,
    settle_priced,
    swaps,
    widest,
)
from keyhole.analysis.exact.outside import Outside
from keyhole.core import library
from keyhole.core.functions import c_function, kept, to_the_end
from keyhole.learners.blocks.sums.data_sums import DEPENDENT
from keyhole.problem import Floats, Indices, ProblemError, sparsity, whole_number
from keyhole.problem.prices import Prices

MAX_ENUMERATED = 1e6  # a node with fewer completions is enumerated: about as dear as bounding it


class CountSearch(BranchAndBound):
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

    def certify(self) -> bool:
        """Bound all subsets from how columns correlate beside the incumbent; whether it is best.

        Without r of its columns the incumbent S loses at least the r smallest w_i^2 times the least
        eigenvalue of G[S, S] more, and at least what leaving out the best one loses.
        """
        G, S = self.A[self.S], self.S
        if len(S) < self.k:
            return False
        inverse = np.linalg.inv(G[:, S])
        w = np.sort((inverse @ self.b[S]) ** 2)
        one = float(((inverse @ self.b[S]) ** 2 / np.diag(inverse)).min())
        several = float(np.linalg.eigvalsh(G[:, S])[0]) * np.cumsum(w)
        outside = Outside(np.ones_like(self.b), self.b, 1.0, S, G)
        coherence = outside.coherence(lambda some: self.A[some])
        fewer = outside.Y + np.maximum(several, one)
        lows = [outside.least(r, fewer[r - 1], coherence) for r in range(1, self.k + 1)]
        if (bound := min([self.best, *lows])) > self.lower:
            self.lower, self.below = bound, "bound by correlations"
        return self.lower >= self.best - MIN_IMPROVEMENT

    def widest(self) -> int:
        """k."""
        return self.k

    def relax(self, node: Node, rounds: int) -> float:
        """As it says in `BranchAndBound`."""
        room = kept(room_of(len(self.c), 0, self.k))
        work, goal = self.work, self.best - MIN_IMPROVEMENT
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
            if math.comb(len(C), k - len(I)) <= MAX_ENUMERATED:
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


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """A k-sparse least squares model and what is known about the best one.

    Parameters
    ----------
    support
        Its features, ascending; at most k.
    weights
        Its weights, in the order of `support`.
    rss
        Its residual sum of squares: the best one is at most this.
    lower
        The best one is at least this; equal to `rss` when `exact`.
    exact
        Whether the model is proven to be the best, to 1e-9 of y'y.
    nodes
        How many partial supports were looked at.
    how
        What was done, for people.
    """

    support: Indices
    weights: Floats
    rss: float
    lower: float
    exact: bool
    nodes: int
    how: str


def best_subset(
    G: ArrayLike,
    c: ArrayLike,
    yy: float,
    k: int,
    *,
    seconds: float = 10.0,
    start: Sequence[int] | Indices | None = None,
) -> Subset:
    """The k features that explain y best, from second moments alone.

        minimise over |S| <= k:   rss(S) = min_w yy - 2 c[S].w + w'G[S, S]w

    Forward selection and swaps give a first model, and how columns correlate beside it may prove
    that it is the best (`Outside`). The perspective relaxation gives, at every node of the search,
    numbers with rss(S) >= base - sum over S of v_j, which settle most features at once; what they
    leave open is branched on, best bound first, or enumerated when it is small.

    Parameters
    ----------
    G
        X'X, d x d, positive semidefinite; it may be singular.
    c
        X'y.
    yy
        y'y. All three may be divided by the same number.
    k
        How many features the model may have, 1 <= k <= d.
    seconds
        When to stop searching. The first model is made in any case, the first relaxation if there
        are at most 1,000 columns.
    start
        Features of a model to try as well.

    Returns
    -------
    Subset
        The model, and the interval [lower, rss] that holds the best value.

    Guarantee
    ---------
    `lower` <= best <= `rss`, up to 1e-9 of yy. A column of which less than 1e-10 of its square is
    left after projection counts as dependent. Columns may be in any units.

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> y = np.array([3.0, 1, 3, 1])
    >>> best = best_subset(X.T @ X, X.T @ y, y @ y, k=2)
    >>> best.support, best.weights.round(6), best.exact
    (array([0, 1]), array([1., 2.]), True)
    """
    library.long()  # where a source has changed this compiles: time limits are for searching
    began = time.monotonic()
    G, c, yy, k = _checked(G, c, yy, k)
    d = len(c)
    tried = _support(start, d, k)
    if yy == 0.0:
        return _subset((G, c, yy), np.zeros(0, np.int64), 0.0, True, 0, "y is zero")
    A, b, kept = _scaled(G, c, yy)
    if len(kept) == 0:
        return _subset((G, c, yy), kept, 0.0, True, 0, "all columns are zero")
    place = {int(j): p for p, j in enumerate(kept)}
    search = CountSearch(A, b, min(k, len(kept)))
    search.first([place[j] for j in tried if j in place])
    end, many = began + seconds, len(kept) > FEW  # the cheaper bound first
    done = (many and search.certify()) or search.root(end) or (not many and search.certify())
    done = done or search.run(end)
    lower, exact = (search.best, True) if done else (search.lower, False)
    how = f"branch and bound, complete, {search.nodes:,} nodes"
    if not exact:
        how = (
            f"stopped after {seconds:g} s, {search.nodes:,} nodes: "
            f"forward selection and swaps above, {search.below} below"
        )
    support = np.sort(kept[search.S])
    return _subset((G, c, yy), support, lower * yy, exact, search.nodes, how)


def scaled(G: ArrayLike, c: ArrayLike, yy: float, k: int) -> tuple[Floats, Floats, Indices, int]:
    """The moments as the kernels of subsets take them, which columns those are, and k; checked."""
    G, c, yy, k = _checked(G, c, yy, k)
    return (*_scaled(G, c, yy), k)


def _scaled(G: Floats, c: Floats, yy: float) -> tuple[Floats, Floats, Indices]:
    """Unit diagonal and y'y = 1, without zero columns and copies; which columns are left.

    So a search sees neither the units of the columns nor those of y.
    """
    scale = np.zeros(len(c))
    scale[np.diag(G) > 0.0] = 1.0 / np.sqrt(np.diag(G)[np.diag(G) > 0.0])
    A = scale[:, None] * G
    A *= scale
    b = scale * c / math.sqrt(yy) if yy > 0.0 else np.zeros(len(c))
    kept = _distinct(A, b)
    if len(kept) < len(b):
        A, b = np.ascontiguousarray(A[np.ix_(kept, kept)]), b[kept]
    return A, b, kept


def _checked(G: ArrayLike, c: ArrayLike, yy: float, k: int) -> tuple[Floats, Floats, float, int]:
    G, c, yy = checked_moments(G, c, yy)
    return G, c, yy, sparsity(k, len(c))


def checked_moments(G: ArrayLike, c: ArrayLike, yy: float) -> tuple[Floats, Floats, float]:
    """The moments as arrays and a number, or a ProblemError that names the wrong one."""
    try:
        G = np.array(G, dtype=np.float64, order="C")
        c = np.array(c, dtype=np.float64)
        yy = float(yy)
    except (TypeError, ValueError):
        raise ProblemError("G, c and yy must be numbers") from None
    if G.ndim != 2 or G.shape[0] != G.shape[1] or G.shape[0] == 0:
        raise ProblemError(f"G must be a square matrix, got shape {G.shape}")
    if c.shape != G.shape[:1]:
        raise ProblemError(f"c must have shape {G.shape[:1]} as G has {G.shape}, got {c.shape}")
    for name, value in (("G", G), ("c", c), ("yy", np.array(yy))):
        if not np.isfinite(value).all():
            raise ProblemError(f"{name} must be finite")
    if yy < 0.0:
        raise ProblemError(f"yy must be at least 0, got {yy}")
    diagonal = np.diag(G)
    if (diagonal < 0.0).any():
        raise ProblemError("G must be positive semidefinite, it has a negative diagonal entry")
    root = np.sqrt(diagonal)  # first, or products of squares overflow
    if np.array_equal(G, G.T):
        return G, c, yy
    if (np.abs(G - G.T) > 1e-8 * np.outer(root, root)).any():
        raise ProblemError("G must be symmetric")
    return (G + G.T) / 2.0, c, yy


def _support(start: Sequence[int] | Indices | None, d: int, k: int) -> list[int]:
    """`start` as at most k different features, or a ProblemError."""
    if start is None:
        return []
    tried = [whole_number("start", j, 0) for j in start]
    if len(set(tried)) != len(tried) or len(tried) > k or max(tried, default=0) >= d:
        raise ProblemError(f"start must be at most {k} different features below {d}, got {tried}")
    return tried


def _distinct(A: Floats, b: Floats, needs: Sequence[tuple[int, ...]] | None = None) -> Indices:
    """Columns without the zero ones and without copies of others (up to sign and units).

    With what each column needs, only a copy that needs all that the other does is left out.
    """
    out = {*np.flatnonzero(np.diag(A) <= 0.0).tolist()}
    for i, j in np.argwhere(np.abs(A) > 1.0 - 1e-12).tolist():
        if i == j or i in out or j in out:
            continue
        if (needs is None or {*needs[i]} <= {*needs[j]}) and _same(A, b, i, j):
            out.add(j)
    return np.array([j for j in range(len(b)) if j not in out], dtype=np.int64)


def _same(A: Floats, b: Floats, i: int, j: int) -> bool:
    sign = math.copysign(1.0, A[i, j])
    # The products with all others and with y must agree too: 1 - 1e-12 alone leaves room for 1e-6.
    return bool(np.abs(A[i] - sign * A[j]).max() < 1e-12 and abs(b[i] - sign * b[j]) < 1e-12)


def _subset(
    moments: tuple[Floats, Floats, float],
    S: Indices,
    lower: float,
    exact: bool,
    nodes: int,
    how: str,
) -> Subset:
    """The model of the support S, in the caller's units."""
    weights, rss = least_squares(*moments, S)
    lower = rss if exact else min(max(lower, 0.0), rss)
    return Subset(S, weights, rss, lower, exact, nodes, how)


def least_squares(G: Floats, c: Floats, yy: float, S: Indices) -> tuple[Floats, float]:
    """Weights and residual sum of squares of the model with the support S, for any units."""
    unit = np.sqrt(np.diag(G)[S])
    w = np.linalg.lstsq(G[np.ix_(S, S)] / np.outer(unit, unit), c[S] / unit, rcond=None)[0]
    return w / unit, max(float(yy - w @ (c[S] / unit)), 0.0)


SINGLES = 12  # features that are each forced into one of the first models
EXCHANGED = 4  # of the first models, the best so many are improved by exchange


class PricedSearch(BranchAndBound):
    """Branch and bound among subsets that a market allows; the objective is rss + rate * cost."""

    def __init__(self, A: Floats, b: Floats, market: ItemMarket) -> None:
        super().__init__(A, b, len(market.units))
        self.whole = self.market = market

    def first(self, start: list[int]) -> None:
        """Greedy choice by gain, gain per unit and gain less a price, then exchange."""
        limit = max(self.market.limit, 1)
        strong = np.argsort(-(self.b**2), kind="stable")[:SINGLES].tolist()
        tries = [(given, GAIN, 0.0) for given in ([], start, *([j] for j in strong))]
        tries += [(given, PER_UNIT, 0.0) for given in ([], *([j] for j in strong))]
        tries += [([], GAIN, price / limit) for price in (0.01, 0.03, 0.1, 0.3, 1.0)]
        found = [
            grown(self.A, self.b, self.market, *one) for one in tries if self._affordable(one[0])
        ]
        found.sort(key=lambda one: one[0])
        for value, S in found[:EXCHANGED]:
            value, S = exchanged(self.A, self.b, self.market, S, value)
            if value < self.best:
                self.best, self.S = value, S

    def tighten(self) -> None:
        """Where money is part of the objective, nothing better costs more than this."""
        if self.market.rate > 0.0:
            all_together = 1.0 - float(self.b @ np.linalg.lstsq(self.A, self.b, rcond=None)[0])
            most = (self.best - all_together + 1e-9) / self.market.rate
            if most < self.market.limit:
                self.whole = self.market = limited(self.market, max(math.ceil(most), 0))

    def _affordable(self, given: list[int]) -> bool:
        starts, market = self.market.starts, self.market
        items = {int(i) for j in given for i in market.needs[starts[j] : starts[j + 1]]}
        return len(given) <= market.most and market.units[[*items]].sum() <= market.limit

    def widest(self) -> int:
        """By price."""
        return widest(self.market)

    def keep(self, live: NDArray[np.bool_]) -> None:
        """Forget the other columns, in the market too."""
        super().keep(live)
        if not live.all():
            self.market = part_of(self.whole, self.alive)

    def relax(self, node: Node, rounds: int) -> float:
        """As it says in `BranchAndBound`."""
        room = kept(room_of(len(self.c), len(node.paid), 0))
        given = self.G, self.split, self.market, self.work, *node.hints
        low, lam, mu, node.branch = to_the_end(
            settle_priced, *given, self.best - MIN_IMPROVEMENT, rounds, room, until=self.until
        )
        node.hints = lam, mu
        return float(low)

    def improve(self, node: Node, finish: bool) -> None:
        """Completed, and exchanged if it is better."""
        if not (node.state != OUT).any():
            return
        S = np.zeros(len(self.c), dtype=np.int64)
        size = _rounded(self.market, self.work, S)
        value, S = grown(self.G, self.c, self.market, S[:size], GAIN, 0.0)
        if value < self.best:
            value, S = exchanged(self.G, self.c, self.market, S, value)
            self.best, self.S = value, self.alive[S]

    def shares(self, node: Node) -> Floats:
        """At the relaxation's solution e_j q_j / z_j = (c - Rq)_j."""
        R, e, c = self.split
        free = (node.state != OUT) & (node.state != IN) & (node.q != 0.0)
        pull = np.abs(c - R @ node.q)
        return np.where(free, np.minimum(e * np.abs(node.q) / np.maximum(pull, 1e-300), 1.0), 1.0)


@c_function("kh_rounded", "S[m]", writes="S", room="m + items")
def _rounded(market: ItemMarket, node: Point, S: Indices) -> int:
    """Write what is IN, then OPEN features by falling z as far as they can be paid; the size.

    Those of which the relaxation has nothing are left out.
    """
    raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class PricedSubset(Subset):
    """A `Subset` and what it costs; `lower` is of the best value, equal to `value` when `exact`.

    Parameters
    ----------
    units
        What its features cost together, in units of the prices.
    value
        Its rss + rate * units: the best one is at most this.
    """

    units: int
    value: float


@dataclass(frozen=True, slots=True)
class CostTerms:
    """What a model may cost and have: at most `limit` units and k features; None is no limit.

    A unit costs `rate` on top of the residual.
    """

    prices: Prices
    limit: int | None = None
    k: int | None = None
    rate: float = 0.0


def best_for_money(
    G: ArrayLike,
    c: ArrayLike,
    yy: float,
    terms: CostTerms,
    *,
    seconds: float = 10.0,
    start: Sequence[int] | Indices = (),
) -> PricedSubset:
    """The features that explain y best for the money, from second moments alone.

        minimise   rss(S) + rate * cost(S)   over   cost(S) <= limit, |S| <= k

    cost(S) is that of all items its features need, each paid once. Without k, free features are in
    every model and are projected out first. Then as in `best_subset`, but for the bound: a node's
    rss(S) >= base - sum over S of v_j, and what v brings for the money left is bounded by a
    fractional knapsack, in which an item's price is shared out among its features.

    Parameters
    ----------
    G, c, yy
        X'X, X'y, y'y, as in `best_subset`.
    terms
        Prices and limits.
    seconds
        When to stop searching, as in `best_subset`.
    start
        Features of a model to try as well, if they can be afforded.

    Guarantee
    ---------
    `lower` <= best <= `value`, up to 1e-9 of yy. Costs are exact.

    Examples
    --------
    >>> from keyhole.problem.prices import price_list
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> y = np.array([3.0, 1, 3, 1])
    >>> prices = price_list(3, None, [2, 3, 1], None)
    >>> for limit in (5, 4):
    ...     best = best_for_money(X.T @ X, X.T @ y, y @ y, CostTerms(prices, limit))
    ...     print(best.support, best.units, round(best.rss, 6), best.exact)
    [0 1] 5 0.0 True
    [1 2] 4 1.333333 True
    """
    library.long()  # where a source has changed this compiles: time limits are for searching
    began = time.monotonic()
    G, c, yy = checked_moments(G, c, yy)
    d = len(c)
    k = d if terms.k is None else sparsity(terms.k, d)
    if len(terms.prices.needs) != d:
        raise ProblemError(f"prices are of {len(terms.prices.needs)} features, G has {d}")
    free = _free_features(G, terms.prices) if k == d else np.zeros(0, dtype=np.int64)
    A, b, kept, left = beside(G, c, yy, free, terms.prices)

    def model(S: Indices, lower: float, exact: bool, nodes: int, how: str) -> PricedSubset:
        weights, rss = least_squares(G, c, yy, S)
        units = terms.prices.count(S.tolist())
        value = rss + terms.rate * units
        lower = value if exact else min(max(lower, 0.0), value)
        return PricedSubset(S, weights, rss, lower, exact, nodes, how, units, value)

    if len(kept) == 0:
        return model(free, 0.0, True, 0, "nothing to buy explains anything")
    units = terms.prices.units
    limit = sum(units) if terms.limit is None else min(terms.limit, sum(units))
    needs = [terms.prices.needs[j] for j in kept]
    market = market_of(needs, units, limit, min(k, len(kept)), terms.rate / (yy * left))
    place = {int(j): p for p, j in enumerate(kept)}
    search = PricedSearch(A, b, market)
    search.first([place[int(j)] for j in start if int(j) in place])
    search.tighten()
    done = search.root(began + seconds) or search.run(began + seconds)
    how = f"branch and bound, complete, {search.nodes:,} nodes"
    if not done:
        how = f"stopped after {seconds:g} s, {search.nodes:,} nodes: greedy above, relaxation below"
    S = np.sort(np.concatenate([free, kept[search.S]]))
    return model(S, search.lower * yy * left, done, search.nodes, how)


def _free_features(G: Floats, prices: Prices) -> Indices:
    """The features that cost nothing, without those that are nothing or depend on others."""
    chosen: list[int] = []
    for j, need in enumerate(prices.needs):
        if not need and G[j, j] > 0.0 and _unexplained(G, [*chosen], j) >= DEPENDENT:
            chosen.append(j)
    return np.array(chosen, dtype=np.int64)


def _unexplained(G: Floats, F: list[int], j: int) -> float:
    """The share of the square of column j that the columns F leave."""
    if not F:
        return 1.0
    unit = np.sqrt(np.diag(G))
    r = G[F, j] / (unit[F] * unit[j])
    return 1.0 - float(r @ np.linalg.lstsq(G[np.ix_(F, F)] / np.outer(unit[F], unit[F]), r)[0])


def beside(
    G: Floats, c: Floats, yy: float, free: Indices, prices: Prices
) -> tuple[Floats, Floats, Indices, float]:
    """Moments of what the free features leave, scaled; which columns those are; what is left of y.

    Unit diagonal and y'y = 1, without columns of which nothing is left and without copies that are
    never cheaper than the first.
    """
    none = np.zeros((0, 0)), np.zeros(0), np.zeros(0, dtype=np.int64), 0.0
    others = np.setdiff1d(np.flatnonzero(np.diag(G) > 0.0), free)
    if yy == 0.0 or len(others) == 0:
        return none
    unit = np.sqrt(np.diag(G)[others])
    A, left = G[np.ix_(others, others)] / np.outer(unit, unit), 1.0
    b = c[others] / unit / math.sqrt(yy)
    if np.linalg.eigvalsh(A)[0] < -1e-8:
        raise ProblemError("G must be positive semidefinite")
    if len(free):
        size = np.sqrt(np.diag(G)[free])
        H = G[np.ix_(free, others)] / np.outer(size, unit)
        r = c[free] / size / math.sqrt(yy)
        inverse = np.linalg.pinv(
            G[np.ix_(free, free)] / np.outer(size, size), 1e-13, hermitian=True
        )
        A, b, left = A - H.T @ inverse @ H, b - H.T @ inverse @ r, 1.0 - float(r @ inverse @ r)
        A = (A + A.T) / 2.0
    rest = np.diag(A) >= DEPENDENT
    if left < 1e-14 or not rest.any():
        return none
    others, scale = others[rest], 1.0 / np.sqrt(np.diag(A)[rest])
    A = scale[:, None] * A[np.ix_(rest, rest)] * scale
    b = scale * b[rest] / math.sqrt(left)
    kept = _distinct(A, b, [prices.needs[j] for j in others])
    return np.ascontiguousarray(A[np.ix_(kept, kept)]), b[kept], others[kept], left
