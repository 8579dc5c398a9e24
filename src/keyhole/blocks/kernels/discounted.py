"""Inner loops of `blocks/discounted.py`: the products of a batch, and adding them to memories."""

from __future__ import annotations

import math

import numpy as np

from keyhole.blocks.discounted import Memories
from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices

_SMALL = 1e-60  # a scale below this is multiplied out: O(d^2), once in 138 tau rounds


@kernel
def products(values: Floats, labels: Floats, rows: int) -> tuple[Floats, Floats, Floats, float]:
    """G, c, counts and y'y of the first `rows` rows, with the constant in the last place.

    Of G the upper triangle. Features that are absent (NaN) count as 0.
    """
    m = values.shape[1]
    G, c, count, yy = np.zeros((m + 1, m + 1)), np.zeros(m + 1), np.zeros(m + 1), 0.0
    x = np.ones(m + 1)
    for t in range(rows):
        for a in range(m):
            x[a] = values[t, a]
            if np.isnan(x[a]):
                x[a] = 0.0
            else:
                count[a] += 1.0
        for a in range(m + 1):
            c[a] += x[a] * labels[t]
            for b in range(a, m + 1):
                G[a, b] += x[a] * x[b]
        yy += labels[t] * labels[t]
    count[m] = rows
    return G, c, count, yy


@kernel
def fold(
    kept: Memories, features: Indices, G: Floats, c: Floats, count: Floats, yy: float, rows: int
) -> None:
    """Let every memory forget `rows` rounds and add the products of a batch."""
    m, d = len(features), kept.G.shape[1] - 1
    for i in range(len(kept.tau)):
        scale = kept.scale[i] * math.exp(-rows / kept.tau[i])
        if scale < _SMALL:
            kept.G[i] *= scale
            kept.c[i] *= scale
            kept.n[i] *= scale
            kept.yy[i] *= scale
            scale = 1.0
        kept.scale[i], more = scale, 1.0 / scale
        kept.yy[i] += yy * more
        all_G, all_c, all_n = kept.G[i], kept.c[i], kept.n[i]
        for a in range(m + 1):
            v = features[a] if a < m else d
            all_c[v] += c[a] * more
            all_n[v] += count[a] * more
            all_G[v, v] += G[a, a] * more
            for b in range(a + 1, m + 1):
                w = features[b] if b < m else d
                product = G[a, b] * more
                all_G[v, w] += product
                all_G[w, v] += product
