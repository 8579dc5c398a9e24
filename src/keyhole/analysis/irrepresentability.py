"""Irrepresentability: how far k features can stand in for others; a condition weaker than RIP."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from keyhole.learners.blocks.sums.data_sums import DEPENDENT, DataSums
from keyhole.learners.blocks.sums.estimates import Data, second_moments
from keyhole.problem import Floats, Indices, Interval, ProblemError, sparsity, whole_number

MAX_SETS = 20_000  # that are all tried
AT_ONCE = 4_000_000  # numbers: k x d of each set


def irrepresentability(
    data: Data | DataSums,
    k: int | None = None,
    *,
    support: Sequence[int] | Indices | None = None,
    standardised: bool = True,
    centred: bool = False,
) -> Interval:
    """How well k features represent another one: below 1, minimising |w|_1 tells them apart.

    The largest |G_SS^-1 G_Sj|_1 over features j outside of S, with G = X'X / n: of `support`, or of
    all sets of k features. For labels of a model on S whatever its signs, Zhao and Yu's condition
    is that this is below 1 (theirs is for given signs; the worst ones make it this). It is what the
    conclusions of the paper name as a condition weaker than RIP that Algorithm 1 can do with: the
    errata derive how.

    Parameters
    ----------
    data
        As in `rip`.
    k
        The size of the sets that are tried; in place of it:
    support
        The features of one model.
    standardised, centred
        As in `rip`. Unlike the weights of a model, this depends on the units of the columns.

    Returns
    -------
    Interval
        The number; infinite if the features of a set are dependent.

    Guarantee
    ---------
    Exact for a support, and where there are at most 20,000 sets. Otherwise the lower end is that of
    sets that were found, and the upper end M / (m - M'): beside i the k largest |G_ij| sum to at
    most M, k - 1 of them to at most M', and all G_ii >= m (Varah: |G_SS^-1|_1 <= 1 / (m - M')). It
    is infinite where m <= M'. Where pairs were never seen together nothing is known.

    Examples
    --------
    >>> X = [[1.0, 0.0, 0.9], [0.0, 1.0, 0.9], [1.0, 1.0, 1.8], [1.0, -1.0, 0.0]]
    >>> print(irrepresentability(X, support=[0, 1]))  # the third is their sum
    1.41421
    >>> print(irrepresentability(X, 3))
    inf

    References
    ----------
    Zhao and Yu, On model selection consistency of Lasso, JMLR 2006; Tropp, Greed is good, IEEE
    Transactions on Information Theory 2004 (the condition for all signs).
    """
    if (k is None) == (support is None):
        raise ProblemError("give k, the size of all sets to try, or the support of one model")
    moments = second_moments(data.gram if isinstance(data, DataSums) else data, centred=centred)
    moments = moments.scaled() if standardised else moments
    if support is not None:
        S = _checked_support(support, len(moments.G))
        sets, how = S[None, :], "exact"
    else:
        sets, how = _some_sets(moments.G, sparsity(k or 0, len(moments.G)))
    if not moments.seen.all():
        return Interval(0.0, math.inf, "some pairs of features were never seen together")
    low = _largest(moments.G, sets)
    high = low if how.startswith("exact") else max(low, _varah(moments.G, sets.shape[1]))
    return Interval(low, high, f"{how} ({moments.note})" if moments.note else how)


def _checked_support(support: Sequence[int] | Indices, d: int) -> Indices:
    S = [whole_number("support", j, 0) for j in support]
    if not S or len({*S}) < len(S) or max(S) >= d:
        raise ProblemError(f"support must be different features below {d}, at least one, got {S}")
    return np.array(sorted(S), dtype=np.int64)


def _some_sets(G: Floats, k: int) -> tuple[Indices, str]:
    """All sets of k features if there are few; else, for each, those that go with it most."""
    d = len(G)
    if math.comb(d, k) <= MAX_SETS:
        every = itertools.combinations(range(d), k)
        return np.array([*every], dtype=np.int64), f"exact: all {k}-subsets"
    size = np.abs(G) - 2.0 * np.abs(G).max() * np.eye(d)
    found = np.sort(np.argpartition(-size, k - 1, axis=1)[:, :k], axis=1).astype(np.int64)
    return found, f"the {k} features that go most with each one; bound by row sums for all sets"


def _largest(G: Floats, sets: Indices) -> float:
    """The largest |G_SS^-1 G_Sj|_1 over some sets S and all j outside."""
    worst, many = 0.0, max(AT_ONCE // (sets.shape[1] * len(G)), 1)
    for first in range(0, len(sets), many):
        S = sets[first : first + many]
        inside = G[S[:, :, None], S[:, None, :]]
        if np.linalg.eigvalsh(inside)[:, 0].min() < DEPENDENT * max(float(np.diag(G).max()), 0.0):
            return math.inf
        shares = np.abs(np.linalg.solve(inside, G[S])).sum(axis=1)
        np.put_along_axis(shares, S, 0.0, axis=1)
        worst = max(worst, float(shares.max()))
    return worst


def _varah(G: Floats, k: int) -> float:
    beside = -np.sort(-np.abs(G - np.diag(np.diag(G))), axis=1)
    fewer = float(beside[:, : k - 1].sum(axis=1).max())
    left = float(np.diag(G).min()) - fewer
    return float(beside[:, :k].sum(axis=1).max()) / left if left > 0.0 else math.inf
