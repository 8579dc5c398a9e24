"""Where the homotopy of the Dantzig program begins: at no basis, a given one, or the lasso's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    COLUMN,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    T0,
    State,
    invert,
    new_state,
    resized,
)
from keyhole.blocks.dantzig.kernels.guess import ROUNDS, descend, equal_sides, take_support, unfold
from keyhole.blocks.dantzig.kernels.repair import repair
from keyhole.blocks.dantzig.kernels.restart import settle
from keyhole.blocks.dantzig.kernels.rows import add_rows, rounded
from keyhole.blocks.dantzig.kernels.working_set import (
    feasible,
    fill,
    gather,
    holds,
    join,
    newcomers,
    products,
)
from keyhole.blocks.jit.decorators import inner, part
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats, Indices

FIRST = 24  # size of the first working set
NEAR = 0.9  # what comes this close to its bound joins together with what violates it
SOON = 0.87  # the same at a warm start: one look at all coordinates is to find all that is new


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


@inner
def widened(
    G: NDArray[np.floating], b: Floats, lam: Floats, W: Indices, member: NDArray[np.bool_], m: int,
    new: Indices, M: Floats, z: State,
) -> tuple[int, Floats, State]:  # fmt: skip
    """The working set with its newcomers: (m, M, state)."""
    apart()
    old, m = m, join(W, m, member, new)
    if m > old:
        M = gather(G, W, old, m, M)
        z = resized(z, old, m, z.active.shape[1])
        fill(z, b, lam, W, old, m)
    return m, M, z


@part
def begin(
    G: NDArray[np.floating], b: Floats, lam: Floats, size: float, guess: Guess,
    W: Indices, member: NDArray[np.bool_], r: Floats, q: Floats, pivots: int,
) -> tuple[int, Floats, State, int, bool, bool]:  # fmt: skip
    """The first working set with its matrix, and a basis on it.

    With weights: the support of the lasso near them, repaired. Otherwise the given basis. Returns
    (m, M, state, pivots, all is well, looked). All is well: that basis is the answer. Looked:
    r = b - G w and q = G u are up to date, and what they violate is in the working set.

    A look at all coordinates costs much. So one comes when the old support has had a round of
    descent, to find what is new; the next one is meant to be the certificate, or else to find what
    the repair needs, and then the one after the repair is.
    """
    d, n, known = len(b), len(guess.columns), len(guess.weights) > 0
    none = n - len(guess.rows)  # 0, but not a literal: those would get kernels of their own
    m = join(W, join(W, none, member, guess.columns), member, guess.rows)
    side = rounded(m + 2 * FIRST)
    M = gather(G, W, none, m, np.empty((side, side)))
    # Descending needs no inverse: room for one comes when it is known how much.
    z, w, count = new_state(m, rounded(m), none if known else 2 * n), np.zeros(d), none
    fill(z, b, lam, W, none, m)
    if known:
        for i in range(n):
            w[i] = guess.weights[i]
        descend(M, m, z, w, 1 + none)
        for j in range(d):
            r[j], q[j] = b[j], 0.0
        index, weight = np.empty(m, np.int64), np.empty(m)
        for i in range(m):
            if w[i] != 0.0:
                index[count], weight[count] = W[i], w[i]
                count += 1
        add_rows(G, d, index, weight, count, -1.0, r)
        new = newcomers(lam, r, q, member, size, 0.0, 0.0, FIRST + n, SOON, known)
        m, M, z = widened(G, b, lam, W, member, m, new, M, z)
        z = resized(z, m, m, m + FIRST)
    while known and descend(M, m, z, w, ROUNDS + none):
        take_support(m, z, w)
        if not equal_sides(M, z, z.inv):
            break
        products(G, b, W, z, 0.0, r, q)
        n, wrong = z.active[NUMBER, SIZE], wrong_signs(z)
        if wrong == 0 and holds(lam, r, q, size):
            return m, M, z, none, True, known
        new = newcomers(lam, r, q, member, size, 0.0, 0.0, FIRST + none, NEAR, known)
        # New rows change the lasso; new columns are for the pivots.
        again = len(new) > 0 and 2 * (m + len(new)) <= d and not feasible(lam, r, size)
        m, M, z = widened(G, b, lam, W, member, m, new, M, z)
        z = resized(z, m, m, m + 2)
        if not again:
            if 4 * wrong > n:  # so much that repairing costs more than starting anew
                forget(z, m)
                return m, M, z, none, False, False
            unfold(z.inv, n)
            most = min(pivots, n + FIRST)
            made, looked, good = repair(G, b, lam, size, M, m, z, W, r, q, most)
            if not looked:
                settle(M, m, z, size, 0)
            elif made > 0 and not good:
                new = newcomers(lam, r, q, member, size, 0.0, 0.0, FIRST + none, NEAR, known)
                m, M, z = widened(G, b, lam, W, member, m, new, M, z)
            return m, M, z, made, good, looked
        forget(z, m)
    forget(z, m)
    adopt(z, guess, W, m, d)
    if not invert(M, z):
        forget(z, m)
    settle(M, m, z, size, 0)
    return m, M, z, none, False, False
