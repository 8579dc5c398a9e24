"""Solutions of the Dantzig program for a whole range of thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyhole.learners.blocks.dantzig.basis import DONE, LIMIT, RAY
from keyhole.learners.blocks.dantzig.certificate import TOLERANCE, Status, proven
from keyhole.learners.blocks.dantzig.engine import certify
from keyhole.learners.blocks.dantzig.walk import Point, cold_start, point_at, step, stuck_ray
from keyhole.problem import Floats, Indices, ProblemError


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


class Points:
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
        if max(proof) > TOLERANCE:
            return False
        self.lams.append(lam)
        self.supports.append(support)
        self.values.append(w)
        a, b, c = self.worst
        self.worst = max(a, proof[0]), max(b, proof[1]), max(c, proof[2])
        return True

    def jumps_to(self, point: Point) -> bool:
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
    points = Points(d)
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


def _write(points: Points, G: Floats, b: Floats, point: Point, lam: float) -> bool:
    """Append a point if it is proven; False if not."""
    thresholds = np.full(len(b), lam)
    _, primal, dual, gap, _ = proven("optimal", certify(G, b, thresholds, *point), thresholds)
    return points.add(lam, point.columns, point.w, (primal, dual, gap))


def _proves(G: Floats, b: Floats, u: Floats, point: Point, lam: float) -> bool:
    """Whether u, with G u = 0, shows that nothing below lam is feasible."""
    rows = np.flatnonzero(u)
    total, gain = float(np.abs(u).sum()), float(b @ u)
    leak = float(np.abs(u[rows] @ G[rows]).max()) * float(np.abs(point.w).sum())
    return gain >= (1.0 - 1e-6) * lam * total and leak <= 1e-6 * gain
