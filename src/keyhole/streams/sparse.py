"""Sparse streams: rows of (index, value) pairs; any other feature is 0, or not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.problem import (
    DataError,
    Floats,
    Indices,
    ProblemError,
    feature_names,
    real_numbers,
    whole_number,
)
from keyhole.streams.arrays import LabelledRows, labels_of, rows_of

FILL_VALUES = {"zero": 0.0, "unknown": np.nan}
MAX_DENSE_NUMBERS = 2**22  # in a block that is written out: 32 MB
SPARSE_BLOCK_ROWS = 4096  # in a block that is not


class SparseRow:
    """One sparse row. Selling m of its features takes m searches among its pairs.

    Parameters
    ----------
    indices, values
        The pairs; indices ascend.
    d
        Features of the row.
    fill
        The value of all others: 0, or NaN where they are not known.

    Examples
    --------
    >>> x = SparseRow(np.array([1, 40], np.int32), np.array([0.5, 2.0]), 100_000)
    >>> x.values_at(np.array([0, 1, 40, 99_999]))
    array([0. , 0.5, 2. , 0. ])
    """

    __slots__ = ("_fill", "_indices", "_values", "shape")

    def __init__(
        self, indices: NDArray[np.integer], values: NDArray[np.floating], d: int, fill: float = 0.0
    ) -> None:
        self._indices, self._values, self._fill = indices, values, fill
        self.shape = (d,)

    def values_at(self, features: Indices) -> Floats:
        """The values of these features."""
        found = np.full(len(features), self._fill)
        many = len(self._indices)
        if many:
            # In the type of the indices: of two types, searchsorted copies all pairs.
            wanted = features.astype(self._indices.dtype)
            at = np.minimum(np.searchsorted(self._indices, wanted), many - 1)
            here = self._indices[at] == wanted
            found[here] = self._values[at[here]]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        row = np.full(self.shape, self._fill, dtype=dtype or np.float64)
        row[self._indices] = self._values
        return row


class SparseRows:
    """Consecutive sparse rows: pairs from bounds[i] up to bounds[i + 1] are those of row i.

    Slices are views. Anything else that is done with them as with an array writes them out.

    Examples
    --------
    >>> pairs = np.array([1, 0, 2], np.int32), np.array([5.0, 6.0, 7.0])
    >>> rows = SparseRows(np.array([0, 1, 3]), *pairs, d=3)
    >>> np.asarray(rows)
    array([[0., 5., 0.],
           [6., 0., 7.]])
    >>> rows[1:].row(0).values_at(np.array([2]))
    array([7.])
    """

    __slots__ = ("_bounds", "_indices", "_values", "d", "fill")

    def __init__(
        self,
        bounds: NDArray[np.integer],
        indices: NDArray[np.integer],
        values: NDArray[np.floating],
        d: int,
        fill: float = 0.0,
    ) -> None:
        self._bounds, self._indices, self._values = bounds, indices, values
        self.d, self.fill = d, fill

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self._bounds) - 1, self.d

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self._values.dtype

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.integer], NDArray[np.floating]]:
        """Row by row, the pairs: bounds that begin with 0, indices, values."""
        start, stop = self._bounds[0], self._bounds[-1]
        bounds = (self._bounds - start).astype(np.int64, copy=False)
        return bounds, self._indices[start:stop], self._values[start:stop]

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, rows: Any) -> Any:
        """A slice of rows as a view; as of an array, written out, whatever else is asked for."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            bounds = self._bounds[start : max(start, stop) + 1]
            return SparseRows(bounds, self._indices, self._values, self.d, self.fill)
        return np.asarray(self)[rows]

    def row(self, i: int) -> SparseRow:
        """Row i."""
        part = slice(self._bounds[i], self._bounds[i + 1])
        return SparseRow(self._indices[part], self._values[part], self.d, self.fill)

    def write_into(self, board: NDArray[np.floating]) -> None:
        """Write the pairs into an array that holds `fill` everywhere."""
        rows, indices, values = self._places()
        board[rows, indices] = values

    def wipe(self, board: NDArray[np.floating]) -> None:
        """Put `fill` back where pairs were written."""
        rows, indices, _ = self._places()
        board[rows, indices] = self.fill

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        full = np.full(self.shape, self.fill, dtype=dtype or self.dtype)
        self.write_into(full)
        return full

    def _places(self) -> tuple[Indices, NDArray[np.integer], NDArray[np.floating]]:
        bounds, indices, values = self.pairs
        return np.repeat(np.arange(len(self)), np.diff(bounds)), indices, values


class SparseStreamBase:
    """What streams of sparse rows share: whole rows, written out."""

    d: int

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return rows_of(self.blocks())

    def blocks(self, rows: int | None = None) -> Iterator[LabelledRows]:
        """The rows as (X, y), written out: few at a time where d is large."""
        size = dense_rows(self.d) if rows is None else rows
        return ((np.asarray(X), y) for X, y in self.lazy_blocks(size))

    def lazy_blocks(self, rows: int | None = None) -> Iterator[tuple[SparseRows, Floats]]:
        """The rows as they are, with their labels."""
        raise NotImplementedError


class SparseStream(SparseStreamBase):
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
        self, X: Any, y: ArrayLike, names: Sequence[str] | None = None, *, absent: str = "zero"
    ) -> None:
        self._rows = _from_scipy(X, fill_value(absent))
        self.absent = absent
        self.y = labels_of(self._rows.shape, y)
        self.d = self._rows.d
        self.names = feature_names(names, self.d)
        self.rounds: int | None = len(self.y)
        self.nnz = len(self._rows.pairs[1])

    def lazy_blocks(self, rows: int | None = None) -> Iterator[tuple[SparseRows, Floats]]:
        """The rows as they are, with their labels; views, not copies."""
        size = SPARSE_BLOCK_ROWS if rows is None else whole_number("rows", rows, 1)
        for start in range(0, len(self.y), size):
            yield self._rows[start : start + size], self.y[start : start + size]


def dense_rows(d: int) -> int:
    """How many rows of d features are written out at a time."""
    return max(1, min(SPARSE_BLOCK_ROWS, MAX_DENSE_NUMBERS // d))


def fill_value(absent: str) -> float:
    """The value of what a row has no pair for, or a ProblemError."""
    if absent not in FILL_VALUES:
        raise ProblemError(
            f'absent must be "zero" (known to be 0) or "unknown" (not known), got {absent!r}'
        )
    return FILL_VALUES[absent]


def _from_scipy(X: Any, fill: float) -> SparseRows:
    """The rows of a matrix of finite or absent values, or a DataError."""
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
    bounds, indices, values = matrix.indptr, matrix.indices, real_numbers("X", matrix.data)
    for at in np.flatnonzero(np.isinf(values))[:1].tolist():
        row = int(np.searchsorted(bounds, at, side="right")) - 1
        raise DataError(
            f"X must be finite, row {row} has {values[at]} at feature {int(indices[at])}: "
            "NaN is a value that is not known"
        )
    return SparseRows(bounds, indices, values, X.shape[1], fill)
