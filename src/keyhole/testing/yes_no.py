"""Conformance of yes-or-no learners, which take no other labels than 0 and 1."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from keyhole.errors import LARGEST
from keyhole.problem import Floats, Learner, Problem
from keyhole.testing.helpers import LearnerMaker

YES_RANGE = (0.2, 5.0)  # a label of the suite between these two is a yes


def on_yes_no(factory: LearnerMaker) -> LearnerMaker:
    """A factory whose learners are told 1 for some labels of the suite, and 0 for the others.

    The labels of the checks are numbers. A label that no learner takes, such as NaN, stays.

        kh.testing.check_learner(kh.testing.on_yes_no(lambda problem: MyLearner(problem)))

    Only `tell`, `advance` and `study` of the learner are changed, and only in what they are handed.
    """

    def make(problem: Problem) -> Learner:
        learner = factory(problem)
        learner.__class__ = _with_answers(type(learner))
        return learner

    return make


def answers(labels: Any) -> Floats:
    """1 for labels that mean yes, 0 for those that mean no; what cannot be a label stays.

    >>> answers([0.0, 1.5, 7.0, float("nan")])
    array([ 0.,  1.,  0., nan])
    """
    y = np.asarray(labels, dtype=np.float64)
    told = ((y > YES_RANGE[0]) & (y < YES_RANGE[1])).astype(np.float64)
    kept: Floats = np.where(np.abs(y) <= LARGEST, told, y)
    return kept


@functools.cache
def _with_answers(kind: type[Any]) -> type[Any]:
    """The class, of the same name, that turns labels into answers before it takes them."""

    def tell(self: Any, seen: Any, y: float) -> None:
        kind.tell(self, seen, float(answers(y)))

    def advance(self: Any, X: Any, y: Floats, bought: Any = None) -> Floats:
        found: Floats = kind.advance(self, X, answers(y), bought)
        return found

    def study(self: Any, history: Any, **how: Any) -> int:
        blocks = hasattr(history, "blocks")
        return int(kind.study(self, _Answered(history) if blocks else history, **how))

    changed = {"tell": tell, "advance": advance, "study": study}
    return type(kind.__name__, (kind,), {k: v for k, v in changed.items() if hasattr(kind, k)})


class _Answered:
    """A stream whose labels are answers."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.d, self.names, self.rounds = stream.d, stream.names, stream.rounds

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return ((x, float(answers(y))) for x, y in self._stream)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[Any, Any]]:
        return ((X, answers(y)) for X, y in self._stream.blocks(rows))
