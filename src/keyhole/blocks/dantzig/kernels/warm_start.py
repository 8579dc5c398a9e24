"""The first working set of the Dantzig program and a basis on it: a warm start, if one is at hand.

Given weights of a similar program lead to a basis by way of the lasso, which is then repaired; a
given basis is taken as it is; without either the basis is empty, which is the cold start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.blocks.dantzig.kernels.basis import (
    COLUMN,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    State,
    forget,
    new_state,
    resized,
    wrong_signs,
)
from keyhole.blocks.dantzig.kernels.inverse import invert
from keyhole.blocks.dantzig.kernels.lasso import ROUNDS, descend, equal_sides, take_support, unfold
from keyhole.blocks.dantzig.kernels.path_start import recompute
from keyhole.blocks.dantzig.kernels.program import Guess, Lines, Program
from keyhole.blocks.dantzig.kernels.repair import repair
from keyhole.blocks.dantzig.kernels.rows import add_rows, rounded
from keyhole.blocks.dantzig.kernels.working_set import (
    WorkingSet,
    feasible,
    fill,
    gather,
    holds,
    join,
    loads,
    newcomers,
    products,
    widened,
)
from keyhole.blocks.jit.decorators import inner, part
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats, Indices

FIRST = 24  # size of the first working set
NEAR = 0.9  # what comes this close to its bound joins together with what violates it
SOON = 0.87  # the same at a warm start: one look at all coordinates is to find all that is new


class Start(NamedTuple):
    """A working set and a basis on it, the pivots that took, and what is known of it."""

    working: WorkingSet
    z: State
    pivots: int
    solved: bool  # the basis is the answer
    looked: bool  # the lines are up to date, and what they violate is in the working set


@inner
def adopt(z: State, guess: Guess, W: Indices) -> None:
    """Take over the basis of `guess`, whose coordinates are all in the working set W."""
    apart()
    local = np.empty(len(W), np.int64)
    for i in range(z.place.shape[1]):
        local[W[i]] = i
    n = len(guess.columns)
    z.active[NUMBER, SIZE] = n
    for i in range(n):
        k, j = local[guess.rows[i]], local[guess.columns[i]]
        z.active[ROW, i], z.place[ROW, k], z.line[SIGN + ROW, k] = k, i, guess.row_signs[i]
        z.active[COLUMN, i], z.place[COLUMN, j] = j, i
        z.line[SIGN + COLUMN, j] = guess.column_signs[i]


@part
def look_around(
    program: Program, working: WorkingSet, z: State, w: Floats, lines: Lines, quota: int
) -> tuple[WorkingSet, State]:
    """Compute the rows at the weights w; what they violate, or soon will, joins."""
    W, r, q, m = working.W, lines.r, lines.q, z.place.shape[1]
    for j in range(len(r)):
        r[j], q[j] = program.b[j], 0.0
    index, weight, number = np.empty(m, np.int64), np.empty(m), m - m
    for i in range(m):
        if w[i] != 0.0:
            index[number], weight[number] = W[i], w[i]
            number += 1
    add_rows(program.G, len(r), index, weight, number, -1.0, r)
    load, eager = loads(program, lines, 0.0, 0.0), quota > 0  # True, but not a literal
    return widened(program, working, z, newcomers(load, working.member, quota, SOON, eager))


@part
def repaired(
    program: Program, working: WorkingSet, z: State, lines: Lines, wrong: int, pivots: int
) -> Start:
    """The lasso's basis, of which so many signs are wrong, made the answer of the working set."""
    n, none = z.active[NUMBER, SIZE], wrong - wrong  # 0, but not a literal
    if 4 * wrong > n:  # so much that repairing costs more than starting anew
        forget(z)
        return Start(working, z, none, n < 0, n < 0)
    unfold(z.inv, n)
    made, looked, solved = repair(program, working, z, lines, min(pivots, n + FIRST))
    if not looked:
        recompute(working.M, z, program.size, 0)
    elif made > 0 and not solved:
        load = loads(program, lines, 0.0, 0.0)
        new = newcomers(load, working.member, FIRST + none, NEAR, looked)
        working, z = widened(program, working, z, new)
    return Start(working, z, made, solved, looked)


@part
def from_weights(
    program: Program, guess: Guess, working: WorkingSet, z: State, lines: Lines, pivots: int
) -> tuple[bool, Start]:
    """The support of the lasso near the weights, repaired; whether that came to an end.

    A look at all coordinates costs much. So one comes when the old support has had a round of
    descent, to find what is new; the next one is meant to be the certificate, or else to find what
    the repair needs, and then the one after the repair is.
    """
    d, n, none = len(program.b), len(guess.weights), pivots - pivots  # 0, but not a literal
    yes, w = n > 0, np.zeros(d)
    for i in range(n):
        w[i] = guess.weights[i]
    descend(working.M, z, w, 1 + none)
    working, z = look_around(program, working, z, w, lines, FIRST + n)
    m = z.place.shape[1]
    z = resized(z, m, m + FIRST)
    while descend(working.M, z, w, ROUNDS + none):
        take_support(z, w)
        if not equal_sides(working.M, z, z.inv):
            break
        products(program, working.W, z, 0.0, lines)
        wrong = wrong_signs(z)
        if wrong == 0 and holds(program, lines):
            return yes, Start(working, z, none, yes, yes)
        load = loads(program, lines, 0.0, 0.0)
        new = newcomers(load, working.member, FIRST + none, NEAR, yes)
        # New rows change the lasso; new columns are for the pivots.
        again = len(new) > 0 and 2 * (m + len(new)) <= d and not feasible(program, lines.r)
        working, z = widened(program, working, z, new)
        m = z.place.shape[1]
        z = resized(z, m, m + 2)
        if not again:
            return yes, repaired(program, working, z, lines, wrong, pivots)
        forget(z)
    return not yes, Start(working, z, none, not yes, not yes)


@part
def first_basis(program: Program, guess: Guess, lines: Lines, pivots: int) -> Start:
    """The first working set and a basis on it: from the weights, or else the one that is given."""
    d, n, known = len(program.b), len(guess.columns), len(guess.weights) > 0
    none = n - len(guess.rows)  # 0, but not a literal: those would get kernels of their own
    W, member = np.empty(d, np.int64), np.zeros(d, np.bool_)
    m = join(W, join(W, none, member, guess.columns), member, guess.rows)
    side = rounded(m + 2 * FIRST)
    M = gather(program.G, W, none, m, np.empty((side, side)))
    working = WorkingSet(W, member, M)
    # Weights need no inverse at first: room for one comes when it is known how much.
    z = new_state(m, rounded(m), none if known else 2 * n)
    fill(z, program, W, none)
    if known:
        found, start = from_weights(program, guess, working, z, lines, pivots)
        if found:
            return start
        working, z = start.working, start.z
    forget(z)
    adopt(z, guess, W)
    if not invert(working.M, z):
        forget(z)
    recompute(working.M, z, program.size, 0)
    return Start(working, z, none, n < 0, n < 0)
