"""A game as a picture needs it: reads, models and losses in a few dozen equal bins of time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from keyhole.game import Observer, PlayedBlock
from keyhole.game.read_counts import Counted, FewCounts
from keyhole.problem import Floats, Indices, Learner
from keyhole.problem.prices import Prices

_NO_MODEL: tuple[Indices, Floats] = np.empty(0, dtype=np.int64), np.empty(0)


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
        self._now, self._last = FewCounts(d), _NO_MODEL
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
            self._now, self._last = FewCounts(self._d), _NO_MODEL
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
