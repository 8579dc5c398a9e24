"""Symmetric matrices kept as their upper triangle, row after row, in a flat array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Indices


@kernel
def base(i: int | np.integer, d: int) -> np.int64:
    """The entry (i, j), i <= j, of a d x d matrix is at base(i, d) + j."""
    row = np.int64(i)  # signed: a mix with d would be a float
    return row * d - row * (row + 1) // 2


@kernel
def restrict(flat: NDArray[np.generic], d: int, S: Indices, out: NDArray[np.generic]) -> None:
    """The triangle of the features S, in the order of S, from the triangle of d features."""
    m = len(S)
    for a in range(m):
        for b in range(a, m):
            i, j = min(S[a], S[b]), max(S[a], S[b])
            out[base(a, m) + b] = flat[base(i, d) + j]


@kernel
def unpack(flat: NDArray[np.generic], d: int, out: NDArray[np.generic]) -> None:
    """The full symmetric d x d matrix of the triangle at the beginning of `flat`."""
    for i in range(d):
        row = base(i, d)
        for j in range(i, d):
            out[i, j] = flat[row + j]
            out[j, i] = flat[row + j]
