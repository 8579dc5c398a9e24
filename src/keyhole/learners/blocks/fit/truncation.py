"""Keeping the k largest coordinates of a vector."""

from __future__ import annotations

import numpy as np

from keyhole.learners.blocks.draw.sorting import largest
from keyhole.problem import Floats, Indices


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
