"""Inner loops of `Moments`: take rows into the buffer, add the buffer to the sums.

Everything here trusts its arguments, except `first_fault`, which is the check; the door is
`blocks/sums/moments.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.products import Products, add_products
from keyhole.blocks.sums.rows import Gathered, Rows
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices

# Rows summed in `recent` before it is added to `total`. A sum of n terms then has passed at most
# FOLD + n / FOLD roundings instead of n, which is least near sqrt(n); this is for n = 10^8.
FOLD = 8192

# The fields of Rows. One row is soon taken, and numba looks at a named tuple for 2 us longer.
Buffer = tuple[NDArray[np.signedinteger], NDArray[np.integer], Floats, Floats]

LABEL, SQUARE = -2, -1  # of `total` and `recent`: the sums of y and y^2, behind everything else


class Sums(NamedTuple):
    """What a `Moments` adds to.

    `total` and `recent` hold the triangle of x x^T (`triangle.py`), then x y, x, y where x was seen
    (d each), then y and y^2; `pairs` is the triangle of the counts.
    """

    d: int
    total: Floats
    recent: Floats
    pairs: Indices


@kernel
def first_fault(bought: NDArray[np.signedinteger], values: Floats, labels: Floats, d: int) -> int:
    """The first row that is not ascending features and usable values, or -1.

    -1 in `bought` ends a row. One comparison refuses NaN, infinite and oversized numbers alike.
    """
    for t in range(len(labels)):
        if not abs(labels[t]) <= LARGEST:
            return t
        before, ended = -1, False
        for a in range(bought.shape[1]):
            j = bought[t, a]
            if j == -1:
                ended = True
            elif ended or not before < j < d or not abs(values[t, a]) <= LARGEST:
                return t
            else:
                before = j
    return -1


@kernel
def take(
    bought: NDArray[np.signedinteger],
    values: Floats,
    labels: Floats,
    t: int,
    buffered: int,
    buffer: Buffer,
) -> tuple[int, int]:
    """Copy rows t, t + 1, ... into the buffer, which holds `buffered` rows, until it is full;
    returns the first row not taken and the new number of rows."""
    offsets, features, x, y = buffer
    while t < len(labels) and buffered < len(y) and offsets[buffered] + bought.shape[1] <= len(x):
        e = offsets[buffered]
        for a in range(bought.shape[1]):
            if bought[t, a] < 0:
                break
            features[e] = bought[t, a]
            x[e] = values[t, a]
            e += 1
        y[buffered] = labels[t]
        buffered += 1
        offsets[buffered] = e
        t += 1
    return t, buffered


@inner
def _add_rows(rows: Rows, first: int, last: int, into: Products, room: Gathered) -> None:
    # Adds to any one sum in the order of the rows, so that no division of them into buffers shows.
    (offsets, features, x, y), (d, sums, _) = rows, into
    triangle = d * (d + 1) // 2
    Xy, X, Y = sums[triangle:], sums[triangle + d :], sums[triangle + 2 * d :]
    for t in range(first, last):
        sums[LABEL] += y[t]
        sums[SQUARE] += y[t] * y[t]
        for e in range(offsets[t], offsets[t + 1]):
            Xy[features[e]] += x[e] * y[t]
            X[features[e]] += x[e]
            Y[features[e]] += y[t]
    add_products(rows, first, last, into, room)


@kernel
def accumulate(n: int, buffered: int, buffer: Rows, sums: Sums, room: Gathered) -> int:
    """Add the first `buffered` rows of the buffer to sums of n rows; the new number of rows.

    `recent` moves to `total` after every FOLD rows told, wherever the buffer ends.
    """
    d, total, recent, pairs = sums
    into, first = Products(d, recent, pairs), 0
    while first < buffered:
        last = min(buffered, first + FOLD - n % FOLD)
        _add_rows(buffer, first, last, into, room)
        n += last - first
        first = last
        if n % FOLD == 0:
            for e in range(len(total)):
                total[e] += recent[e]
                recent[e] = 0.0
    return n
