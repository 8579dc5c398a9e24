"""Learning from history: complete rows, or their sums, before or between rounds and at no cost."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from keyhole.errors import LARGEST, SMALLEST, rows_and_labels
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.registry import LEARNERS
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    Problem,
    ProblemError,
    positive_number,
    refuse_other_names,
    refuse_unless_stream,
)

if TYPE_CHECKING:
    from keyhole.learners.base import LearnerBase

Progress = Callable[[int], None]
ROWS_PER_CALL = 256  # at a time, so that progress can be told


def study(
    learner: LearnerBase,
    history: BlockStream | DataSums,
    half_life: float | None,
    progress: Progress | None,
) -> int:
    """Let a learner study history; how many rows there were. An error leaves it as it was.

    A copy studies, and what it has become is taken over at the end: neither a bad row nor Ctrl-C
    leaves a learner that has studied half of it.
    """
    if isinstance(history, DataSums):
        return _study_sums(learner, history, half_life, progress)
    keep = kept_per_row(half_life)
    if not learner.STUDIES:
        raise ProblemError(
            f"{type(learner).__name__} cannot study history: what it learns depends on what it "
            f"drew at random. These learners can: {_named('STUDIES')}"
        )
    if keep < 1.0 and not learner.FADES:
        raise ProblemError(
            f"half_life: {type(learner).__name__} cannot let old rows count less; leave it out, "
            f"or use one of {_named('FADES')}"
        )
    refuse_unless_stream(history, blocks=True, name="history")
    refuse_other_names(learner.problem, history, "history")
    student, rows = copy.deepcopy(learner), 0
    for X, y in _blocks(history, learner.problem):
        student._study(X, y, keep)
        student._see_history(X, y)
        student._desk.labels.note(y)
        rows += len(y)
        if progress is not None:
            progress(rows)
    learner.__dict__.update(student.__getstate__())
    return rows


def _study_sums(
    learner: LearnerBase, history: DataSums, half_life: float | None, progress: Progress | None
) -> int:
    """The same from the sums of a history."""
    if not learner.STUDIES_SUMS:
        raise ProblemError(
            f"{type(learner).__name__} cannot study sums: it learns row by row; give it the "
            f"stream, if it can study that. These learners can: {_named('STUDIES_SUMS')}"
        )
    if kept_per_row(half_life) < 1.0:
        raise ProblemError(
            "half_life: sums do not know the order of the rows; give the stream itself"
        )
    refuse_other_names(learner.problem, history, "history")
    limits = learner.problem.limits
    if history.rounds and limits is not None:
        limits.refuse_labels(np.array(history.ends))
        for ends in (history.low, history.high):
            limits.refuse_rows(ends[None, :], learner.problem.label, "in sums of history")
    if history.rounds:
        student = copy.deepcopy(learner)
        student._study_sums(history)
        student._see_sums(history)
        student._desk.labels.note(np.array(history.ends))
        learner.__dict__.update(student.__getstate__())
    if progress is not None:
        progress(history.rounds)
    return history.rounds


def _named(what: str) -> str:
    """The names of all learners of which this is true."""
    return ", ".join(row.name for row in LEARNERS.values() if getattr(row.cls, what, False))


def kept_per_row(half_life: float | None) -> float:
    """What all that is known counts after one more row, if it counts half after `half_life`.

    >>> kept_per_row(None), kept_per_row(1.0)
    (1.0, 0.5)
    """
    if half_life is None or half_life == math.inf:
        return 1.0
    return math.exp(-math.log(2.0) / positive_number("half_life", half_life, ": rows, or None"))


def _blocks(history: BlockStream, problem: Problem) -> Iterator[tuple[Floats, Floats]]:
    """The rows of a history as contiguous float64, what cannot be squared refused or made 0."""
    row = 0
    for X, labels in history.blocks():
        rows, y = rows_and_labels(X, labels, history.d)
        problem.refuse_labels(y)
        values = np.array(rows, dtype=np.float64, order="C")
        if (np.abs(values) > LARGEST).any():
            t, j = (int(where[0]) for where in np.nonzero(np.abs(values) > LARGEST))
            raise DataError(
                f"history, row {row + t + 1}, feature {j}: values are at most {LARGEST:g} in size, "
                f"NaN for absent, got {values[t, j]:g}"
            )
        if problem.limits is not None:
            problem.limits.refuse_rows(values, problem.label, "in history", row)
        values[np.abs(values) < SMALLEST] = 0.0
        y = np.where(np.abs(y) < SMALLEST, 0.0, y)
        for first in range(0, len(y), ROWS_PER_CALL):
            yield values[first : first + ROWS_PER_CALL], y[first : first + ROWS_PER_CALL]
        row += len(y)


def widen(limits: Floats, ends: tuple[float, float], *, known: bool) -> None:
    """Widen the least and the largest label so far; they are none before any label is known."""
    limits[:] = (min(limits[0], ends[0]), max(limits[1], ends[1])) if known else ends
