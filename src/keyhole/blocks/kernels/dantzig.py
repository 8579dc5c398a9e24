"""The Dantzig program in compiled code: homotopy on a working set of coordinates.

A solution with n non-zeros touches few of the d coordinates. The homotopy runs on a small set W of
rows and columns (a dense copy of G[W, W]); its answer is then checked on all d coordinates with
2 n d multiply-adds, and the rows and columns it violates join W, until there are none. When W
becomes half of everything, the homotopy goes on over all coordinates, straight on G.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.dantzig_basis import (
    COLUMN,
    H1,
    ROW,
    SIGN,
    SIZE,
    STUCK,
    STUCK_SIGN,
    T0,
    T1,
    V0,
    V1,
    State,
    X,
    add_rows,
    invert,
    new_state,
    resized,
)
from keyhole.blocks.kernels.dantzig_homotopy import DONE, LIMIT, RAY, STALLED
from keyhole.blocks.kernels.dantzig_start import (
    ACCURATE,
    finish,
    follow,
    loosen,
    restart,
    revalue,
    settle,
)
from keyhole.blocks.kernels.dantzig_working_set import (
    fill,
    gather,
    join,
    newcomers,
    products,
    stopping,
)
from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices

SMALL = 48  # with fewer coordinates a working set does not pay
FIRST = 24  # size of the first working set
CHECK = 16  # pivots between two looks at all coordinates, at least
GROWTH = 0.25  # of its size: by how much the working set may grow at a time
PATIENCE = 0.4  # of n: pivots between two looks, if that is more
NEAR = 0.9  # what comes this close to its bound joins together with what violates it
SPREAD = 1e-4  # irregularity of the loosening, against ties
WIDE = 5  # how `grow` ends when the working set became too large


class Outcome(NamedTuple):
    """A basis with its values. code: 0 optimal, 1 infeasible (u a direction of proof), else not.

    w is zero outside `columns`, u outside `rows`.
    """

    code: int
    pivots: int
    columns: Indices
    column_signs: Floats
    w: Floats
    rows: Indices
    row_signs: Floats
    u: Floats


class Proof(NamedTuple):
    """Of a pair (w, u): all that a certificate needs."""

    over: float  # max(|b - G w| - lam)
    top: float  # max|G u|
    objective: float  # |w|_1
    value: float  # b.u - lam.|u|
    scale: float  # max |b - G w| / lam where lam > 0
    gap: float  # |objective - value| / objective
    size: float  # max|b|


@kernel
def empty(code: int) -> Outcome:
    """The empty basis: w = u = 0."""
    i, f = np.zeros(0, np.int64), np.zeros(0)
    return Outcome(code, 0, i, f, f, i, f, f)


@kernel
def adopt(z: State, guess: Outcome, W: Indices, m: int, d: int) -> None:
    """Take over the basis of `guess`, whose coordinates are all among the first m of W."""
    local = np.empty(d, np.int64)
    for i in range(m):
        local[W[i]] = i
    n = len(guess.columns)
    z.number[SIZE] = n
    for i in range(n):
        k, j = local[guess.rows[i]], local[guess.columns[i]]
        z.active[ROW, i], z.place[ROW, k], z.line[SIGN + ROW, k] = k, i, guess.row_signs[i]
        z.active[COLUMN, i], z.place[COLUMN, j] = j, i
        z.line[SIGN + COLUMN, j] = guess.column_signs[i]


@kernel
def forget(z: State, m: int) -> None:
    """Back to the empty basis."""
    z.number[SIZE] = 0
    for j in range(m):
        z.place[0, j], z.place[1, j] = -1, -1


@kernel
def wrong_signs(z: State) -> int:
    """How many weights or multipliers of the settled basis have the wrong sign."""
    wrong = 0
    for i in range(z.number[SIZE]):
        for side in range(2):
            wrong += int(z.line[SIGN + side, z.active[side, i]] * z.basic[T0 + side, i] < 0.0)
    return wrong


@kernel
def outcome(code: int, s: float, pivots: int, W: Indices, z: State) -> Outcome:
    """The basis in the caller's coordinates; with RAY the last feasible w, and the ray as u."""
    n = z.number[SIZE]
    tail = 1 if code == RAY and z.number[STUCK] >= 0 else 0
    columns, column_signs, w = np.empty(n, np.int64), np.empty(n), np.empty(n)
    rows, row_signs, u = np.empty(n + tail, np.int64), np.empty(n + tail), np.empty(n + tail)
    for i in range(n):
        j, k = z.active[COLUMN, i], z.active[ROW, i]
        columns[i], rows[i] = W[j], W[k]
        column_signs[i], row_signs[i] = z.line[SIGN + COLUMN, j], z.line[SIGN + ROW, k]
        w[i], u[i] = z.basic[T0 + COLUMN, i], z.basic[T0 + ROW, i]
        if code == RAY:
            w[i], u[i] = w[i] + s * z.basic[T1 + COLUMN, i], z.basic[X + ROW, i]
    if tail == 1:
        rows[n], row_signs[n] = W[z.number[STUCK]], float(z.number[STUCK_SIGN])
        u[n] = row_signs[n]
    return Outcome(code, pivots, columns, column_signs, w, rows, row_signs, u)


