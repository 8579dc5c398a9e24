"""Several VAWs side by side on parts of the same features, each started from a memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.problem import Floats, Indices


class Ensemble(NamedTuple):
    """E runs of VAW over x = (the values read, 1): run e uses the places place[e, :size[e]] of x.

    Run e is exactly a VAW that was fed the zero-imputed, discounted rows of its memory and then the
    rows of this batch: A = G[V, V] + R, b = c[V], R diagonal, a multiple of each feature's mean
    square. Derived: `P` = A^-1 and `theta` = A^-1 b by rank-1 updates. `Px`, `along`, `s` are what
    the last guess leaves for learning.
    """

    place: Indices  # E x v
    size: Indices
    P: Floats  # E x v x v
    theta: Floats  # E x v
    Px: Floats  # E x v
    along: Floats
    s: Floats


def ensemble(runs: int, places: int) -> Ensemble:
    """Room for `runs` VAWs on at most `places` places each; all empty, which guesses 0."""
    return Ensemble(
        np.zeros((runs, places), dtype=np.int64),
        np.zeros(runs, dtype=np.int64),
        np.zeros((runs, places, places)),
        np.zeros((runs, places)),
        np.zeros((runs, places)),
        np.zeros(runs),
        np.ones(runs),
    )
