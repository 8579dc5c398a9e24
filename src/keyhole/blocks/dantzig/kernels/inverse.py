"""The inverse of a basis: how it changes when a row and a column come, go or change places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    COLUMN,
    NUMBER,
    ROW,
    SIZE,
    State,
)
from keyhole.blocks.dantzig.kernels.rows import rank_one, rounded
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats


@inner
def border(inv: Floats, n: int, x: Floats, y: Floats, pivot: float) -> None:
    """Inverse after one more row k and column j; x = inv M[E, j], y = M[k, A] inv."""
    a, last = np.empty(n), inv[n]
    for p in range(n):
        a[p], last[p] = x[p] / pivot, -y[p] / pivot
    rank_one(inv, n, a, y)
    for p in range(n):
        inv[p, n] = -a[p]
    last[n] = 1.0 / pivot


@inner
def replace_row(inv: Floats, n: int, y: Floats, o: int) -> None:
    """Inverse after the row at place o gave way to k; y = M[k, A] inv."""
    a = np.empty(n)
    for p in range(n):
        a[p] = -inv[p, o] / y[o]
    rank_one(inv, n, a, y)
    for p in range(n):
        inv[p, o] = -a[p]


@inner
def replace_column(inv: Floats, n: int, x: Floats, p: int) -> None:
    """Inverse after the column at place p gave way to j; x = inv M[E, j]."""
    a, lead = np.empty(n), np.zeros(rounded(n))
    for o in range(n):
        a[o], lead[o] = -x[o], inv[p, o] / x[p]
        inv[p, o] = lead[o]
    a[p] = 0.0
    rank_one(inv, n, a, lead)


@inner
def unborder(inv: Floats, n: int, p: int, o: int) -> None:
    """Inverse without the column at place p and the row at place o; the last ones move there."""
    a, lead, last = np.empty(n), np.zeros(rounded(n)), n - 1
    for i in range(n):
        a[i], lead[i] = -inv[i, o] / inv[p, o], inv[p, i]
    a[p] = 0.0
    rank_one(inv, n, a, lead)
    for i in range(n):
        if i != p:
            inv[i, o] = inv[i, last]
    if p != last:
        for e in range(last):
            inv[p, e] = inv[last, e]


@inner
def invert(M: NDArray[np.floating], z: State) -> bool:
    """Compute inv from M[E, A] afresh by Gauss-Jordan with row pivoting; False if singular."""
    apart()
    n, top = z.active[NUMBER, SIZE], 0.0
    B, order = np.empty((n, n)), np.empty(n, np.int64)
    for o in range(n):
        order[o], row = o, M[z.active[ROW, o]]
        for p in range(n):
            B[o, p] = row[z.active[COLUMN, p]]
            top = max(top, abs(B[o, p]))
    for p in range(n):
        best = p
        for o in range(p + 1, n):
            if abs(B[o, p]) > abs(B[best, p]):
                best = o
        if not abs(B[best, p]) > 1e-13 * top:
            return False
        lead, swap = B[p], B[best]
        for e in range(n):
            lead[e], swap[e] = swap[e], lead[e]
        order[p], order[best] = order[best], order[p]
        scale = 1.0 / lead[p]
        lead[p] = 1.0
        for e in range(n):
            lead[e] *= scale
        for o in range(n):
            if o != p:
                eliminated = B[o]
                a = eliminated[p]
                eliminated[p] = 0.0
                for e in range(n):
                    eliminated[e] -= a * lead[e]
    for p in range(n):
        for o in range(n):
            z.inv[p, order[o]] = B[p, o]
    return True
