"""What AERR and AELR have in common: everything but the ball, the step and their theorems."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from keyhole.blocks.attribute_efficient import Plan, new_iterate
from keyhole.blocks.sampling import workspace
from keyhole.blocks.truncation import top_k
from keyhole.learners.memo import writable, written
from keyhole.learners.rounds import BlockRounds, Given, Written
from keyhole.problem import (
    Floats,
    Observation,
    Problem,
    Ticket,
    positive_number,
)


@functools.cache
def _kernels() -> ModuleType:
    from keyhole.blocks.kernels import attribute_efficient

    return attribute_efficient


class AttributeEfficient(BlockRounds):
    """A dense iterate learns from estimated gradients, the top k of its average predict.

    Sums and derived: see `keyhole.blocks.attribute_efficient.Iterate`.
    """

    SAVED: tuple[str, ...] = ("_desk", "_iterate")
    LASSO: ClassVar[bool]

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        radius: float = 1.0,
        data_dependent: bool = False,
        rate: float | None = None,
    ) -> None:
        super().__init__(problem, seed=seed)
        self.radius = positive_number("radius", radius)
        self.data_dependent = bool(data_dependent)
        self.rate = None if rate is None else positive_number("rate", rate)
        self._iterate = new_iterate(problem.d)

    @property
    def weights(self) -> Floats:
        """The played model: the average iterate, cut down to its k largest coordinates."""
        weights, average = np.zeros(self.problem.d), self._iterate.average
        support = top_k(average, self.problem.k)
        weights[support] = average[support]
        return weights

    @property
    def iterate(self) -> Floats:
        """A copy of the dense w that the next gradient is taken at."""
        return self._iterate.w.copy()

    def ask(self) -> Ticket:
        """A ticket for the played features, the draws, and others up to the budget."""
        p = self.problem
        kinds = (self.LASSO, self.data_dependent)
        given = (np.uint64(self.seed), self.round + 1, p.k, p.budget, *kinds)
        features, *counts, offsets = _kernels().plan(*given, self._iterate, workspace(p.d))
        # The estimate is of the gradient at the w of now, so it is on the ticket.
        return self._desk.issue(features, {"counts": np.array(counts), "offsets": offsets})

    def predict(self, seen: Observation) -> float:
        """The model of the ticket on what was read."""
        return float(_kernels().predict(np.array(seen.values), _plan(seen.ticket)))

    def tell(self, seen: Observation, y: float) -> None:
        """Step along the estimated gradient."""
        ticket, label = self._desk.settle(seen, y)
        kinds = (self.LASSO, self.radius, self.rate or 0.0)
        _kernels().learn(np.array(seen.values), label, _plan(ticket), *kinds, self._iterate)

    def _play(self, given: Given, written: Written) -> int:
        sizes = (self.problem.k, self.problem.budget)
        kinds = (self.LASSO, self.data_dependent, self.radius, self.rate or 0.0)
        return int(_kernels().play_block(*given, *sizes, *kinds, self._iterate, *written))

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {
            "radius": self.radius,
            "data_dependent": self.data_dependent,
            "rate": self.rate,
        }


def _plan(ticket: Ticket) -> Plan:
    like = {"counts": np.empty((4, len(ticket.features))), "offsets": np.empty(2)}
    memo = writable(written(ticket, like))
    reach, product, played, means = memo["counts"]
    return Plan(np.array(ticket.features), reach, product, played, means, memo["offsets"])
