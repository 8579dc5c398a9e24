"""Subset paths: good subsets of every size, or for every amount of money, without a full search."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from keyhole.analysis.exact.best_subset import beside, checked_moments, scaled
from keyhole.analysis.exact.branch_and_bound import (
    GAIN,
    PER_UNIT,
    ItemMarket,
    exchanged,
    grown,
    include,
    limited,
    market_of,
    swaps,
)
from keyhole.problem import Floats, Indices
from keyhole.problem.prices import Prices

LESS = (0.01, 0.1, 1.0)  # what all the money is taken to be worth, as a share of y'y
TIE = 1e-12  # of y'y: rounding


def subset_path(G: ArrayLike, c: ArrayLike, yy: float, most: int) -> list[Indices]:
    """For each size 0, 1, ..., most, features that explain y well, from second moments alone.

    Each size begins with the features of the size before, adds the one that helps most, and
    exchanges one feature at a time as long as that helps. The work is bounded by what there is to
    exchange, not by a clock: the same sums, the same subsets.

    Parameters
    ----------
    G, c, yy
        X'X, X'y, y'y, as in `best_subset`.
    most
        The largest size, 1 <= most <= d.

    Returns
    -------
    list of indices
        most + 1 of them, each ascending. One is shorter than its size where no further column is
        independent of those it has, and then the later ones are the same.

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> y = np.array([3.0, 1, 3, 1])
    >>> [S.tolist() for S in subset_path(X.T @ X, X.T @ y, y @ y, most=2)]
    [[], [1], [0, 1]]
    """
    A, b, kept, most = scaled(G, c, yy, most)
    path: list[Indices] = [np.empty(0, dtype=np.int64)]
    before: Indices = np.empty(0, dtype=np.int64)  # numbers of columns of A
    for k in range(1, most + 1):
        S = np.full(k, -1, dtype=np.int64)
        S[: len(before)] = before
        size = swaps(A, b, k, S, len(before))[0] if len(kept) else 0
        before = S[:size]
        path.append(np.sort(kept[before]))
    return path


def priced_path(
    G: Floats, c: Floats, yy: float, prices: Prices, limits: Sequence[int], most: int, rows: int
) -> list[Indices]:
    """For each limit in units, features that explain y well and cost no more.

    Each limit begins with nothing and with the features of the limit before, and adds the feature
    (or the panel) that helps most, most for its price, or most after a price; the best of these
    exchanges what it has as long as that helps. What is left is cut off where the gain is not seen:
    where it is less than 2 log d of the noise of one row, which is what the best of d features
    that mean nothing would seem to bring. The work is bounded by what there is to exchange, not by
    a clock: the same sums, the same subsets.

    Parameters
    ----------
    G, c, yy
        X'X, X'y, y'y, as in `best_subset`.
    prices
        Of the features.
    limits
        In units, ascending.
    most
        The largest number of features.
    rows
        How many rows the sums are of.

    Returns
    -------
    list of indices
        One for each limit, ascending.

    Examples
    --------
    >>> from keyhole.problem.prices import price_list
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> y = np.array([3.0, 1, 3, 1])
    >>> prices = price_list(3, None, [2, 3, 1], None)
    >>> [S.tolist() for S in priced_path(X.T @ X, X.T @ y, y @ y, prices, [0, 2, 5], 3, 400)]
    [[], [0], [0, 1]]
    """
    G, c, yy = checked_moments(G, c, yy)
    A, b, kept, _ = beside(G, c, yy, np.zeros(0, dtype=np.int64), prices)
    found = [np.zeros(0, dtype=np.int64) for _ in limits]
    if not len(kept):
        return found
    needs = [prices.needs[j] for j in kept]
    market = market_of(needs, prices.units, 0, min(most, len(kept)), 0.0)
    before: Indices = np.zeros(0, dtype=np.int64)
    for i, limit in enumerate(limits):
        before = _best(A, b, limited(market, min(limit, sum(prices.units))), before)
        S = _seen(A, b, before, rows)
        found[i] = np.sort(kept[S])
    return found


def _best(A: Floats, b: Floats, market: ItemMarket, start: Indices) -> Indices:
    """The best of several greedy choices, of equal ones the cheapest as a rule, then exchanged."""
    price = 1.0 / max(market.limit, 1)
    tries = [(given, style, 0.0) for given in (start, start[:0]) for style in (PER_UNIT, GAIN)]
    tries += [(start[:0], GAIN, worth * price) for worth in LESS]
    best, value = start, math.inf
    for given, style, lam in tries:
        lost, S = grown(A, b, market, given, style, lam)
        if lost < value - TIE:
            best, value = S, lost
    return exchanged(A, b, market, best, value)[1]


def _seen(A: Floats, b: Floats, S: Indices, rows: int) -> Indices:
    """Those of S that are seen to help, most helpful first: the size of the least criterion."""
    if not len(S):
        return S
    D, r = np.diag(A).copy(), b.copy()
    L = np.empty((len(S), len(b)))
    open_, order, left = S.tolist(), list[int](), [1.0]
    for s in range(len(S)):
        j = max(open_, key=lambda i: r[i] * r[i] / D[i] if D[i] > 0.0 else 0.0)
        gain = include(A, L, s, j, D, r)
        if gain < 0.0:
            break
        open_.remove(j)
        order.append(j)
        left.append(max(left[-1] - gain, 1e-15))
    each = 2.0 * math.log(max(len(b), 2))
    judged = rows * np.log(left) + each * np.arange(len(left))
    return np.array(order[: int(np.argmin(judged))], dtype=np.int64)
