"""Kernels of the best k-subset: models to begin with, and enumeration of what is left.

Everything here is in scaled units: G has unit diagonal (or is a part of such a matrix) and y'y = 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.problem import Floats, Indices

DEPENDENT = 1e-10  # a column with less than this part of its square left adds nothing
TOLERANCE = 1e-10  # a subset that is better by less than this part of y'y is not looked for


class Leaf(NamedTuple):
    """A node small enough to enumerate: what is in, the candidates C, and what these may bring.

    v (of C, descending) and slack bound: rss(I + T) >= slack - sum of v over T.
    """

    I: Indices  # noqa: E741
    C: Indices
    v: Floats
    slack: float


@kernel
def include(G: Floats, L: Floats, s: int, i: int, D: Floats, r: Floats) -> float:
    """Project column i out of all others, as row s of a Cholesky factor; its gain, or -1.

    D_j and r_j are what is left of the square of column j and of its product with y.
    """
    if D[i] < DEPENDENT:
        return -1.0
    root = np.sqrt(D[i])
    a = r[i] / root
    for j in range(len(D)):
        L[s, j] = G[i, j]
    for t in range(s):
        h = L[t, i]
        for j in range(len(D)):
            L[s, j] -= h * L[t, j]
    for j in range(len(D)):
        L[s, j] /= root
        D[j] -= L[s, j] * L[s, j]
        r[j] -= a * L[s, j]
    return float(a * a)


@kernel
def untouched(G: Floats, c: Floats) -> tuple[Floats, Floats]:
    """D and r before any column is projected out."""
    D = np.empty(len(c))
    for j in range(len(c)):
        D[j] = G[j, j]
    return D, c.copy()


@kernel
def rss(G: Floats, c: Floats, S: Indices, size: int) -> float:
    """Residual sum of squares of S[:size], by a small Cholesky; dependent columns add nothing."""
    L = np.empty((size, size))
    a = np.empty(size)
    kept = np.empty(size, np.int64)
    n = 0
    left = 1.0
    for p in range(size):
        i = S[p]
        D = G[i, i]
        for t in range(n):
            x = G[i, kept[t]]
            for u in range(t):
                x -= L[n, u] * L[t, u]
            x /= L[t, t]
            L[n, t] = x
            D -= x * x
        if D < DEPENDENT:
            continue
        x = c[i]
        for u in range(n):
            x -= L[n, u] * a[u]
        L[n, n] = np.sqrt(D)
        a[n] = x / L[n, n]
        left -= a[n] * a[n]
        kept[n] = i
        n += 1
    return left


@kernel
def forward(G: Floats, c: Floats, k: int, S: Indices, size: int) -> tuple[int, float]:
    """Complete S[:size] greedily to k columns, in place; the new size and the rss."""
    L = np.empty((k, len(c)))
    D, r = untouched(G, c)
    left = 1.0
    n = 0
    for p in range(size):
        gain = include(G, L, n, S[p], D, r)
        if gain >= 0.0:
            S[n] = S[p]
            n += 1
            left -= gain
    while n < k:
        best, i = 0.0, -1
        for j in range(len(c)):
            if D[j] >= DEPENDENT and r[j] * r[j] > best * D[j]:
                best, i = r[j] * r[j] / D[j], j
        if i < 0:
            break
        left -= include(G, L, n, i, D, r)
        S[n] = i
        n += 1
    return n, left


@kernel
def swaps(G: Floats, c: Floats, k: int, S: Indices, size: int) -> tuple[int, float]:
    """Exchange one column of S at a time as long as that helps; the size and the rss."""
    size, left = forward(G, c, k, S, size)
    trial = np.empty(k, np.int64)
    p = since = 0
    while since < size:
        for t in range(size - 1):
            trial[t] = S[t] if t < p else S[t + 1]
        n, new = forward(G, c, k, trial, size - 1)
        if new < left - 1e-13:
            for t in range(n):
                S[t] = trial[t]
            size, left, since = n, new, 0
        else:
            since += 1
        p = (p + 1) % max(size, 1)
    return size, left


@kernel
def improve(
    G: Floats, c: Floats, k: int, S: Indices, size: int, best: float, S_best: Indices
) -> float:
    """Take S[:size], after swaps, as the incumbent if it is better."""
    if rss(G, c, S, size) < best:
        size, best = swaps(G, c, k, S, size)
        for p in range(k):
            S_best[p] = S[p] if p < size else -1
    return best


@kernel
def enumerate_all(
    G: Floats, c: Floats, leaf: Leaf, r: int, best: float, S_best: Indices
) -> tuple[float, int]:
    """Best of I plus at most r of C by depth-first enumeration; (best, partial sets visited).

    Level t holds G and c of the later candidates with I and t chosen ones projected out, so that a
    pair costs O(1).
    """
    I, C, v, slack = leaf  # noqa: E741
    m, levels, left = len(C), max(r - 1, 1), np.empty(r + 1)
    W, diag, res = np.empty((levels, m, m)), np.empty((levels, m)), np.empty((levels, m))
    left[0] = _project(G, c, leaf, W[0], diag[0], res[0])
    top = _sums_from(v, r)
    chosen = np.empty(r, np.int64)
    place = np.zeros(levels, np.int64)
    stop = np.full(levels, m, np.int64)
    used = np.zeros(levels)
    visited = 0
    t = 0
    while t >= 0:
        i = place[t]
        n = r - t
        if i >= stop[t] or slack - used[t] - top[n, i] >= best - TOLERANCE:
            t -= 1
            continue
        place[t] += 1
        if diag[t, i] < DEPENDENT:
            continue
        visited += 1
        chosen[t] = i
        f = res[t, i] / diag[t, i]
        left[t + 1] = left[t] - f * res[t, i]
        if left[t + 1] < best:
            best = left[t + 1]
            record(S_best, I, C, chosen, t + 1)
        if n == 1:
            continue
        now = used[t] + v[i]
        need = slack - now - (best - TOLERANCE)  # the other n - 1 must bring more v than this
        end = i + 1
        while end < stop[t] and top[n - 2, i + 1] + v[end] > need:
            end += 1
        if n == 2:
            row = W[t, i]
            inverse = 1.0 / diag[t, i]
            wanted = left[t + 1] - best
            for j in range(i + 1, end):
                x = res[t, j] - f * row[j]
                D_j = diag[t, j] - row[j] * row[j] * inverse
                if x * x > wanted * D_j and D_j >= DEPENDENT:
                    chosen[t + 1] = j
                    best = left[t + 1] - x * x / D_j
                    wanted = left[t + 1] - best
                    record(S_best, I, C, chosen, t + 2)
            continue
        for a in range(i + 1, end):
            h = W[t, i, a] / diag[t, i]
            diag[t + 1, a] = diag[t, a] - h * W[t, i, a]
            res[t + 1, a] = res[t, a] - h * res[t, i]
            for b in range(a + 1, end):
                W[t + 1, a, b] = W[t, a, b] - h * W[t, i, b]
        t += 1
        place[t], stop[t], used[t] = i + 1, end, now
    return best, visited


@inner
def _project(G: Floats, c: Floats, leaf: Leaf, W: Floats, diag: Floats, res: Floats) -> float:
    # G and c of the candidates with I projected out; what I leaves of y.
    I, C = leaf.I, leaf.C  # noqa: E741
    L = np.empty((len(I), len(c)))
    D, r_all = untouched(G, c)
    left, s = 1.0, 0
    for p in range(len(I)):
        gain = include(G, L, s, I[p], D, r_all)
        if gain >= 0.0:
            left -= gain
            s += 1
    for a in range(len(C)):
        for b in range(a, len(C)):
            W[a, b] = G[C[a], C[b]]
            for t in range(s):
                W[a, b] -= L[t, C[a]] * L[t, C[b]]
        diag[a] = D[C[a]]
        res[a] = r_all[C[a]]
    return left


@inner
def _sums_from(v: Floats, r: int) -> Floats:
    # top[n, i]: the sum of n values of v from i on, summed directly (differences would cancel).
    m = len(v)
    top = np.zeros((r + 1, m + r + 1))
    for n in range(1, r + 1):
        for i in range(m - 1, -1, -1):
            top[n, i] = v[i] + top[n - 1, i + 1]
    return top


@kernel
def record(S_best: Indices, I: Indices, C: Indices, chosen: Indices, n: int) -> None:  # noqa: E741
    """Write I plus the n chosen ones of C as the incumbent; -1 marks unused places."""
    for p in range(len(S_best)):
        S_best[p] = -1
    for p in range(len(I)):
        S_best[p] = I[p]
    for p in range(n):
        S_best[len(I) + p] = C[chosen[p]]
