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
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from keyhole.problem import Floats, Indices

ROW, COLUMN = 0, 1  # the sides; rows of Basis.place and Basis.active
# Rows of Basis.line and Basis.basic: add the side.
VALUE, RATE, MOVE = 0, 2, 4
# Further rows of Basis.line: add the side, but not to CENTRE (b); two more are scratch.
BOUND, BOUND_RATE, SIGN, CENTRE = 6, 8, 10, 12
# A further row of Basis.basic, and its entries: the largest entry of M met, to judge pivots by; add
# the side: bounds outside the working set are BOUND (1 + s times this). Three more are scratch.
GAUGE = 7
LARGEST, WIDER = 0, 1
# Row of Basis.active beside those of the sides, and its entries: the size of the basis; row and
# sign of a dual ray that nothing stops. One more is scratch.
NUMBER = 2
SIZE, STUCK, STUCK_SIGN = 0, 1, 2
# How a part of the homotopy ended. RAY: nothing stops the dual ray, infeasible below s. WIDE: the
# working set became too large.
DONE, RAY, STALLED, LIMIT, WIDE = 0, 1, 3, 4, 5


class Basis(NamedTuple):
    """Lines, bounds and basis of a local problem of m coordinates."""

    line: Annotated[Floats, "15 wide"]  # m or more: what comes after is there for a round number
    place: Annotated[Indices, "2 m"]  # place in E, in A; -1 outside
    basic: Annotated[Floats, "10 room"]
    active: Annotated[Indices, "4 room"]  # E, A, numbers
    inv: Annotated[Floats, "room room"]
    spare: Annotated[Floats, "room room"]


def rounded(n: int) -> int:
    """The next multiple of 16: loops of that length leave no rest to do one by one."""
    return -(-n // 16) * 16


def empty(m: int, wide: int, room: int) -> Basis:
    """An empty basis of m coordinates, all bounds c equal to 1; room for at least 16."""
    line, room = np.zeros((15, wide)), rounded(max(room, 1))
    line[BOUND + COLUMN, :m] = 1.0
    active, inv = np.zeros((4, room), np.int64), np.zeros((room, room))
    return Basis(line, np.full((2, m), -1), np.zeros((10, room)), active, inv, np.zeros_like(inv))


def with_room(z: Basis, room: int) -> Basis:
    """The same basis with room for so many."""
    new = empty(0, 0, room)
    old = z.active.shape[1]
    for mine, its in zip(z[2:], new[2:], strict=True):
        its[: len(mine), :old] = mine
    return Basis(z.line, z.place, *new[2:])
