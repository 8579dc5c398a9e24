"""A clock that stands still while kernels are compiled, so that games are not charged for it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator


class _Compiling(threading.local):
    """Of this thread: the seconds that went into compiling, and how deep in it we are."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.depth = 0
        self.since = 0.0


_compiling = _Compiling()


def stop() -> None:
    """From now on the clock of this thread stands still, until `go` is called as often."""
    if _compiling.depth == 0:
        _compiling.since = time.perf_counter()
    _compiling.depth += 1


def go() -> None:
    """It goes on."""
    _compiling.depth -= 1
    if _compiling.depth == 0:
        _compiling.seconds += time.perf_counter() - _compiling.since


@contextlib.contextmanager
def stopped() -> Iterator[None]:
    """Within, it stands still."""
    stop()
    try:
        yield
    finally:
        go()


def clock() -> float:
    """Seconds since some moment, without those that went into compiling: for differences."""
    return time.perf_counter() - _compiling.seconds
