"""Who may watch a game: observers see whole rows, as nature does, and tell the learner nothing."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Floats, Learner
from keyhole.problem.rows import LazyRows

ArrayOrLazyRows = NDArray[np.floating] | LazyRows


class PlayedBlock(NamedTuple):
    """Consecutive rounds as nature saw them: whole rows, labels, predictions, what was bought.

    `bought` has a row per round: feature indices, ascending, then -1. `ends`, if intervals were
    asked for, has their low and high ends. Of a sparse stream `rows` are as they came, and X writes
    them out, each time it is asked for.
    """

    first_round: int
    rows: ArrayOrLazyRows
    y: Floats
    y_hat: Floats
    bought: NDArray[np.int32]
    ends: Floats | None = None

    @property
    def losses(self) -> Floats:
        """The squared error of each round."""
        losses: Floats = (self.y - self.y_hat) ** 2
        return losses

    @property
    def X(self) -> NDArray[np.floating]:
        """The rows as an array of rounds x d."""
        return np.asarray(self.rows)

    def part(self, start: int, stop: int) -> PlayedBlock:
        """Some of the rounds, counted from 0 within the block; views, not copies."""
        return PlayedBlock(
            self.first_round + start,
            self.rows[start:stop],
            self.y[start:stop],
            self.y_hat[start:stop],
            self.bought[start:stop],
            None if self.ends is None else self.ends[start:stop],
        )


class Observer(Protocol):
    """Watches a game: `play` tells it of every round, in order and once.

    A class that inherits from this one needs `after_block` only. What an observer is told it may
    look at but not change, and keep only as a copy.

    Rounds come as blocks of the stream, cut where the observer has no more `room`; other observers,
    and whether the learner plays blocks or single rounds, make no difference. A stream without
    blocks is told round by round.

    Examples
    --------
    >>> import keyhole as kh
    >>> class LargestLabel(Observer):
    ...     y = -np.inf
    ...
    ...     def after_block(self, played: PlayedBlock, learner: Learner) -> None:
    ...         self.y = max(self.y, played.y.max())
    >>> stream = kh.streams.ArrayStream([[1.0], [2.0], [3.0]], [0.5, 2.5, 1.5])
    >>> learner, largest = kh.RunningMean(kh.Problem(d=1, k=1, budget=1)), LargestLabel()
    >>> ledger = kh.play(learner, stream, observers=[largest])
    >>> float(largest.y)
    2.5
    """

    @property
    def room(self) -> int | None:
        """After how many more rounds, at the latest, it wants to be told of them; None: any."""
        return None

    def enough(self) -> bool:
        """Asked when the next block of the stream is there: whether to end the game before it."""
        return False

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Take note of the rounds since the last call; the learner is as it was after them."""

    def finish(self, learner: Learner) -> None:
        """Take note that the game is over."""
        return
