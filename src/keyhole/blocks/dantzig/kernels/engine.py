"""The Dantzig program in compiled code: one call that solves and certifies.

With many coordinates the homotopy runs on a working set (`dantzig_grow`); when that becomes half of
everything, and when there are few, it runs over all coordinates, straight on G.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.certificate import HUGE, TOLERANCE
from keyhole.blocks.dantzig.kernels.basis import (
    COLUMN,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    STUCK,
    STUCK_SIGN,
    T0,
    T1,
    State,
    X,
    invert,
    new_state,
)
from keyhole.blocks.dantzig.kernels.grow import SPREAD, WIDE, grow, opened
from keyhole.blocks.dantzig.kernels.homotopy import DONE, RAY
from keyhole.blocks.dantzig.kernels.restart import finish, loosen, restart, revalue
from keyhole.blocks.dantzig.kernels.rows import add_rows, largest
from keyhole.blocks.dantzig.kernels.warm_start import Guess, adopt, forget
from keyhole.blocks.dantzig.kernels.working_set import fill
from keyhole.blocks.jit.decorators import inner, kernel, part
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats, Indices

SMALL = 48  # with fewer coordinates a working set does not pay
REFUSED = -1  # b is not finite, lam is negative or NaN, or the start is no basis


# Of a pair (w, u), all that a certificate needs:
#   max(|b - G w| - lam), max|G u|, |w|_1, b.u - lam.|u|,
#   max |b - G w| / lam where lam > 0 (or 1 if it is no more than that, up to rounding),
#   the relative difference between the third and the fourth, max|b|.
Proof = tuple[float, float, float, float, float, float, float]
# An answer: how it ended (0 optimal, 1 infeasible and u a direction of proof, else neither);
# pivots; w and u of length d; the basis: columns and their signs, rows and their signs; w[columns];
# proof.
# (Plain tuples: handing named ones over to Python takes longer than a small problem.)
Outcome = tuple[
    int, int, Floats, Floats, Indices, Floats, Indices, Floats, Floats, Proof
]  # fmt: skip


@inner
def excess(x: Floats, y: Floats) -> float:
    """max(|x_j| - y_j), as `largest`."""
    apart()
    n, a0, a1, a2, a3 = len(x), -np.inf, -np.inf, -np.inf, -np.inf
    for i in range(n // 4):
        j = 4 * i
        a0, a1 = max(a0, abs(x[j]) - y[j]), max(a1, abs(x[j + 1]) - y[j + 1])
        a2, a3 = max(a2, abs(x[j + 2]) - y[j + 2]), max(a3, abs(x[j + 3]) - y[j + 3])
    for j in range(n // 4 * 4, n):
        a0 = max(a0, abs(x[j]) - y[j])
    return max(max(a0, a1), max(a2, a3))


@inner
def thresholds(b: Floats, lam: Floats, guess: Guess) -> tuple[float, bool, Floats]:
    """max|b| (-1: refused), whether w = 0 violates anything, and lam by coordinate, finite."""
    apart()
    d, over, good, full = len(b), False, True, np.empty(len(b))
    if len(lam) == 1:
        for j in range(d):
            full[j] = lam[0]
    else:
        for j in range(d):
            full[j] = lam[j]
    for j in range(d):  # without branches: this vectorises
        x, y = abs(b[j]), full[j]
        good &= (x < np.inf) & (y >= 0.0)
        over |= x > y
        full[j] = min(y, HUGE)
    n = len(guess.columns)
    good &= n == len(guess.rows) and len(guess.weights) in (0, n)
    good &= n == len(guess.column_signs) and n == len(guess.row_signs)
    if good:
        for i in range(n):
            good &= 0 <= guess.columns[i] < d and 0 <= guess.rows[i] < d
    return (largest(b, len(b)) if good else -1.0), over, full


@part
def judge(
    b: Floats, lam: Floats, size: float, r: Floats, q: Floats,
    columns: Indices, w: Floats, rows: Indices, u: Floats,
) -> Proof:  # fmt: skip
    """What a certificate needs, from r = b - G w and q = G u."""
    objective, value, scale = 0.0, 0.0, 1.0
    over, top = excess(r, lam), largest(q, len(q))
    if over > TOLERANCE * size:
        scale = 0.0
        for j in range(len(b)):
            if lam[j] > 0.0:
                scale = max(scale, abs(r[j]) / lam[j])
    for p in range(len(columns)):
        objective += abs(w[p])
    for o in range(len(rows)):
        value += b[rows[o]] * u[o] - lam[rows[o]] * abs(u[o])
    # objective + lam.|u| = b.u; below a millionth of that, objective is mostly rounding.
    terms = 2.0 * objective - value
    for o in range(len(rows)):
        terms = max(terms, abs(b[rows[o]] * u[o]))
    gap = abs(objective - value) / max(objective, 1e-6 * terms, 1e-300)
    return over, top, objective, value, scale, gap, size


@kernel
def certify(
    G: NDArray[np.floating], b: Floats, lam: Floats,
    columns: Indices, w: Floats, rows: Indices, u: Floats,
) -> Proof:  # fmt: skip
    """What a certificate needs, from G, b, lam and the given w and u alone."""
    r, q = b.copy(), np.zeros(len(b))
    add_rows(G, len(b), columns, w, len(columns), -1.0, r)
    add_rows(G, len(b), rows, u, len(rows), 1.0, q)
    return judge(b, lam, largest(b, len(b)), r, q, columns, w, rows, u)


@inner
def answer(
    G: NDArray[np.floating], b: Floats, lam: Floats, size: float, code: int, s: float, pivots: int,
    W: Indices, z: State, r: Floats, q: Floats, known: bool,
) -> Outcome:  # fmt: skip
    """The basis in the caller's coordinates; with RAY the last feasible w, and the ray as u.

    known: r = b - G w and q = G u have been computed for these very w and u.
    """
    apart()
    d, n = len(b), z.active[NUMBER, SIZE]
    tail = 1 if code == RAY and z.active[NUMBER, STUCK] >= 0 else 0
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
        rows[n], row_signs[n] = W[z.active[NUMBER, STUCK]], float(z.active[NUMBER, STUCK_SIGN])
        u[n] = row_signs[n]
    if not known:
        for j in range(d):
            r[j], q[j] = b[j], 0.0
        add_rows(G, d, columns, w, n, -1.0, r)
        add_rows(G, d, rows, u, n + tail, 1.0, q)
    proof = judge(b, lam, size, r, q, columns, w, rows, u)
    full_w, full_u = np.zeros(d), np.zeros(d)
    for i in range(n):
        full_w[columns[i]] = w[i]
    for i in range(n + tail):
        full_u[rows[i]] = u[i]
    rows, row_signs = rows[:n], row_signs[:n]
    return code, pivots, full_w, full_u, columns, column_signs, rows, row_signs, w, proof


@kernel
def solve(
    G: NDArray[np.floating], b: Floats, lam: Floats,
    columns: Indices, column_signs: Floats, rows: Indices, row_signs: Floats, weights: Floats,
    pivots: int, straight: bool,
) -> Outcome:  # fmt: skip
    """min |w|_1 s.t. |b - G w| <= lam: the entry point, also for other kernels.

    G symmetric (d, d) in C order, b of length d, lam of length d or 1. The next five: the basis to
    start from, as in an earlier Outcome, and w[columns] there; all empty: none; only `weights`
    empty: not known. At most `pivots` pivots. `straight`: no working set, no start, down the
    straight path lam (1 + s); if that ends infeasible, w is feasible for the smallest multiple of
    lam for which anything is. code 0 means that the engine believes in its answer; `proof` says
    how right it is, code REFUSED that the question is not one.
    """
    d, made, s, code, known = len(b), len(b) - len(b), 1.0, DONE, False
    guess = Guess(columns, column_signs, rows, row_signs, weights)
    size, over, bound = thresholds(b, lam, guess)
    r, q, W, spread = np.empty(d), np.empty(d), np.arange(d), (1e-7 if straight else SPREAD)
    if size < 0.0 or not over:
        z, code = new_state(made, made, made), (DONE if size >= 0.0 else REFUSED)
    elif d > SMALL and not straight:
        code, s, made, z, working, m = grow(G, b, bound, size, guess, pivots, r, q)
        known = code == DONE
        if code == WIDE:
            z = opened(z, b, bound, working, m, d)
            revalue(G, d, z)
            loosen(d, z, s, size, spread, straight)
        else:
            W = working
    else:
        code, z = WIDE, new_state(d, d, min(d + 1, max(16, 2 * len(columns))))
        fill(z, b, bound, W, made, d)
        if not straight:
            adopt(z, guess, W, d, d)
        if not (invert(G, z) and restart(G, d, z, size, spread, straight)):
            forget(z, d)
            restart(G, d, z, size, spread, straight)
    if code == WIDE:
        code, s, steps, z = finish(G, d, z, s, size, pivots - made, spread, straight)
        made += steps
    return answer(G, b, bound, size, code, s, made, W, z, r, q, known)


@kernel
def solve_sparse(
    G: NDArray[np.floating], b: Floats, lam: Floats,
    columns: Indices, column_signs: Floats, rows: Indices, row_signs: Floats, weights: Floats,
    pivots: int,
) -> Outcome:  # fmt: skip
    """`solve` on a working set only; code WIDE if that is not enough."""
    guess = Guess(columns, column_signs, rows, row_signs, weights)
    size, over, bound = thresholds(b, lam, guess)
    d, made, s, code, known = len(b), len(b) - len(b), 1.0, DONE, False
    r, q, W = np.empty(d), np.empty(d), np.empty(0, np.int64)
    if size < 0.0 or not over:
        z, code = new_state(made, made, made), (DONE if size >= 0.0 else REFUSED)
    else:
        code, s, made, z, W, _ = grow(G, b, bound, size, guess, pivots, r, q)
        known = code == DONE
    return answer(G, b, bound, size, code, s, made, W, z, r, q, known)
