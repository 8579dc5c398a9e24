"""Symmetric matrices kept as their upper triangle, row after row, in a flat array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Indices


def restrict(flat: NDArray[Any], d: int, S: Indices, out: NDArray[Any]) -> None:
    """The triangle of the features S, in the order of S, from the triangle of d features."""
    first, m = _bases(d), len(S)
    place = _bases(m)
    for a, feature in enumerate(S):
        low, high = np.minimum(feature, S[a:]), np.maximum(feature, S[a:])
        out[place[a] + a : place[a] + m] = flat[first[low] + high]


def unpack(flat: NDArray[Any], d: int, out: NDArray[Any]) -> None:
    """The full symmetric d x d matrix of the triangle at the beginning of `flat`."""
    for i, start in enumerate(_bases(d)):
        row = flat[start + i : start + d]
        out[i, i:] = row
        out[i:, i] = row


def _bases(d: int) -> Indices:
    """The entry (i, j), i <= j, is at bases[i] + j."""
    i = np.arange(d)
    bases: Indices = i * d - i * (i + 1) // 2
    return bases
