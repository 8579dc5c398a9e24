"""Hindsight of wide streams by screening: search the features kept, bound all others.

Moments are never d x d: of every column by itself, and of some columns with all others. Dense
blocks are multiplied as they come; of sparse rows only the pairs are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.analysis.exact.best_subset import Subset, best_subset
from keyhole.learners.blocks.sums.data_sums import DEPENDENT
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
COPY_ROUNDING = 1e-12  # a correlation of 1 up to this is a copy
PAIRS_PER_SECOND = 1e10  # multiplications; how many the comparison of all pairs may take
COMPARED_PER_PASS = 256  # features that are compared with all others in one pass


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
    outside = ScreenedOut(columns, A, G)
    coherence = None
    if k > 1 and outside.work <= PAIRS_PER_SECOND * seconds:
        coherence = outside.coherence(passes)
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


class ScreenedOut:
    """The features that were screened away, beside those that were kept: A.

    Every x_j is its projection on the span of A, of length h_j, plus a rest of length g_j^(1/2);
    the projection of y leaves y' with |y'|^2 = Y, the loss of all of A together, and the product of
    y' with the rest of x_j is e_j. All this follows from products of A with all features.

    Guarantee
    ---------
    Let S be features P of A and R outside, |R| = r, and w the weights of R times g^(1/2), t = |w|.
    By Pythagoras the loss of S with these weights is the sum of two parts.

    In the span of A: what P leaves of the projection of y has length s(P), where
    s(P)^2 = RSS(P) - Y >= s^2 := L - Y and L bounds the loss of |P| features of A from below. The
    features of R change it by at most sum |w_j| h_j / g_j^(1/2) <= H t, where H^2 is the sum of
    the r largest h_j^2 / g_j. So this part is at least ((s - H t)+)^2.

    Beside it: Y - 2 sum w_j rho_j + w'C w with rho_j = e_j / g_j^(1/2) and C the correlations of
    the rests, whose least eigenvalue is at least l = 1 - (r - 1) mu when no two of them correlate
    by more than mu (Gershgorin). So it is at least Y - 2 T t + l t^2, with T^2 the sum of the r
    largest rho_j^2.

    The minimum over t >= 0 of both is, for l > 0,

        Y + s^2 - (H s + T)^2 / (l + H^2)   if H T <= l s,   else   Y - T^2 / l,

    a lower bound of the loss of every such S; for r = 1, l = 1 and it is taken feature by feature.

    A feature of which less than 1e-10 of its square is beside A counts as dependent on it
    (H infinite: the bound is Y), and a copy of a feature of A as that feature.
    """

    def __init__(self, columns: ColumnMoments, A: Indices, G: Floats) -> None:
        unit = np.sqrt(columns.g[A])
        values, vectors = np.linalg.eigh(G[:, A] / np.outer(unit, unit))
        solid = values > DEPENDENT
        root = (vectors[:, solid] / np.sqrt(values[solid])) / unit[:, None]
        self._F: Floats = G.T @ root  # coordinates of the projections
        self._of_y = columns.c[A] @ root
        self.Y = max(columns.yy - float(self._of_y @ self._of_y), 0.0)
        outside = columns.g > 0.0
        outside[A] = False
        for row, length in zip(G, unit, strict=True):  # not at once: that is as large as G
            outside &= (1.0 - COPY_ROUNDING) * length * np.sqrt(columns.g) > np.abs(row)
        self.features: Indices = np.flatnonzero(outside)
        g, F = columns.g[outside], self._F[outside]
        self._h = np.sqrt((F * F).sum(axis=1))
        rest = g - self._h**2
        self._free = rest > DEPENDENT * g
        self._root = np.sqrt(np.where(self._free, rest, 1.0))
        e = columns.c[outside] - F @ self._of_y
        most = math.sqrt(self.Y)  # by Cauchy and Schwarz
        self.rho = np.where(self._free, np.clip(e / self._root, -most, most), 0.0)
        self.H = np.where(self._free, self._h / self._root, np.inf)
        self._columns = columns

    def alone(self) -> float:
        """The least loss of one feature outside by itself, which needs no bound."""
        some, columns = self.features, self._columns
        best = float((columns.c[some] ** 2 / columns.g[some]).max(initial=0.0))
        return max(columns.yy - best, 0.0)

    def least(self, r: int, fewer: float, mu: float) -> float:
        """What no model with r features outside goes below.

        `fewer` bounds the loss of models of all but r features from below; `mu` is the coherence.
        """
        if r > len(self.features):
            return math.inf  # there is no such model
        s2 = max(fewer - self.Y, 0.0)
        if r == 1:
            return max(self.Y + float(minimum(s2, self.H, np.abs(self.rho), 1.0).min()), 0.0)
        left = 1.0 - (r - 1) * mu
        if left <= 0.0:
            return 0.0
        H, T = np.sqrt(np.sort([self.H**2, self.rho**2])[:, -r:].sum(axis=1, keepdims=True))
        return max(self.Y + float(minimum(s2, H, T, left).min()), 0.0)

    @property
    def work(self) -> float:
        """About how many multiplications it takes to compare all pairs."""
        many = float(len(self.features))
        return many * (self._columns.cells + many * float(self._F.shape[1]))

    def coherence(self, passes: Passes) -> float:
        """The largest correlation of two of them, beside A; 1 if one depends on A.

        A pass for every 256 of them; 256 x d memory.
        """
        if not self._free.all():
            return 1.0
        largest, outside = 0.0, self.features
        for start in range(0, len(outside), COMPARED_PER_PASS):
            some = outside[start : start + COMPARED_PER_PASS]
            done = f"{start:,} of {len(outside):,}"
            G = products(passes, self._columns, some, f"pairs, {done} features")
            C = G[:, outside] - self._F[some] @ self._F[outside].T
            C = np.abs(C) / np.outer(self._root[start : start + COMPARED_PER_PASS], self._root)
            C[np.arange(len(some)), start + np.arange(len(some))] = 0.0
            largest = max(largest, float(C.max(initial=0.0)))
        return min(largest, 1.0)


def minimum(s2: float, H: Floats, T: Floats, left: float) -> Floats:
    """The least ((s - H t)+)^2 - 2 T t + left t^2 over t >= 0, for left > 0, element by element.

    >>> minimum(4.0, np.array([0.0, np.inf]), np.ones(2), 1.0)  # out of reach; all within reach
    array([ 3., -1.])
    """
    s, near = math.sqrt(s2), np.where(np.isinf(H), 0.0, H)
    far = np.isinf(H) | (near * T > left * s)
    found: Floats = np.where(far, -T * T / left, s2 - (near * s + T) ** 2 / (left + near * near))
    return found
