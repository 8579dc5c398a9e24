"""Sparse rows: (index, value) pairs; a feature that is not among them is 0, or not known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.problem.lazy_rows import Floats, Indices


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
        self,
        indices: NDArray[np.integer],
        values: NDArray[np.floating],
        d: int,
        fill: float = 0.0,
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
