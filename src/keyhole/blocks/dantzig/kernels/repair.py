"""From the basis of the lasso to that of the Dantzig program: the primal simplex method.

The lasso's basis satisfies all constraints; only columns and multipliers are wrong, and not many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    BOUND,
    COLUMN,
    NUMBER,
    ROW,
    SIGN,
    SIZE,
    VALUE,
    State,
)
from keyhole.blocks.dantzig.kernels.homotopy import FEASIBLE, PIVOT
from keyhole.blocks.dantzig.kernels.path_start import ACCURATE
from keyhole.blocks.dantzig.kernels.program import Lines, Program
from keyhole.blocks.dantzig.kernels.rows import largest
from keyhole.blocks.dantzig.kernels.table import (
    ACROSS,
    DOWN,
    DUAL,
    HIGH,
    LEAST,
    LENGTH,
    LOW,
    MOST,
    NEXT,
    PACE,
    PRIMAL,
    ROOM,
    SLIGHT,
    TINY,
    Rounding,
    Table,
    exchange,
    follows,
    is_set,
    line_of,
    tabulate,
    take_basis,
    take_inverse,
)
from keyhole.blocks.dantzig.kernels.working_set import WorkingSet, holds, products
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats, Indices


@inner
def steepest(m: int, edge: Floats) -> int:
    """The column of the table whose dual value violates its bounds most, by the ray's length."""
    dual, least, most, slight = edge[DUAL], edge[LEAST], edge[MOST], edge[SLIGHT]
    length, score, best, found = edge[LENGTH], edge[PACE], 0.0, -1
    for c in range(len(dual)):  # without branches: this vectorises
        under, above = least[c] - dual[c], dual[c] - most[c]
        over = under if under > above else above
        score[c] = over * over / length[c] if over > slight[c] else 0.0
    for c in range(m):
        if score[c] > best:
            best, found = score[c], c
    return found


@inner
def nearest(m: int, edge: Floats, ray: Floats, way: float, end: float) -> tuple[int, float]:
    """The row of the table that stops a ray, and after how long; -1: none before `end`.

    Two passes: how far the ray may go with a hair of tolerance, then the largest pivot within that.
    """
    apart()
    value, low, high, tiny = edge[PRIMAL], edge[LOW], edge[HIGH], edge[TINY]
    room, pace, soon = edge[ROOM], edge[PACE], edge[NEXT]
    small, best, found = PIVOT * largest(ray, m), 0.0, -1
    for i in range(m):  # without branches: this vectorises
        a = way * ray[i]
        gap = high[i] - value[i] if a > 0.0 else value[i] - low[i]
        gap, a = (gap if gap > 0.0 else 0.0), (a if a > 0.0 else -a)
        a = a if a > small else 0.0
        room[i], pace[i], soon[i] = gap, a, a / (gap + tiny[i])
    top = largest(soon, m)
    if top == 0.0 or top * end <= 1.0:
        return -1, end
    for i in range(m):
        pace[i] = pace[i] if room[i] * top <= pace[i] else 0.0
    for i in range(m):
        if pace[i] > best:
            found, best = i, pace[i]
    return found, (room[found] / best if found >= 0 else np.inf)


