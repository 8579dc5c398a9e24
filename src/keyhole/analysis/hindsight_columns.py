"""Moments of wide streams, never d x d: of every column by itself, and of some with all others.

Dense blocks are multiplied as they come; of sparse rows only the pairs are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import BlockStream, DataError, Floats, Indices
from keyhole.problem.lazy_rows import has_lazy_blocks
from keyhole.streams.sparse_rows import SparseRows

Said = Callable[[str], None]
# A column varies by rounding only below these shares of its square, about the origin and about 0.
ROUNDING, OF_CELLS = 1e-12, 1e-26


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
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

    def __init__(self, stream: BlockStream, said: Said | None) -> None:
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


def column_moments(passes: Passes, *, centred: bool) -> Columns:
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
    return Columns(n, mean_x, mean_y, g, c, yy, centred, cells)


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


def products(passes: Passes, columns: Columns, features: Indices, what: str) -> Floats:
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
