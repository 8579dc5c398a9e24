"""Runs tasks side by side and says how far it has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from keyhole.saving.parallel import as_completed

EVERY = 1.0  # seconds between two lines of progress, at least


def in_parallel(
    tasks: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], workers: int
) -> Iterator[tuple[int, Any]]:
    """What functions make of their arguments, with the index of the task, as it comes.

    What a function raises comes as {"error": ...}, so that the others go on.
    """
    for outcome in as_completed(tasks, workers):
        found = outcome.value
        if outcome.error is not None:
            found = {"error": f"{type(outcome.error).__name__}: {outcome.error}"}
        yield outcome.index, found


class Progress:
    """Lines on standard error: tasks done, time gone, time to go."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self.began = self.told = time.monotonic()
        if total:
            self._tell(f"{total:,} to do")

    def count(self) -> None:
        """One more is done."""
        self.done += 1
        now = time.monotonic()
        if self.done < self.total and now - self.told < EVERY:
            return
        self.told, gone = now, now - self.began
        left = gone / self.done * (self.total - self.done)
        self._tell(f"{self.done:,} of {self.total:,}, {gone:.0f} s, about {left:.0f} s to go")

    def _tell(self, said: str) -> None:
        print(f"{self.what}: {said}", file=sys.stderr, flush=True)
