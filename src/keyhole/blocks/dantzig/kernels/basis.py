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

from keyhole.blocks.dantzig.kernels.rows import add_rows, combine, largest, rank_one, rounded
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart, four_sums
from keyhole.problem import Floats, Indices

ROW, COLUMN = 0, 1
# Rows of State.line; add the side, except for B and for LEFT and PACE, which are scratch.
V0, V1, H0, H1, D, SIGN, B, LEFT, PACE = 0, 2, 4, 6, 8, 10, 12, 13, 14
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

    line: Floats  # (15, m or more): what comes after m is there only to make a round number
    place: Indices  # (2, m): place in E, in A; -1 outside
    basic: Floats  # (8, room)
    active: Indices  # (3, room): E, A, numbers
    inv: Floats  # (room, room)


@inner
def new_state(m: int, wide: int, room: int) -> State:
    """An empty basis of m coordinates, all bounds c equal to 1; room for at least 16.

    wide: m, or rounded(m) if the matrix has that many columns too.
    """
    apart()
    line = np.zeros((15, wide))
    place = np.empty((2, m), np.int64)
    for j in range(m):
        place[0, j], place[1, j], line[H0 + COLUMN, j] = -1, -1, 1.0
    room = rounded(max(room, 1))
    basic, active = np.zeros((8, room)), np.zeros((3, room), np.int64)
    return State(line, place, basic, active, np.zeros((room, room)))


@inner
def resized(z: State, old: int, m: int, room: int) -> State:
    """The same basis with m coordinates (the first `old` are kept) and more room.

    If m differs from `old`, the matrix must have rounded(m) columns.
    """
    apart()
    line, place, basic, index, inv = z.line, z.place, z.basic, z.active, z.inv
    n = z.active[NUMBER, SIZE]
    if m != old:
        line, place = np.zeros((15, rounded(m))), np.empty((2, m), np.int64)
        for j in range(m):
            place[0, j], place[1, j], line[H0 + COLUMN, j] = -1, -1, 1.0
        for j in range(old):
            for side in range(2):
                place[side, j] = z.place[side, j]
            for i in range(13):
                line[i, j] = z.line[i, j]
    room = rounded(room)
    if room > index.shape[1]:
        basic, index = np.zeros((8, room)), np.zeros((3, room), np.int64)
        inv = np.zeros((room, room))
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
def basic_solution(inv: Floats, n: int, side: int, v: Floats, out: Floats) -> None:
    """out = v inv (side ROW) or inv v (side COLUMN), and anything after that."""
    if side == ROW:
        none = n - n  # 0, but not a literal: those would get kernels of their own
        for o in range(n):
            out[o] = 0.0
        combine(inv, none, n, v, none, n, out)
        return
    whole = n // 4 * 4
    for h in range((n + 3) // 4):  # there is room for a few more rows than n
        p = 4 * h
        t0, t1, t2, t3 = four_sums(inv, p, v, whole)
        for o in range(whole, n):
            t0 += inv[p, o] * v[o]
            t1 += inv[p + 1, o] * v[o]
            t2 += inv[p + 2, o] * v[o]
            t3 += inv[p + 3, o] * v[o]
        out[p], out[p + 1], out[p + 2], out[p + 3] = t0, t1, t2, t3


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
    t, d, v, least = z.basic[X + side], z.line[D + other], z.basic[SPARE], 0.0
    if joins:
        row = M[i]
        for p in range(n):
            v[p] = -sign * row[z.active[other, p]]
        basic_solution(z.inv, n, side, v, t)
        for j in range(len(d)):
            d[j] = turn * sign * row[j]
        z.basic[GAUGE, 0], least = max(z.basic[GAUGE, 0], largest(d, len(d))), 1.0
    else:
        a = -turn * z.line[SIGN + other, z.active[other, i]]
        for p in range(n):
            t[p] = a * (z.inv[i, p] if side == ROW else z.inv[p, i])
        for j in range(len(d)):
            d[j] = 0.0
    add_rows(M, len(d), z.active[side], t, n, turn, d)
    return max(least, largest(t, n))


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
