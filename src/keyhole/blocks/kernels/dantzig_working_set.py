"""The working set of the Dantzig program: which coordinates the homotopy looks at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.dantzig_basis import (
    H0,
    ROW,
    SIZE,
    STUCK,
    STUCK_SIGN,
    T0,
    T1,
    B,
    State,
    X,
    add_rows,
)
from keyhole.blocks.kernels.dantzig_homotopy import FEASIBLE, PIVOT
from keyhole.blocks.kernels.dantzig_start import LEAST
from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices


@kernel
def products(
    G: NDArray[np.floating], b: Floats, W: Indices, z: State, s: float, r: Floats, q: Floats
) -> None:
    """r = b - G w and q = G u on all coordinates, at s."""
    n, d = z.number[SIZE], len(b)
    for j in range(d):
        r[j], q[j] = b[j], 0.0
    index, t = np.empty(n, np.int64), np.empty(n)
    for side in range(2):
        for i in range(n):
            index[i] = W[z.active[side, i]]
            t[i] = z.basic[T0 + side, i] + s * z.basic[T1 + side, i]
        out, turn = (q, 1.0) if side == ROW else (r, -1.0)
        add_rows(G, d, index, t, n, turn, out)


@kernel
def newcomers(
    lam: Floats, r: Floats, q: Floats, member: NDArray[np.bool_], size: float,
    wide_row: float, wide_column: float, quota: int, near: float,
) -> Indices:  # fmt: skip
    """If rows or columns outside the working set are violated: the worst of all, up to `quota`.

    Bounds are lam and 1, widened by a multiple of themselves. Lines that come close to their bound,
    within the factor `near`, are taken too where there is room: they will be next.
    """
    d, violations, worst, least = len(lam), 0, 0.0, LEAST * size
    load, found, count = np.empty(d), np.empty(d, np.int64), 0
    for j in range(d):
        if not member[j]:
            bound = lam[j] + wide_row * max(lam[j], least)
            row, column = abs(r[j]), abs(q[j]) / (1.0 + wide_column)
            violations += int(row > bound + FEASIBLE * size or column > 1.0 + FEASIBLE)
            share = max(row / (bound + FEASIBLE * size), column)
            if share > near:
                found[count], load[count] = j, share
                worst = max(worst, share)
                count += 1
    if violations == 0:
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


@kernel
def stopping(
    G: NDArray[np.floating], W: Indices, member: NDArray[np.bool_], z: State, quota: int
) -> Indices:
    """Columns outside W that stop a dual ray nothing in W stops."""
    d, n, big = len(member), z.number[SIZE], 0.0
    ray, index, y = np.zeros(d), np.empty(n + 1, np.int64), np.empty(n + 1)
    for o in range(n):
        index[o], y[o] = W[z.active[ROW, o]], z.basic[X + ROW, o]
        big = max(big, abs(y[o]))
    if z.number[STUCK] >= 0:
        index[n], y[n], big = W[z.number[STUCK]], float(z.number[STUCK_SIGN]), max(big, 1.0)
        n += 1
    add_rows(G, d, index, y, n, 1.0, ray)
    small = PIVOT * big * z.gauge[0]
    for j in range(d):
        # As a violated column: the largest ones are taken.
        ray[j] = 1.0 + abs(ray[j]) / small if abs(ray[j]) > small else 0.0
    return newcomers(np.ones(d), np.zeros(d), ray, member, 1.0, 0.0, 0.0, quota, 1.0)


@kernel
def join(W: Indices, m: int, member: NDArray[np.bool_], new: Indices) -> int:
    """Append to the working set; returns its new size."""
    for j in new:
        if not member[j]:
            member[j] = True
            W[m] = j
            m += 1
    return m


@kernel
def gather(G: NDArray[np.floating], W: Indices, old: int, m: int, M: Floats) -> Floats:
    """G[W, W] in the upper left corner of an array with room; the first `old` are there."""
    if m > len(M):
        bigger = np.empty((max(m, 2 * len(M)), max(m, 2 * len(M))))
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
    return M


@kernel
def fill(z: State, b: Floats, lam: Floats, W: Indices, old: int, m: int) -> None:
    """Centres and bounds of the members old..m-1 of W."""
    for i in range(old, m):
        z.line[B, i], z.line[H0 + ROW, i] = b[W[i]], lam[W[i]]
