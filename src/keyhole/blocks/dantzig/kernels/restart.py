"""Starting the homotopy of the Dantzig program from any basis, and keeping it accurate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    GAUGE,
    H0,
    H1,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    SPARE,
    T0,
    T1,
    V0,
    V1,
    B,
    State,
    X,
    basic_solution,
    invert,
)
from keyhole.blocks.dantzig.kernels.homotopy import DONE, LIMIT, RAY, STALLED, follow
from keyhole.blocks.dantzig.kernels.rows import add_rows
from keyhole.blocks.jit.decorators import inner, part
from keyhole.blocks.jit.intrinsics import apart

ACCURATE = 1e-10  # the basis equations must hold this well, relatively
LEAST = 1e-6  # bounds are loosened as if they were at least this times the size of b


@inner
def jitter(j: int) -> float:
    """A fixed irregular number in [0, 1) for coordinate j."""
    x = np.uint64(j + 1) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(31)
    return float(x >> np.uint64(11)) * 2.0**-53


@inner
def settle(M: NDArray[np.floating], m: int, z: State, size: float, rate: int) -> float:
    """T and V from the basis alone, refined once if need be; returns what stays wrong.

    The basic values of one side are what makes the lines of the other side exactly tight.
    rate 0: values at s = 0; 1: rates, if no centres move (a path that began with w = u = 0).
    """
    apart()
    n, v, wrong, at = z.active[NUMBER, SIZE], z.basic[SPARE], 0.0, 2 * rate
    for side in range(2):
        other = 1 - side
        turn, unit = (1.0, 1.0) if side == ROW else (-1.0, size)
        line, active, t = z.line[V0 + at + other], z.active[other], z.basic[T0 + at + side]
        sign, bound, change = z.line[SIGN + other], z.line[H0 + at + other], z.basic[X + side]
        error = 0.0
        for i in range(n):
            t[i] = 0.0
        for repeat in range(3):
            for j in range(m):
                line[j] = z.line[B, j] if other == ROW and rate == 0 else 0.0
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
def revalue(M: NDArray[np.floating], m: int, z: State) -> None:
    """V0 and V1 of all lines outside the basis from T0 and T1."""
    apart()
    n, fresh = z.active[NUMBER, SIZE], np.empty(m)
    for side in range(2):
        other, turn = 1 - side, (1.0 if side == ROW else -1.0)
        for rate in range(2):
            line, place = z.line[(V1 if rate else V0) + other], z.place[other]
            for j in range(m):
                fresh[j] = z.line[B, j] if other == ROW and rate == 0 else 0.0
            t = z.basic[(T1 if rate else T0) + side]
            add_rows(M, m, z.active[side], t, n, turn, fresh)
            for j in range(m):
                if place[j] < 0:
                    line[j] = fresh[j]


@part
def shift(M: NDArray[np.floating], m: int, z: State, spread: float) -> None:
    """Rates that give every basic value of the settled basis the right sign at s = 1.

    They move the centres of the lines in the basis, which therefore keep V, and V of the others.
    """
    n = z.active[NUMBER, SIZE]
    for side in range(2):
        t0, t1, sign, index = (
            z.basic[T0 + side],
            z.basic[T1 + side],
            z.line[SIGN + side],
            z.active[side],
        )
        worst, v1, place = 0.0, z.line[V1 + 1 - side], z.place[1 - side]
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
def loosen(m: int, z: State, s: float, size: float, spread: float, straight: bool) -> None:
    """Bounds wide enough at s for the lines outside the basis that have no rate yet.

    All get the same multiple of their bound, whatever the worst one needs: so the worst one comes
    first, and its pivot usually heals others. `straight`: rows exactly so, without irregularity.
    """
    apart()
    for side in range(2):
        least, seed = (LEAST * size, 0) if side == ROW else (1.0, m)
        place, h0, h1 = z.place[side], z.line[H0 + side], z.line[H1 + side]
        v0, v1, more = z.line[V0 + side], z.line[V1 + side], z.basic[GAUGE, 1 + side]
        uneven = 0.0 if straight and side == ROW else spread
        for j in range(m):
            if place[j] < 0 and h1[j] == 0.0:
                need = abs(v0[j] + s * v1[j]) - h0[j]
                more = max(more, need / (s * max(h0[j], least)))
        for j in range(m):
            if place[j] < 0 and h1[j] == 0.0:
                h1[j] = max(h0[j], least) * (more + (more + 1.0) * uneven * jitter(j + seed))
        if s == 1.0:
            z.basic[GAUGE, 1 + side] = more


@inner
def restart(
    M: NDArray[np.floating], m: int, z: State, size: float, spread: float, straight: bool
) -> bool:
    """Settle the basis and make it optimal at s = 1; False if it is singular."""
    apart()
    if settle(M, m, z, size, 0) > ACCURATE:
        if not invert(M, z):
            return False
        settle(M, m, z, size, 0)
    shift(M, m, z, spread)
    for side in range(2):
        z.basic[GAUGE, 1 + side] = 0.0
        for j in range(m):
            z.line[H1 + side, j] = 0.0
    loosen(m, z, 1.0, size, spread, straight)
    return True


@part
def finish(
    M: NDArray[np.floating],
    m: int,
    z: State,
    s: float,
    size: float,
    pivots: int,
    spread: float,
    straight: bool,
) -> tuple[int, float, int, State]:
    """`follow` to the end. What goes wrong gets a fresh inverse and a coarser start, twice."""
    made = 0
    for _ in range(3):
        code, s, steps, z = follow(M, m, z, s, size, pivots - made)
        made += steps
        # The basis must still be optimal once its drift is removed.
        good = code == DONE and settle(M, m, z, size, 0) <= ACCURATE
        if good or code in (RAY, LIMIT):
            return code, s, made, z
        spread, s = 100.0 * spread, 1.0
        if not (invert(M, z) and restart(M, m, z, size, spread, straight)):
            break
    return STALLED, s, made, z
