"""Ctrl-C during a game: the first ends the game, which is then summed up, the second everything."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from keyhole.game import Observer, PlayedBlock
from keyhole.problem import Learner


class Interrupt(Observer):
    """Ends a game once it is `pressed`, after the block of the stream that is being played."""

    def __init__(self) -> None:
        self.pressed = False
        self._has_played = False
        self._ended_the_game = False

    def enough(self) -> bool:
        """Whether it was pressed. Before the first round there is nothing to sum up: leave."""
        if self.pressed and not self._has_played:
            raise KeyboardInterrupt
        self._ended_the_game = self.pressed
        return self.pressed

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """There is something to sum up."""
        self._has_played = True

    def finish(self, learner: Learner) -> None:
        """If it was pressed too late, all of the game was played: nothing was interrupted."""
        self.pressed = self._ended_the_game

    @contextlib.contextmanager
    def on_ctrl_c(self) -> Iterator[None]:
        """Within: the first Ctrl-C presses it, the second ends everything."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals belong to the main thread
            return

        def first(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.pressed = True

        before = signal.signal(signal.SIGINT, first)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
