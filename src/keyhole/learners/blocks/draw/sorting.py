"""Order: sort a few different numbers, merge two ascending lists, find the largest entries."""

from __future__ import annotations

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices


@c_function("kh_sort", "out[m] space[a] more_space[b]", writes="out space more_space")
def sort(out: Indices, n: int, space: Indices, more_space: Indices) -> None:
    """Put `out`, different numbers below n, in ascending order, in O(len(out)) whatever n is.

    Each space has room for len(out) + 1 numbers.
    """
    raise NotImplementedError


@c_function("kh_merge", "S[n] support[m] out[size]", writes="out")
def merge(S: Indices, support: Indices, out: Indices) -> int:
    """Write the union of two ascending lists, ascending and each feature once; its size."""
    raise NotImplementedError


@c_function("kh_largest", "score[n] out[m]", writes="out")
def largest(score: Floats, out: Indices) -> None:
    """Write the indices of the len(out) largest entries, the largest first; ties: lower index.

    >>> import numpy as np
    >>> out = np.empty(3, dtype=np.int64)
    >>> largest(np.array([1.0, 3.0, 2.0, 3.0]), out)
    >>> out
    array([1, 3, 2])
    """
    raise NotImplementedError
