"""Observers of a game, who see whole rows and tell the learner nothing; the progress line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

from keyhole.game.ledger import Ledger
from keyhole.problem import Floats, Learner
from keyhole.problem.rows import ArrayOrLazyRows


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


Progress = Callable[[Ledger], None]


def ten_times_a_second(progress: Progress | None, ledger: Ledger) -> Callable[[], None]:
    """A function to call as often as you like, which calls `progress` at most so often."""
    if progress is None:
        return lambda: None
    last = time.perf_counter()

    def report() -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= 0.1:
            last = now
            progress(ledger)

    return report


class ProgressLine:
    """Prints rounds, rate and mean loss on one line that renews itself, from the third second on.

    Parameters
    ----------
    total
        How many rounds are to be played, None if not known; shows the share done.
    file
        Where to print; standard error by default. Nothing is printed unless it is a terminal.
    """

    def __init__(self, total: int | None = None, file: TextIO | None = None) -> None:
        self._total = total
        self._file = sys.stderr if file is None else file
        self._start = time.perf_counter()

    def __call__(self, ledger: Ledger) -> None:
        seconds = time.perf_counter() - self._start
        if seconds < 2 or not self._file.isatty():
            return
        done = f" of {self._total:,}" if self._total else ""
        rate = ledger.rounds / seconds
        line = f"{ledger.rounds:,}{done} rounds, {rate:,.0f}/s, mean loss {ledger.mean_loss:.4g}"
        end = "\n" if ledger.rounds == self._total else ""
        self._file.write(f"\r\x1b[2K{line}{end}")
        self._file.flush()
