"""Sorting: merge ascending lists, find the largest entries, keep the k largest coordinates."""

from __future__ import annotations

import numpy as np

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


def top_k(w: Floats, k: int) -> Indices:
    """The k coordinates of w largest in absolute value, ascending; zeros are never among them.

    Ties go to the lower index (`equation:top-k-coordinates`).

    Guarantee
    ---------
    `lemma:sparse`: for any k-sparse w*, |w(S) - w*|_2 <= sqrt(3) |w - w*|_2 with S = top_k(w, k).

    Examples
    --------
    >>> top_k(np.array([0.1, -3.0, 0.0, 3.0, 2.0]), 2)
    array([1, 3])
    """
    S = np.empty(min(k, len(w)), dtype=np.int64)
    largest(np.abs(w), S)
    S.sort()
    kept: Indices = S[w[S] != 0.0]
    return kept


def truncated(w: Floats, k: int) -> Floats:
    """w on its k largest coordinates, 0 elsewhere.

    >>> truncated(np.array([0.1, -3.0, 0.0, 3.0, 2.0]), 2)
    array([ 0., -3.,  0.,  3.,  0.])
    """
    S, out = top_k(w, k), np.zeros(len(w))
    out[S] = w[S]
    return out
