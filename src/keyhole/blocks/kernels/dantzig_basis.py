"""A basis of the Dantzig program: tight rows E, active columns A, and the inverse of M[E, A].

Local problem on m coordinates, M symmetric:  min c.|w|  s.t.  |b - M w| <= lam,  with the dual
max b.u - lam.|u|  s.t.  |M u| <= c.  A basis with signs has

    w_A = inv (b_E - sE lam_E),     u_E = inv^T (sA c_A),     inv = M[E, A]^-1  (A by E).

The two sides mirror each other, and the code says each thing once for side ROW and side COLUMN:

    side      line value V   bound H   in the basis   basic value T   ray of T   ray of V
    ROW       b - M w        lam       E              u_E             X          D
    COLUMN    M u            c         A              w_A             X          D

V and T are linear in the homotopy parameter s: (V0, V1) and (T0, T1) are value at s = 0 and rate,
bounds are H0 + s H1. They depend on the basis alone, so steps in s add no error.

The arrays of a State are packed, because compile time grows with the number of arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices

ROW, COLUMN = 0, 1
# Rows of State.line; add the side, except for B.
V0, V1, H0, H1, D, SIGN, B = 0, 2, 4, 6, 8, 10, 12
# Rows of State.basic; add the side, except for SPARE.
T0, T1, X, SPARE = 0, 2, 4, 6
# Entries of State.number: size of the basis; row and sign of a dual ray that nothing stops.
SIZE, STUCK, STUCK_SIGN = 0, 1, 2


class State(NamedTuple):
    """A local problem and its basis."""

    line: Floats  # (13, m)
    place: Indices  # (2, m): place in E, in A; -1 outside
    basic: Floats  # (7, room)
    active: Indices  # (2, room): E, A
    inv: Floats  # (room, room)
    number: Indices  # (3,)
    gauge: Floats  # (1,): the largest entry of M met, to judge pivots by
    wide: Floats  # (2,): bounds outside the working set are H (1 + s wide), by side


@kernel
def new_state(m: int, room: int) -> State:
    """An empty basis of m coordinates, all bounds c equal to 1."""
    line = np.zeros((13, m))
    place = np.empty((2, m), np.int64)
    for j in range(m):
        place[0, j], place[1, j], line[H0 + COLUMN, j] = -1, -1, 1.0
    basic, index = np.zeros((7, room)), np.zeros((2, room), np.int64)
    inv, count, gauge = np.empty((room, room)), np.zeros(3, np.int64), np.zeros(1)
    return State(line, place, basic, index, inv, count, gauge, np.zeros(2))


@kernel
def resized(z: State, old: int, m: int, room: int) -> State:
    """The same basis with m coordinates (the first `old` are kept) and more room."""
    line, place, basic, index, inv = z.line, z.place, z.basic, z.active, z.inv
    n = z.number[SIZE]
    if m != line.shape[1]:
        line, place = np.zeros((13, m)), np.empty((2, m), np.int64)
        for j in range(m):
            place[0, j], place[1, j], line[H0 + COLUMN, j] = -1, -1, 1.0
        for j in range(old):
            for side in range(2):
                place[side, j] = z.place[side, j]
            for i in range(13):
                line[i, j] = z.line[i, j]
    if room != index.shape[1]:
        basic, index = np.zeros((7, room)), np.zeros((2, room), np.int64)
        inv = np.empty((room, room))
        for p in range(n):
            index[0, p], index[1, p] = z.active[0, p], z.active[1, p]
            for i in range(7):
                basic[i, p] = z.basic[i, p]
            for o in range(n):
                inv[p, o] = z.inv[p, o]
    return State(line, place, basic, index, inv, z.number, z.gauge, z.wide)


@kernel
def add_rows(
    M: NDArray[np.floating], m: int, index: Indices, weight: Floats, n: int, factor: float,
    out: Floats,
) -> None:  # fmt: skip
    """out += factor sum_i weight_i M[index_i, :m].

    Sums of contiguous rows vectorise without reordering any sum; four at a time save traffic.
    """
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


@kernel
def basic_solution(inv: Floats, n: int, side: int, v: Floats, out: Floats) -> None:
    """out = v inv (side ROW) or inv v (side COLUMN)."""
    if side == ROW:
        for o in range(n):
            out[o] = 0.0
        for p in range(n):
            a, row = v[p], inv[p]
            for o in range(n):
                out[o] += a * row[o]
        return
    for p in range(n):
        row = inv[p]
        # Four partial sums: one chain of additions would wait for each of them.
        t0, t1, t2, t3, o = 0.0, 0.0, 0.0, 0.0, 0
        while o + 4 <= n:
            t0 += row[o] * v[o]
            t1 += row[o + 1] * v[o + 1]
            t2 += row[o + 2] * v[o + 2]
            t3 += row[o + 3] * v[o + 3]
            o += 4
        while o < n:
            t0 += row[o] * v[o]
            o += 1
        out[p] = (t0 + t1) + (t2 + t3)


@kernel
def ray(
    M: NDArray[np.floating], m: int, z: State, side: int, joins: bool, i: int, sign: float
) -> float:
    """How T of `side` and V of the other side move when something happens on `side`.

    joins: line i of `side` comes into the basis with this sign; otherwise the basic value at place
    i of the other side goes out. Returns the largest movement of a basic value, the new one's 1
    included. Costs n m multiply-adds.
    """
    other, n = 1 - side, z.number[SIZE]
    turn = 1.0 if side == ROW else -1.0
    t, d, v, largest = z.basic[X + side], z.line[D + other], z.basic[SPARE], 0.0
    if joins:
        row, top = M[i], z.gauge[0]
        for p in range(n):
            v[p] = -sign * row[z.active[other, p]]
        basic_solution(z.inv, n, side, v, t)
        for j in range(m):
            d[j] = turn * sign * row[j]
            top = max(top, abs(d[j]))
        z.gauge[0], largest = top, 1.0
    else:
        a = -turn * z.line[SIGN + other, z.active[other, i]]
        for p in range(n):
            t[p] = a * (z.inv[i, p] if side == ROW else z.inv[p, i])
        for j in range(m):
            d[j] = 0.0
    add_rows(M, m, z.active[side], t, n, turn, d)
    for p in range(n):
        largest = max(largest, abs(t[p]))
    return largest


@kernel
def border(inv: Floats, n: int, x: Floats, y: Floats, pivot: float) -> None:
    """Inverse after one more row k and column j; x = inv M[E, j], y = M[k, A] inv."""
    for p in range(n):
        a, row = x[p] / pivot, inv[p]
        for o in range(n):
            row[o] += a * y[o]
        row[n] = -a
    last = inv[n]
    for o in range(n):
        last[o] = -y[o] / pivot
    last[n] = 1.0 / pivot


@kernel
def replace_row(inv: Floats, n: int, y: Floats, o: int) -> None:
    """Inverse after the row at place o gave way to k; y = M[k, A] inv."""
    for p in range(n):
        row = inv[p]
        a = row[o] / y[o]
        for e in range(n):
            row[e] -= a * y[e]
        row[o] = a


@kernel
def replace_column(inv: Floats, n: int, x: Floats, p: int) -> None:
    """Inverse after the column at place p gave way to j; x = inv M[E, j]."""
    lead = inv[p]
    for o in range(n):
        lead[o] /= x[p]
    for i in range(n):
        if i != p:
            a, row = x[i], inv[i]
            for o in range(n):
                row[o] -= a * lead[o]


@kernel
def unborder(inv: Floats, n: int, p: int, o: int) -> None:
    """Inverse without the column at place p and the row at place o; the last ones move there."""
    lead, pivot, last = inv[p], inv[p, o], n - 1
    for i in range(n):
        if i != p:
            row = inv[i]
            a = row[o] / pivot
            for e in range(n):
                row[e] -= a * lead[e]
            row[o] = row[last]
    if p != last:
        for e in range(last):
            lead[e] = inv[last, e]


@kernel
def invert(M: NDArray[np.floating], z: State) -> bool:
    """Compute inv from M[E, A] afresh by Gauss-Jordan with row pivoting; False if singular."""
    n, largest = z.number[SIZE], 0.0
    B, order = np.empty((n, n)), np.empty(n, np.int64)
    for o in range(n):
        order[o], row = o, M[z.active[ROW, o]]
        for p in range(n):
            B[o, p] = row[z.active[COLUMN, p]]
            largest = max(largest, abs(B[o, p]))
    for p in range(n):
        best = p
        for o in range(p + 1, n):
            if abs(B[o, p]) > abs(B[best, p]):
                best = o
        if not abs(B[best, p]) > 1e-13 * largest:
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
