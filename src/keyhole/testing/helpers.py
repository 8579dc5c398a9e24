"""Helpers of conformance checks: assertions, making a learner, its size, streams without blocks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

import numpy as np

from keyhole.learners.base import LearnerBase
from keyhole.problem import (
    BlockLearner,
    Floats,
    KeyholeError,
    Learner,
    Problem,
    ProblemError,
    Stream,
    plays_blocks,
)

LearnerMaker = Callable[[Problem], Learner]
DEFAULT_SHAPE = (12, 3, 6)  # d, k, budget


def require(kept: bool, promise: str) -> None:
    """Raise AssertionError with the promise unless it was kept."""
    if not kept:  # not an assert statement: those vanish under python -O
        raise AssertionError(promise)


def refused(
    error: type[KeyholeError], what: str, call: Callable[..., Any], *arguments: Any
) -> None:
    """Raise AssertionError unless a call raises the right error."""
    with contextlib.suppress(error):
        call(*arguments)
        raise AssertionError(f"{what} must raise {error.__name__}")


def make(
    factory: LearnerMaker,
    shape: tuple[int, int, int] = DEFAULT_SHAPE,
    names: tuple[str, ...] | None = None,
) -> Learner:
    """A learner for a problem of that shape; with budget = d if it refuses the other."""
    d, k, budget = shape
    try:
        return factory(Problem(d, k, budget, names=names))
    except ProblemError:
        return factory(Problem(d, k, d, names=names))


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