@kernel
def opened(z: State, b: Floats, lam: Floats, W: Indices, m: int, d: int) -> State:
    """The state of the working set as one of all coordinates in their own order."""
    new = new_state(d, z.active.shape[1])
    all_of = np.arange(d)
    fill(new, b, lam, all_of, 0, d)
    for i in range(m):
        for side in range(2):
            for k in (V0, V1, H1, SIGN):
                new.line[k + side, W[i]] = z.line[k + side, i]
            new.place[side, W[i]] = z.place[side, i]
    for i in range(z.number[SIZE]):
        for side in range(2):
            z.active[side, i] = W[z.active[side, i]]
    return State(new.line, new.place, z.basic, z.active, z.inv, z.number, z.gauge, z.wide)


@kernel
def grow(
    G: NDArray[np.floating], b: Floats, lam: Floats, size: float, guess: Outcome, pivots: int
) -> tuple[int, float, int, State, Indices, int]:
    """The homotopy on a growing working set: (how, s, pivots, state, W, size of W).

    Every few pivots the point reached is checked on all coordinates; what it violates joins W with
    bounds just wide enough at this s. WIDE: W became too large; go on over all coordinates at s.
    """
    d, made, s, trouble, spread = len(b), 0, 1.0, 0, SPREAD
    W, member = np.empty(d, np.int64), np.zeros(d, np.bool_)
    r, q = np.empty(d), np.empty(d)
    m = join(W, join(W, 0, member, guess.columns), member, guess.rows)
    M = gather(G, W, 0, m, np.empty((2 * FIRST, 2 * FIRST)))
    z = new_state(m, max(16, 2 * len(guess.columns)))
    fill(z, b, lam, W, 0, m)
    adopt(z, guess, W, m, d)
    if not invert(M, z):
        forget(z, m)
    settle(M, m, z, size, 0)
    if 4 * wrong_signs(z) > z.number[SIZE]:
        # So much has changed that repairing the guess costs more than starting anew.
        forget(z, m)
        settle(M, m, z, size, 0)
    code, fresh = DONE, False
    while True:
        # Here the basis is optimal for W at s; s = 0 with code DONE.
        if code == DONE:
            s = 0.0
            if fresh and settle(M, m, z, size, 0) > ACCURATE:
                code = STALLED
        if code in (DONE, LIMIT):
            products(G, b, W, z, s, r, q)
            wide_r, wide_q = s * z.wide[0], s * z.wide[1]
            new = newcomers(
                lam, r, q, member, size, wide_r, wide_q, max(FIRST, int(GROWTH * m)), NEAR
            )
        elif code == RAY:
            new = stopping(G, W, member, z, FIRST)
        else:
            trouble += 1
            new, spread = W[:0], 100.0 * spread
        if made >= pivots or trouble > 2:
            return STALLED, s, made, z, W, m
        if len(new) == 0 and code in (DONE, RAY) and fresh:
            return code, s, made, z, W, m
        old, m = m, join(W, m, member, new)
        if m > old:
            M = gather(G, W, old, m, M)
            z = resized(z, old, m, z.active.shape[1])
            fill(z, b, lam, W, old, m)
        if code in (DONE, STALLED):
            s = 1.0
            if code == STALLED and not invert(M, z):
                return STALLED, s, made, z, W, m
            if not restart(M, m, z, size, spread, False):
                return STALLED, s, made, z, W, m
        elif m > old:
            revalue(M, m, z)
            loosen(m, z, s, size, spread, False)
        if 2 * m > d:
            return WIDE, s, made, z, W, m
        code, s, steps, z = follow(M, m, z, s, size, max(CHECK, int(PATIENCE * z.number[SIZE])))
        made += steps
        if code == DONE and made == 0:
            return DONE, 0.0, 0, z, W, m
        fresh = True