@inner
def make_pivots(
    M: NDArray[np.floating], z: State, t: Table, rounding: Rounding, pivots: int
) -> tuple[bool, int, int]:
    """Until no column and no multiplier is wrong: (done, pivots, flips of rows to the other bound).

    Steepest edges, their lengths carried on from pivot to pivot.
    """
    apart()
    m, edge, made, flips = z.place.shape[1], t.edge, 0, 0
    down = m - m  # 0, but not a literal
    while made < pivots and flips < pivots:
        c = steepest(m, edge)
        if c < 0:
            return True, made, flips
        way = 1.0 if edge[DUAL, c] > edge[MOST, c] else -1.0
        enters = t.who[ACROSS, c]
        ray, value, lam = t.products[DOWN, made], edge[PRIMAL], z.line[BOUND + ROW, enters % m]
        line_of(M, z, t, down, c, made, ray)
        p, step = nearest(m, edge, ray, way, np.inf if enters < m else 2.0 * lam)
        if step == np.inf:
            break
        pivot = ray[p]
        if p >= 0:
            line_of(M, z, t, down + 1, p, made, t.products[ACROSS, made])
            if not abs(t.products[ACROSS, made, c] - pivot) <= 1e-6 * abs(pivot):
                break
        for i in range(len(ray)):
            value[i] += way * step * ray[i]
        if p < 0:  # the row has come to its other bound
            edge[LEAST, c], edge[MOST, c] = -edge[MOST, c], -edge[LEAST, c]
            flips += 1
            continue
        leaves, slope = t.who[DOWN, p], 1.0 if way * pivot > 0.0 else -1.0
        kappa = (edge[DUAL, c] - (way if enters < m else 0.0)) / pivot
        exchange(t, made, p, c, kappa)
        start = 0.0 if enters < m else -way * lam
        follows(edge, p, start + way * step, enters < m, way, lam, rounding)
        dual = kappa - (slope if leaves < m else 0.0)
        is_set(edge, c, dual, leaves < m, slope, rounding)
        t.who[DOWN, p], t.who[ACROSS, c] = enters, leaves
        made += 1
    return False, made, flips


@inner
def fits(z: State, W: Indices, r: Floats, size: float) -> bool:
    """Whether the weights have their signs and all rows of the working set hold."""
    slack, good = FEASIBLE * size, True
    for i in range(z.active[NUMBER, SIZE]):
        good &= z.line[SIGN + COLUMN, z.active[COLUMN, i]] * z.basic[VALUE + COLUMN, i] >= 0.0
    for j in range(z.place.shape[1]):
        good &= abs(r[W[j]]) <= z.line[BOUND + ROW, j] + slack
    return good


@inner
def tight(z: State, W: Indices, lines: Lines, size: float) -> bool:
    """Whether r = b - G w and q = G u are at their bounds where the basis says so."""
    wrong, r, q = 0.0, lines.r, lines.q
    for i in range(z.active[NUMBER, SIZE]):
        j, k = z.active[ROW, i], z.active[COLUMN, i]
        wrong = max(wrong, abs(r[W[j]] - z.line[SIGN + ROW, j] * z.line[BOUND + ROW, j]) / size)
        wrong = max(wrong, abs(q[W[k]] - z.line[SIGN + COLUMN, k]))
    return wrong <= ACCURATE


@inner
def repair(
    program: Program, working: WorkingSet, z: State, lines: Lines, pivots: int
) -> tuple[int, bool, bool]:
    """Pivots from the lasso's basis, inverse at hand, r = b - G w and q = G u up to date.

    Returns (pivots, whether r and q are those of the new basis, accurately, whether that is the
    answer). If it is not, the basis comes with its inverse: the homotopy can start from any basis.
    """
    apart()
    W, size = working.W, program.size
    n, m = z.active[NUMBER, SIZE], z.place.shape[1]
    if not fits(z, W, lines.r, size):
        return 0, True, False
    top_w, top_u = largest(z.basic[VALUE + COLUMN], n), largest(z.basic[VALUE + ROW], n)
    rounding = Rounding(FEASIBLE * size, FEASIBLE * top_w, FEASIBLE * top_u)
    table = tabulate(working, z, lines, rounding, pivots)
    done, made, flips = make_pivots(working.M, z, table, rounding, pivots)
    rows, columns = np.empty(m, np.int64), np.empty(m, np.int64)
    take_basis(z, table, rows, columns)
    looked = False
    if done:
        products(program, W, z, 0.0, lines)
        looked = tight(z, W, lines, size)
        if looked and holds(program, lines):
            return made + flips, True, True
    take_inverse(z, table, made, rows, columns)
    return made + flips, looked, False
