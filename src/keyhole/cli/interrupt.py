"""Ctrl-C during a game: the first ends the game, which is then summed up, the second everything."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from keyhole.game import Observer, PlayedBlock
from keyhole.problem import KeyholeError, Learner


class Interrupt(Observer):
    """Ends a game once it is `pressed`, after the block of the stream that is being played.

    Parameters
    ----------
    keep
        What to do with the learner as soon as the game is over, before anything else. No Ctrl-C
        comes between the two: a second one waits until the learner is kept, and then leaves.

    `failure` is what went wrong with keeping it: the game can be summed up all the same.
    """

    def __init__(self, keep: Callable[[Learner], None] | None = None) -> None:
        self.pressed = False
        self.kept = False
        self.failure: KeyholeError | OSError | None = None
        self._keep = keep
        self._has_played = self._ended_the_game = self._over = self._leave = False

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
        """Keep the learner; if it was pressed too late, all was played: nothing was interrupted."""
        self.pressed = self._ended_the_game
        if self._keep is not None:
            try:
                self._keep(learner)
                self.kept = True
            except (KeyholeError, OSError) as error:
                self.failure = error
        self._over = True
        if self._leave:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def on_ctrl_c(self) -> Iterator[None]:
        """Within: the first Ctrl-C presses it, the second ends everything."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals belong to the main thread
            return
        before = signal.signal(signal.SIGINT, self._press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._over or (self.pressed and self._keep is None):
            raise KeyboardInterrupt
        if self.pressed and not self._leave:
            self._leave = True
            sys.stderr.write("keyhole: the learner is saved first, then this ends\n")
        self.pressed = True
