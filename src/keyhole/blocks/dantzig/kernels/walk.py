"""The path of the Dantzig program over all thresholds, one breakpoint at a time."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.dantzig.kernels.basis import (
    NUMBER,
    ROW,
    SIZE,
    STUCK,
    STUCK_SIGN,
    State,
    X,
    invert,
    new_state,
)
from keyhole.blocks.dantzig.kernels.homotopy import follow
from keyhole.blocks.dantzig.kernels.restart import ACCURATE, restart, settle
from keyhole.blocks.dantzig.kernels.working_set import fill
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats


@kernel
def set_out(G: Floats, b: Floats, size: float) -> State:
    """w = 0 at lam = size = max|b|, on the path lam = s size."""
    d = len(b)
    z = new_state(d, d, min(d + 1, 16))
    fill(z, b, np.zeros(d), np.arange(d), d - len(b), d)
    straight = d > 0  # True, but not a literal: those would get kernels of their own
    restart(G, d, z, size, 1e-9, straight)
    return z


@kernel
def step(G: Floats, z: State, s: float, size: float, refresh: bool) -> tuple[int, float, State]:
    """To the breakpoint after the next pivot: (how it ended, s there, state)."""
    d = len(G)
    code, s, _, z = follow(G, d, z, s, size, int(d > 0))
    if refresh:  # remove the drift of the updates
        if settle(G, d, z, size, 0) > ACCURATE and invert(G, z):
            settle(G, d, z, size, 0)
        settle(G, d, z, size, 1)
    return code, s, z


@kernel
def stuck_ray(z: State, d: int) -> Floats:
    """The dual ray that nothing stops."""
    u = np.zeros(d)
    for i in range(z.active[NUMBER, SIZE]):
        u[z.active[ROW, i]] = z.basic[X + ROW, i]
    if z.active[NUMBER, STUCK] >= 0:
        u[z.active[NUMBER, STUCK]] = float(z.active[NUMBER, STUCK_SIGN])
    return u
