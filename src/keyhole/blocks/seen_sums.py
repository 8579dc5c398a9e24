"""SeenSums: weighted sums over the seen entries of rows, from which centred moments can be had."""

from __future__ import annotations

import functools
from types import ModuleType

import numpy as np

from keyhole.problem import Floats, Indices, whole_number


@functools.cache
def _kernels() -> ModuleType:
    from keyhole.blocks.kernels import seen_sums

    return seen_sums


class SeenSums:
    """Sums over rows of which only some features were seen, with weights that can be lowered later.

    Beside what `Moments` keeps there is, for every pair, the sum of x_i over the rows where both i
    and j were seen: with it a covariance is centred by any means, exactly,

        sum (x_i - m_i)(x_j - m_j) = XX_ij - m_j X_ij - m_i X_ji + N_ij m_i m_j,

    so that a feature of a large mean costs no accuracy. And `scale` lowers the weight of all rows
    so far: N_ij then are effective counts.

    `pairs` (the records of `kernels/seen_sums.py`), `singles` (rows: sum of x_i y and of y where i
    was seen) and `totals` (weight, sum of y, of y^2) are all there is, and all are sums.

    Parameters
    ----------
    d
        How many features a row has.

    Examples
    --------
    >>> sums = SeenSums(3)
    >>> sums.add(np.array([0, 2]), np.array([1.0, 2.0]), 3.0)
    >>> sums.add(np.array([0, 1]), np.array([1.0, 5.0]), 1.0)
    >>> sums.counts
    array([2., 1., 1.])
    >>> sums.scale(0.5)
    >>> sums.counts, sums.totals
    (array([1. , 0.5, 0.5]), array([1., 2., 5.]))
    """

    SAVED = ("pairs", "singles", "totals")

    def __init__(self, d: int) -> None:
        self.d = d = whole_number("d", d, 1)
        self.pairs: Floats = np.zeros((d * (d + 1) // 2, 4))
        self.singles: Floats = np.zeros((2, d))
        self.totals: Floats = np.zeros(3)

    def add(self, features: Indices, values: Floats, y: float) -> None:
        """Add a row: ascending features, their values (NaN where one did not arrive), the label."""
        kept, x = np.empty(len(features), dtype=np.int64), np.empty(len(features))
        n = _kernels().arrived(features, values, kept, x)
        offsets, label = np.array([0, n]), np.array([y], dtype=np.float64)
        _kernels().add_rows(offsets, kept, x, label, *self._arrays())

    def scale(self, factor: float) -> None:
        """Multiply the weight of every row so far."""
        for sums in self._arrays():
            sums *= factor

    def copy(self) -> SeenSums:
        """The same sums, with a life of their own."""
        result = SeenSums(self.d)
        for mine, its in zip(self._arrays(), result._arrays(), strict=True):
            its[:] = mine
        return result

    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.pairs, self.singles, self.totals

    @property
    def diagonal(self) -> Floats:
        """Of each feature, over the rows where it was seen: the sums of x^2, 1, x and x again."""
        j = np.arange(self.d)
        records: Floats = self.pairs[j * self.d - j * (j + 1) // 2 + j]
        return records

    @property
    def counts(self) -> Floats:
        """The weight of the rows in which each feature was seen."""
        counts: Floats = self.diagonal[:, 1].copy()
        return counts
