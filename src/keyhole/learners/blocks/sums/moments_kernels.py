"""Inner loops of `Moments`: take rows into the buffer, add the buffer to the sums.

Everything here trusts its arguments, except `first_fault`, which is the check; the door is
`blocks/sums/moments.py`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from keyhole.core.functions import c_function
from keyhole.learners.blocks.sums.rows import Gathered, Rows
from keyhole.problem import Floats, Indices

# Rows summed in `recent` before it is added to `total`. A sum of n terms then has passed at most
# FOLD + n / FOLD roundings instead of n, which is least near sqrt(n); this is for n = 10^8.
FOLD = 8192

LABEL, SQUARE = -2, -1  # of `total` and `recent`: the sums of y and y^2, behind everything else


class MomentSums(NamedTuple):
    """What a `Moments` adds to.

    `total` and `recent` hold the triangle of x x^T (`triangle.py`), then x y, x, y where x was seen
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
def take(
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
