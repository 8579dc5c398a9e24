"""Streams of sparse rows: what is not written down is 0, or not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.problem import (
    DataError,
    Floats,
    ProblemError,
    feature_names,
    real_numbers,
    whole_number,
)
from keyhole.streams.arrays import Block, labels_of, rows_of
from keyhole.streams.sparse_rows import SparseRows

ABSENT = {"zero": 0.0, "unknown": np.nan}
NUMBERS = 2**22  # in a block that is written out: 32 MB
ROWS = 4096  # in a block that is not


class SparseStream:
    """A stream of sparse rows in memory, such as words of texts or counts of events.

    A row of 10^6 features with 100 pairs takes the memory of 100 pairs, and selling 20 of its
    features takes 20 searches among them. `play` never writes a whole row out for a learner of
    single rounds, and for one that plays blocks writes the pairs only.

    Parameters
    ----------
    X
        A scipy.sparse matrix or array, n x d, of any format. CSR of float32 or float64 is used as
        it is; everything else is converted. A pair whose value is NaN is absent when bought.
    y
        Labels, length n, finite.
    names
        One name per feature, or None, which costs nothing: features are then numbers.
    absent
        What a feature is that a row has no pair for: "zero", known to be 0 (a word that does not
        occur), or "unknown", absent when bought (a test that was not made).

    Attributes
    ----------
    d, rounds, names
        As of every stream.
    nnz
        Pairs in all.

    Examples
    --------
    >>> import scipy.sparse
    >>> X = scipy.sparse.csr_array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    >>> stream = SparseStream(X, [1.0, 2.0])
    >>> stream.d, stream.rounds, stream.nnz
    (3, 2, 3)
    >>> for x, y in SparseStream(X, [1.0, 2.0], absent="unknown"):
    ...     print(x, y)
    [nan  2. nan] 1.0
    [ 1. nan  3.] 2.0
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        absent: str = "zero",
    ) -> None:
        self._rows = _from_scipy(X, fill_of(absent))
        self.absent = absent
        self.y = labels_of(self._rows.shape, y)
        self.d = self._rows.d
        self.names = feature_names(names, self.d)
        self.rounds: int | None = len(self.y)
        self.nnz = len(self._rows.pairs[1])

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return rows_of(self.blocks())

    def blocks(self, rows: int | None = None) -> Iterator[Block]:
        """The rows as (X, y), written out: few at a time where d is large."""
        size = written_out(self.d) if rows is None else rows
        return ((np.asarray(X), y) for X, y in self.lazy_blocks(size))

    def lazy_blocks(self, rows: int | None = None) -> Iterator[tuple[SparseRows, Floats]]:
        """The rows as they are, with their labels; views, not copies."""
        size = ROWS if rows is None else whole_number("rows", rows, 1)
        for start in range(0, len(self.y), size):
            yield self._rows[start : start + size], self.y[start : start + size]


def written_out(d: int) -> int:
    """How many rows of d features are written out at a time."""
    return max(1, min(ROWS, NUMBERS // d))


def fill_of(absent: str) -> float:
    """The value of what a row has no pair for, or a ProblemError."""
    if absent not in ABSENT:
        raise ProblemError(
            f'absent must be "zero" (known to be 0) or "unknown" (not known), got {absent!r}'
        )
    return ABSENT[absent]


def _from_scipy(X: Any, fill: float) -> SparseRows:
    if not hasattr(X, "tocsr"):
        raise DataError(
            f"X must be a scipy.sparse matrix, got a {type(X).__name__}: for dense "
            "rows, use kh.streams.ArrayStream(X, y)"
        )
    if len(X.shape) != 2 or X.shape[1] < 1:
        raise DataError(f"X must be a table of rows and features, got shape {X.shape}")
    matrix = X.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # the caller's stays as it is
        matrix.sum_duplicates()
    return _checked(matrix.indptr, matrix.indices, real_numbers("X", matrix.data), X.shape[1], fill)


def _checked(
    bounds: NDArray[np.integer],
    indices: NDArray[np.integer],
    values: NDArray[np.floating],
    d: int,
    fill: float,
) -> SparseRows:
    """Sparse rows of finite or absent values, or a DataError."""
    for at in np.flatnonzero(np.isinf(values))[:1].tolist():
        row = int(np.searchsorted(bounds, at, side="right")) - 1
        raise DataError(
            f"X must be finite, row {row} has {values[at]} at feature {int(indices[at])}: "
            "NaN is a value that is not known"
        )
    return SparseRows(bounds, indices, values, d, fill)
