"""Where the path of the homotopy starts, from any basis; and its values recomputed, against drift.

`start_path` makes a basis optimal at s = 1: a cold start from the empty basis, a warm start from
one that is near. `recompute` is what keeps a basis accurate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    BOUND,
    BOUND_RATE,
    CENTRE,
    GAUGE,
    MOVE,
    NUMBER,
    RATE,
    ROW,
    SIGN,
    SIZE,
    SPARE,
    VALUE,
    WIDER,
    State,
    basic_solution,
)
from keyhole.blocks.dantzig.kernels.homotopy import DONE, LIMIT, RAY, STALLED, follow
from keyhole.blocks.dantzig.kernels.inverse import invert
from keyhole.blocks.dantzig.kernels.rows import add_rows
from keyhole.blocks.jit.decorators import inner, part
from keyhole.blocks.jit.intrinsics import apart

ACCURATE = 1e-10  # the basis equations must hold this well, relatively
LEAST = 1e-6  # bounds are loosened as if they were at least this times the size of b


class Loosening(NamedTuple):
    """How bounds are made wider at s = 1: irregularly by `spread`, against ties.

    straight: not those of rows, so that the path is lam (1 + s) exactly.
    """

    spread: float
    straight: bool


@inner
def jitter(j: int) -> float:
    """A fixed irregular number in [0, 1) for coordinate j."""
    x = np.uint64(j + 1) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(31)
    return float(x >> np.uint64(11)) * 2.0**-53


@inner
def recompute(M: NDArray[np.floating], z: State, size: float, rate: int) -> float:
    """Basic values and lines from the basis alone, refined once if need be; what stays wrong.

    The basic values of one side are what makes the lines of the other side exactly tight.
    rate 0: values at s = 0; 1: rates, if no centres move (a path that began with w = u = 0).
    """
    apart()
    m, n, v, wrong = z.place.shape[1], z.active[NUMBER, SIZE], z.basic[SPARE], 0.0
    value, bounds = (RATE, BOUND_RATE) if rate == 1 else (VALUE, BOUND)
    for side in range(2):
        other = 1 - side
        turn, unit = (1.0, 1.0) if side == ROW else (-1.0, size)
        line, active, t = z.line[value + other], z.active[other], z.basic[value + side]
        sign, bound, change = z.line[SIGN + other], z.line[bounds + other], z.basic[MOVE + side]
        error = 0.0
        for i in range(n):
            t[i] = 0.0
        for repeat in range(3):
            for j in range(m):
                line[j] = z.line[CENTRE, j] if other == ROW and rate == 0 else 0.0
            if repeat > 0:
                add_rows(M, m, z.active[side], t, n, turn, line)
            error = 0.0
            for i in range(n):
                v[i] = turn * (sign[active[i]] * bound[active[i]] - line[active[i]])
                error = max(error, abs(v[i]) / unit)
            if repeat == 2 or (repeat == 1 and error < 1e-12) or n == 0:
                break
            basic_solution(z.inv, n, side, v, change)
            for i in range(n):
                t[i] += change[i]
        wrong = max(wrong, error)
    return wrong


@inner
def recompute_lines(M: NDArray[np.floating], z: State) -> None:
    """The lines outside the basis, and their rates, from the basic values and theirs."""
    apart()
    m, n = z.place.shape[1], z.active[NUMBER, SIZE]
    fresh = np.empty(m)
    for side in range(2):
        other, turn = 1 - side, (1.0 if side == ROW else -1.0)
        for rate in range(2):
            value = RATE if rate else VALUE
            line, place = z.line[value + other], z.place[other]
            for j in range(m):
                fresh[j] = z.line[CENTRE, j] if other == ROW and rate == 0 else 0.0
            add_rows(M, m, z.active[side], z.basic[value + side], n, turn, fresh)
            for j in range(m):
                if place[j] < 0:
                    line[j] = fresh[j]


@part
def shift(M: NDArray[np.floating], z: State, spread: float) -> None:
    """Rates that give every basic value of the basis, recomputed, the right sign at s = 1.

    They move the centres of the lines in the basis, which so keep their values, and the other
    lines.
    """
    m, n = z.place.shape[1], z.active[NUMBER, SIZE]
    for side in range(2):
        t0, t1 = z.basic[VALUE + side], z.basic[RATE + side]
        sign, index = z.line[SIGN + side], z.active[side]
        worst, v1, place = 0.0, z.line[RATE + 1 - side], z.place[1 - side]
        for i in range(n):
            worst = max(worst, -sign[index[i]] * t0[i])
        for i in range(n):
            t1[i] = 0.0
            if sign[index[i]] * t0[i] < 0.0:
                t1[i] = sign[index[i]] * worst * (1.0 + spread * jitter(index[i])) - t0[i]
        for j in range(m):
            v1[j] = 0.0
        if worst > 0.0:
            add_rows(M, m, index, t1, n, (1.0 if side == ROW else -1.0), v1)
            for j in range(m):
                v1[j] = v1[j] if place[j] < 0 else 0.0


@inner
def loosen(z: State, s: float, size: float, how: Loosening) -> None:
    """Bounds wide enough at s for the lines outside the basis that have no rate yet.

    All get the same multiple of their bound, whatever the worst one needs: so the worst one comes
    first, and its pivot usually heals others.
    """
    apart()
    m = z.place.shape[1]
    for side in range(2):
        least, seed = (LEAST * size, 0) if side == ROW else (1.0, m)
        place, h0, h1 = z.place[side], z.line[BOUND + side], z.line[BOUND_RATE + side]
        v0, v1, more = z.line[VALUE + side], z.line[RATE + side], z.basic[GAUGE, WIDER + side]
        uneven = 0.0 if how.straight and side == ROW else how.spread
        for j in range(m):
            if place[j] < 0 and h1[j] == 0.0:
                need = abs(v0[j] + s * v1[j]) - h0[j]
                more = max(more, need / (s * max(h0[j], least)))
        for j in range(m):
            if place[j] < 0 and h1[j] == 0.0:
                h1[j] = max(h0[j], least) * (more + (more + 1.0) * uneven * jitter(j + seed))
        if s == 1.0:
            z.basic[GAUGE, WIDER + side] = more


@inner
def start_path(M: NDArray[np.floating], z: State, size: float, how: Loosening) -> bool:
    """Recompute the basis and make it optimal at s = 1; False if it is singular."""
    apart()
    if recompute(M, z, size, 0) > ACCURATE:
        if not invert(M, z):
            return False
        recompute(M, z, size, 0)
    shift(M, z, how.spread)
    for side in range(2):
        z.basic[GAUGE, WIDER + side] = 0.0
        for j in range(z.place.shape[1]):
            z.line[BOUND_RATE + side, j] = 0.0
    loosen(z, 1.0, size, how)
    return True


@part
def follow_to_end(
    M: NDArray[np.floating], z: State, s: float, size: float, pivots: int, how: Loosening
) -> tuple[int, float, int, State]:
    """`follow`, and what goes wrong gets a fresh inverse and a coarser start, twice."""
    made = 0
    for _ in range(3):
        code, s, steps, z = follow(M, z, s, size, pivots - made)
        made += steps
        # The basis must still be optimal once its drift is removed.
        good = code == DONE and recompute(M, z, size, 0) <= ACCURATE
        if good or code in (RAY, LIMIT):
            return code, s, made, z
        how, s = Loosening(100.0 * how.spread, how.straight), 1.0
        if not (invert(M, z) and start_path(M, z, size, how)):
            break
    return STALLED, s, made, z
