"""The homotopy of the Dantzig program on a growing working set of coordinates.

A solution with n non-zeros touches few of the d coordinates. The homotopy runs on a small set W of
rows and columns (a dense copy of G[W, W]); its answer is then checked on all d coordinates with
2 n d multiply-adds, and the rows and columns it violates join W, until there are none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.dantzig_apart import apart
from keyhole.blocks.kernels.dantzig_basis import (
    COLUMN,
    GAUGE,
    H1,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    T0,
    V0,
    V1,
    State,
    invert,
    new_state,
    resized,
)
from keyhole.blocks.kernels.dantzig_guess import ROUNDS, descend, equal_sides, take_support, unfold
from keyhole.blocks.kernels.dantzig_homotopy import DONE, LIMIT, RAY, STALLED, follow
from keyhole.blocks.kernels.dantzig_rows import add_rows, rounded
from keyhole.blocks.kernels.dantzig_start import (
    ACCURATE,
    loosen,
    restart,
    revalue,
    settle,
)
from keyhole.blocks.kernels.dantzig_working_set import (
    feasible,
    fill,
    gather,
    holds,
    join,
    newcomers,
    products,
    stopping,
)
from keyhole.blocks.kernels.jit import inner, part
from keyhole.problem import Floats, Indices

FIRST = 24  # size of the first working set
CHECK = 16  # pivots between two looks at all coordinates, at least
GROWTH = 0.25  # of its size: by how much the working set may grow at a time
PATIENCE = 0.4  # of n: pivots between two looks, if that is more
NEAR = 0.9  # what comes this close to its bound joins together with what violates it
SOON = 0.87  # the same at a warm start: one look at all coordinates is to find all that is new
SPREAD = 1e-4  # irregularity of the loosening, against ties
WIDE = 5  # how `grow` ends when the working set became too large


class Guess(NamedTuple):
    """A basis to start from; `weights` of its columns, or empty if they are not known."""

    columns: Indices
    column_signs: Floats
    rows: Indices
    row_signs: Floats
    weights: Floats


@inner
def adopt(z: State, guess: Guess, W: Indices, m: int, d: int) -> None:
    """Take over the basis of `guess`, whose coordinates are all among the first m of W."""
    apart()
    local = np.empty(d, np.int64)
    for i in range(m):
        local[W[i]] = i
    n = len(guess.columns)
    z.active[NUMBER, SIZE] = n
    for i in range(n):
        k, j = local[guess.rows[i]], local[guess.columns[i]]
        z.active[ROW, i], z.place[ROW, k], z.line[SIGN + ROW, k] = k, i, guess.row_signs[i]
        z.active[COLUMN, i], z.place[COLUMN, j] = j, i
        z.line[SIGN + COLUMN, j] = guess.column_signs[i]


@inner
def forget(z: State, m: int) -> None:
    """Back to the empty basis."""
    z.active[NUMBER, SIZE] = 0
    for j in range(m):
        z.place[0, j], z.place[1, j] = -1, -1


@inner
def wrong_signs(z: State) -> int:
    """How many weights or multipliers of the settled basis have the wrong sign."""
    wrong = 0
    for i in range(z.active[NUMBER, SIZE]):
        for side in range(2):
            wrong += int(z.line[SIGN + side, z.active[side, i]] * z.basic[T0 + side, i] < 0.0)
    return wrong


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
def begin(
    G: NDArray[np.floating], b: Floats, lam: Floats, size: float, guess: Guess,
    W: Indices, member: NDArray[np.bool_], r: Floats, q: Floats,
) -> tuple[int, Floats, State, bool, bool]:  # fmt: skip
    """The first working set with its matrix, and a basis on it: (m, M, state, all is well, looked).

    With weights: the support of the lasso near them. Otherwise the given basis. All is well: that
    basis is the answer. Looked: r = b - G w and q = G u are up to date, and what they violate is in
    the working set.

    A look at all coordinates costs most. So one comes when the old support has had a round of
    descent, to find what is new, and the next one is meant to be the certificate.
    """
    d, n, known = len(b), len(guess.columns), len(guess.weights) > 0
    none = n - len(guess.rows)  # 0, but not a literal: those would get kernels of their own
    m = join(W, join(W, none, member, guess.columns), member, guess.rows)
    M = gather(G, W, none, m, np.empty((2 * FIRST, 2 * FIRST)))
    # Descending needs no inverse: room for one comes when it is known how much.
    z, w = new_state(m, rounded(m), none if known else 2 * n), np.zeros(d)
    fill(z, b, lam, W, none, m)
    if known:
        for i in range(n):
            w[i] = guess.weights[i]
        descend(M, m, z, w, 1 + none)
        for j in range(d):
            r[j], q[j] = b[j], 0.0
        add_rows(G, d, W, w, m, -1.0, r)
        new = newcomers(lam, r, q, member, size, 0.0, 0.0, FIRST + n, SOON, known)
        old, m = m, join(W, m, member, new)
        if m > old:
            M = gather(G, W, old, m, M)
        z = resized(z, old, m, m + 2)
        fill(z, b, lam, W, old, m)
    while known and descend(M, m, z, w, ROUNDS + none):
        take_support(m, z, w)
        if not equal_sides(M, z, z.inv):
            break
        products(G, b, W, z, 0.0, r, q)
        if wrong_signs(z) == 0 and holds(lam, r, q, size):
            return m, M, z, True, known
        new = newcomers(lam, r, q, member, size, 0.0, 0.0, FIRST + none, NEAR, known)
        # New rows change the lasso; new columns are for the pivots.
        again = len(new) > 0 and 2 * (m + len(new)) <= d and not feasible(lam, r, size)
        old, m = m, join(W, m, member, new)
        if m > old:
            M = gather(G, W, old, m, M)
            z = resized(z, old, m, m + 2)
            fill(z, b, lam, W, old, m)
        if not again:
            unfold(z.inv, z.active[NUMBER, SIZE])
            return m, M, z, False, known
        forget(z, m)
    forget(z, m)
    adopt(z, guess, W, m, d)
    if not invert(M, z):
        forget(z, m)
    settle(M, m, z, size, 0)
    return m, M, z, False, False


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
    d, made, s, trouble, spread = len(b), 0, 1.0, 0, SPREAD
    straight = pivots < 0  # False, but not a literal
    W, member = np.empty(d, np.int64), np.zeros(d, np.bool_)
    m, M, z, good, looked = begin(G, b, lam, size, guess, W, member, r, q)
    if good:
        return DONE, 0.0, 0, z, W, m
    if 4 * wrong_signs(z) > z.active[NUMBER, SIZE]:
        # So much has changed that repairing the guess costs more than starting anew.
        forget(z, m)
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
        old, m = m, join(W, m, member, new)
        if m > old:
            M = gather(G, W, old, m, M)
            z = resized(z, old, m, z.active.shape[1])
            fill(z, b, lam, W, old, m)
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
        # What the lasso's basis violates has been found: no need to look again before the end.
        patience = 1.0 if looked and not fresh else PATIENCE
        code, s, steps, z = follow(
            M, m, z, s, size, max(CHECK, int(patience * z.active[NUMBER, SIZE]))
        )
        made += steps
        fresh = True
