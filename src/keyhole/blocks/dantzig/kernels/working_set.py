"""The working set of the Dantzig program: which coordinates the homotopy looks at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.dantzig.kernels.basis import (
    BOUND,
    CENTRE,
    COLUMN,
    GAUGE,
    LARGEST,
    MOVE,
    NUMBER,
    RATE,
    ROW,
    SIZE,
    STUCK,
    STUCK_SIGN,
    VALUE,
    State,
    resized,
)
from keyhole.blocks.dantzig.kernels.homotopy import FEASIBLE, PIVOT
from keyhole.blocks.dantzig.kernels.path_start import LEAST
from keyhole.blocks.dantzig.kernels.program import Lines, Program
from keyhole.blocks.dantzig.kernels.rows import add_rows, rounded
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.jit.intrinsics import apart
from keyhole.problem import Floats, Indices


class WorkingSet(NamedTuple):
    """The coordinates W[:m], with the m of the state that goes with it."""

    W: Indices  # (d,)
    member: NDArray[np.bool_]  # (d,): whether a coordinate is among them
    M: NDArray[np.floating]  # G[W, W] in its upper left corner


@inner
def products(program: Program, W: Indices, z: State, s: float, lines: Lines) -> None:
    """r = b - G w and q = G u on all coordinates, at s."""
    apart()
    G, b, r, q = program.G, program.b, lines.r, lines.q
    n, d, alone = z.active[NUMBER, SIZE], len(b), len(b) - len(r)
    for j in range(d):
        r[j], q[j] = b[j], 0.0
    index, t, v = np.empty(n, np.int64), np.empty(n), np.empty(n)
    # Most rows of the basis are columns of it too: both sums in one pass over G.
    for i in range(n):
        j = z.active[COLUMN, i]
        index[i], v[i] = W[j], 0.0
        t[i] = z.basic[VALUE + COLUMN, i] + s * z.basic[RATE + COLUMN, i]
        o = z.place[ROW, j]
        if o >= 0:
            v[i] = z.basic[VALUE + ROW, o] + s * z.basic[RATE + ROW, o]
    i = 0
    while i + 4 <= n:
        g0, g1, g2, g3 = G[index[i]], G[index[i + 1]], G[index[i + 2]], G[index[i + 3]]
        t0, t1, t2, t3 = t[i], t[i + 1], t[i + 2], t[i + 3]
        v0, v1, v2, v3 = v[i], v[i + 1], v[i + 2], v[i + 3]
        for j in range(d):
            r[j] -= (t0 * g0[j] + t1 * g1[j]) + (t2 * g2[j] + t3 * g3[j])
            q[j] += (v0 * g0[j] + v1 * g1[j]) + (v2 * g2[j] + v3 * g3[j])
        i += 4
    add_rows(G, d, index[i:], t[i:], n - i, -1.0, r)
    add_rows(G, d, index[i:], v[i:], n - i, 1.0, q)
    for o in range(n):
        j = z.active[ROW, o]
        if z.place[COLUMN, j] < 0:
            index[alone], t[alone] = W[j], z.basic[VALUE + ROW, o] + s * z.basic[RATE + ROW, o]
            alone += 1
    add_rows(G, d, index, t, alone, 1.0, q)


@inner
def feasible(program: Program, r: Floats) -> bool:
    """Whether |r| <= lam, up to rounding."""
    lam, slack, good = program.lam, FEASIBLE * program.size, True
    for j in range(len(lam)):  # without branches: this vectorises
        good &= abs(r[j]) <= lam[j] + slack
    return good


@inner
def holds(program: Program, lines: Lines) -> bool:
    """Whether |r| <= lam and |q| <= 1, up to rounding."""
    lam, slack, r, q, good = program.lam, FEASIBLE * program.size, lines.r, lines.q, True
    for j in range(len(lam)):  # without branches: this vectorises
        good &= (abs(r[j]) <= lam[j] + slack) & (abs(q[j]) <= 1.0 + FEASIBLE)
    return good


@inner
def loads(program: Program, lines: Lines, wider_r: float, wider_q: float) -> Floats:
    """How much of its bound each coordinate uses, by row or by column: above 1 it is violated.

    Bounds are lam and 1, widened by a multiple of themselves.
    """
    apart()
    lam, r, q, slack = program.lam, lines.r, lines.q, FEASIBLE * program.size
    load, least = np.empty(len(lam)), LEAST * program.size
    for j in range(len(lam)):  # without branches: this vectorises
        bound = lam[j] + wider_r * (lam[j] if lam[j] > least else least) + slack
        row, column = abs(r[j]) / bound, abs(q[j]) / (1.0 + FEASIBLE + wider_q)
        load[j] = row if row > column else column
    return load


@inner
def newcomers(
    load: Floats, member: NDArray[np.bool_], quota: int, near: float, eager: bool
) -> Indices:
    """If anything outside the working set is violated: the worst of all, up to `quota`.

    Lines that come close to their bound, within the factor `near`, are taken too where there is
    room: they will be next. `eager`: even if none is violated. `load` is used up.
    """
    apart()
    d, violations, worst = len(load), 0, 0.0
    found, count = np.empty(d, np.int64), 0
    for j in range(d):
        share = load[j]
        if share > near and not member[j]:
            violations += int(share > 1.0)
            found[count], load[count] = j, share
            worst = max(worst, share)
            count += 1
    if violations == 0 and not eager:
        return found[:0]
    if count <= quota:
        return found[:count]
    # A histogram of the logarithms is enough: about the worst `quota` will do.
    bins, bar, above = np.zeros(65, np.int64), 64, 0
    scale = 64.0 / np.log(worst / near)
    for i in range(count):
        load[i] = scale * np.log(load[i] / near)
        bins[min(int(load[i]), 64)] += 1
    while above + bins[bar] <= quota:
        above += bins[bar]
        bar -= 1
    kept, bar = 0, bar + int(above > 0)
    for i in range(count):
        if int(load[i]) >= bar and kept < quota:
            found[kept] = found[i]
            kept += 1
    return found[:kept]


@inner
def stopping(G: NDArray[np.floating], working: WorkingSet, z: State, quota: int) -> Indices:
    """Columns outside W that stop a dual ray nothing in W stops."""
    apart()
    W, d, n, big = working.W, len(working.member), z.active[NUMBER, SIZE], 0.0
    load, index, y = np.zeros(d), np.empty(n + 1, np.int64), np.empty(n + 1)
    for o in range(n):
        index[o], y[o] = W[z.active[ROW, o]], z.basic[MOVE + ROW, o]
        big = max(big, abs(y[o]))
    if z.active[NUMBER, STUCK] >= 0:
        index[n], y[n] = W[z.active[NUMBER, STUCK]], float(z.active[NUMBER, STUCK_SIGN])
        big = max(big, 1.0)
        n += 1
    add_rows(G, d, index, y, n, 1.0, load)
    small = PIVOT * big * z.basic[GAUGE, LARGEST]
    for j in range(d):
        # As a violated column: the largest ones are taken.
        move = abs(load[j])
        load[j] = (1.0 + move / small) / (1.0 + FEASIBLE) if move > small else 0.0
    return newcomers(load, working.member, quota, 1.0, n < 0)


@inner
def join(W: Indices, m: int, member: NDArray[np.bool_], new: Indices) -> int:
    """Append to the working set; returns its new size."""
    for j in new:
        if not member[j]:
            member[j] = True
            W[m] = j
            m += 1
    return m


@inner
def gather(
    G: NDArray[np.floating], W: Indices, old: int, m: int, M: NDArray[np.floating]
) -> NDArray[np.floating]:
    """G[W, W] in the upper left corner of an array with room; the first `old` are there.

    Behind it there are zeros, up to a round number of columns.
    """
    apart()
    if m > len(M):
        room = rounded(max(m, 2 * len(M)))
        bigger = np.empty((room, room))
        for i in range(old):
            for j in range(old):
                bigger[i, j] = M[i, j]
        M = bigger
    for i in range(old, m):
        row, mine = G[W[i]], M[i]
        for j in range(i + 1):
            mine[j] = row[W[j]]
    for i in range(m):
        mine = M[i]
        for j in range(max(old, i + 1), m):
            mine[j] = M[j, i]
        for j in range(m, rounded(m)):
            mine[j] = 0.0
    return M


@inner
def fill(z: State, program: Program, W: Indices, old: int) -> None:
    """Centres and bounds of all members of W but the first `old`."""
    for i in range(old, z.place.shape[1]):
        z.line[CENTRE, i], z.line[BOUND + ROW, i] = program.b[W[i]], program.lam[W[i]]


@inner
def widened(
    program: Program, working: WorkingSet, z: State, new: Indices
) -> tuple[WorkingSet, State]:
    """The working set and its state with the newcomers."""
    apart()
    W, member, M = working
    old = z.place.shape[1]
    m = join(W, old, member, new)
    if m > old:
        M = gather(program.G, W, old, m, M)
        z = resized(z, m, z.active.shape[1])
        fill(z, program, W, old)
    return WorkingSet(W, member, M), z
