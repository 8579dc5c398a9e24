"""The path of the Dantzig program over all thresholds, one breakpoint at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.blocks.dantzig.kernels.basis import (
    COLUMN,
    MOVE,
    NUMBER,
    RATE,
    ROW,
    SIZE,
    STUCK,
    STUCK_SIGN,
    VALUE,
    State,
    new_state,
)
from keyhole.blocks.dantzig.kernels.homotopy import follow
from keyhole.blocks.dantzig.kernels.inverse import invert
from keyhole.blocks.dantzig.kernels.path_start import ACCURATE, Loosening, recompute, start_path
from keyhole.blocks.dantzig.kernels.program import Program
from keyhole.blocks.dantzig.kernels.working_set import fill
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats, Indices


class Point(NamedTuple):
    """w and u where they are not zero."""

    columns: Indices
    w: Floats
    rows: Indices
    u: Floats


@kernel
def cold_start(G: Floats, b: Floats, size: float) -> State:
    """w = 0 at lam = size = max|b|, on the path lam = s size."""
    d = len(b)
    z = new_state(d, d, min(d + 1, 16))
    fill(z, Program(G, b, np.zeros(d), size), np.arange(d), d - len(b))
    start_path(G, z, size, Loosening(1e-9, d > 0))  # True, but not a literal
    return z


@kernel
def step(G: Floats, z: State, s: float, size: float, refresh: bool) -> tuple[int, float, State]:
    """To the breakpoint after the next pivot: (how it ended, s there, state)."""
    code, s, _, z = follow(G, z, s, size, int(len(G) > 0))
    if refresh:  # remove the drift of the updates
        if recompute(G, z, size, 0) > ACCURATE and invert(G, z):
            recompute(G, z, size, 0)
        recompute(G, z, size, 1)
    return code, s, z


def point_at(z: State, s: float) -> Point:
    """w and u at s."""
    n = int(z.active[NUMBER, SIZE])
    rows, columns = z.active[ROW, :n].copy(), z.active[COLUMN, :n].copy()
    u, w = z.basic[VALUE : VALUE + 2, :n] + s * z.basic[RATE : RATE + 2, :n]
    return Point(columns, w, rows, u)


def stuck_ray(z: State, d: int) -> Floats:
    """The dual ray that nothing stops."""
    u, n = np.zeros(d), int(z.active[NUMBER, SIZE])
    u[z.active[ROW, :n]] = z.basic[MOVE + ROW, :n]
    if z.active[NUMBER, STUCK] >= 0:
        u[z.active[NUMBER, STUCK]] = float(z.active[NUMBER, STUCK_SIGN])
    return u
