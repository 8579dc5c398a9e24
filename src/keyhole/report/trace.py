"""A game as a picture needs it: purchases, models and losses in a few dozen equal bins of time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from keyhole.game import Progress, play
from keyhole.ledger import Ledger
from keyhole.problem import (
    BlockLearner,
    BlockStream,
    Floats,
    Indices,
    Learner,
    Observation,
    Problem,
    Ticket,
    plays_blocks,
)


class Trace:
    """Bins of equal width that grow with the game, so that its length need not be known.

    A bin has one round at first. Whenever all bins are full, neighbours are put together and the
    width doubles: in the end between half of the bins and all of them are in use, and only the last
    may be shorter than the others.

    Sums: `purchases` by feature and bin, `total` loss. Samples at the ends of bins: `loss`,
    `models`.

    Parameters
    ----------
    d
        Features.
    bins
        Most bins; rounded up to an even number.

    Examples
    --------
    >>> trace = Trace(d=2, bins=4)
    >>> for t in range(5):
    ...     trace.add(np.array([t % 2]), np.array([1.0]), lambda: np.array([float(t), 0.0]))
    >>> trace.finish(np.array([9.0, 0.0]))
    >>> trace.ends, trace.loss
    (array([2, 4, 5]), array([2., 4., 5.]))
    >>> trace.purchases
    array([[1, 1, 1],
           [1, 1, 0]])
    >>> trace.models[0]
    array([1., 3., 9.])
    """

    def __init__(self, d: int, bins: int) -> None:
        bins += bins % 2
        self.width = 1
        self.rounds = 0
        self.total = 0.0
        self._full = 0  # bins that are
        self._purchases: Indices = np.zeros((d, bins), dtype=np.int64)
        self._models: Floats = np.zeros((d, bins))
        self._loss: Floats = np.zeros(bins)

    @property
    def room(self) -> int:
        """How many rounds the current bin still takes."""
        return self.width * (self._full + 1) - self.rounds

    @property
    def ends(self) -> Indices:
        """The last round of each bin."""
        bins = -(-self.rounds // self.width)
        return np.minimum(self.width * np.arange(1, bins + 1, dtype=np.int64), self.rounds)

    @property
    def purchases(self) -> Indices:
        """How often each feature was bought, by feature and bin."""
        return self._purchases[:, : len(self.ends)]

    @property
    def models(self) -> Floats:
        """The learner's weights at the end of each bin, by feature and bin."""
        return self._models[:, : len(self.ends)]

    @property
    def loss(self) -> Floats:
        """Cumulative loss at the end of each bin."""
        return self._loss[: len(self.ends)]

    def add(
        self, features: NDArray[np.integer], losses: Floats, weights: Callable[[], Floats]
    ) -> None:
        """Enter at most `room` rounds: all that they bought, each loss, and the weights after them.

        Weights may be dear to work out: they are asked for at the end of a bin only.
        """
        self._purchases[:, self._full] += np.bincount(features, minlength=len(self._purchases))
        # One after the other, as the ledger adds: both then say the same to the last digit.
        self.total = float(np.cumsum(np.concatenate([[self.total], losses]))[-1])
        self.rounds += len(losses)
        if self.room == 0:
            self._sample(weights())
            self._full += 1
            if self._full == len(self._loss):
                self._fold()

    def finish(self, weights: Floats) -> None:
        """Close the last bin as it is."""
        if self.room < self.width:
            self._sample(weights)

    def _sample(self, weights: Floats) -> None:
        self._models[:, self._full] = weights
        self._loss[self._full] = self.total

    def _fold(self) -> None:
        half = len(self._loss) // 2
        self._purchases[:, :half] = self._purchases[:, ::2] + self._purchases[:, 1::2]
        self._models[:, :half] = self._models[:, 1::2]
        self._loss[:half] = self._loss[1::2]
        self._purchases[:, half:] = 0
        self.width *= 2
        self._full = half


def traced(
    learner: Learner, stream: BlockStream, bins: int, progress: Progress | None = None
) -> tuple[Ledger, Trace]:
    """Play the whole stream and keep a trace beside the ledger, which is the one of `play`."""
    trace = Trace(learner.problem.d, bins)
    watched = _WatchedBlocks(learner, trace) if plays_blocks(learner) else _Watched(learner, trace)
    ledger = play(watched, stream, progress=progress, keep_predictions=False)
    trace.finish(learner.weights)
    return ledger, trace


class _Watched:
    """A learner with somebody looking over its shoulder: what it does is noted, not changed."""

    def __init__(self, learner: Learner, trace: Trace) -> None:
        self._learner = learner
        self._trace = trace
        self._y_hat = 0.0

    @property
    def problem(self) -> Problem:
        return self._learner.problem

    @property
    def round(self) -> int:
        return self._learner.round

    @property
    def weights(self) -> Floats:
        return self._learner.weights

    @property
    def intercept(self) -> float:
        return self._learner.intercept

    def ask(self) -> Ticket:
        return self._learner.ask()

    def predict(self, seen: Observation) -> float:
        self._y_hat = self._learner.predict(seen)
        return self._y_hat

    def tell(self, seen: Observation, y: float) -> None:
        self._learner.tell(seen, y)
        loss = np.array([(y - self._y_hat) ** 2])
        self._trace.add(seen.ticket.features, loss, lambda: self._learner.weights)

    def drop(self, ticket: Ticket) -> None:
        self._learner.drop(ticket)


class _WatchedBlocks(_Watched):
    """The same for a learner that plays blocks, which end where a bin does."""

    def __init__(self, learner: BlockLearner, trace: Trace) -> None:
        super().__init__(learner, trace)
        self._blocks = learner

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        if bought is None:
            bought = np.full((len(y), self.problem.budget), -1, dtype=np.int32)
        y_hat, start = np.empty(len(y)), 0
        while start < len(y):
            part = slice(start, min(len(y), start + self._trace.room))
            y_hat[part] = self._blocks.advance(X[part], y[part], bought[part])
            losses = (y[part] - y_hat[part]) ** 2
            known = (bought[part] >= 0) & (bought[part] < self.problem.d)  # the referee says more
            self._trace.add(bought[part][known], losses, lambda: self._learner.weights)
            start = part.stop
        return y_hat
