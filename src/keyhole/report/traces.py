"""Traces of a game: reads, models, losses, predictions and intervals over time, in equal bins."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.game import Observer, PlayedBlock
from keyhole.game.read_counts import Counted, SparseCounts
from keyhole.problem import Floats, Indices, Learner
from keyhole.problem.prices import Prices

_NO_MODEL: tuple[Indices, Floats] = np.empty(0, dtype=np.int64), np.empty(0)
MAX_KEPT_POINTS = 1024  # rounds that are kept as points, at most; a power of two
ROUND, PREDICTED, ACTUAL, LOW, HIGH = range(5)  # columns of the points
RESIDUAL, SQUARE = range(2)  # rows of the sums
BOUNDED, COVERED, WIDTH = 0, 1, 2  # rows of the sums
LOSS_BINS = 1024  # of the game: where its last tenth begins is known to a thousandth of it
RECENT_SHARE = 0.1


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


def bin_ends(rounds: int, bins: int) -> Indices:
    """The last round of each bin in the trace of so many rounds.

    >>> bin_ends(5, bins=4)
    array([2, 4, 5])
    """
    most = bins + bins % 2
    width = 1 << (rounds // most).bit_length()
    return np.minimum(np.arange(width, rounds + width, width, dtype=np.int64), rounds)


class Trace(Observer):
    """Bins of equal width that grow with the game, so that its length need not be known.

    A bin has one round at first. Whenever all bins are full, neighbours are put together and the
    width doubles: in the end between half of the bins and all of them are in use, and only the last
    may be shorter than the others.

    Sums: `reads` by feature and bin, `total` loss, money. Samples at the ends of bins: `loss`,
    `models`, `spent`. Of a bin, only features that were read or have a weight are kept.

    Parameters
    ----------
    d
        Features.
    bins
        Most bins; rounded up to an even number.
    prices
        What features cost; None: `spent` is 0 throughout.

    Examples
    --------
    >>> trace = Trace(d=2, bins=4)
    >>> for t in range(5):
    ...     trace.add(np.array([t % 2]), np.array([1.0]), lambda: np.array([float(t), 0.0]))
    >>> trace.close(np.array([9.0, 0.0]))
    >>> trace.ends, trace.loss
    (array([2, 4, 5]), array([2., 4., 5.]))
    >>> trace.reads
    array([[1, 1, 1],
           [1, 1, 0]])
    >>> trace.models[0]
    array([1., 3., 9.])
    """

    def __init__(self, d: int, bins: int, prices: Prices | None = None) -> None:
        bins += bins % 2
        self.width = 1
        self.rounds = 0
        self.total = 0.0
        self._d = d
        # Of the bins that are full, and below of the one that is not.
        self._reads: list[Counted] = []
        self._models: list[tuple[Indices, Floats]] = []
        self._now, self._last = SparseCounts(d), _NO_MODEL
        self._loss: Floats = np.zeros(bins)
        self._prices, self._units = prices, 0  # of money so far, exact
        self._spent: Floats = np.zeros(bins)

    @property
    def room(self) -> int:
        """How many rounds the current bin still takes."""
        return self.width * (len(self._reads) + 1) - self.rounds

    @property
    def ends(self) -> Indices:
        """The last round of each bin."""
        return bin_ends(self.rounds, len(self._loss))

    @property
    def reads(self) -> Indices:
        """How often each feature was bought, by feature and bin."""
        # A row for each bin, so that pages of memory in which nothing was read are never touched.
        reads = np.zeros((len(self.ends), self._d), dtype=np.int64)
        for row, (features, counts) in zip(
            reads, [*self._reads, self._now.counted()], strict=False
        ):
            row[features] = counts
        return reads.T

    @property
    def models(self) -> Floats:
        """The learner's weights at the end of each bin, by feature and bin."""
        models = np.zeros((len(self.ends), self._d))
        for row, (features, weights) in zip(models, [*self._models, self._last], strict=False):
            row[features] = weights
        return models.T

    @property
    def loss(self) -> Floats:
        """Cumulative loss at the end of each bin."""
        return self._loss[: len(self.ends)]

    @property
    def spent(self) -> Floats:
        """Money at the end of each bin, from the first round on."""
        return self._spent[: len(self.ends)]

    def add(
        self, features: NDArray[np.integer], losses: Floats, weights: Callable[[], Floats]
    ) -> None:
        """Enter at most `room` rounds: all that they bought, each loss, and the weights after them.

        Weights may be dear to work out: they are asked for at the end of a bin only.
        """
        self._now.add(features)
        # One after the other, as the ledger adds: both then say the same to the last digit.
        self.total = float(np.cumsum(np.concatenate([[self.total], losses]))[-1])
        self.rounds += len(losses)
        if self.room == 0:
            self._sample(weights())
            self._reads.append(self._now.counted())
            self._models.append(self._last)
            self._now, self._last = SparseCounts(self._d), _NO_MODEL
            if len(self._reads) == len(self._loss):
                self._fold()

    def close(self, weights: Floats) -> None:
        """Close the last bin as it is."""
        if self.room < self.width:
            self._sample(weights)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Enter the rounds of a game."""
        if self._prices is not None:
            self._units += sum(self._prices.count_rows(played.bought).tolist())
        features = played.bought[played.bought >= 0]
        self.add(features, played.losses, lambda: learner.weights)

    def finish(self, learner: Learner) -> None:
        """Close the last bin with the learner as it is."""
        self.close(learner.weights)

    def _sample(self, weights: Floats) -> None:
        support, full = np.flatnonzero(weights), len(self._reads)
        self._last = support, weights[support]
        self._loss[full] = self.total
        if self._prices is not None:
            self._spent[full] = self._prices.money(self._units)

    def _fold(self) -> None:
        half = len(self._loss) // 2
        pairs = zip(self._reads[::2], self._reads[1::2], strict=True)
        self._reads = [_together(a, b) for a, b in pairs]
        self._models = self._models[1::2]
        self._loss[:half] = self._loss[1::2]
        self._spent[:half] = self._spent[1::2]
        self.width *= 2


def _together(a: Counted, b: Counted) -> Counted:
    features, place = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    counts = np.zeros(len(features), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([a[1], b[1]]))
    return features, counts


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
        while len(self._points) > MAX_KEPT_POINTS:
            self._points, self._every = self._points[::2], 2 * self._every
        mean = float(played.y.mean())
        apart, self._rounds = mean - self._mean, before + n
        self._about += float(((played.y - mean) ** 2).sum())
        self._about += apart * apart * before * n / self._rounds
        self._mean += apart * n / self._rounds

    def _mean_of(self, kind: int) -> Floats:
        many = np.diff(self.ends, prepend=0)
        many[:1] -= 1  # the first round
        return _means(self._sums.totals[kind], many)


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
        return _means(self._sums.totals[COVERED], self._sums.totals[BOUNDED])

    @property
    def width(self) -> Floats:
        """The mean width of the intervals, by bin; NaN where none was finite."""
        return _means(self._sums.totals[WIDTH], self._sums.totals[BOUNDED])

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Enter some rounds."""
        if played.ends is None:
            return
        low, high = played.ends.T
        bounded = np.isfinite(high - low)
        inside = bounded & (low <= played.y) & (played.y <= high)
        self._sums.add(np.stack([bounded, inside, np.where(bounded, high - low, 0.0)]))


