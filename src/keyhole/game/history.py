"""History before a game: rows that are known in full, which a learner studies if it can."""

from __future__ import annotations

from collections.abc import Callable

from keyhole.problem import BlockStream, Learner, ProblemError

# Those of `keyhole.LEARNERS` that can, by name: learners are not to be imported here.
STUDENTS = (
    *("auto", "mean", "last-value", "fixed", "random", "full", "dantzig-data"),
    *("explore-commit", "epsilon-greedy", "online-lasso", "online-omp"),
)


def study_first(
    learner: Learner,
    history: BlockStream,
    *,
    half_life: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Let a learner study history, as `learner.study` does; how many rows there were.

    ProblemError, which names learners that can, if it has no such method or refuses.
    """
    method = getattr(learner, "study", None)
    if method is None:
        raise ProblemError(
            f"{type(learner).__name__} has no `study`, so it cannot take in history. By name, "
            f"these can: {', '.join(STUDENTS)}"
        )
    return int(method(history, half_life=half_life, progress=progress))
