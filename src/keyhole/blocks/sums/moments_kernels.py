"""Inner loops of `Moments`: take rows into the buffer, add the buffer to the sums.

The floating-point sums share one flat array: the triangle of x x^T (`triangle.py`), then x y, x, y
where x was seen (d each), then y and y^2. Everything here trusts its arguments, except
`first_fault`, which is the check; the door is `blocks/sums/moments.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.products import add_products
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices

# Rows summed in `recent` before it is added to `total`. A sum of n terms then has passed at most
# FOLD + n / FOLD roundings instead of n, which is least near sqrt(n); this is for n = 10^8.
FOLD = 8192


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
    rows: int,
    offsets: NDArray[np.int32],
    features: NDArray[np.uint32],
    x: Floats,
    y: Floats,
) -> tuple[int, int]:
    """Copy rows t, t + 1, ... into the buffer (offsets, features, x, y), which holds `rows` rows,
    until it is full; returns the first row not taken and the new number of rows."""
    while t < len(labels) and rows < len(y) and offsets[rows] + bought.shape[1] <= len(x):
        e = offsets[rows]
        for a in range(bought.shape[1]):
            if bought[t, a] < 0:
                break
            features[e] = bought[t, a]
            x[e] = values[t, a]
            e += 1
        y[rows] = labels[t]
        rows += 1
        offsets[rows] = e
        t += 1
    return t, rows


@inner
def _add_rows(
    first: int,
    last: int,
    offsets: NDArray[np.int32],
    features: NDArray[np.uint32],
    x: Floats,
    y: Floats,
    d: int,
    sums: Floats,
    pairs: Indices,
    start: NDArray[np.int32],
    order: NDArray[np.int32],
) -> None:
    # Adds to any one sum in the order of the rows, so that no division of them into buffers shows.
    triangle = d * (d + 1) // 2
    Xy, X, Y = sums[triangle:], sums[triangle + d :], sums[triangle + 2 * d :]
    for t in range(first, last):
        sums[-2] += y[t]
        sums[-1] += y[t] * y[t]
        for e in range(offsets[t], offsets[t + 1]):
            Xy[features[e]] += x[e] * y[t]
            X[features[e]] += x[e]
            Y[features[e]] += y[t]
    add_products(first, last, offsets, features, x, d, sums, pairs, start, order)


@kernel
def accumulate(
    n: int,
    rows: int,
    offsets: NDArray[np.int32],
    features: NDArray[np.uint32],
    x: Floats,
    y: Floats,
    d: int,
    total: Floats,
    recent: Floats,
    pairs: Indices,
    start: NDArray[np.int32],
    order: NDArray[np.int32],
) -> int:
    """Add `rows` buffered rows to sums that hold n rows; returns the new number of rows.

    Row t of the buffer has the entries offsets[t], ..., offsets[t + 1] - 1 of `features`
    (ascending) and `x`, and the label y[t]. `start` (d + 1) and `order` (2, capacity) are
    workspace. `recent` moves to `total` after every FOLD rows told, wherever the buffer ends.
    """
    first = 0
    while first < rows:
        last = min(rows, first + FOLD - n % FOLD)
        _add_rows(first, last, offsets, features, x, y, d, recent, pairs, start, order)
        n += last - first
        first = last
        if n % FOLD == 0:
            for e in range(len(total)):
                total[e] += recent[e]
                recent[e] = 0.0
    return n