def _means(sums: Floats, many: NDArray[Any]) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = sums / many
    return means


class Recent(NamedTuple):
    """The last rounds of a game: how many, and their squared loss per round."""

    rounds: int
    mean_loss: float


class RecentLoss(Observer):
    """Keeps the losses of a game by stretches, so that those of its end are known whenever it ends.

    Examples
    --------
    >>> import numpy as np
    >>> import keyhole as kh
    >>> stream = kh.streams.ArrayStream(np.zeros((30, 1)), [1.0] * 27 + [3.0, 3.0, 6.0])
    >>> recent = RecentLoss()
    >>> zero = kh.FixedSubset(kh.Problem(d=1, k=1, budget=1), support=[], intercept=False)
    >>> ledger = kh.play(zero, stream, observers=[recent])
    >>> recent.last_tenth
    Recent(rounds=3, mean_loss=18.0)
    """

    def __init__(self) -> None:
        self._losses = FoldingSums(1, LOSS_BINS)

    @property
    def last_tenth(self) -> Recent:
        """The last tenth of the rounds, at least one and never the first round of all."""
        rounds, width = self._losses.rounds, self._losses.width
        last = max(1, round(RECENT_SHARE * rounds / width))  # bins; the last may be shorter
        ends = self._losses.ends
        first = max(len(ends) - last, 1)
        if first >= len(ends):
            return Recent(0, math.nan)
        many = rounds - int(ends[first - 1])
        return Recent(many, float(self._losses.totals[0, first:].sum()) / many)

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Enter the losses of some rounds."""
        self._losses.add(played.losses[None])
