"""Best subset of least squares for money: branch and bound over items, else an interval."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core import library
from keyhole.learners.blocks.exact.market import market_of
from keyhole.learners.blocks.exact.models import DEPENDENT
from keyhole.learners.blocks.exact.priced_search import PricedSearch
from keyhole.learners.blocks.exact.subset import checked_moments
from keyhole.problem import Floats, Indices, ProblemError, sparsity
from keyhole.problem.prices import Prices


@dataclass(frozen=True, slots=True, eq=False)
class PricedSubset:
    """A least squares model, what it costs, and what is known about the best one.

    Parameters
    ----------
    support
        Its features, ascending.
    weights
        Its weights, in the order of `support`.
    rss
        Its residual sum of squares.
    units
        What its features cost together, in units of the prices.
    value
        Its rss + rate * units: the best one is at most this.
    lower
        The best value is at least this; equal to `value` when `exact`.
    exact
        Whether the model is proven to be the best, to 1e-9 of y'y.
    nodes
        How many partial choices were looked at.
    how
        What was done, for people.
    """

    support: Indices
    weights: Floats
    rss: float
    units: int
    value: float
    lower: float
    exact: bool
    nodes: int
    how: str


@dataclass(frozen=True, slots=True)
class Terms:
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
    terms: Terms,
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
    ...     best = best_for_money(X.T @ X, X.T @ y, y @ y, Terms(prices, limit))
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
    free = _free(G, terms.prices) if k == d else np.zeros(0, dtype=np.int64)
    A, b, kept, left = beside(G, c, yy, free, terms.prices)
    if len(kept) == 0:
        return _model(G, c, yy, terms, free, 0.0, True, 0, "nothing to buy explains anything")
    units = terms.prices.units
    market = market_of(
        [terms.prices.needs[j] for j in kept],
        units,
        sum(units) if terms.limit is None else min(terms.limit, sum(units)),
        min(k, len(kept)),
        terms.rate / (yy * left),
    )
    place = {int(j): p for p, j in enumerate(kept)}
    search = PricedSearch(A, b, market)
    search.first([place[int(j)] for j in start if int(j) in place])
    search.tighten()
    done = search.root(began + seconds) or search.run(began + seconds)
    how = f"branch and bound, complete, {search.nodes:,} nodes"
    if not done:
        how = f"stopped after {seconds:g} s, {search.nodes:,} nodes: greedy above, relaxation below"
    S = np.sort(np.concatenate([free, kept[search.S]]))
    return _model(G, c, yy, terms, S, search.lower * yy * left, done, search.nodes, how)


def _free(G: Floats, prices: Prices) -> Indices:
    """The features that cost nothing, without those that are nothing or depend on others."""
    chosen: list[int] = []
    for j, need in enumerate(prices.needs):
        if not need and G[j, j] > 0.0 and _left(G, [*chosen], j) >= DEPENDENT:
            chosen.append(j)
    return np.array(chosen, dtype=np.int64)


def _left(G: Floats, F: list[int], j: int) -> float:
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
    A, b, left = (
        G[np.ix_(others, others)] / np.outer(unit, unit),
        c[others] / unit / math.sqrt(yy),
        1.0,
    )
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


def _distinct(A: Floats, b: Floats, needs: list[tuple[int, ...]]) -> Indices:
    """Columns without copies (up to sign) of a column that needs nothing else than they do."""
    out: set[int] = set()
    for i, j in np.argwhere(1.0 - np.abs(A) < 1e-12).tolist():
        if i == j or i in out or j in out or not {*needs[i]} <= {*needs[j]}:
            continue
        sign = math.copysign(1.0, A[i, j])
        if np.abs(A[i] - sign * A[j]).max() < 1e-12 and abs(b[i] - sign * b[j]) < 1e-12:
            out.add(j)
    return np.array([j for j in range(len(b)) if j not in out], dtype=np.int64)


def _model(
    G: Floats,
    c: Floats,
    yy: float,
    terms: Terms,
    S: Indices,
    lower: float,
    exact: bool,
    nodes: int,
    how: str,
) -> PricedSubset:
    """The model of the support S, in the caller's units."""
    unit = np.sqrt(np.diag(G)[S])
    w = np.linalg.lstsq(G[np.ix_(S, S)] / np.outer(unit, unit), c[S] / unit, rcond=None)[0]
    rss = max(float(yy - w @ (c[S] / unit)), 0.0)
    units = terms.prices.count(S.tolist())
    value = rss + terms.rate * units
    lower = value if exact else min(max(lower, 0.0), value)
    return PricedSubset(S, w / unit, rss, units, value, lower, exact, nodes, how)