@kernel
def solve(
    G: NDArray[np.floating], b: Floats, lam: Floats, guess: Outcome, pivots: int, straight: bool
) -> Outcome:
    """min |w|_1 s.t. |b - G w| <= lam: the entry point for other kernels.

    G symmetric (d, d), float64 or float32, C order; b, lam of length d, finite, lam >= 0.
    `guess`: an earlier outcome or empty(0). At most `pivots` pivots. `straight`: no working set, no
    guess, down the straight path lam (1 + s); if that ends infeasible, w is feasible for the
    smallest multiple of lam for which anything is. Nothing is certified here: code 0 means that
    the engine believes in its answer; `certify` says how right it is.
    """
    d, size, over, made, s = len(b), 0.0, False, 0, 1.0
    for j in range(d):
        size = max(size, abs(b[j]))
        over = over or abs(b[j]) > lam[j]
    if not over:
        return empty(DONE)
    W, spread = np.arange(d), (1e-7 if straight else SPREAD)
    if d > SMALL and not straight:
        code, s, made, z, working, m = grow(G, b, lam, size, guess, pivots)
        if code != WIDE:
            return outcome(code, s, made, working, z)
        z = opened(z, b, lam, working, m, d)
        revalue(G, d, z)
        loosen(d, z, s, size, spread, False)
    else:
        z = new_state(d, min(d + 1, max(16, 2 * len(guess.columns))))
        fill(z, b, lam, W, 0, d)
        if not straight:
            adopt(z, guess, W, d, d)
        if not (invert(G, z) and restart(G, d, z, size, spread, straight)):
            forget(z, d)
            restart(G, d, z, size, spread, straight)
    code, s, steps, z = finish(G, d, z, s, size, pivots - made, spread, straight)
    return outcome(code, s, made + steps, W, z)


@kernel
def solve_sparse(
    G: NDArray[np.floating], b: Floats, lam: Floats, guess: Outcome, pivots: int
) -> Outcome:
    """`solve` on a working set only; code WIDE if that is not enough."""
    size = 0.0
    for j in range(len(b)):
        size = max(size, abs(b[j]))
    code, s, made, z, W, _ = grow(G, b, lam, size, guess, pivots)
    return outcome(code, s, made, W, z)


@kernel
def certify(
    G: NDArray[np.floating], b: Floats, lam: Floats,
    columns: Indices, w: Floats, rows: Indices, u: Floats,
) -> Proof:  # fmt: skip
    """What a certificate needs, from G, b, lam and the given w and u alone."""
    d, over, top, objective, value, scale, size = len(b), -np.inf, 0.0, 0.0, 0.0, 0.0, 0.0
    r, q = b.copy(), np.zeros(d)
    add_rows(G, d, columns, w, len(columns), -1.0, r)
    add_rows(G, d, rows, u, len(rows), 1.0, q)
    for j in range(d):
        over = max(over, abs(r[j]) - lam[j])
        if lam[j] > 0.0:
            scale = max(scale, abs(r[j]) / lam[j])
        top = max(top, abs(q[j]))
        size = max(size, abs(b[j]))
    for p in range(len(columns)):
        objective += abs(w[p])
    for o in range(len(rows)):
        value += b[rows[o]] * u[o] - lam[rows[o]] * abs(u[o])
    # objective + lam.|u| = b.u; below a millionth of that, objective is mostly rounding.
    terms = 2.0 * objective - value
    for o in range(len(rows)):
        terms = max(terms, abs(b[rows[o]] * u[o]))
    gap = abs(objective - value) / max(objective, 1e-6 * terms, 1e-300)
    return Proof(over, top, objective, value, scale, gap, size)


EMPTY = empty(0)
