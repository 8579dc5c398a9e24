"""What compiling says on standard error, so that nobody wonders what takes so long."""

from __future__ import annotations

import sys
import threading

from numba.core import event

PATIENCE = 1.0  # seconds of compiling before anything is said


class _Note(event.Listener):
    """Says once that kernels are being compiled, if that takes a while."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._depth = 0
        self._said = False

    def on_start(self, event: object) -> None:
        self._depth += 1  # compiling a kernel compiles those it calls
        if self._depth == 1 and not self._said:
            self._timer = threading.Timer(PATIENCE, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()

    def _say(self) -> None:
        self._said = True
        say("compiling its kernels for first use ...")


def listen() -> None:
    """From now on, say so when compiling takes long."""
    event.register("numba:compile", _Note())  # type: ignore[no-untyped-call]


def say(line: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"keyhole: {line}\n")
