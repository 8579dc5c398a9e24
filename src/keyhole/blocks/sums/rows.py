"""Partially seen rows in flat arrays, and their entries gathered feature by feature."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import inner
from keyhole.problem import Floats


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
    """Room for `gather`: `start` for d + 1 numbers, `order` for two per entry."""

    start: Annotated[NDArray[np.int32], "d+1"]
    order: Annotated[NDArray[np.int32], "2 entries"]


@inner
def gather(rows: Rows, first: int, last: int, out: Gathered) -> int:
    """Put the entries of rows first, ..., last - 1 in the order of their features; how many.

    Those of one feature stay in the order of the rows. out.order[0] are the numbers of the entries,
    out.order[1] where the row of each ends.

    Jumping about in a matrix larger than the cache is what costs; with its entries in this order
    the sums of products are gone through one row of the matrix after the other.
    """
    offsets, features = rows.offsets, rows.features
    start, order = out
    low, high = offsets[first], offsets[last]
    start[:] = 0
    for e in range(low, high):  # a counting sort
        start[features[e] + 1] += 1
    for i in range(len(start) - 1):
        start[i + 1] += start[i]
    for t in range(first, last):
        for e in range(offsets[t], offsets[t + 1]):
            slot = start[features[e]]
            order[0, slot] = e
            order[1, slot] = offsets[t + 1]
            start[features[e]] = slot + 1
    return int(high - low)
