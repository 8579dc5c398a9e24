"""Intervals as a picture needs them: coverage and widths over time, some predictions and labels."""

from __future__ import annotations

import numpy as np

from keyhole.game import Observer, PlayedBlock
from keyhole.problem import Floats, Indices, Learner
from keyhole.report.trace import bin_ends

POINTS = 1024  # pairs of prediction and label, at most; a power of two
BOUNDED, COVERED, WIDTH = 0, 1, 2  # rows of the sums


class IntervalTrace(Observer):
    """Sums over the intervals of a game in the bins of `Trace`, and every so many rounds a point.

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
    >>> trace.points.shape
    (600, 4)
    """

    def __init__(self, coverage: float, bins: int) -> None:
        bins += bins % 2
        self.coverage, self.rounds = coverage, 0
        self._width, self._full = 1, 0
        self._sums: Floats = np.zeros((3, bins))
        self._points = list[tuple[float, float, float, float]]()
        self._every = 1  # so many rounds there is a point

    @property
    def room(self) -> int:
        """How many rounds the current bin still takes."""
        return self._width * (self._full + 1) - self.rounds

    @property
    def ends(self) -> Indices:
        """The last round of each bin."""
        return bin_ends(self.rounds, self._sums.shape[1])

    @property
    def covered(self) -> Floats:
        """The share of labels within their intervals, by bin; NaN where none was finite."""
        return self._mean(COVERED)

    @property
    def width(self) -> Floats:
        """The mean width of the intervals, by bin; NaN where none was finite."""
        return self._mean(WIDTH)

    @property
    def points(self) -> Floats:
        """Prediction, label, and the low and the high end, of some rounds; a row each."""
        return np.array(self._points, dtype=np.float64).reshape(-1, 4)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Enter at most `room` rounds."""
        if played.ends is None:
            return
        low, high = played.ends.T
        bounded = np.isfinite(high - low)
        inside = bounded & (low <= played.y) & (played.y <= high)
        self._sums[:, self._full] += (bounded.sum(), inside.sum(), (high - low)[bounded].sum())
        kept = np.arange(-self.rounds % self._every, len(played.y), self._every)
        columns = np.column_stack([played.y_hat, played.y, low, high])[kept]
        self._points += map(tuple, columns.tolist())
        while len(self._points) > POINTS:
            self._points, self._every = self._points[::2], 2 * self._every
        self.rounds += len(played.y)
        if self.room == 0:
            self._full += 1
            if self._full == self._sums.shape[1]:
                half = self._full // 2
                self._sums[:, :half] = self._sums[:, ::2] + self._sums[:, 1::2]
                self._sums[:, half:] = 0.0
                self._width, self._full = 2 * self._width, half

    def _mean(self, what: int) -> Floats:
        sums = self._sums[:, : len(self.ends)]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = sums[what] / sums[BOUNDED]
        return mean
