"""Best k-subset of least squares from a Gram matrix: branch and bound, else an interval."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core import library
from keyhole.learners.blocks.exact.count_search import CountSearch
from keyhole.problem import Floats, Indices, ProblemError, sparsity, whole_number


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

    Forward selection and swaps give a first model; the perspective relaxation gives, at every node
    of the search, numbers with rss(S) >= base - sum over S of v_j, which settle most features at
    once; what they leave open is branched on, best bound first, or enumerated when it is small.

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
        When to stop searching. The first model and the first bound are made in any case.
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
    done = search.root(began + seconds) or search.run(began + seconds)
    lower, exact = (search.best, True) if done else (search.lower, False)
    how = f"branch and bound, complete, {search.nodes:,} nodes"
    if not exact:
        below = "relaxation bound" if search.split.e.min() > 0.0 else "the rss of all columns"
        how = (
            f"stopped after {seconds:g} s, {search.nodes:,} nodes: "
            f"forward selection and swaps above, {below} below"
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
    A = scale[:, None] * G * scale
    b = scale * c / math.sqrt(yy) if yy > 0.0 else np.zeros(len(c))
    kept = _distinct(A, b)
    return np.ascontiguousarray(A[np.ix_(kept, kept)]), b[kept], kept


def _checked(G: ArrayLike, c: ArrayLike, yy: float, k: int) -> tuple[Floats, Floats, float, int]:
    G, c, yy = checked_moments(G, c, yy)
    return G, c, yy, sparsity(k, len(c))


def checked_moments(G: ArrayLike, c: ArrayLike, yy: float) -> tuple[Floats, Floats, float]:
    """The moments as arrays and a number, or a ProblemError that names the wrong one."""
    try:
        G = np.array(G, dtype=np.float64)
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


def _distinct(A: Floats, b: Floats) -> Indices:
    """Columns without the zero ones and without copies of earlier ones (up to sign and units)."""
    kept = np.diag(A) > 0.0
    near = np.triu(1.0 - np.abs(A) < 1e-12, 1)
    for j in np.flatnonzero(near.any(axis=0)):
        copies = np.flatnonzero(kept & near[:, j])
        kept[j] &= not any(_same(A, b, int(i), int(j)) for i in copies)
    return np.flatnonzero(kept)


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
    G, c, yy = moments
    unit = np.sqrt(np.diag(G)[S])
    w = np.linalg.lstsq(G[np.ix_(S, S)] / np.outer(unit, unit), c[S] / unit, rcond=None)[0]
    rss = max(float(yy - w @ (c[S] / unit)), 0.0)
    lower = rss if exact else min(max(lower, 0.0), rss)
    return Subset(S, w / unit, rss, lower, exact, nodes, how)
