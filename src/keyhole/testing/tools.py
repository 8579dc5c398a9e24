"""What the checks need besides the game: learners to check, streams without blocks, sizes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from keyhole.problem import Floats, Learner, Problem, ProblemError, Stream

LearnerMaker = Callable[[Problem], Learner]


def make_learner(factory: LearnerMaker, shape: tuple[int, int, int] = (12, 3, 6)) -> Learner:
    """A learner for (d, k, budget), or for budget = d if it refuses that."""
    d, k, budget = shape
    try:
        return factory(Problem(d, k, budget))
    except ProblemError:
        return factory(Problem(d, k, d))


def size_of(thing: object, seen: set[int] | None = None) -> int:
    """Bytes held by an object and everything it refers to, classes and functions aside."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type | FunctionType | ModuleType):
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    total = sys.getsizeof(thing)
    parts: list[Any] = list(getattr(thing, "__dict__", {}).values())
    for cls in type(thing).__mro__:
        slots = getattr(cls, "__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            parts.append(getattr(thing, slot, None))
    if isinstance(thing, dict):
        parts += [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        parts += list(thing)
    return total + sum(size_of(part, seen) for part in parts)


class RowsOnly:
    """A stream without `blocks`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.d = stream.d
        self.names = stream.names
        self.rounds = stream.rounds

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return iter(self._stream)
