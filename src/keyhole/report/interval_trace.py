"""Intervals as a picture needs them: coverage and widths over time."""

from __future__ import annotations

import numpy as np

from keyhole.game import Observer, PlayedBlock
from keyhole.problem import Floats, Indices, Learner
from keyhole.report.folding_sums import FoldingSums

BOUNDED, COVERED, WIDTH = 0, 1, 2  # rows of the sums


class IntervalTrace(Observer):
    """Sums over the intervals of a game in the bins of `Trace`.

    Parameters
    ----------
    coverage
        What the intervals should cover.
    bins
        Most bins; rounded up to an even number.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=4, k=1, n=600, seed=1)
    >>> trace = IntervalTrace(0.9, bins=4)
    >>> learner = kh.RunningMean(kh.Problem(d=4, k=1, budget=1))
    >>> ledger = kh.play(learner, stream, observers=[trace], coverage=0.9)
    >>> trace.ends, trace.covered.round(2)
    (array([256, 512, 600]), array([0.9 , 0.91, 0.89]))
    """

    def __init__(self, coverage: float, bins: int) -> None:
        self.coverage = coverage
        self._sums = FoldingSums(3, bins)

    @property
    def ends(self) -> Indices:
        """The last round of each bin."""
        return self._sums.ends

    @property
    def covered(self) -> Floats:
        """The share of labels within their intervals, by bin; NaN where none was finite."""
        return self._mean(COVERED)

    @property
    def width(self) -> Floats:
        """The mean width of the intervals, by bin; NaN where none was finite."""
        return self._mean(WIDTH)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Enter some rounds."""
        if played.ends is None:
            return
        low, high = played.ends.T
        bounded = np.isfinite(high - low)
        inside = bounded & (low <= played.y) & (played.y <= high)
        self._sums.add(np.stack([bounded, inside, np.where(bounded, high - low, 0.0)]))

    def _mean(self, what: int) -> Floats:
        sums = self._sums.totals
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = sums[what] / sums[BOUNDED]
        return mean
