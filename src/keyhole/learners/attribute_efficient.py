"""What AERR and AELR have in common: everything but the ball, the step and their theorems."""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import workspace
from keyhole.blocks.fit.truncation import top_k
from keyhole.blocks.literature import attribute_efficient_kernels as kernels
from keyhole.blocks.literature.attribute_efficient import Plan, Rule, new_iterate
from keyhole.errors import true_or_false
from keyhole.fields import Holds
from keyhole.learners.base import LearnerBase
from keyhole.problem import Floats, Observation, Problem, Ticket, positive_number


class Memo(NamedTuple):
    """What a ticket remembers: `reach`, `product`, `played` and `means` of its plan; `offsets`."""

    counts: Annotated[Floats, Holds(shape=(4, "features"))]
    offsets: Annotated[Floats, Holds(shape=(2,))]


class AttributeEfficient(LearnerBase):
    """A dense iterate learns from estimated gradients, the top k of its average predict.

    Sums and derived: see `keyhole.blocks.literature.attribute_efficient.Iterate`.
    """

    SAVED = ("_desk", "_iterate")
    MEMOS = (Memo,)
    SETTINGS = ("radius", "data_dependent", "rate", "clip")
    LASSO: ClassVar[bool]

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        radius: float = 1.0,
        data_dependent: bool = False,
        rate: float | None = None,
        clip: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        self.radius = positive_number("radius", radius)
        self.data_dependent = true_or_false("data_dependent", data_dependent)
        self.rate = None if rate is None else positive_number("rate", rate)
        sizes, kind = (problem.k, problem.reads), (self.LASSO, self.data_dependent)
        self._rule = Rule(*sizes, *kind, self.radius, self.rate or 0.0)
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
        key, space = (np.uint64(self.seed), self.round + 1), workspace(self.problem.d)
        features, *counts, offsets = kernels.plan(*key, self._rule, self._iterate, space)
        # The estimate is of the gradient at the w of now, so it is on the ticket.
        return self._desk.issue(features, Memo(np.array(counts), offsets)._asdict())

    def _predict(self, seen: Observation) -> float:
        """The model of the ticket on what was read."""
        return float(kernels.predict(np.array(seen.values), _plan(seen.ticket)))

    def tell(self, seen: Observation, y: float) -> None:
        """Step along the estimated gradient."""
        ticket, label = self._desk.settle(seen, y)
        kernels.learn(np.array(seen.values), label, _plan(ticket), self._rule, self._iterate)

    def _play(self, block: Block) -> int:
        return kernels.play(block, self._rule, self._iterate)


def _plan(ticket: Ticket) -> Plan:
    # Copies: kernels would be compiled anew for arrays that are read-only.
    reach, product, played, means = np.array(ticket.memo["counts"])
    offsets = np.array(ticket.memo["offsets"])
    return Plan(np.array(ticket.features), reach, product, played, means, offsets)
