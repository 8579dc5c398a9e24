"""How far a game is: a callback that is not called too often, and one that prints a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from keyhole.game.ledger import Ledger

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
