"""What one pass over a stream tells about each column by itself: range, spread, tails, gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Floats


class ColumnSums:
    """Power sums about the mean of the first block, ranges and counts; they add row by row.

    Examples
    --------
    >>> sums = ColumnSums(1)
    >>> sums.add(np.array([[0.0], [1.0], [np.nan], [1.0]]))
    >>> facts = sums.facts()
    >>> facts.low, facts.high, facts.absent, facts.binary
    (array([0.]), array([1.]), array([0.25]), array([ True]))
    """

    # Sums: n, counts, powers. Extremes: low, high. Everything else is derived in `facts`.

    def __init__(self, d: int) -> None:
        self.n = 0
        self.counts = np.zeros(d)
        self.powers = np.zeros((4, d))
        self.low = np.full(d, np.inf)
        self.high = np.full(d, -np.inf)
        self._origin: Floats | None = None

    def add(self, X: NDArray[np.floating]) -> None:
        """Add the rows of X; a cell that is NaN is absent."""
        X = np.asarray(X, dtype=np.float64)
        seen = ~np.isnan(X)
        if self._origin is None:
            self._origin = np.where(seen, X, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        Z = np.where(seen, X - self._origin, 0.0)
        self.n += len(X)
        self.counts += seen.sum(axis=0)
        power = np.ones_like(Z)
        for row in self.powers:
            power *= Z
            row += power.sum(axis=0)
        self.low = np.minimum(self.low, np.where(seen, X, np.inf).min(axis=0, initial=np.inf))
        self.high = np.maximum(self.high, np.where(seen, X, -np.inf).max(axis=0, initial=-np.inf))

    def facts(self) -> ColumnFacts:
        """Means, spreads and the rest."""
        origin = np.zeros(len(self.counts)) if self._origin is None else self._origin
        m1, m2, m3, m4 = self.powers / np.maximum(self.counts, 1.0)
        variance = np.maximum(m2 - m1**2, 0.0)
        fourth = m4 - 4 * m3 * m1 + 6 * m2 * m1**2 - 3 * m1**4
        kurtosis = np.divide(
            fourth, variance**2, out=np.zeros_like(fourth), where=variance**2 > 1e-300
        )
        # sum (x - low)(high - x) is 0 iff every value is one of the two ends.
        some = self.counts > 0  # the range of no value at all is infinite
        low, high = (np.where(some, end - origin, 0.0) for end in (self.low, self.high))
        between = -m2 + (low + high) * m1 - low * high
        return ColumnFacts(
            mean=origin + m1,
            sd=np.sqrt(variance),
            low=self.low,
            high=self.high,
            kurtosis=kurtosis,
            binary=some & (between <= 1e-9 * (high - low) ** 2),
            absent=1.0 - self.counts / max(self.n, 1),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFacts:
    """Per column: mean, standard deviation, range, kurtosis (3 for a Gaussian), whether it takes
    two values only, and the share of cells that are absent."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    kurtosis: Floats
    binary: NDArray[np.bool_]
    absent: Floats
