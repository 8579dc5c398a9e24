"""What the checks need besides the game: streams without blocks, the size of an object."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

import numpy as np

from keyhole.learners.base import LearnerBase
from keyhole.problem import BlockLearner, Floats, Learner, Stream, plays_blocks


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


def plays_its_own_blocks(learner: Learner) -> TypeGuard[BlockLearner]:
    """Whether it has `advance`, other than the base loop over rounds, which cannot differ."""
    if not plays_blocks(learner):
        return False
    cls = type(learner)
    loops = isinstance(learner, LearnerBase) and cls._play is LearnerBase._play  # type: ignore[attr-defined]
    return not (loops and cls.advance is LearnerBase.advance)


class RowsOnly:
    """A stream without `blocks`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.d = stream.d
        self.names = stream.names
        self.rounds = stream.rounds

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return iter(self._stream)
