"""Rows: lazy ones (sparse, or with computed columns), and the values that were bought of rows.

A lazy row of 10^5 features is never written out to sell twelve of them. Anything with these members
can be played; `SparseRows` is one, and a stream that hands them out has `lazy_blocks`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import SMALLEST
from keyhole.problem.ticket import Floats, Indices, Observation


class LazyRow(Protocol):
    """One row that is asked for features by number."""

    @property
    def shape(self) -> tuple[int]:
        """How many features it has."""

    def values_at(self, features: Indices) -> Floats:
        """The values of these features, ascending, in an array of its own; NaN is absent."""


class LazyRows(Protocol):
    """Consecutive rows, n x d, that take less memory than n x d."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows there are, and how many features each has."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numbers that rows are written out in: float32 or float64."""

    @property
    def fill(self) -> float:
        """What a board holds where nothing is written: 0, or NaN for absent."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> LazyRows: ...

    def row(self, i: int) -> LazyRow:
        """Row i."""

    def write_into(self, board: NDArray[np.floating]) -> None:
        """Write the rows out into an array that holds `fill` everywhere."""

    def wipe(self, board: NDArray[np.floating]) -> None:
        """Undo `write_into`."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The rows written out, n x d numbers."""


ArrayOrLazyRow = NDArray[np.floating] | LazyRow
ArrayOrLazyRows = NDArray[np.floating] | LazyRows


class LazyBlockStream(Protocol):
    """A stream that hands out lazy rows beside what every stream does."""

    def lazy_blocks(self, rows: int | None = None) -> Iterator[tuple[LazyRows, Floats]]:
        """The rows as (rows, y), at most `rows` at a time."""


def is_lazy_row(x: object) -> TypeGuard[LazyRow]:
    """Whether a row is asked for features by number."""
    return hasattr(x, "values_at")


def are_lazy(X: object) -> TypeGuard[LazyRows]:
    """Whether rows are lazy."""
    return hasattr(X, "write_into")


def has_lazy_blocks(stream: object) -> TypeGuard[LazyBlockStream]:
    """Whether a stream offers `lazy_blocks`."""
    return hasattr(stream, "lazy_blocks")


class BoughtValues(NamedTuple):
    """A row for each round: numbers of features, ascending, then -1; NaN where none arrived.

    >>> from keyhole.problem import Ticket
    >>> bought_for(Observation(Ticket(1, [2, 5]), np.array([61.0, np.nan])))
    BoughtValues(features=array([[2, 5]]), values=array([[61., nan]]))
    >>> bought_of_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1, -1], [0, 1]]))
    BoughtValues(features=array([[ 1, -1],
           [ 0,  1]]), values=array([[ 2., nan],
           [ 3.,  4.]]))
    """

    features: Indices
    values: Floats


def bought_for(seen: Observation) -> BoughtValues:
    """What came back for one ticket."""
    # Copies: kernels are compiled for arrays that can be written.
    return BoughtValues(np.array(seen.ticket.features[None]), np.array(seen.values[None]))


def bought_of_row(x: NDArray[np.floating] | LazyRow, features: Indices) -> BoughtValues:
    """What was bought of one row."""
    values = x.values_at(features) if is_lazy_row(x) else np.asarray(x)[features]
    return BoughtValues(np.array(features[None]), _as_seen(values[None]))


def bought_of_rows(
    X: NDArray[np.floating] | LazyRows, bought: NDArray[np.signedinteger]
) -> BoughtValues:
    """What was bought of each of these rows."""
    features = bought.astype(np.int64)
    if are_lazy(X):
        values = np.full(features.shape, np.nan)
        for i, some in enumerate(features):
            values[i, some >= 0] = X.row(i).values_at(some[some >= 0])
    else:
        values = np.take_along_axis(np.asarray(X), np.maximum(features, 0), axis=1)
        values = np.where(features >= 0, values, np.nan)
    return BoughtValues(features, _as_seen(values))


def _as_seen(values: NDArray[np.floating]) -> Floats:
    """As an Observation has them: what cannot be squared is 0."""
    numbers = np.array(values, dtype=np.float64)
    numbers[np.abs(numbers) < SMALLEST] = 0.0
    return numbers
