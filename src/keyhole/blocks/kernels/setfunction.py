"""The sweep behind `blocks/setfunction.py`: greedy steps on second moments, all gains at once."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices

# A feature of which less than this share is new, given those chosen before, adds nothing: what the
# pseudo-inverse does with a singular design. Sums in float64 resolve about 1e-13.
NEW = 1e-10


@kernel
def slot_gains(
    G: Floats, c: Floats, yy: float, chosen: Indices, levels: Floats, gains: Floats
) -> None:
    """levels[i] = h(V_i), gains[i, a] = h(V_i) - h(V_i + a), V_i the features chosen before i.

    h(S) = min_w yy - 2 c.w + w'G w over w on S. Of G only the upper triangle is read, and of that
    the diagonal and the rows and columns of `chosen`. A feature chosen twice counts once. Each
    step of the Cholesky factorisation projects all candidates at once: O(m) per earlier step.
    """
    n, m = gains.shape
    factor = np.empty((n, m))
    D, r = np.empty(m), np.empty(m)
    for a in range(m):
        D[a] = G[a, a]
        r[a] = c[a]
    level, rank = max(yy, 0.0), 0
    for i in range(n):
        levels[i] = level
        for a in range(m):
            new = D[a] > NEW * G[a, a]
            gains[i, a] = min(r[a] * r[a] / D[a], level) if new else 0.0
        v = chosen[i]
        if not D[v] > NEW * G[v, v]:
            continue
        root = math.sqrt(D[v])
        step = r[v] / root
        for a in range(m):
            product = G[min(v, a), max(v, a)]
            for s in range(rank):
                product -= factor[s, v] * factor[s, a]
            factor[rank, a] = product / root
        for a in range(m):
            D[a] -= factor[rank, a] * factor[rank, a]
            r[a] -= factor[rank, a] * step
        D[v] = 0.0
        rank += 1
        level = max(level - step * step, 0.0)
