"""What particles are drawn from, compiled."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.common.compiled import kernel
from benchmarks.limit.state import SIMPLEX, Cloud, Slots


@kernel
def begin(slots: Slots, t: int, d: int, cloud: Cloud) -> None:
    """Draw from the prior what begins to count in round t."""
    for i in np.flatnonzero(slots.born == t):
        for p in range(len(cloud.place)):
            j = np.random.randint(d)
            while (cloud.place[p] == j).any():
                j = np.random.randint(d)
            cloud.place[p, i] = j
            cloud.u[p, i] = np.random.random() * (1.0 if slots.kind == SIMPLEX else 2.0 * math.pi)
            cloud.u[p, i] += 0.5
            for g in range(cloud.sign.shape[2]):
                cloud.sign[p, i, g] = 1.0 if np.random.random() < 0.5 else -1.0


@kernel
def seeded(seed: int) -> None:
    """Begin the random numbers of these kernels."""
    np.random.seed(seed)
