"""Path of the Dantzig program: its solutions for a whole range of thresholds, pivot by pivot.

A basis: tight rows E, active columns A, and the inverse of M[E, A]. Local problem on m coordinates,
M symmetric:  min c.|w|  s.t.  |b - M w| <= lam,  with the dual
max b.u - lam.|u|  s.t.  |M u| <= c.  A basis with signs has

    w_A = inv (b_E - sE lam_E),     u_E = inv^T (sA c_A),     inv = M[E, A]^-1  (A by E).

The two sides mirror each other, and the code says each thing once for side ROW and side COLUMN:

    side      line       bound    in the basis    basic
    ROW       b - M w    lam      E               u_E
    COLUMN    M u        c        A               w_A

A line and a basic value have a VALUE at s = 0 and a RATE, because they are linear in the homotopy
parameter s, and so have bounds. These depend on the basis alone, so steps in s add no error. MOVE
is how they move along the ray of a pivot: basic values of one side, lines of the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.core.records import hold
from keyhole.learners.blocks.dantzig.homotopy import certify
from keyhole.learners.blocks.dantzig.solution import CERTIFICATE_TOLERANCE, Status, proven
from keyhole.problem import Floats, Indices, ProblemError

ROW, COLUMN = 0, 1  # the sides; rows of Basis.place and Basis.active
# Rows of Basis.line and Basis.basic: add the side.
VALUE, RATE, MOVE = 0, 2, 4
# Further rows of Basis.line: add the side, but not to CENTRE (b); two more are scratch.
BOUND, BOUND_RATE, SIGN, CENTRE = 6, 8, 10, 12
# A further row of Basis.basic, and its entries: the largest entry of M met, to judge pivots by; add
# the side: bounds outside the working set are BOUND (1 + s times this). Three more are scratch.
GAUGE = 7
LARGEST_ENTRY, WIDER = 0, 1
# Row of Basis.active beside those of the sides, and its entries: the size of the basis; row and
# sign of a dual ray that nothing stops. One more is scratch.
SCALARS = 2
SIZE, STUCK, STUCK_SIGN = 0, 1, 2
# How a part of the homotopy ended. RAY: nothing stops the dual ray, infeasible below s.
# TOO_WIDE: the working set became too large.
DONE, RAY, STALLED, LIMIT, TOO_WIDE = 0, 1, 3, 4, 5


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


class PathPoint(NamedTuple):
    """w and u where they are not zero."""

    columns: Indices
    w: Floats
    rows: Indices
    u: Floats


@c_function("kh_start_dantzig_walk", "G[m,m] b[m]")
def _start(G: Floats, b: Floats, z: Basis, size: float) -> None:
    raise NotImplementedError


@c_function("kh_step_dantzig_walk", "G[m,m]", long=True)
def _step(G: Floats, z: Basis, s: float, size: float, refresh: bool) -> tuple[int, float]:
    raise NotImplementedError


def cold_start(G: Floats, b: Floats, size: float) -> Basis:
    """w = 0 at lam = size = max|b|, on the path lam = s size."""
    z = hold(empty(len(b), len(b), min(len(b) + 1, 16)))
    _start(G, b, z, size)
    return z


def step(G: Floats, z: Basis, s: float, size: float, refresh: bool) -> tuple[int, float, Basis]:
    """To the breakpoint after the next pivot: (how it ended, s there, basis).

    `refresh`: then remove the drift of the updates.
    """
    room = z.active.shape[1]
    if z.active[SCALARS, SIZE] == room:
        z = hold(with_room(z, min(len(G) + 1, 2 * room)))
    code, s = _step(G, z, s, size, refresh)
    return code, s, z


def point_at(z: Basis, s: float) -> PathPoint:
    """w and u at s."""
    n = int(z.active[SCALARS, SIZE])
    rows, columns = z.active[ROW, :n].copy(), z.active[COLUMN, :n].copy()
    u, w = z.basic[VALUE : VALUE + 2, :n] + s * z.basic[RATE : RATE + 2, :n]
    return PathPoint(columns, w, rows, u)


def stuck_ray(z: Basis, d: int) -> Floats:
    """The dual ray that nothing stops."""
    u, n = np.zeros(d), int(z.active[SCALARS, SIZE])
    u[z.active[ROW, :n]] = z.basic[MOVE + ROW, :n]
    if z.active[SCALARS, STUCK] >= 0:
        u[z.active[SCALARS, STUCK]] = float(z.active[SCALARS, STUCK_SIGN])
    return u


@dataclass(frozen=True, slots=True, eq=False)
class DantzigPath:
    """Solutions for many thresholds, from large to small.

    Parameters
    ----------
    lams
        The thresholds, never increasing. Where w is not unique one may come twice.
    supports, values
        w at lams[i] is values[i] on the coordinates supports[i], 0 elsewhere.
    d
        Length of w.
    status
        "optimal": all that was asked for; "infeasible": nothing is feasible below the last
        threshold; "limit": stopped, at max_nonzeros or because a point could not be proven.
    primal_residual, dual_residual, gap
        The worst of all points, as in DantzigSolution.
    """

    lams: Floats
    supports: tuple[Indices, ...]
    values: tuple[Floats, ...]
    d: int
    status: Status
    primal_residual: float
    dual_residual: float
    gap: float

    def __len__(self) -> int:
        return len(self.lams)

    @property
    def nonzeros(self) -> Indices:
        """How many entries of w are not zero, at each threshold."""
        return np.array([np.count_nonzero(w) for w in self.values], dtype=np.int64)

    def weights(self, i: int) -> Floats:
        """w at lams[i]."""
        w = np.zeros(self.d)
        w[self.supports[i]] = self.values[i]
        return w

    def at(self, lam: float) -> Floats:
        """w at lam by linear interpolation: exact if lams are the breakpoints."""
        if not len(self.lams) or not lam >= self.lams[-1]:
            raise ProblemError(f"lam must be at least {self.lams[-1:]}, the end, got {lam}")
        if lam >= self.lams[0]:
            return self.weights(0)
        after = int(np.searchsorted(-self.lams, -lam))
        high, low = self.lams[after - 1], self.lams[after]
        share = float((high - lam) / (high - low))
        w: Floats = (1.0 - share) * self.weights(after - 1) + share * self.weights(after)
        return w


class PathPoints:
    """A path under construction."""

    def __init__(self, d: int) -> None:
        self.d = d
        self.lams: list[float] = []
        self.supports: list[Indices] = []
        self.values: list[Floats] = []
        self.worst = (0.0, 0.0, 0.0)

    def add(
        self, lam: float, support: Indices, w: Floats, proof: tuple[float, float, float]
    ) -> bool:
        """Append a point if it is proven; False if not."""
        if max(proof) > CERTIFICATE_TOLERANCE:
            return False
        self.lams.append(lam)
        self.supports.append(support)
        self.values.append(w)
        a, b, c = self.worst
        self.worst = max(a, proof[0]), max(b, proof[1]), max(c, proof[2])
        return True

    def jumps_to(self, point: PathPoint) -> bool:
        """Whether the last w is another than this one."""
        difference = np.zeros(self.d)
        difference[self.supports[-1]] = self.values[-1]
        difference[point.columns] -= point.w
        largest = float(np.abs(point.w).max(initial=0.0))
        return not np.abs(difference).max() <= 1e-9 * largest

    def done(self, status: Status) -> DantzigPath:
        """The path so far."""
        lams, supports, values = np.array(self.lams), tuple(self.supports), tuple(self.values)
        return DantzigPath(lams, supports, values, self.d, status, *self.worst)


def breakpoints(G: Floats, b: Floats, largest: int) -> DantzigPath:
    """All breakpoints from lam = max|b| down to 0, or to the first w with more than `largest`.

    The homotopy on all coordinates, one pivot at a time, with lam = s max|b|.
    """
    d, size, s = len(b), float(np.abs(b).max()), 1.0
    points = PathPoints(d)
    points.add(size, np.zeros(0, np.int64), np.zeros(0), (0.0, 0.0, 0.0))
    if size == 0.0:
        return points.done("optimal")
    z = cold_start(G, b, size)
    for count in range(1000 + 50 * d):
        code, end, z = step(G, z, s, size, count % 32 == 31)
        here, there = point_at(z, s), point_at(z, end)
        if code == RAY and _proves(G, b, stuck_ray(z, d), here, s * size):
            return points.done("infeasible")
        if code not in (DONE, LIMIT) or len(here.columns) > largest:
            break
        # Where w is not unique it may jump; then there are two points at one lam.
        jumps = points.jumps_to(here)
        if jumps and not _write(points, G, b, here, s * size):
            break
        if not _write(points, G, b, there, end * size):
            break
        s = end
        if code == DONE:
            return points.done("optimal")
    return points.done("limit")


def _write(points: PathPoints, G: Floats, b: Floats, point: PathPoint, lam: float) -> bool:
    """Append a point if it is proven; False if not."""
    thresholds = np.full(len(b), lam)
    _, primal, dual, gap, _ = proven("optimal", certify(G, b, thresholds, *point), thresholds)
    return points.add(lam, point.columns, point.w, (primal, dual, gap))


def _proves(G: Floats, b: Floats, u: Floats, point: PathPoint, lam: float) -> bool:
    """Whether u, with G u = 0, shows that nothing below lam is feasible."""
    rows = np.flatnonzero(u)
    total, gain = float(np.abs(u).sum()), float(b @ u)
    leak = float(np.abs(u[rows] @ G[rows]).max()) * float(np.abs(point.w).sum())
    return gain >= (1.0 - 1e-6) * lam * total and leak <= 1e-6 * gain
