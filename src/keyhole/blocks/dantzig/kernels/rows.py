"""Sums over rows of matrices for the Dantzig program, in loops that vectorise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats, Indices


@inner
def rounded(n: int) -> int:
    """The next multiple of 16: loops of that length leave no rest to do one by one."""
    return (n + 15) // 16 * 16


@inner
def largest(x: Floats, n: int) -> float:
    """max|x_j| of the first n. Four maxima side by side, because one would wait for itself."""
    apart()
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    for i in range(n // 4):
        j = 4 * i
        a0, a1 = max(a0, abs(x[j])), max(a1, abs(x[j + 1]))
        a2, a3 = max(a2, abs(x[j + 2])), max(a3, abs(x[j + 3]))
    for j in range(n // 4 * 4, n):
        a0 = max(a0, abs(x[j]))
    return max(max(a0, a1), max(a2, a3))


@inner
def add_rows(
    M: NDArray[np.floating], m: int, index: Indices, weight: Floats, n: int, factor: float,
    out: Floats,
) -> None:  # fmt: skip
    """out += factor sum_i weight_i M[index_i, :m].

    Sums of contiguous rows vectorise without reordering any sum; four at a time save traffic.
    """
    apart()
    i = 0
    while i + 4 <= n:
        a0, a1 = factor * weight[i], factor * weight[i + 1]
        a2, a3 = factor * weight[i + 2], factor * weight[i + 3]
        m0, m1, m2, m3 = M[index[i]], M[index[i + 1]], M[index[i + 2]], M[index[i + 3]]
        for j in range(m):
            out[j] += (a0 * m0[j] + a1 * m1[j]) + (a2 * m2[j] + a3 * m3[j])
        i += 4
    while i < n:
        a0, m0 = factor * weight[i], M[index[i]]
        for j in range(m):
            out[j] += a0 * m0[j]
        i += 1


@inner
def combine(
    L: Floats, first: int, last: int, weight: Floats, start: int, stop: int, out: Floats
) -> None:
    """out += sum_k weight_k L[k] for k in first..last-1, on start..stop-1 and a little around.

    As `add_rows`, for the short rows of a basis, where the ends of a loop are what costs: it runs
    over whole blocks of 16, which all arrays have room for. (Unsigned, because a signed index might
    count from the end: asking for that keeps a loop that does not begin at 0 from vectorising.)
    """
    apart()
    k, low, high = first, np.uint64(start // 16 * 16), np.uint64(rounded(stop))
    while k + 4 <= last:
        a0, a1, a2, a3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
        l0, l1, l2, l3 = L[k], L[k + 1], L[k + 2], L[k + 3]
        for j in range(low, high):
            out[j] += (a0 * l0[j] + a1 * l1[j]) + (a2 * l2[j] + a3 * l3[j])
        k += 4
    while k < last:
        a0, l0 = weight[k], L[k]
        for j in range(low, high):
            out[j] += a0 * l0[j]
        k += 1


@inner
def rank_one(inv: Floats, n: int, x: Floats, y: Floats) -> None:
    """inv += x y^T, and anything in the columns after n, in whole blocks of 16."""
    apart()
    wide = rounded(n)
    for p in range(n):
        a, row = x[p], inv[p]
        for o in range(wide):
            row[o] += a * y[o]
