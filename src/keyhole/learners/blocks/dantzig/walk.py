"""The path of the Dantzig program over all thresholds, one breakpoint at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.core.functions import c_function
from keyhole.core.structs import hold
from keyhole.learners.blocks.dantzig.basis import (
    COLUMN,
    MOVE,
    NUMBER,
    RATE,
    ROW,
    SIZE,
    STUCK,
    STUCK_SIGN,
    VALUE,
    Basis,
    empty,
    with_room,
)
from keyhole.problem import Floats, Indices


class Point(NamedTuple):
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
    if z.active[NUMBER, SIZE] == room:
        z = hold(with_room(z, min(len(G) + 1, 2 * room)))
    code, s = _step(G, z, s, size, refresh)
    return code, s, z


def point_at(z: Basis, s: float) -> Point:
    """w and u at s."""
    n = int(z.active[NUMBER, SIZE])
    rows, columns = z.active[ROW, :n].copy(), z.active[COLUMN, :n].copy()
    u, w = z.basic[VALUE : VALUE + 2, :n] + s * z.basic[RATE : RATE + 2, :n]
    return Point(columns, w, rows, u)


def stuck_ray(z: Basis, d: int) -> Floats:
    """The dual ray that nothing stops."""
    u, n = np.zeros(d), int(z.active[NUMBER, SIZE])
    u[z.active[ROW, :n]] = z.basic[MOVE + ROW, :n]
    if z.active[NUMBER, STUCK] >= 0:
        u[z.active[NUMBER, STUCK]] = float(z.active[NUMBER, STUCK_SIGN])
    return u
