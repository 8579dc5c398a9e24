"""The Dantzig program in compiled code: one call that solves and certifies.

With many coordinates the homotopy runs on a working set (`grow.py`); when that becomes half of
everything, and when there are few, it runs over all coordinates, straight on G.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.certificate import HUGE, TOLERANCE, Proof
from keyhole.blocks.dantzig.kernels.basis import (
    COLUMN,
    MOVE,
    NUMBER,
    RATE,
    ROW,
    SIGN,
    SIZE,
    STUCK,
    STUCK_SIGN,
    VALUE,
    State,
    forget,
    new_state,
)
from keyhole.blocks.dantzig.kernels.grow import SPREAD, WIDE, grow, over_all_coordinates
from keyhole.blocks.dantzig.kernels.homotopy import DONE, RAY
from keyhole.blocks.dantzig.kernels.inverse import invert
from keyhole.blocks.dantzig.kernels.path_start import (
    Loosening,
    follow_to_end,
    loosen,
    recompute_lines,
    start_path,
)
from keyhole.blocks.dantzig.kernels.program import Guess, Lines, PlainGuess, Program
from keyhole.blocks.dantzig.kernels.rows import add_rows, largest
from keyhole.blocks.dantzig.kernels.warm_start import adopt
from keyhole.blocks.dantzig.kernels.working_set import fill
from keyhole.blocks.jit.decorators import inner, kernel, part
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats, Indices

SMALL = 48  # with fewer coordinates a working set does not pay
REFUSED = -1  # b is not finite, lam is negative or NaN, or the start is no basis


# An answer: how it ended (0 optimal, 1 infeasible and u a direction of proof, else neither);
# pivots; w and u of length d; the basis, a `Guess` for a similar program; a `Proof`.
# (Plain tuples: handing named ones over to Python takes longer than a small problem.)
Outcome = tuple[int, int, Floats, Floats, PlainGuess, Proof]


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
    program: Program, lines: Lines, columns: Indices, w: Floats, rows: Indices, u: Floats
) -> Proof:
    """What a certificate needs, from the lines of a point."""
    b, lam, r, size = program.b, program.lam, lines.r, program.size
    objective, value, scale = 0.0, 0.0, 1.0
    over, top = excess(r, lam), largest(lines.q, len(b))
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


@part
def compute_lines(
    program: Program, lines: Lines, columns: Indices, w: Floats, rows: Indices, u: Floats
) -> None:
    """r = b - G w and q = G u on all coordinates."""
    d, r, q = len(program.b), lines.r, lines.q
    for j in range(d):
        r[j], q[j] = program.b[j], 0.0
    add_rows(program.G, d, columns, w, len(columns), -1.0, r)
    add_rows(program.G, d, rows, u, len(rows), 1.0, q)


@kernel
def certify(
    G: NDArray[np.floating], b: Floats, lam: Floats,
    columns: Indices, w: Floats, rows: Indices, u: Floats,
) -> Proof:  # fmt: skip
    """What a certificate needs, from G, b, lam and the given w and u alone."""
    program = Program(G, b, lam, largest(b, len(b)))
    lines = Lines(np.empty(len(b)), np.empty(len(b)))
    compute_lines(program, lines, columns, w, rows, u)
    return judge(program, lines, columns, w, rows, u)


@inner
def answer(
    program: Program, z: State, W: Indices, lines: Lines, s: float, on_ray: bool, known: bool
) -> tuple[Floats, Floats, PlainGuess, Proof]:
    """w, u and the basis in the caller's coordinates, and their proof.

    on_ray: w is the last feasible one, at s, and u the dual ray. known: the lines have been
    computed for these very w and u.
    """
    apart()
    d, n = len(program.b), z.active[NUMBER, SIZE]
    tail = 1 if on_ray and z.active[NUMBER, STUCK] >= 0 else 0
    columns, column_signs, w = np.empty(n, np.int64), np.empty(n), np.empty(n)
    rows, row_signs, u = np.empty(n + tail, np.int64), np.empty(n + tail), np.empty(n + tail)
    for i in range(n):
        j, k = z.active[COLUMN, i], z.active[ROW, i]
        columns[i], rows[i] = W[j], W[k]
        column_signs[i], row_signs[i] = z.line[SIGN + COLUMN, j], z.line[SIGN + ROW, k]
        w[i], u[i] = z.basic[VALUE + COLUMN, i], z.basic[VALUE + ROW, i]
        if on_ray:
            w[i], u[i] = w[i] + s * z.basic[RATE + COLUMN, i], z.basic[MOVE + ROW, i]
    if tail == 1:
        rows[n], row_signs[n] = W[z.active[NUMBER, STUCK]], float(z.active[NUMBER, STUCK_SIGN])
        u[n] = row_signs[n]
    if not known:
        compute_lines(program, lines, columns, w, rows, u)
    proof = judge(program, lines, columns, w, rows, u)
    full_w, full_u = np.zeros(d), np.zeros(d)
    for i in range(n):
        full_w[columns[i]] = w[i]
    for i in range(n + tail):
        full_u[rows[i]] = u[i]
    return full_w, full_u, (columns, column_signs, rows[:n], row_signs[:n], w), proof


@kernel
def solve(
    G: NDArray[np.floating], b: Floats, lam: Floats, start: PlainGuess, pivots: int, straight: bool
) -> Outcome:
    """min |w|_1 s.t. |b - G w| <= lam: the entry point, also for other kernels.

    G symmetric (d, d) in C order, b of length d, lam of length d or 1. `start`: a `Guess`, the
    basis of an earlier Outcome; all empty: none. At most `pivots` pivots. `straight`: no working
    set, no start, down the straight path lam (1 + s); if that ends infeasible, w is feasible for
    the smallest multiple of lam for which anything is. code 0 means that the engine believes in its
    answer; `proof` says how right it is, code REFUSED that the question is not one.
    """
    d, made, s, code, known = len(b), len(b) - len(b), 1.0, DONE, False
    guess = Guess(*start)
    size, over, bound = thresholds(b, lam, guess)
    program, lines = Program(G, b, bound, size), Lines(np.empty(d), np.empty(d))
    how, W = Loosening(1e-7 if straight else SPREAD, straight), np.arange(d)
    if size < 0.0 or not over:
        z, code = new_state(made, made, made), (DONE if size >= 0.0 else REFUSED)
    elif d > SMALL and not straight:
        code, s, made, z, working = grow(program, guess, lines, pivots)
        known = code == DONE
        if code == WIDE:
            z = over_all_coordinates(z, program, working)
            recompute_lines(G, z)
            loosen(z, s, size, how)
        else:
            W = working.W
    else:
        code, z = WIDE, new_state(d, d, min(d + 1, max(16, 2 * len(guess.columns))))
        fill(z, program, W, made)
        if not straight:
            adopt(z, guess, W)
        if not (invert(G, z) and start_path(G, z, size, how)):
            forget(z)
            start_path(G, z, size, how)
    if code == WIDE:
        code, s, steps, z = follow_to_end(G, z, s, size, pivots - made, how)
        made += steps
    w, u, basis, proof = answer(program, z, W, lines, s, code == RAY, known)
    return code, made, w, u, basis, proof


@kernel
def solve_sparse(
    G: NDArray[np.floating], b: Floats, lam: Floats, start: PlainGuess, pivots: int
) -> Outcome:
    """`solve` on a working set only; code WIDE if that is not enough."""
    guess = Guess(*start)
    size, over, bound = thresholds(b, lam, guess)
    d, made, s, code, known = len(b), len(b) - len(b), 1.0, DONE, False
    program, lines = Program(G, b, bound, size), Lines(np.empty(d), np.empty(d))
    W = np.empty(0, np.int64)
    if size < 0.0 or not over:
        z, code = new_state(made, made, made), (DONE if size >= 0.0 else REFUSED)
    else:
        code, s, made, z, working = grow(program, guess, lines, pivots)
        W, known = working.W, code == DONE
    w, u, basis, proof = answer(program, z, W, lines, s, code == RAY, known)
    return code, made, w, u, basis, proof
