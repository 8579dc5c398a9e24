"""A basis of the Dantzig program: tight rows E, active columns A, and the inverse of M[E, A].

Local problem on m coordinates, M symmetric:  min c.|w|  s.t.  |b - M w| <= lam,  with the dual
max b.u - lam.|u|  s.t.  |M u| <= c.  A basis with signs has

    w_A = inv (b_E - sE lam_E),     u_E = inv^T (sA c_A),     inv = M[E, A]^-1  (A by E).

The two sides mirror each other, and the code says each thing once for side ROW and side COLUMN:

    side      line       bound    in the basis    basic
    ROW       b - M w    lam      E               u_E
    COLUMN    M u        c        A               w_A

A line and a basic value have a VALUE at s = 0 and a RATE, because they are linear in the homotopy
parameter s, and so have bounds. These depend on the basis alone, so steps in s add no error. MOVE
is how they move along the ray of a pivot: basic values of one side, lines of the other.

The arrays of a State are packed, because compile time grows with the number of arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.rows import add_rows, combine, largest, rounded
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart, four_sums
from keyhole.problem import Floats, Indices

ROW, COLUMN = 0, 1  # the sides; rows of State.place and State.active
# Rows of State.line and State.basic: add the side.
VALUE, RATE, MOVE = 0, 2, 4
# Further rows of State.line: add the side, but not to CENTRE (b) nor to what is scratch.
BOUND, BOUND_RATE, SIGN, CENTRE, LEFT, PACE = 6, 8, 10, 12, 13, 14
# Further rows of State.basic: scratch; gauges.
SPARE, GAUGE = 6, 7
# Entries of basic[GAUGE]: the largest entry of M met, to judge pivots by; add the side: bounds
# outside the working set are BOUND (1 + s times this).
LARGEST, WIDER = 0, 1
# Row of State.active beside those of the sides, and its entries: the size of the basis; row and
# sign of a dual ray that nothing stops.
NUMBER = 2
SIZE, STUCK, STUCK_SIGN = 0, 1, 2


class State(NamedTuple):
    """Lines, bounds and basis of a local problem of m coordinates."""

    line: Floats  # (15, m or more): what comes after m is there only to make a round number
    place: Indices  # (2, m): place in E, in A; -1 outside
    basic: Floats  # (8, room)
    active: Indices  # (3, room): E, A, numbers
    inv: Floats  # (room, room)


class Change(NamedTuple):
    """Half of a pivot: a line of one side joins the basis, or a basic value of the other leaves."""

    joins: bool
    which: int  # the line that joins; the place of the basic value that leaves
    sign: float


@inner
def empty_lines(m: int, wide: int) -> tuple[Floats, Indices]:
    """Lines and places of m coordinates: nothing in the basis, all bounds c equal to 1."""
    line, place = np.zeros((15, wide)), np.empty((2, m), np.int64)
    for j in range(m):
        place[ROW, j], place[COLUMN, j], line[BOUND + COLUMN, j] = -1, -1, 1.0
    return line, place


@inner
def new_state(m: int, wide: int, room: int) -> State:
    """An empty basis of m coordinates, all bounds c equal to 1; room for at least 16.

    wide: m, or rounded(m) if the matrix has that many columns too.
    """
    apart()
    line, place = empty_lines(m, wide)
    room = rounded(max(room, 1))
    basic, active, inv = np.zeros((8, room)), np.zeros((3, room), np.int64), np.zeros((room, room))
    return State(line, place, basic, active, inv)


@inner
def resized(z: State, m: int, room: int) -> State:
    """The same basis with m coordinates, no fewer than before, and more room.

    If they are more than before, the matrix must have rounded(m) columns.
    """
    apart()
    old = z.place.shape[1]
    line, place, basic, active, inv = z.line, z.place, z.basic, z.active, z.inv
    n = z.active[NUMBER, SIZE]
    if m != old:
        line, place = empty_lines(m, rounded(m))
        for j in range(old):
            for side in range(2):
                place[side, j] = z.place[side, j]
            for i in range(LEFT):
                line[i, j] = z.line[i, j]
    room = rounded(room)
    if room > active.shape[1]:
        basic, active = np.zeros((8, room)), np.zeros((3, room), np.int64)
        inv = np.zeros((room, room))
        for p in range(max(n, 3)):
            for i in range(len(active)):
                active[i, p] = z.active[i, p]
            for i in range(len(basic)):
                basic[i, p] = z.basic[i, p]
        for p in range(n):
            for o in range(n):
                inv[p, o] = z.inv[p, o]
    return State(line, place, basic, active, inv)


@inner
def forget(z: State) -> None:
    """Back to the empty basis."""
    z.active[NUMBER, SIZE] = 0
    for j in range(z.place.shape[1]):
        z.place[ROW, j], z.place[COLUMN, j] = -1, -1


@inner
def wrong_signs(z: State) -> int:
    """How many weights or multipliers of the basis, recomputed, have the wrong sign."""
    wrong = 0
    for i in range(z.active[NUMBER, SIZE]):
        for side in range(2):
            wrong += int(z.line[SIGN + side, z.active[side, i]] * z.basic[VALUE + side, i] < 0.0)
    return wrong


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
def ray(M: NDArray[np.floating], z: State, side: int, change: Change) -> float:
    """MOVE of the basic values of `side` and of the lines of the other, when `side` changes.

    Returns the largest movement of a basic value, the new one's 1 included. Costs n m
    multiply-adds.
    """
    other, n, i = 1 - side, z.active[NUMBER, SIZE], change.which
    turn = 1.0 if side == ROW else -1.0
    t, d, v, least = z.basic[MOVE + side], z.line[MOVE + other], z.basic[SPARE], 0.0
    if change.joins:
        row, sign = M[i], change.sign
        for p in range(n):
            v[p] = -sign * row[z.active[other, p]]
        basic_solution(z.inv, n, side, v, t)
        for j in range(len(d)):
            d[j] = turn * sign * row[j]
        z.basic[GAUGE, LARGEST], least = max(z.basic[GAUGE, LARGEST], largest(d, len(d))), 1.0
    else:
        a = -turn * z.line[SIGN + other, z.active[other, i]]
        for p in range(n):
            t[p] = a * (z.inv[i, p] if side == ROW else z.inv[p, i])
        for j in range(len(d)):
            d[j] = 0.0
    add_rows(M, len(d), z.active[side], t, n, turn, d)
    return max(least, largest(t, n))
