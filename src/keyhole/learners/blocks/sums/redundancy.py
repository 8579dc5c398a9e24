"""Which columns are copies of others, or can be computed from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyhole.problem import Floats, Indices

COPY = 1e-8  # 1 - corr^2 of a copy; float32 columns that are equal are well below
COMPUTED = 1e-7  # of the variance: what is left of a column that others determine


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """Columns that add nothing, by reason, and those worth keeping.

    `copies` pairs a column with the earlier one it repeats (up to sign, scale and a constant).
    `computed` are linear combinations of earlier kept columns.
    """

    constant: Indices
    copies: tuple[tuple[int, int], ...]
    computed: Indices
    kept: Indices


def dependence(G: Floats, sizes: Floats) -> Dependence:
    """Sort the columns of a centred second-moment matrix, keeping the earlier of two alike.

    Parameters
    ----------
    G
        Centred second moments, d x d.
    sizes
        The size of each column's values: a spread below 1e-7 of it is none.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [2.0, 4.0, 5.0, 7.0]])
    >>> x -= x.mean(axis=0)
    >>> found = dependence(np.cov(x.T, bias=True), np.ones(4))
    >>> found.copies, found.computed, found.kept
    (((1, 0),), array([3]), array([0, 2]))
    """
    sd = np.sqrt(np.maximum(np.diag(G), 0.0))
    flat = sd <= 1e-7 * np.maximum(sizes, 1e-300)
    scale = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, sd))
    left = scale[:, None] * G * scale  # correlations, from which kept columns are projected out
    first = np.abs(left)
    copies: list[tuple[int, int]] = []
    computed: list[int] = []
    kept: list[int] = []
    for j in range(len(G)):
        if flat[j]:
            continue
        like = [i for i in kept if 1.0 - first[i, j] ** 2 <= COPY]
        if like:
            copies.append((j, like[0]))
        elif left[j, j] <= COMPUTED:
            computed.append(j)
        else:
            kept.append(j)
            row = left[j] / np.sqrt(left[j, j])
            left = left - np.outer(row, row)
    return Dependence(
        np.flatnonzero(flat), tuple(copies), np.array(computed, dtype=np.int64), np.array(kept)
    )
