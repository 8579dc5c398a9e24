"""Good subsets for every amount of money: forward selection by gain and price, no search."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keyhole.blocks.exact.priced import beside
from keyhole.blocks.exact.priced_kernels import GAIN, PER_UNIT, complete, exchange
from keyhole.blocks.exact.priced_market import Market, market_of
from keyhole.blocks.exact.subset import checked_moments
from keyhole.blocks.exact.subset_kernels import include, untouched
from keyhole.prices import Prices
from keyhole.problem import Floats, Indices

LESS = (0.01, 0.1, 1.0)  # what all the money is taken to be worth, as a share of y'y
TIE = 1e-12  # of y'y: rounding
NONE = (-1, -1)


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
    >>> from keyhole.prices import price_list
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
        before = _best(A, b, market._replace(limit=min(limit, sum(prices.units))), before)
        S = _seen(A, b, before, rows)
        found[i] = np.sort(kept[S])
    return found


def _best(A: Floats, b: Floats, market: Market, start: Indices) -> Indices:
    """The best of several greedy choices, of equal ones the cheapest as a rule, then exchanged."""
    price = 1.0 / max(market.limit, 1)
    tries = [(given, style, 0.0) for given in (start, start[:0]) for style in (PER_UNIT, GAIN)]
    tries += [(start[:0], GAIN, worth * price) for worth in LESS]
    best, value = start, math.inf
    for given, style, lam in tries:
        S = np.zeros(len(b), dtype=np.int64)
        S[: len(given)] = given
        size, lost = complete(A, b, market, S, len(given), NONE, style, lam)
        if lam > 0.0:
            size, lost = complete(A, b, market, S, size, NONE, GAIN, 0.0)
        if lost < value - TIE:
            best, value = S[:size], lost
    S = np.concatenate([best, np.zeros(len(b) - len(best), dtype=np.int64)])
    size, _ = exchange(A, b, market, S, len(best), value)
    return S[:size]


def _seen(A: Floats, b: Floats, S: Indices, rows: int) -> Indices:
    """Those of S that are seen to help, most helpful first: the size of the least criterion."""
    if not len(S):
        return S
    D, r = untouched(A, b)
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
