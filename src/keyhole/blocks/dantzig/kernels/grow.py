"""The homotopy of the Dantzig program on a growing working set of coordinates.

A solution with n non-zeros touches few of the d coordinates. The homotopy runs on a small set W of
rows and columns (a dense copy of G[W, W]); its answer is then checked on all d coordinates with
2 n d multiply-adds, and the rows and columns it violates join W, until there are none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    GAUGE,
    H1,
    NUMBER,
    SIGN,
    SIZE,
    V0,
    V1,
    State,
    invert,
    new_state,
)
from keyhole.blocks.dantzig.kernels.homotopy import DONE, LIMIT, RAY, STALLED, follow
from keyhole.blocks.dantzig.kernels.restart import ACCURATE, loosen, restart, revalue, settle
from keyhole.blocks.dantzig.kernels.warm_start import (
    FIRST,
    NEAR,
    Guess,
    begin,
    forget,
    widened,
    wrong_signs,
)
from keyhole.blocks.dantzig.kernels.working_set import fill, holds, newcomers, products, stopping
from keyhole.blocks.jit.decorators import part
from keyhole.problem import Floats, Indices

CHECK = 16  # pivots between two looks at all coordinates, at least
GROWTH = 0.25  # of its size: by how much the working set may grow at a time
PATIENCE = 0.4  # of n: pivots between two looks, if that is more
SPREAD = 1e-4  # irregularity of the loosening, against ties
WIDE = 5  # how `grow` ends when the working set became too large


@part
def opened(z: State, b: Floats, lam: Floats, W: Indices, m: int, d: int) -> State:
    """The state of the working set as one of all coordinates in their own order."""
    new = new_state(d, d, z.active.shape[1])
    all_of = np.arange(d)
    fill(new, b, lam, all_of, d - len(b), d)
    for i in range(m):
        for side in range(2):
            for k in (V0, V1, H1, SIGN):
                new.line[k + side, W[i]] = z.line[k + side, i]
            new.place[side, W[i]] = z.place[side, i]
    for i in range(z.active[NUMBER, SIZE]):
        for side in range(2):
            z.active[side, i] = W[z.active[side, i]]
    return State(new.line, new.place, z.basic, z.active, z.inv)


@part
def grow(
    G: NDArray[np.floating], b: Floats, lam: Floats, size: float, guess: Guess, pivots: int,
    r: Floats, q: Floats,
) -> tuple[int, float, int, State, Indices, int]:  # fmt: skip
    """The homotopy on a growing working set: (how, s, pivots, state, W, size of W).

    Every few pivots the point reached is checked on all coordinates; what it violates joins W with
    bounds just wide enough at this s. DONE: r = b - G w and q = G u are those of the answer. WIDE:
    W became too large; go on over all coordinates at s.
    """
    d, s, trouble, spread = len(b), 1.0, 0, SPREAD
    straight = pivots < 0  # False, but not a literal
    W, member = np.empty(d, np.int64), np.zeros(d, np.bool_)
    m, M, z, made, good, looked = begin(G, b, lam, size, guess, W, member, r, q, pivots)
    if good:
        return DONE, 0.0, made, z, W, m
    if 4 * wrong_signs(z) > z.active[NUMBER, SIZE]:
        # So much has changed that repairing the guess costs more than starting anew.
        forget(z, m)
        looked = False
    code, fresh = DONE, False
    while True:
        # Here the basis is optimal for W at s; s = 0 with code DONE.
        if code == DONE:
            s = 0.0
            if fresh and settle(M, m, z, size, 0) > ACCURATE:
                code = STALLED
        if not fresh and (looked or wrong_signs(z) > 0):
            new = W[:0]
        elif code in (DONE, LIMIT):
            products(G, b, W, z, s, r, q)
            wide_r, wide_q = s * z.basic[GAUGE, 1], s * z.basic[GAUGE, 2]
            new = newcomers(
                lam, r, q, member, size, wide_r, wide_q, max(FIRST, int(GROWTH * m)), NEAR, straight
            )
        elif code == RAY:
            new = stopping(G, W, member, z, FIRST + trouble)
        else:
            trouble += 1
            new, spread = W[:0], 100.0 * spread
        if made >= pivots or trouble > 2:
            return STALLED, s, made, z, W, m
        if len(new) == 0 and code in (DONE, RAY):
            good = fresh or (wrong_signs(z) == 0 and holds(lam, r, q, size))
            if good:
                return code, s, made, z, W, m
        old = m
        m, M, z = widened(G, b, lam, W, member, m, new, M, z)
        if code in (DONE, STALLED):
            s = 1.0
            if code == STALLED and not invert(M, z):
                return STALLED, s, made, z, W, m
            if not restart(M, m, z, size, spread, straight):
                return STALLED, s, made, z, W, m
        elif m > old:
            revalue(M, m, z)
            loosen(m, z, s, size, spread, straight)
        if 2 * m > d:
            return WIDE, s, made, z, W, m
        code, s, steps, z = follow(
            M, m, z, s, size, max(CHECK, int(PATIENCE * z.active[NUMBER, SIZE]))
        )
        made += steps
        fresh = True
