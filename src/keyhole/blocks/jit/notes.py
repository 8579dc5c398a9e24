"""What compiling says on standard error: how far it is, and about how long it will take.

On a terminal, one line that renews itself and goes away; elsewhere one line in all. Nothing is said
of what takes less than a second.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE = 1.0  # seconds of compiling before anything is said
OFTEN = 0.5  # seconds between two looks at a terminal


class Task:
    """What there is to compile when a kernel is called: it, and all that it calls.

    Functions take time in proportion to their length, more or less. `sizes`: the length of each
    that is not compiled yet, by name.
    """

    def __init__(self, sizes: dict[str, int]) -> None:
        self._left = dict(sizes)
        self._all = len(sizes)
        self._whole = sum(sizes.values())
        self._began = time.perf_counter()

    def finish(self, name: str) -> None:
        """A function is compiled."""
        self._left.pop(name, None)

    @property
    def line(self) -> str:
        """How far it is."""
        left, seconds = sum(self._left.values()), time.perf_counter() - self._began
        share = 1.0 - left / max(self._whole, 1)
        words = f"{self._all - len(self._left)} of {self._all}"
        if share < 0.1 or seconds < PATIENCE:  # too early to tell
            return words
        return f"{words}, about {max(seconds * (1.0 - share) / share, 1.0):.0f} s to go"


class _Notes:
    """Who is told what: at most one task at a time, since numba compiles one thing at a time."""

    def __init__(self) -> None:
        self._task: Task | None = None
        self._said = False  # where it is no terminal
        self._shown_elsewhere = 0

    @property
    def line(self) -> str:
        """What is going on, empty if nothing is."""
        task = self._task
        return f"compiling its kernels for first use: {task.line}" if task is not None else ""

    @contextlib.contextmanager
    def working(self, task: Task) -> Iterator[None]:
        """Within, the task is being done."""
        over = threading.Event()
        self._task = task
        threading.Thread(target=self._watch, args=(over,), daemon=True).start()
        try:
            yield
        finally:
            self._task = None
            over.set()

    @contextlib.contextmanager
    def shown_elsewhere(self) -> Iterator[None]:
        """Within, somebody else looks at `line` and shows it."""
        self._shown_elsewhere += 1
        try:
            yield
        finally:
            self._shown_elsewhere -= 1

    def finish(self, name: str) -> None:
        """A function is compiled."""
        if (task := self._task) is not None:
            task.finish(name)

    def _watch(self, over: threading.Event) -> None:
        if over.wait(PATIENCE) or self._shown_elsewhere:
            return
        if not _on_screen():
            if not self._said:
                self._said = True
                say("compiling its kernels for first use, a minute or two ...")
            return
        while not over.wait(OFTEN):
            _renew(self.line)
        _renew("")


NOTES = _Notes()


def _on_screen() -> bool:
    """Whether it is a terminal; one that others draw on, as rich does, counts as a file."""
    ours = sys.stderr is not None and sys.stderr is sys.__stderr__
    return ours and sys.stderr.isatty()


def _renew(line: str) -> None:
    sys.stderr.write(f"\r\x1b[2K{'keyhole: ' if line else ''}{line}")
    sys.stderr.flush()


def say(line: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"keyhole: {line}\n")
