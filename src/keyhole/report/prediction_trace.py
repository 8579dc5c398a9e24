"""Predictions as pictures need them: some rounds as points, errors by stretches of time."""

from __future__ import annotations

import numpy as np

from keyhole.game import Observer, PlayedBlock
from keyhole.problem import Floats, Indices, Learner
from keyhole.report.folding_sums import FoldingSums

POINTS = 1024  # rounds that are kept as points, at most; a power of two
ROUND, PREDICTED, ACTUAL, LOW, HIGH = range(5)  # columns of the points
RESIDUAL, SQUARE = range(2)  # rows of the sums


class PredictionTrace(Observer):
    """Residuals (label - prediction) in the bins of `Trace`, and every so many rounds a point.

    The first round is in neither: nothing was known then.

    Parameters
    ----------
    bins
        Most bins; rounded up to an even number.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=4, k=1, n=600, seed=1)
    >>> trace = PredictionTrace(bins=4)
    >>> learner = kh.RunningMean(kh.Problem(d=4, k=1, budget=1))
    >>> ledger = kh.play(learner, stream, observers=[trace])
    >>> trace.ends, trace.points.shape, int(trace.points[0, ROUND])
    (array([256, 512, 600]), (599, 5), 2)
    """

    def __init__(self, bins: int) -> None:
        self._sums = FoldingSums(2, bins)
        self._points = list[tuple[float, ...]]()
        self._every = 1  # so many rounds there is a point
        self._rounds, self._mean, self._about = 0, 0.0, 0.0  # of labels, squares about their mean

    @property
    def ends(self) -> Indices:
        """The last round of each bin."""
        return self._sums.ends

    @property
    def residual(self) -> Floats:
        """The mean residual of each bin; NaN where it has the first round alone."""
        return self._mean_of(RESIDUAL)

    @property
    def error(self) -> Floats:
        """The root of the mean squared residual of each bin."""
        root: Floats = np.sqrt(self._mean_of(SQUARE))
        return root

    @property
    def points(self) -> Floats:
        """Round, prediction, label, low and high end of some rounds; ends are NaN without any."""
        return np.array(self._points, dtype=np.float64).reshape(-1, 5)

    @property
    def variance(self) -> float:
        """Of the labels so far, about their mean: what the best constant loses per round."""
        return self._about / self._rounds if self._rounds else 0.0

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Enter some rounds."""
        n, before = len(played.y), self._rounds
        if not n:
            return
        residuals = played.y - played.y_hat
        if not before:
            residuals[0] = 0.0
        self._sums.add(np.stack([residuals, residuals**2]))
        ends = np.full((n, 2), np.nan) if played.ends is None else played.ends
        rounds = np.arange(before + 1, before + n + 1)
        kept = np.flatnonzero((rounds > 1) & ((rounds - 2) % self._every == 0))
        columns = np.column_stack([rounds, played.y_hat, played.y, ends])[kept]
        self._points += map(tuple, columns.tolist())
        while len(self._points) > POINTS:
            self._points, self._every = self._points[::2], 2 * self._every
        mean = float(played.y.mean())
        apart, self._rounds = mean - self._mean, before + n
        self._about += float(((played.y - mean) ** 2).sum())
        self._about += apart * apart * before * n / self._rounds
        self._mean += apart * n / self._rounds

    def _mean_of(self, kind: int) -> Floats:
        many = np.diff(self.ends, prepend=0)
        many[:1] -= 1  # the first round
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = self._sums.totals[kind] / many
        return mean
