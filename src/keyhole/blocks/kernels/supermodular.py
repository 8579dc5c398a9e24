"""The worst ratio of weak supermodularity, over all pairs of disjoint sets up to a size."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices

DEPENDENT = 1e-10  # a column with less than this part of its square left adds nothing
NO_GAIN = 1e-12  # gains below this part of y'y are rounding


@kernel
def worst_pair(G: Floats, c: Floats, k: int, found: Indices) -> float:
    """max of q_R' C_R^-1 q_R / |q_R|^2 over disjoint S, R with |R| >= 2, |S| + |R| <= k.

    C and q are the correlations, among each other and with y, of what S leaves of the columns. In
    `found`, members of S are marked 1 and those of R 2. G has unit diagonal and y'y = 1.
    """
    d = len(c)
    levels = max(k - 1, 1)
    W = np.empty((levels, d, d))
    r = np.empty((levels, d))
    chosen = np.zeros(levels, np.int64)
    inside = np.zeros(d, np.int64)
    W[0] = G
    r[0] = c
    best = best_beside(W[0], r[0], inside, k, 0.0, found)
    s = 0
    chosen[0] = 0
    while s >= 0:
        i = chosen[s]
        if i >= d or k - s - 1 < 2:
            s -= 1
            if s >= 0:
                inside[chosen[s] - 1] = 0
            continue
        chosen[s] += 1
        if W[s, i, i] < DEPENDENT:
            continue
        for a in range(d):
            h = W[s, i, a] / W[s, i, i]
            r[s + 1, a] = r[s, a] - h * r[s, i]
            for b in range(d):
                W[s + 1, a, b] = W[s, a, b] - h * W[s, i, b]
        inside[i] = 1
        best = best_beside(W[s + 1], r[s + 1], inside, k - s - 1, best, found)
        s += 1
        chosen[s] = i + 1
    return best


@kernel
def best_beside(
    W: Floats, r: Floats, inside: Indices, most: int, best: float, found: Indices
) -> float:
    """The same over R alone, |R| <= most, for the S that `inside` marks."""
    d = len(r)
    left = np.empty(d, np.int64)
    q = np.empty(d)
    m = 0
    for a in range(d):
        if inside[a] == 0 and W[a, a] >= DEPENDENT:
            left[m] = a
            q[m] = r[a] / np.sqrt(W[a, a])
            m += 1
    L = np.empty((most, most))
    x = np.empty(most)
    R = np.empty(most, np.int64)
    explained = np.zeros(most + 1)
    single = np.zeros(most + 1)
    place = np.zeros(most, np.int64)
    t = 0
    while t >= 0:
        if place[t] >= m:
            t -= 1
            continue
        i = place[t]
        place[t] += 1
        rest, z = 1.0, q[i]
        for u in range(t):
            j = R[u]
            v = W[left[i], left[j]] / np.sqrt(W[left[i], left[i]] * W[left[j], left[j]])
            for p in range(u):
                v -= L[t, p] * L[u, p]
            v /= L[u, u]
            L[t, u] = v
            rest -= v * v
            z -= v * x[u]
        if rest < DEPENDENT:
            continue  # the same span with more gains to compare with: the ratio is not larger
        L[t, t] = np.sqrt(rest)
        x[t] = z / L[t, t]
        R[t] = i
        explained[t + 1] = explained[t] + x[t] * x[t]
        single[t + 1] = single[t] + q[i] * q[i]
        if single[t + 1] > NO_GAIN and explained[t + 1] > best * single[t + 1]:
            best = explained[t + 1] / single[t + 1]
            for a in range(d):
                found[a] = inside[a]
            for u in range(t + 1):
                found[left[R[u]]] = 2
        if t + 1 < most:
            t += 1
            place[t] = i + 1
    return best
