"""One matrix of second moments from rows, streams, `Gram`s or `Moments`, and what to say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.sums.estimates import available_case
from keyhole.learners.blocks.sums.gram import Gram
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.problem import BlockStream, DataError, Floats, real_numbers, refuse_unless_stream


@dataclass(frozen=True, slots=True, eq=False)
class SecondMoments:
    """G = X'X / n of whatever it came from, and what must be said about it.

    `seen` is False where a pair of features was never seen together (G is 0 there); `note` is empty
    when there is nothing to say. `complete` says that G is that of actual rows, absent cells filled
    in at most, and hence positive semidefinite. Columns that are zero stay so when standardised.
    """

    G: Floats
    n: int
    seen: NDArray[np.bool_]
    note: str
    complete: bool

    def scaled(self) -> SecondMoments:
        """The same with every column divided by its root mean square."""
        size = np.sqrt(np.maximum(np.diag(self.G), 0.0))
        scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
        return replace(self, G=scale[:, None] * self.G * scale)


Rows = NDArray[Any] | Sequence[Sequence[float]]
Data = Rows | Gram | Moments | BlockStream | SecondMoments


def second_moments(data: Data, *, centred: bool = False) -> SecondMoments:
    """X'X / n of rows, a stream, a `Gram` or the `Moments` of partially seen rows.

    Rows are read as `hindsight` reads them: a cell that is NaN counts as the mean of its column.
    `centred` takes the means out first; a `SecondMoments` is passed through as it is.
    """
    if isinstance(data, SecondMoments):
        return data
    if isinstance(data, Moments):
        return _of_moments(data, centred)
    gram = data if isinstance(data, Gram) else _gram(data)
    if gram.n == 0:
        raise DataError("there are no rows: nothing can be said about their features")
    G = (gram.centred() if centred else gram.raw()).G / gram.n
    note = "absent cells count as their column's mean" if gram.has_gaps else ""
    return SecondMoments(G, gram.n, np.ones(G.shape, dtype=bool), note, complete=True)


def _gram(data: Rows | BlockStream) -> Gram:
    if isinstance(data, np.ndarray | Sequence):
        table = real_numbers("X", data)
        if table.ndim != 2 or table.shape[1] < 1:
            raise DataError(f"X must be a table of rows and features, got shape {table.shape}")
        gram = Gram(table.shape[1])
        gram.add(table, np.zeros(len(table)))
        return gram
    refuse_unless_stream(data, blocks=True)
    gram = Gram(data.d)
    for X, y in data.blocks():
        gram.add(X, y)
    return gram


def _of_moments(moments: Moments, centred: bool) -> SecondMoments:
    if moments.n == 0:
        raise DataError("the moments are of no rows: nothing can be said about the features")
    N = moments.N
    estimate = available_case(moments, centred=centred)
    note = ""
    if (moments.n > N).any():
        never = int((N[np.triu_indices(moments.d, 1)] == 0).sum())
        note = f"an estimate from partially seen rows, {int(N.min()):,} or more for each pair"
        if never:
            note = f"from partially seen rows; {never:,} pairs of features were never seen together"
    return SecondMoments(estimate.G, moments.n, N > 0, note, complete=not note)
