"""The homotopy of the Dantzig program on a growing working set of coordinates.

A solution with n non-zeros touches few of the d coordinates. The homotopy runs on a small set W of
rows and columns (a dense copy of G[W, W]); its answer is then checked on all d coordinates with
2 n d multiply-adds, and the rows and columns it violates join W, until there are none.
"""

from __future__ import annotations

import numpy as np

from keyhole.blocks.dantzig.kernels.basis import (
    BOUND_RATE,
    COLUMN,
    GAUGE,
    NUMBER,
    RATE,
    ROW,
    SIGN,
    SIZE,
    VALUE,
    WIDER,
    State,
    forget,
    new_state,
    wrong_signs,
)
from keyhole.blocks.dantzig.kernels.homotopy import DONE, LIMIT, RAY, STALLED, follow
from keyhole.blocks.dantzig.kernels.inverse import invert
from keyhole.blocks.dantzig.kernels.path_start import (
    ACCURATE,
    Loosening,
    loosen,
    recompute,
    recompute_lines,
    start_path,
)
from keyhole.blocks.dantzig.kernels.program import Guess, Lines, Program
from keyhole.blocks.dantzig.kernels.warm_start import FIRST, NEAR, first_basis
from keyhole.blocks.dantzig.kernels.working_set import (
    WorkingSet,
    fill,
    holds,
    loads,
    newcomers,
    products,
    stopping,
    widened,
)
from keyhole.blocks.jit.decorators import part

CHECK = 16  # pivots between two looks at all coordinates, at least
GROWTH = 0.25  # of its size: by how much the working set may grow at a time
PATIENCE = 0.4  # of n: pivots between two looks, if that is more
SPREAD = 1e-4  # irregularity of the loosening, against ties
WIDE = 5  # how `grow` ends when the working set became too large


@part
def over_all_coordinates(z: State, program: Program, working: WorkingSet) -> State:
    """The state of the working set as one of all coordinates in their own order."""
    W, d = working.W, len(program.b)
    new = new_state(d, d, z.active.shape[1])
    fill(new, program, np.arange(d), d - len(program.b))
    for i in range(z.place.shape[1]):
        for side in range(2):
            for k in (VALUE, RATE, BOUND_RATE, SIGN):
                new.line[k + side, W[i]] = z.line[k + side, i]
            new.place[side, W[i]] = z.place[side, i]
    for i in range(z.active[NUMBER, SIZE]):
        for side in range(2):
            z.active[side, i] = W[z.active[side, i]]
    return State(new.line, new.place, z.basic, z.active, z.inv)


@part
def grow(
    program: Program, guess: Guess, lines: Lines, pivots: int
) -> tuple[int, float, int, State, WorkingSet]:
    """The homotopy on a growing working set: (how it ended, s, pivots, state, working set).

    Every few pivots the point reached is checked on all coordinates; what it violates joins W with
    bounds just wide enough at this s. DONE: the lines are those of the answer. WIDE: W became too
    large; go on over all coordinates at s.
    """
    s, size, trouble = 1.0, program.size, 0
    how = Loosening(SPREAD, pivots < 0)  # False, but not a literal
    working, z, made, solved, looked = first_basis(program, guess, lines, pivots)
    if solved:
        return DONE, 0.0, made, z, working
    if 4 * wrong_signs(z) > z.active[NUMBER, SIZE]:
        # So much has changed that repairing the guess costs more than starting anew.
        forget(z)
        looked = False
    code, followed, m = DONE, False, z.place.shape[1]
    while True:
        # Here the basis is optimal for W at s; s = 0 with code DONE.
        if code == DONE:
            s = 0.0
            if followed and recompute(working.M, z, size, 0) > ACCURATE:
                code = STALLED
        if not followed and (looked or wrong_signs(z) > 0):
            new = working.W[:0]
        elif code in (DONE, LIMIT):
            products(program, working.W, z, s, lines)
            gauge = z.basic[GAUGE]
            load = loads(program, lines, s * gauge[WIDER + ROW], s * gauge[WIDER + COLUMN])
            quota = max(FIRST, int(GROWTH * m))
            new = newcomers(load, working.member, quota, NEAR, how.straight)
        elif code == RAY:
            new = stopping(program.G, working, z, FIRST + trouble)
        else:
            trouble += 1
            new, how = working.W[:0], Loosening(100.0 * how.spread, how.straight)
        if made >= pivots or trouble > 2:
            return STALLED, s, made, z, working
        if len(new) == 0 and code in (DONE, RAY):
            good = followed or (wrong_signs(z) == 0 and holds(program, lines))
            if good:
                return code, s, made, z, working
        old = m
        working, z = widened(program, working, z, new)
        m = z.place.shape[1]
        if code in (DONE, STALLED):
            s = 1.0
            if code == STALLED and not invert(working.M, z):
                return STALLED, s, made, z, working
            if not start_path(working.M, z, size, how):
                return STALLED, s, made, z, working
        elif m > old:
            recompute_lines(working.M, z)
            loosen(z, s, size, how)
        if 2 * m > len(program.b):
            return WIDE, s, made, z, working
        patience = max(CHECK, int(PATIENCE * z.active[NUMBER, SIZE]))
        code, s, steps, z = follow(working.M, z, s, size, min(patience, pivots - made))
        made += steps
        followed = True
