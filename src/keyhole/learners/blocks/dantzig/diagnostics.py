"""How the linear programs of a learner went."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from keyhole.learners.blocks.dantzig.certificate import DantzigSolution
from keyhole.problem.fields import Holds


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How the linear programs went. `threshold`, `nonzeros`, `gap` are those of the last one.

    `nonzeros` counts before the truncation to k; a program that is not solved to optimality keeps
    the weights of the one before and is counted in `infeasible` (or `unsolved`).
    """

    solves: int = 0
    infeasible: int = 0
    unsolved: int = 0
    round: int = 0
    threshold: Annotated[float, Holds(nan=True, infinite=True)] = math.nan
    nonzeros: int = 0
    gap: Annotated[float, Holds(nan=True, infinite=True)] = math.nan

    def after(self, solution: DantzigSolution, round: int, threshold: float) -> Diagnostics:
        """The same with one more program."""
        return Diagnostics(
            solves=self.solves + 1,
            infeasible=self.infeasible + (solution.status == "infeasible"),
            unsolved=self.unsolved + (solution.status == "limit"),
            round=round,
            threshold=threshold,
            nonzeros=solution.nonzeros,
            gap=solution.gap,
        )
