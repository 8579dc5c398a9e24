"""Moments: sums of x x', x y and y^2 over rows of which only some features were seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.core.functions import c_function
from keyhole.core.records import hold
from keyhole.errors import LARGEST
from keyhole.problem import (
    DataError,
    Floats,
    Indices,
    ProblemError,
    StateError,
    finite_label,
    whole_number,
)


class Rows(NamedTuple):
    """Rows of which only some features were seen.

    Row t has the entries offsets[t], ..., offsets[t + 1] - 1 of `features`, which are ascending
    within it, and of `x`, their values. Its label is y[t].
    """

    offsets: Annotated[NDArray[np.int32], "rows+1"]
    features: Annotated[NDArray[np.int32], "entries"]
    x: Annotated[Floats, "entries"]
    y: Annotated[Floats, "rows"]


class Gathered(NamedTuple):
    """Room for the entries of rows in the order of their features."""

    start: Annotated[NDArray[np.int32], "d+1"]
    order: Annotated[NDArray[np.int32], "2 entries"]


def restrict_triangle(flat: NDArray[Any], d: int, S: Indices, out: NDArray[Any]) -> None:
    """The triangle of the features S, in the order of S, from the triangle of d features."""
    first, m = _row_starts(d), len(S)
    place = _row_starts(m)
    for a, feature in enumerate(S):
        low, high = np.minimum(feature, S[a:]), np.maximum(feature, S[a:])
        out[place[a] + a : place[a] + m] = flat[first[low] + high]


def unpack_triangle(flat: NDArray[Any], d: int, out: NDArray[Any]) -> None:
    """The full symmetric d x d matrix of the triangle at the beginning of `flat`."""
    for i, start in enumerate(_row_starts(d)):
        row = flat[start + i : start + d]
        out[i, i:] = row
        out[i:, i] = row


def _row_starts(d: int) -> Indices:
    """The entry (i, j), i <= j, is at bases[i] + j."""
    i = np.arange(d)
    bases: Indices = i * d - i * (i + 1) // 2
    return bases


# Rows summed in `recent` before it is added to `total`. A sum of n terms then has passed at most
# FOLD + n / FOLD roundings instead of n, which is least near sqrt(n); this is for n = 10^8.
FOLD = 8192

LABEL_SUM, LABEL_SQUARE = -2, -1  # of `total` and `recent`: behind everything else


class MomentSums(NamedTuple):
    """What a `Moments` adds to.

    `total` and `recent` hold the triangle of x x^T, then x y, x, y where x was seen
    (d each), then y and y^2; `pairs` is the triangle of the counts.
    """

    d: int
    total: Annotated[Floats, "sums"]
    recent: Annotated[Floats, "sums"]
    pairs: Annotated[Indices, "pairs"]


@c_function("kh_first_fault", "bought[n,width] values[n,width] labels[n]")
def first_fault(bought: Indices, values: Floats, labels: Floats, d: int) -> int:
    """The first row that is not ascending features and usable values, or -1.

    -1 in `bought` ends a row. One comparison refuses NaN, infinite and oversized numbers alike.
    """
    raise NotImplementedError


@c_function(
    "kh_take_rows",
    "bought[m,width] values[m,width] labels[m]",
    room="65*d+8192",
    long=True,
)
def take_rows(
    bought: Indices,
    values: Floats,
    labels: Floats,
    n: int,
    buffered: int,
    buffer: Rows,
    sums: MomentSums,
    room: Gathered,
) -> tuple[int, int]:
    """Copy rows into the buffer, which holds `buffered` rows and is added to sums of n rows
    whenever it is full; the new numbers of rows in the sums and in the buffer.
    """
    raise NotImplementedError


@c_function("kh_accumulate", room="65*d+8192", long=True)
def accumulate(n: int, buffered: int, buffer: Rows, sums: MomentSums, room: Gathered) -> int:
    """Add the first `buffered` rows of the buffer to sums of n rows; the new number of rows.

    `recent` moves to `total` after every FOLD rows told, wherever the buffer ends.
    """
    raise NotImplementedError


# Both crossings are measured by `make bench` (benchmarks/speed/products.py); C has them too.
# Rows that see more than BLOCK_SHARE d + BLOCK_OVERHEAD features go as a block.
BLOCK_SHARE, BLOCK_OVERHEAD = 0.35, 20.0
MAX_CACHED_D = 300  # up to this d the sums stay in the cache, wherever one jumps


class PairSums(NamedTuple):
    """What is added to: `sums` begins with the triangle of x x^T, `pairs` is that of the counts."""

    d: int
    sums: Annotated[Floats, "."]
    pairs: Annotated[Indices, "."]


@c_function("kh_by_row", long=True)
def by_row(rows: Rows, first: int, last: int, into: PairSums) -> None:
    """Rows first, ..., last - 1 one after the other: O(seen^2) each, best while all is cached."""
    raise NotImplementedError


@c_function("kh_by_feature", long=True)
def by_feature(rows: Rows, first: int, last: int, into: PairSums, room: Gathered) -> None:
    """The same, gone through one row of the triangle after the other."""
    raise NotImplementedError


@c_function("kh_as_block", room="65*d+8192", long=True)
def as_block(rows: Rows, first: int, last: int, into: PairSums) -> None:
    """The same as a product of blocks with zeros where nothing was seen: O(d^2) per row.

    Z^T Z for 64 rows Z at a time, tile by tile of its columns, two rows i and i + 1 of the
    triangle at a time from column i + 2 on; what is left of it goes one by one.
    """
    raise NotImplementedError


_MAX_BUFFER_ROWS = 4096  # most rows in the buffer
_MAX_BUFFER_ENTRIES = 1 << 19  # most entries in it, if a row has no more: 10 MB with the workspace


def _numbers(name: str, values: ArrayLike, kinds: str, ndim: int) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{name} must be an array, its rows have different lengths") from None
    if array.ndim != ndim or (array.size and array.dtype.kind not in kinds):
        raise DataError(
            f"{name} must be numbers in an array of {ndim} dimensions, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array, dtype=np.float64 if "f" in kinds else np.int64)


class Moments:
    """Sums over rows of which only some features were seen; O(seen^2) per row, no row is kept.

    A row is the set O of features that were seen, their values x(O), and the label y. The sums

        XX_ij = sum x_i x_j,  N_ij = number of rows,     over rows with i and j in O,
        Xy_i = sum x_i y,  X_i = sum x_i,  Y_i = sum y,  over rows with i in O,
        y = sum y,  yy = sum y^2,  n = number of rows,   over all rows

    are all there is: `estimates.py` reads estimates off them, `+` merges, `restrict` forgets
    features.

    Parameters
    ----------
    d
        How many features a row has.

    Guarantee
    ---------
    The sums depend on the rows and their order only, bit for bit: not on whether rows came singly
    or in blocks, nor on when anything was read. A sum of n terms s has an error of at most
    (8192 + n / 8192 + 2) 2^-53 sum |s|: 2.3e-12 of sum |s| at n = 10^8 (a plain running sum may
    be off by 10^-8).

    Examples
    --------
    >>> moments = Moments(3)
    >>> moments.add([0, 2], [1.0, 2.0], y=3.0)
    >>> moments.add([0, 1], [1.0, 5.0], y=1.0)
    >>> moments.XX
    array([[ 2.,  5.,  2.],
           [ 5., 25.,  0.],
           [ 2.,  0.,  4.]])
    >>> moments.n, (moments + moments).yy
    (2, 20.0)
    """

    # Sums, all of which add: n, _pairs (the triangle of N), and _total + _recent (the triangle of
    # XX, then Xy, X, Y, then y, yy). _recent holds the rows since the last multiple of 8192 and
    # is folded into _total there, so that no sum passes many roundings. The buffer holds rows that
    # are told but not added yet; whatever reads a sum adds them first. Nothing derived is kept.

    def __init__(self, d: int) -> None:
        self.d = d = whole_number("d", d, 1)
        triangle = d * (d + 1) // 2
        self._n = 0
        self._total = np.zeros(triangle + 3 * d + 2)
        self._recent = np.zeros(triangle + 3 * d + 2)
        self._pairs = np.zeros(triangle, dtype=np.int64)
        self._buffered = 0
        capacity = max(d, min(_MAX_BUFFER_ENTRIES, _MAX_BUFFER_ROWS * d))
        offsets = np.zeros(_MAX_BUFFER_ROWS + 1, dtype=np.int32)
        features = np.empty(capacity, dtype=np.int32)
        start, order = np.empty(d + 1, dtype=np.int32), np.empty((2, capacity), dtype=np.int32)
        self._parts = (
            hold(Rows(offsets, features, np.empty(capacity), np.empty(_MAX_BUFFER_ROWS))),
            hold(MomentSums(d, self._total, self._recent, self._pairs)),
            hold(Gathered(start, order)),
        )

    def add(self, features: ArrayLike, values: ArrayLike, y: SupportsFloat) -> None:
        """Add one row: ascending features, their values, the label.

        A feature whose value did not arrive is left out. A refused row (DataError) changes nothing.
        """
        S, x = _numbers("features", features, "iu", 1), _numbers("values", values, "fiub", 1)
        if len(S) and S[-1] == -1:
            raise DataError(f"features are numbered from 0, got {S.tolist()}")
        self._take(S[np.newaxis], x[np.newaxis], np.array([finite_label(y)]))

    def add_rows(self, bought: ArrayLike, values: ArrayLike, y: ArrayLike) -> None:
        """Add many rows: row t has the features bought[t], ascending up to a -1 if there is one.

        `values` has the shape of `bought`, (rows, width); what it holds beside a -1 is ignored. A
        block with a row that is refused (DataError) changes nothing.
        """
        S, x = _numbers("bought", bought, "iu", 2), _numbers("values", values, "fiub", 2)
        self._take(S, x, _numbers("y", y, "fiub", 1))

    def _take(self, S: NDArray[Any], x: Floats, y: Floats) -> None:
        if x.shape != S.shape or len(y) != len(S) or S.shape[1] > self.d:
            raise DataError(
                f"features and values must have the same shape, one row per label and at most "
                f"d = {self.d} wide, got {S.shape}, {x.shape} and {y.shape}"
            )
        fault = first_fault(S, x, y, self.d)
        if fault >= 0:
            raise DataError(
                f"row {fault} must have ascending features from 0 to {self.d - 1}, values and a "
                f"label that are finite and at most {LARGEST:g} in size (leave out what "
                f"did not arrive), got {S[fault].tolist()}, {x[fault].tolist()}, {y[fault]}"
            )
        self._n, self._buffered = take_rows(S, x, y, self._n, self._buffered, *self._parts)

    def _flush(self) -> None:
        if self._buffered:
            self._n = accumulate(self._n, self._buffered, *self._parts)
            self._buffered = 0

    def _sum(self, start: int, stop: int) -> Floats:
        self._flush()
        return self._total[start:stop] + self._recent[start:stop]

    def _scalar(self, which: int) -> float:
        self._flush()
        return float(self._total[which] + self._recent[which])

    def _vector(self, which: int) -> Floats:
        start = len(self._pairs) + which * self.d
        return self._sum(start, start + self.d)

    @property
    def n(self) -> int:
        """How many rows were added."""
        return self._n + self._buffered

    @property
    def XX(self) -> Floats:
        """Sum of x_i x_j over the rows where both were seen, d x d."""
        full = np.empty((self.d, self.d))
        unpack_triangle(self._sum(0, len(self._pairs)), self.d, full)
        return full

    @property
    def N(self) -> Indices:
        """In how many rows i and j were both seen, d x d."""
        self._flush()
        full = np.empty((self.d, self.d), dtype=np.int64)
        unpack_triangle(self._pairs, self.d, full)
        return full

    @property
    def Xy(self) -> Floats:
        """Sum of x_i y over the rows where i was seen."""
        return self._vector(0)

    @property
    def X(self) -> Floats:
        """Sum of x_i over the rows where i was seen."""
        return self._vector(1)

    @property
    def Y(self) -> Floats:
        """Sum of y over the rows where i was seen."""
        return self._vector(2)

    @property
    def y(self) -> float:
        """Sum of y over all rows."""
        return self._scalar(LABEL_SUM)

    @property
    def yy(self) -> float:
        """Sum of y^2 over all rows."""
        return self._scalar(LABEL_SQUARE)

    def __add__(self, other: Moments) -> Moments:
        """The moments of the rows of both; a + b and b + a are the same to the last bit."""
        if not isinstance(other, Moments):
            return NotImplemented
        if self.d != other.d:
            raise ProblemError(f"moments of {self.d} and {other.d} features cannot be added")
        result = Moments(self.d)
        for part in (self, other):
            part._flush()
            result._n += part._n
            result._total += part._total + part._recent
            result._pairs += part._pairs
        return result

    def restrict(self, S: ArrayLike) -> Moments:
        """The moments of the features S alone, in the order of S: as if no other were ever seen."""
        keep = np.array(S)
        different = (
            keep.dtype.kind in "iu" and keep.ndim == 1 and len({*keep.tolist()}) == keep.size
        )
        if not different or not keep.size or keep.min() < 0 or keep.max() >= self.d:
            raise ProblemError(
                f"S must be a list of different features from 0 to {self.d - 1}, got {S!r}"
            )
        keep = keep.astype(np.int64)
        self._flush()
        result, triangle = Moments(keep.size), len(self._pairs)
        restrict_triangle(self._pairs, self.d, keep, result._pairs)
        for mine, its in ((self._total, result._total), (self._recent, result._recent)):
            restrict_triangle(mine[:triangle], self.d, keep, its)
            its[len(result._pairs) : -2] = mine[triangle:-2].reshape(3, self.d)[:, keep].ravel()
            its[-2:] = mine[-2:]
        result._n = self._n
        return result

    def copy(self) -> Moments:
        """The same moments, with a life of their own."""
        return Moments.from_arrays(self.arrays())

    def __eq__(self, other: object) -> bool:
        """Whether the same rows were added in the same order and folds, to the last bit."""
        if not isinstance(other, Moments):
            return NotImplemented
        a, b = self.arrays(), other.arrays()
        return all(np.array_equal(a[name], b[name]) for name in a)

    __hash__ = None  # type: ignore[assignment]  # rows may be added at any time

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything there is, as named arrays; `from_arrays` continues from them to the bit."""
        self._flush()
        sums = {"total": self._total.copy(), "recent": self._recent.copy()}
        return {"d": np.array(self.d), "n": np.array(self._n), **sums, "pairs": self._pairs.copy()}

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Moments:
        """The moments of as many features that `arrays` described, for `keyhole.load`."""
        if arrays["d"] != self.d or arrays["n"] < 0:
            raise StateError(f"is of {arrays['d']} features and {arrays['n']} rows")
        return Moments.from_arrays(arrays)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Moments:
        """The moments that `arrays` described."""
        try:
            result = cls(int(arrays["d"]))
            result._n = whole_number("n", int(arrays["n"]), 0)
            for name in ("total", "recent", "pairs"):
                mine, array = getattr(result, f"_{name}"), arrays[name]
                if array.shape != mine.shape or array.dtype != mine.dtype:
                    raise DataError(f"{name} is {array.dtype}{array.shape} for d = {result.d}")
                mine[:] = array
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the arrays of moments: {error}") from None
        return result
