"""Hindsight of wide streams by screening: search the features kept, bound all others.

Moments are never d x d: of every column by itself, and of some columns with all others. Dense
blocks are multiplied as they come; of sparse rows only the pairs are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.analysis.exact.best_subset import Subset, best_subset
from keyhole.analysis.exact.outside import Outside
from keyhole.problem import BlockStream, DataError, Floats, Indices, Interval
from keyhole.problem.memory import refuse_beyond_memory
from keyhole.problem.rows import has_lazy_blocks
from keyhole.streams.sparse import SparseRows

StatusCallback = Callable[[str], None]
# A column varies by rounding only below these shares of its square, about the origin and about 0.
ROUNDING, OF_CELLS = 1e-12, 1e-26


@dataclass(frozen=True, slots=True, eq=False)
class ColumnMoments:
    """Every column by itself, absent cells at the column's mean; about the means if `centred`.

    g = |x_j|^2 and c = x_j.y; where g is 0 the column is constant, and c is 0 too. `cells` are the
    numbers in one pass: n x d, of sparse rows the pairs.
    """

    n: int
    mean_x: Floats
    mean_y: float
    g: Floats
    c: Floats
    yy: float
    centred: bool
    cells: float


class Passes:
    """Passes over a stream, which say how far they are."""

    def __init__(self, stream: BlockStream, said: StatusCallback | None) -> None:
        self.stream, self._said, self._last = stream, said, time.monotonic()

    def blocks(self, what: str) -> Iterator[tuple[NDArray[np.floating] | SparseRows, Floats]]:
        """Blocks, sparse where the stream has sparse rows."""
        stream, done = self.stream, 0
        of = "" if stream.rounds is None else f" of {stream.rounds:,}"
        for X, y in self._rows():
            if not len(y):
                continue
            yield X, y
            done += len(y)
            if self._said is not None and time.monotonic() - self._last > 0.2:
                self._last = time.monotonic()
                self._said(f"{what}: {done:,}{of} rows")

    def _rows(self) -> Iterator[tuple[NDArray[np.floating] | SparseRows, Floats]]:
        if has_lazy_blocks(self.stream):
            for rows, y in self.stream.lazy_blocks():
                if not isinstance(rows, SparseRows):
                    break
                yield rows, y
            else:
                return
        yield from self.stream.blocks()


def column_moments(passes: Passes, *, centred: bool) -> ColumnMoments:
    """Every column by itself, in one pass. Sums are about the means of the first block."""
    d = passes.stream.d
    n, origin, y0 = 0, np.zeros(d), 0.0
    seen, x, xx, xy, label = np.zeros((5, d))  # over cells that are there; label: their y
    y_sum = yy_sum = cells = 0.0
    for X, y in passes.blocks("columns"):
        if n == 0:
            y0 = float(y.mean())
            origin = _origin(X)
        z = y - y0
        for total, part in zip((seen, x, xx, xy, label), _sums(X, z, origin), strict=True):
            total += part
        cells += len(X.pairs[1]) if isinstance(X, SparseRows) else X.size
        n, y_sum, yy_sum = n + len(y), y_sum + float(z.sum()), yy_sum + float(z @ z)
    if n == 0:
        raise DataError("the stream is empty: there is nothing to fit a model to")
    off = np.divide(x, seen, out=np.zeros(d), where=seen > 0)
    mean_x, mean_y = origin + off, y0 + y_sum / n
    about = n * mean_x**2
    g = np.maximum(xx - seen * off**2, 0.0)
    g[g <= ROUNDING * xx + OF_CELLS * about] = 0.0
    c = np.where(g > 0.0, xy - off * label, 0.0)
    yy = max(yy_sum - y_sum**2 / n, 0.0)
    if not centred:
        g, c, yy = g + about, c + mean_x * mean_y * n, yy + n * mean_y**2
    return ColumnMoments(n, mean_x, mean_y, g, c, yy, centred, cells)


def _origin(X: NDArray[np.floating] | SparseRows) -> Floats:
    """The means of a block; 0 for sparse rows, most of which is 0 anyway."""
    if isinstance(X, SparseRows):
        return np.zeros(X.d)
    here = ~np.isnan(X)
    total = np.where(here, X, 0.0).sum(axis=0, dtype=np.float64)
    means: Floats = total / np.maximum(here.sum(axis=0), 1)
    return means


def _sums(X: NDArray[np.floating] | SparseRows, z: Floats, origin: Floats) -> tuple[Floats, ...]:
    """Of every column, over the cells that are there: how many, x, x^2, x z, z."""
    if isinstance(X, SparseRows):
        return _sparse_sums(X, z)
    here = ~np.isnan(X)
    x = np.where(here, X - origin, 0.0)
    full = here.all()
    label = np.full(X.shape[1], z.sum()) if full else z @ here
    return here.sum(axis=0).astype(np.float64), x.sum(axis=0), (x * x).sum(axis=0), z @ x, label


def _sparse_sums(X: SparseRows, z: Floats) -> tuple[Floats, ...]:
    bounds, indices, values = X.pairs
    owner = np.repeat(np.arange(len(X)), np.diff(bounds))
    here = ~np.isnan(values)
    v = np.where(here, values, 0.0).astype(np.float64)

    def total(weights: Any) -> Floats:
        return np.bincount(indices, weights=weights, minlength=X.d).astype(np.float64, copy=False)

    x, xx, xy = total(v), total(v * v), total(v * z[owner])
    if np.isnan(X.fill):
        return total(here), x, xx, xy, total(here * z[owner])
    gone = ~here
    return len(X) - total(gone), x, xx, xy, z.sum() - total(gone * z[owner])


def products(passes: Passes, columns: ColumnMoments, features: Indices, what: str) -> Floats:
    """x_i.x_j of some features i with all features j, in one pass: len(features) x d."""
    means, d = columns.mean_x, passes.stream.d
    found = np.zeros((len(features), d))
    for X, _ in passes.blocks(what):
        if isinstance(X, SparseRows):
            found += _sparse_products(X, means, features)
        else:
            W = np.where(np.isnan(X), 0.0, X - means)
            found += W[:, features].T @ W
    if not columns.centred:
        found += columns.n * np.outer(means[features], means)
    return found


def _sparse_products(X: SparseRows, means: Floats, features: Indices) -> Floats:
    """The same of sparse rows, about the means: W'W[:, j] with W = X - 1 means'."""
    from scipy.sparse import csr_array

    bounds, indices, values = X.pairs
    mean = means[indices]
    about_zero = 0.0 if np.isnan(X.fill) else mean
    # An absent cell is at its mean: 0 in W, and the mean itself in X.
    data = np.where(np.isnan(values), 0.0, values - mean) + about_zero
    S = csr_array((data, indices, bounds), shape=X.shape)
    W = S[:, features].toarray()
    if np.isnan(X.fill):
        return np.asarray((S.T @ W).T)
    W -= means[features]
    return np.asarray((S.T @ W).T) - np.outer(W.sum(axis=0), means)


MAX_KEPT, MIN_KEPT = 256, 32  # features that are searched among, unless told otherwise
MAX_PRODUCTS = 2**25  # of those with all features: 256 MB; fewer are kept of very many features
MAX_FEATURES_UNSCREENED = 4096  # of more, most are screened away unless told otherwise
PAIRS_PER_SECOND = 1e10  # multiplications; how many the comparison of all pairs may take


@dataclass(frozen=True, slots=True, eq=False)
class Screening:
    """What was searched of a wide stream, and what is known about the rest.

    Parameters
    ----------
    kept
        The features that were searched among.
    lows
        No model with exactly r features outside of `kept`, r = 0, 1, ..., k, has a loss below
        lows[r]. A copy of a feature that was kept counts as that feature, and constant columns do
        not count; infinite if there are not r others.
    coherence
        The largest correlation of two features outside, beside those kept; None if pairs were not
        compared. Without it nothing but 0 can be said from the second feature outside on: two
        nearly equal columns may differ by just what is missing.
    """

    kept: Indices
    lows: tuple[float, ...]
    coherence: float | None


@dataclass(frozen=True, slots=True, eq=False)
class ScreenedModel:
    """The best model that was found, its moments, and the interval of its loss."""

    columns: ColumnMoments
    support: Indices
    weights: Floats
    loss: Interval
    screening: Screening


def usually_kept(d: int, k: int) -> int:
    """How many of d features are searched among unless told otherwise; d where that is all.

    >>> [usually_kept(d, 4) for d in (4_096, 100_000, 1_000_000)]
    [4096, 256, 33]
    """
    if d <= MAX_FEATURES_UNSCREENED:
        return d
    return max(4 * k, MIN_KEPT, min(MAX_KEPT, MAX_PRODUCTS // d))


def screening_bytes(d: int, kept: int) -> float:
    """About what it takes to search among `kept` of d features."""
    return 8.0 * 4.0 * kept * d  # products, those of a pass, coordinates, what is in between


def search_screened(
    stream: BlockStream,
    k: int,
    kept: int,
    *,
    centred: bool,
    seconds: float,
    said: StatusCallback | None,
) -> ScreenedModel:
    """The best model of k features, searched for among `kept` of them; four passes or more.

    Half of them are the features most correlated with y; twice, a quarter of them those most
    correlated with what the best model so far leaves.
    """
    refuse_beyond_memory(
        f"{kept:,} features with {stream.d:,} others",
        screening_bytes(stream.d, kept),
        f"say screen={kept // 4 or 1}, or fewer",
    )
    passes = Passes(stream, said)
    columns = column_moments(passes, centred=centred)
    A, G = np.zeros(0, dtype=np.int64), np.empty((kept, stream.d))
    for turn, size in enumerate((kept - kept // 4 - kept // 4, kept // 4, kept // 4), start=1):
        more = _strongest(columns, A, G[: len(A)], k, size)
        if len(more):
            rows = products(passes, columns, more, f"screening, {turn} of 3")
            G[len(A) : len(A) + len(more)] = rows
            A = np.concatenate([A, more])
    G = G[: len(A)]
    best = _best(columns, A, G, k, seconds / 2)
    outside = Outside(columns.g, columns.c, columns.yy, A, G)
    coherence = None
    if k > 1 and outside.work(columns.cells) <= PAIRS_PER_SECOND * seconds:

        def compared(some: Indices) -> Floats:
            return products(passes, columns, some, f"pairs, from feature {some[0]:,} on")

        coherence = outside.coherence(compared)
    lows = [best.lower]
    for r in range(1, k + 1):
        if k == 1:
            lows.append(outside.alone())
            continue
        if r > 1 and coherence is None:
            lows.append(0.0)
            continue
        fewer = columns.yy
        if r < k:
            fewer = _best(columns, A, G, k - r, seconds / 2 / k).lower
        lows.append(outside.least(r, max(fewer, best.lower), coherence or 0.0))
    low = min(best.rss, *lows)
    how = f"{best.how}, of {len(A):,} of {stream.d:,} features"
    if low < best.rss:
        how += f"; {_weakest(lows, coherence)}"
    screening = Screening(np.sort(A), tuple(lows), coherence)
    return ScreenedModel(
        columns, A[best.support], best.weights, Interval(low, best.rss, how), screening
    )


def _weakest(lows: list[float], coherence: float | None) -> str:
    """Which part of the bound is the lowest, for people."""
    r = int(np.argmin(lows))
    if r == 0:
        return "the bound is that of the search"
    if coherence is None and r > 1:
        return (
            f"models with two or more of the others were not bounded, those with one have "
            f"{lows[1]:.6g} or more (pairs are compared with more `seconds`)"
        )
    return f"the bound is that of models with {r} of the others"


def _strongest(columns: ColumnMoments, A: Indices, G: Floats, k: int, many: int) -> Indices:
    """The features most correlated with what the best model of A leaves, those of A excepted."""
    rest = columns.c.copy()
    if len(A):
        found = _best(columns, A, G, min(k, len(A)), 0.0)
        rest -= found.weights @ G[found.support]
    size = np.sqrt(columns.g)
    score = np.divide(np.abs(rest), size, out=np.full(len(rest), -1.0), where=size > 0.0)
    score[A] = -1.0
    many = min(many, int((score >= 0.0).sum()))
    return np.sort(np.argpartition(-score, max(many - 1, 0))[:many])


def _best(columns: ColumnMoments, A: Indices, G: Floats, k: int, seconds: float) -> Subset:
    if not len(A):
        nothing = np.zeros(0)
        return Subset(A, nothing, columns.yy, columns.yy, True, 0, "no column varies")
    return best_subset(G[:, A], columns.c[A], columns.yy, min(k, len(A)), seconds=seconds)
