"""Long searches of the compiled core, a slice at a time: so that Ctrl-C and deadlines are heard."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from keyhole.problem import Floats

EFFORT = 30_000_000  # additions in a slice: some hundredths of a second
_HEAD = 512  # numbers: for what a search remembers beside its arrays, and for gaps between these


class OutOfTime(Exception):
    """A search was left before it was done."""


def kept(numbers: int) -> Floats:
    """What a search leaves between slices: so many numbers."""
    return np.zeros(_HEAD + numbers)


def to_the_end(
    search: Callable[..., tuple[Any, ...]], *given: Any, until: float = math.inf
) -> tuple[Any, ...]:
    """What a search returns once it is done; OutOfTime if that is not before `until`."""
    while True:
        done, *found = search(*given, EFFORT)
        if done:
            return tuple(found)
        if time.monotonic() > until:
            raise OutOfTime
