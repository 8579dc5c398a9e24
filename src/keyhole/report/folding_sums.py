"""Sums over equal stretches of a game whose length need not be known."""

from __future__ import annotations

import numpy as np

from keyhole.problem import Floats, Indices
from keyhole.report.trace import bin_ends


class FoldingSums:
    """Sums of some numbers of each round in the bins of `Trace`, without cutting blocks for it.

    A bin has one round at first; whenever all bins are full, neighbours are added and the width
    doubles.

    Parameters
    ----------
    kinds
        How many numbers a round has.
    bins
        Most bins; rounded up to an even number.

    Examples
    --------
    >>> sums = FoldingSums(1, bins=4)
    >>> sums.add(np.arange(7.0)[np.newaxis])
    >>> sums.ends, sums.totals
    (array([2, 4, 6, 7]), array([[1., 5., 9., 6.]]))
    """

    def __init__(self, kinds: int, bins: int) -> None:
        self.rounds, self.width = 0, 1
        self._totals: Floats = np.zeros((kinds, bins + bins % 2))

    @property
    def ends(self) -> Indices:
        """The last round of each bin."""
        return bin_ends(self.rounds, self._totals.shape[1])

    @property
    def totals(self) -> Floats:
        """The sums, kinds by bins."""
        return self._totals[:, : len(self.ends)]

    def add(self, numbers: Floats) -> None:
        """Add the next rounds: kinds by rounds."""
        bins, start, rounds = self._totals.shape[1], 0, numbers.shape[1]
        while start < rounds:
            stop = min(rounds, start + self.width * bins - self.rounds)
            places = np.arange(self.rounds, self.rounds + stop - start) // self.width
            for total, added in zip(self._totals, numbers[:, start:stop], strict=True):
                total += np.bincount(places, added, minlength=bins)
            self.rounds += stop - start
            start = stop
            if self.rounds == self.width * bins:
                half = bins // 2
                self._totals[:, :half] = self._totals[:, ::2] + self._totals[:, 1::2]
                self._totals[:, half:] = 0.0
                self.width *= 2
