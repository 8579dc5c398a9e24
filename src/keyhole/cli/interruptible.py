"""A stream that somebody watches: it can be ended early, and knows what the mean label costs."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from keyhole.learners.baselines import RunningMean
from keyhole.problem import BlockStream, Floats, Problem
from keyhole.streams.arrays import Block, rows_of


class Watched:
    """A stream as it is, until `stop()`: then it ends after the block that is being played.

    Every later pass ends there too, so whatever is computed afterwards is about the rounds that
    were played. `mean_loss` is what the running mean lost so far in the first pass, per round.
    """

    def __init__(self, stream: BlockStream) -> None:
        self.d = stream.d
        self.names = stream.names
        self.played = 0
        self._stream = stream
        self._mean = RunningMean(Problem(stream.d, 1, 1))
        self._loss = 0.0
        self._stopping = False
        self._end: int | None = None  # in rows, once the first pass is over

    @property
    def rounds(self) -> int | None:
        """How many rows there are, as far as is known."""
        return self._stream.rounds if self._end is None else self._end

    @property
    def mean_loss(self) -> float:
        """Loss of the running mean, per round."""
        return self._loss / max(1, self.played)

    def stop(self) -> None:
        """End the first pass at its next block."""
        self._stopping = True

    @property
    def stopped(self) -> bool:
        """Whether the stream ended early."""
        return self._stopping and self._end is not None

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return rows_of(self.blocks())

    def blocks(self, rows: int | None = None) -> Iterator[Block]:
        """The rows up to where the first pass ended."""
        if self._end is None:
            yield from self._first(rows)
            return
        left = self._end
        for X, y in self._stream.blocks(rows):
            if left <= 0:
                return
            yield X[:left], y[:left]
            left -= len(y)

    def _first(self, rows: int | None) -> Iterator[Block]:
        for X, y in self._stream.blocks(rows):
            if self._stopping:
                break
            self._loss += float(((y - self._mean.advance(X, y)) ** 2).sum())
            self.played += len(y)
            yield X, y
        else:
            self._stopping = False  # too late: all of it was played
        if self.played == 0 and self._stopping:
            raise KeyboardInterrupt
        self._end = self.played


@contextlib.contextmanager
def ends_on_interrupt(stream: Watched) -> Iterator[None]:
    """Within: the first Ctrl-C ends the stream, the second everything."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return

    def first(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stream.stop()

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
