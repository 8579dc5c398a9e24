"""Rows of which only what is asked for exists: sparse ones, and columns that are computed.

A row of 10^5 features is never written out to sell twelve of them. Anything with these members can
be played; `SparseRows` is one, and a stream that hands them out has `lazy_blocks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


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
