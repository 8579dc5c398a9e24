"""Good subsets of every size up to a largest one: forward selection and swaps, no search."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from keyhole.blocks.exact.subset import scaled
from keyhole.blocks.exact.subset_kernels import swaps
from keyhole.problem import Indices


def subset_path(G: ArrayLike, c: ArrayLike, yy: float, most: int) -> list[Indices]:
    """For each size 0, 1, ..., most, features that explain y well, from second moments alone.

    Each size begins with the features of the size before, adds the one that helps most, and
    exchanges one feature at a time as long as that helps. The work is bounded by what there is to
    exchange, not by a clock: the same sums, the same subsets.

    Parameters
    ----------
    G, c, yy
        X'X, X'y, y'y, as in `best_subset`.
    most
        The largest size, 1 <= most <= d.

    Returns
    -------
    list of indices
        most + 1 of them, each ascending. One is shorter than its size where no further column is
        independent of those it has, and then the later ones are the same.

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> y = np.array([3.0, 1, 3, 1])
    >>> [S.tolist() for S in subset_path(X.T @ X, X.T @ y, y @ y, most=2)]
    [[], [1], [0, 1]]
    """
    A, b, kept, most = scaled(G, c, yy, most)
    path: list[Indices] = [np.empty(0, dtype=np.int64)]
    before: Indices = np.empty(0, dtype=np.int64)  # numbers of columns of A
    for k in range(1, most + 1):
        S = np.full(k, -1, dtype=np.int64)
        S[: len(before)] = before
        size = swaps(A, b, k, S, len(before))[0] if len(kept) else 0
        before = S[:size]
        path.append(np.sort(kept[before]))
    return path
