"""History before a game: rows that are known in full, which a learner studies if it can."""

from __future__ import annotations

from collections.abc import Callable

from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.problem import BlockStream, Learner, ProblemError


def study_first(
    learner: Learner,
    history: BlockStream | DataSums,
    *,
    half_life: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Let a learner study history, as `learner.study` does; how many rows there were.

    ProblemError if it has no such method, or from that method if it refuses.
    """
    method = getattr(learner, "study", None)
    if method is None:
        raise ProblemError(
            f"{type(learner).__name__} has no `study`, so it cannot take in history: leave the "
            "history out, or use a learner that has one, such as kh.AutoLearner"
        )
    return int(method(history, half_life=half_life, progress=progress))
