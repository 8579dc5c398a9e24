"""`blocks/truncation.py`, compiled."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.kernels.exploration import largest
from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices


@kernel
def top_k(w: Floats, k: int) -> Indices:
    """The k largest coordinates of w in size, ascending, ties to the lower index; never zeros."""
    S = np.empty(min(k, len(w)), dtype=np.int64)
    largest(np.abs(w), S)
    n = 0
    for i in S:
        if w[i] != 0.0:
            S[n] = i
            n += 1
    return np.sort(S[:n])
