"""Sums of x x^T and counts of pairs over partially seen rows: three ways, the same bits.

Every way adds to any one sum in the order of the rows, one product after the other (a product with
an unseen value is a zero, and adding a zero changes no bit), so which way is taken is a matter of
speed alone. A library's matrix product is up to twice as fast as the block here, but adds in an
order of its own, which depends on shapes, processors and threads.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.rows import Gathered, Rows, gather
from keyhole.blocks.sums.triangle import base
from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices

# Both crossings are measured by `make bench` (benchmarks/products.py).
SHARE, OVERHEAD = 0.35, 20.0  # rows that see more than SHARE d + OVERHEAD features go as a block
CACHED = 300  # up to this d the sums stay in the cache, wherever one jumps
FEW = 16  # rows that are not worth a block

CHUNK = 64  # rows of a block: who was seen in which of them is one word per feature
_TILE = 128  # columns of a block at a time, even: 64 KB, which stay in the cache

_ONE, _TWO, _FOUR, _TOP = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_ODD, _PAIRS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_NIBBLES, _BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


class PairSums(NamedTuple):
    """What is added to: `sums` begins with the triangle of x x^T, `pairs` is that of the counts."""

    d: int
    sums: Annotated[Floats, "."]
    pairs: Annotated[Indices, "."]


Products = PairSums


@inner
def _add_entry(
    e: int | np.signedinteger,
    stop: int | np.signedinteger,
    features: NDArray[np.integer],
    x: Floats,
    into: PairSums,
) -> None:
    # Entry e of a row that ends before `stop`, times itself and the later entries of the row.
    # Unsigned places: numba tests a signed one for being negative, which doubles the time here.
    d, sums, pairs = into
    x_i, row = x[e], np.uint64(base(features[e], d))
    for f in range(np.uint64(e), np.uint64(stop)):
        place = row + np.uint64(features[f])
        sums[place] += x_i * x[f]
        pairs[place] += 1


@c_function("kh_by_row", long=True)
@kernel
def by_row(rows: Rows, first: int, last: int, into: PairSums) -> None:
    """Rows first, ..., last - 1 one after the other: O(seen^2) each, best while all is cached."""
    offsets, features, x, _ = rows
    for t in range(first, last):
        for e in range(offsets[t], offsets[t + 1]):
            _add_entry(e, offsets[t + 1], features, x, into)


@c_function("kh_by_feature", long=True)
@kernel
def by_feature(rows: Rows, first: int, last: int, into: PairSums, room: Gathered) -> None:
    """The same, gone through one row of the triangle after the other."""
    features, x, order = rows.features, rows.x, room.order
    for slot in range(gather(rows, first, last, room)):
        _add_entry(order[0, slot], order[1, slot], features, x, into)


@inner
def _count(mine: np.uint64, seen: NDArray[np.uint64], pairs: Indices) -> None:
    # pairs[j] += how many bits `mine` and seen[j] have in common, by sums of 1, 2, 4 and 8 bits.
    for j in range(len(pairs)):
        v = mine & seen[j]
        v -= (v >> _ONE) & _ODD
        v = (v & _PAIRS) + ((v >> _TWO) & _PAIRS)
        v = (v + (v >> _FOUR)) & _NIBBLES
        pairs[j] += np.int64((v * _BYTES) >> _TOP)


@inner
def _add_two(a: Floats, b: Floats, z: Floats, t: int, left: int, p: Floats, q: Floats) -> None:
    # p += a_t z_t + ... + a_{t+3} z_{t+3} and the same for q and b, from the column `left` on. Four
    # rows for each time a sum is loaded and two sums for each time z is, as registers allow.
    a0, a1, a2, a3 = a[t], a[t + 1], a[t + 2], a[t + 3]
    b0, b1, b2, b3 = b[t], b[t + 1], b[t + 2], b[t + 3]
    stop = left + len(p)
    z0, z1, z2, z3 = z[t, left:stop], z[t + 1, left:stop], z[t + 2, left:stop], z[t + 3, left:stop]
    for j in range(len(p)):
        v0, v1, v2, v3 = z0[j], z1[j], z2[j], z3[j]
        p[j] = (((p[j] + a0 * v0) + a1 * v1) + a2 * v2) + a3 * v3
        q[j] = (((q[j] + b0 * v0) + b1 * v1) + b2 * v2) + b3 * v3


@inner
def _add_one(a: Floats, b: Floats, place: np.signedinteger, sums: Floats) -> None:
    total = sums[place]
    for t in range(len(a)):
        total += a[t] * b[t]
    sums[place] = total


@c_function("kh_as_block", room="65*d+8192", long=True)
@kernel
def as_block(rows: Rows, first: int, last: int, into: PairSums) -> None:
    """The same as a product of blocks with zeros where nothing was seen: O(d^2) per row.

    Z^T Z for CHUNK rows Z at a time, tile by tile of its columns, two rows i and i + 1 of the
    triangle at a time from column i + 2 on; what is left of it goes one by one.
    """
    (offsets, features, x, _), (d, sums, pairs) = rows, into
    A = np.empty((d, CHUNK))  # Z^T
    Z = np.empty((CHUNK, _TILE))  # a tile of Z
    seen = np.empty(d, dtype=np.uint64)  # bit t: in row t of the chunk
    for low in range(first, last, CHUNK):
        high = min(last, low + CHUNK)
        height = (high - low + 3) // 4 * 4  # up to three rows of zeros at the end
        A[:] = 0.0
        seen[:] = 0
        for t in range(low, high):
            bit = _ONE << np.uint64(t - low)
            for e in range(offsets[t], offsets[t + 1]):
                A[features[e], t - low] = x[e]
                seen[features[e]] |= bit
        for i in range(d):
            row = base(i, d)
            _count(seen[i], seen[i:], pairs[row + i : row + d])
            _add_one(A[i, :height], A[i, :height], row + i, sums)
        for left in range(0, d, _TILE):
            right = min(d, left + _TILE)
            for j in range(left, right):
                for t in range(height):
                    Z[t, j - left] = A[j, t]
            for i in range(0, right - 1, 2):
                row, below = base(i, d), base(i + 1, d)
                if i >= left:
                    _add_one(A[i, :height], A[i + 1, :height], row + i + 1, sums)
                begin = max(i + 2, left)
                p, q = sums[row + begin : row + right], sums[below + begin : below + right]
                for t in range(0, height, 4):
                    _add_two(A[i], A[i + 1], Z, t, begin - left, p, q)


@c_function("kh_add_products", room="65*d+8192", long=True)
@inner
def add_products(rows: Rows, first: int, last: int, into: PairSums, room: Gathered) -> None:
    """The way that costs least for rows first, ..., last - 1."""
    offsets, d = rows.offsets, into.d
    entries, squares = offsets[last] - offsets[first], 0
    for t in range(first, last):
        squares += (offsets[t + 1] - offsets[t]) ** 2
    if last - first >= FEW and squares > (SHARE * d + OVERHEAD) ** 2 * (last - first):
        as_block(rows, first, last, into)
    elif d <= CACHED or entries < d:
        by_row(rows, first, last, into)
    else:
        by_feature(rows, first, last, into, room)
