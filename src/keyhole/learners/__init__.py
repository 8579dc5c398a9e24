"""The learners, one algorithm per file; LEARNERS knows them by name."""

from __future__ import annotations

from typing import Protocol

from keyhole.learners.baselines import FixedSubset, FullInformation, RandomSubset, RunningMean, Zero
from keyhole.problem import Learner, Problem


class LearnerFactory(Protocol):
    """How every learner in LEARNERS can be made: from a problem and a seed alone."""

    def __call__(self, problem: Problem, *, seed: int = 0) -> Learner: ...


LEARNERS: dict[str, LearnerFactory] = {
    "zero": Zero,
    "mean": RunningMean,
    "fixed": FixedSubset,
    "random": RandomSubset,
    "full": FullInformation,
}
