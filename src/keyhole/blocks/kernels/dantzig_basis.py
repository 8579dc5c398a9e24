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

from keyhole.blocks.kernels.jit import inner
from keyhole.problem import Floats, Indices

ROW, COLUMN = 0, 1
# Rows of State.line; add the side, except for B.
V0, V1, H0, H1, D, SIGN, B = 0, 2, 4, 6, 8, 10, 12
# Rows of State.basic; add the side, except for SPARE and GAUGE.
T0, T1, X, SPARE, GAUGE = 0, 2, 4, 6, 7
# Entries of basic[GAUGE]: 0: the largest entry of M met, to judge pivots by; 1 + side: bounds
# outside the working set are H (1 + s times this).
# Row of State.active beside those of the sides, and its entries: size of the basis; row and sign of
# a dual ray that nothing stops.
NUMBER = 2
SIZE, STUCK, STUCK_SIGN = 0, 1, 2


class State(NamedTuple):
    """A local problem and its basis."""

    line: Floats  # (13, m)
    place: Indices  # (2, m): place in E, in A; -1 outside
    basic: Floats  # (8, room)
    active: Indices  # (3, room): E, A, numbers
    inv: Floats  # (room, room)


@inner
def new_state(m: int, room: int) -> State:
    """An empty basis of m coordinates, all bounds c equal to 1; room for at least 3."""
    line = np.zeros((13, m))
    place = np.empty((2, m), np.int64)
    for j in range(m):
        place[0, j], place[1, j], line[H0 + COLUMN, j] = -1, -1, 1.0
    room = max(room, 3)
    basic, active = np.zeros((8, room)), np.zeros((3, room), np.int64)
    return State(line, place, basic, active, np.empty((room, room)))


@inner
def resized(z: State, old: int, m: int, room: int) -> State:
    """The same basis with m coordinates (the first `old` are kept) and more room."""
    line, place, basic, index, inv = z.line, z.place, z.basic, z.active, z.inv
    n = z.active[NUMBER, SIZE]
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
        basic, index = np.zeros((8, room)), np.zeros((3, room), np.int64)
        inv = np.empty((room, room))
        for p in range(max(n, 3)):
            for i in range(3):
                index[i, p] = z.active[i, p]
            for i in range(8):
                basic[i, p] = z.basic[i, p]
        for p in range(n):
            for o in range(n):
                inv[p, o] = z.inv[p, o]
    return State(line, place, basic, index, inv)


@inner
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


@inner
def combine(
    L: Floats, first: int, last: int, weight: Floats, start: int, stop: int, out: Floats
) -> None:
    """out += sum_k weight_k L[k] for k in first..last-1, on start..stop-1 only.

    As `add_rows`, for the short rows of a basis, where starting a loop is what costs.
    """
    k = first
    while k + 4 <= last:
        a0, a1, a2, a3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
        l0, l1, l2, l3 = L[k], L[k + 1], L[k + 2], L[k + 3]
        for j in range(start, stop):
            out[j] += (a0 * l0[j] + a1 * l1[j]) + (a2 * l2[j] + a3 * l3[j])
        k += 4
    while k < last:
        a0, l0 = weight[k], L[k]
        for j in range(start, stop):
            out[j] += a0 * l0[j]
        k += 1


@inner
def rank_one(inv: Floats, n: int, x: Floats, y: Floats) -> None:
    """inv += x y^T."""
    p = 0
    while p + 4 <= n:
        a0, a1, a2, a3 = x[p], x[p + 1], x[p + 2], x[p + 3]
        i0, i1, i2, i3 = inv[p], inv[p + 1], inv[p + 2], inv[p + 3]
        for o in range(n):
            t = y[o]
            i0[o] += a0 * t
            i1[o] += a1 * t
            i2[o] += a2 * t
            i3[o] += a3 * t
        p += 4
    while p < n:
        a0, i0 = x[p], inv[p]
        for o in range(n):
            i0[o] += a0 * y[o]
        p += 1


@inner
def basic_solution(inv: Floats, n: int, side: int, v: Floats, out: Floats) -> None:
    """out = v inv (side ROW) or inv v (side COLUMN)."""
    if side == ROW:
        for o in range(n):
            out[o] = 0.0
        combine(inv, 0, n, v, 0, n, out)
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


@inner
def ray(
    M: NDArray[np.floating], m: int, z: State, side: int, joins: bool, i: int, sign: float
) -> float:
    """How T of `side` and V of the other side move when something happens on `side`.

    joins: line i of `side` comes into the basis with this sign; otherwise the basic value at place
    i of the other side goes out. Returns the largest movement of a basic value, the new one's 1
    included. Costs n m multiply-adds.
    """
    other, n = 1 - side, z.active[NUMBER, SIZE]
    turn = 1.0 if side == ROW else -1.0
    t, d, v, largest = z.basic[X + side], z.line[D + other], z.basic[SPARE], 0.0
    if joins:
        row, top = M[i], z.basic[GAUGE, 0]
        for p in range(n):
            v[p] = -sign * row[z.active[other, p]]
        basic_solution(z.inv, n, side, v, t)
        for j in range(m):
            d[j] = turn * sign * row[j]
            top = max(top, abs(d[j]))
        z.basic[GAUGE, 0], largest = top, 1.0
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
    a, lead = np.empty(n), np.empty(n)
    for o in range(n):
        a[o], lead[o] = -x[o], inv[p, o] / x[p]
        inv[p, o] = lead[o]
    a[p] = 0.0
    rank_one(inv, n, a, lead)


@inner
def unborder(inv: Floats, n: int, p: int, o: int) -> None:
    """Inverse without the column at place p and the row at place o; the last ones move there."""
    a, lead, last = np.empty(n), np.empty(n), n - 1
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
    n, largest = z.active[NUMBER, SIZE], 0.0
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
