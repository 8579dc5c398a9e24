"""What was bought in some rounds, with its values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import SMALLEST
from keyhole.problem.lazy_rows import LazyRow, LazyRows, are_lazy, is_lazy_row
from keyhole.problem.ticket import Floats, Indices, Observation


class Bought(NamedTuple):
    """A row for each round: numbers of features, ascending, then -1; NaN where none arrived.

    >>> from keyhole.problem import Ticket
    >>> bought_for(Observation(Ticket(1, [2, 5]), np.array([61.0, np.nan])))
    Bought(features=array([[2, 5]]), values=array([[61., nan]]))
    >>> bought_of_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1, -1], [0, 1]]))
    Bought(features=array([[ 1, -1],
           [ 0,  1]]), values=array([[ 2., nan],
           [ 3.,  4.]]))
    """

    features: Indices
    values: Floats


def bought_for(seen: Observation) -> Bought:
    """What came back for one ticket."""
    # Copies: kernels are compiled for arrays that can be written.
    return Bought(np.array(seen.ticket.features[None]), np.array(seen.values[None]))


def bought_of_row(x: NDArray[np.floating] | LazyRow, features: Indices) -> Bought:
    """What was bought of one row."""
    values = x.values_at(features) if is_lazy_row(x) else np.asarray(x)[features]
    return Bought(np.array(features[None]), _as_seen(values[None]))


def bought_of_rows(X: NDArray[np.floating] | LazyRows, bought: NDArray[np.signedinteger]) -> Bought:
    """What was bought of each of these rows."""
    features = bought.astype(np.int64)
    if are_lazy(X):
        values = np.full(features.shape, np.nan)
        for i, some in enumerate(features):
            values[i, some >= 0] = X.row(i).values_at(some[some >= 0])
    else:
        values = np.take_along_axis(np.asarray(X), np.maximum(features, 0), axis=1)
        values = np.where(features >= 0, values, np.nan)
    return Bought(features, _as_seen(values))


def _as_seen(values: NDArray[np.floating]) -> Floats:
    """As an Observation has them: what cannot be squared is 0."""
    numbers = np.array(values, dtype=np.float64)
    numbers[np.abs(numbers) < SMALLEST] = 0.0
    return numbers
