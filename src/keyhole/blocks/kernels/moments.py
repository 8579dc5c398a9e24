"""Inner loops of `Moments`: take rows into the buffer, add the buffer to the sums.

Symmetric matrices are kept as their upper triangle, row after row: the entry (i, j), i <= j, is
at `_base(i, d) + j`. The floating-point sums share one flat array: the triangle of x x^T, then
x y, x, y where x was seen (d each), then y and y^2. Everything here trusts its arguments, except
`first_fault`, which is the check; the door is `blocks/moments.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices

# Rows summed in `recent` before it is added to `total`. A sum of n terms then has passed at most
# FOLD + n / FOLD roundings instead of n, which is least near sqrt(n); this is for n = 10^8.
FOLD = 8192


@kernel
def _base(i: int | np.uint32 | np.int64, d: int) -> np.int64:
    row = np.int64(i)  # signed: a mix with d would be a float
    return row * d - row * (row + 1) // 2


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


@kernel
def _add_products(
    e: int, stop: int, features: NDArray[np.uint32], x: Floats, d: int, sums: Floats, pairs: Indices
) -> None:
    # Entry e of a row that ends before `stop`, times itself and the later entries of the row.
    # Unsigned places: numba tests a signed one for being negative, which doubles the time here.
    x_i, base = x[e], np.uint64(_base(features[e], d))
    for f in range(np.uint64(e), np.uint64(stop)):
        place = base + np.uint64(features[f])
        sums[place] += x_i * x[f]
        pairs[place] += 1


@kernel
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
    # Both ways below add to any one sum in the order of the rows, so they agree bit for bit, and
    # with any other division of the same rows into buffers.
    low, high = offsets[first], offsets[last]
    triangle = d * (d + 1) // 2
    Xy, X, Y = sums[triangle:], sums[triangle + d :], sums[triangle + 2 * d :]
    for t in range(first, last):
        sums[-2] += y[t]
        sums[-1] += y[t] * y[t]
        for e in range(offsets[t], offsets[t + 1]):
            Xy[features[e]] += x[e] * y[t]
            X[features[e]] += x[e]
            Y[features[e]] += y[t]
    if high - low < d:
        for t in range(first, last):
            for e in range(offsets[t], offsets[t + 1]):
                _add_products(e, offsets[t + 1], features, x, d, sums, pairs)
        return
    # Many rows: jumping about in a matrix larger than the cache is what costs, so go through it
    # row by row. A counting sort gathers the entries of each feature, in the order of the rows.
    start[:] = 0
    for e in range(low, high):
        start[features[e] + 1] += 1
    for i in range(d):
        start[i + 1] += start[i]
    for t in range(first, last):
        for e in range(offsets[t], offsets[t + 1]):
            slot = start[features[e]]
            order[0, slot] = e
            order[1, slot] = offsets[t + 1]
            start[features[e]] = slot + 1
    for slot in range(high - low):
        _add_products(order[0, slot], order[1, slot], features, x, d, sums, pairs)


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


@kernel
def restrict(flat: NDArray[np.generic], d: int, S: Indices, out: NDArray[np.generic]) -> None:
    """The triangle of the features S, in the order of S, from the triangle of d features."""
    m = len(S)
    for a in range(m):
        for b in range(a, m):
            i, j = min(S[a], S[b]), max(S[a], S[b])
            out[_base(a, m) + b] = flat[_base(i, d) + j]


@kernel
def unpack(flat: NDArray[np.generic], d: int, out: NDArray[np.generic]) -> None:
    """The full symmetric d x d matrix of the triangle at the beginning of `flat`."""
    for i in range(d):
        base = _base(i, d)
        for j in range(i, d):
            out[i, j] = flat[base + j]
            out[j, i] = flat[base + j]
