"""What learners have in common that predict from the sums of what they saw."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import complement_subset
from keyhole.blocks.fit import seen_fit as fits
from keyhole.blocks.literature import commit as commits
from keyhole.blocks.sums.seen_sums import SeenSums
from keyhole.learners.base import BlockRounds
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    StateError,
    Ticket,
    real_number,
)
from keyhole.saving.snapshot import State, restore


class SeenRounds(BlockRounds):
    """Sums of all that was read, from which the model in play is worked out anew every round.

    So a late label is one more row, an absent value one entry less, and the support may change at
    any time without anything being forgotten.

    Sums: `_sums`. Not a sum: the least and largest label so far, `_limits`. Derived: the rest.
    """

    SAVED: tuple[str, ...] = ("_desk", "_sums", "_limits")

    def __init__(self, problem: Problem, *, seed: int = 0, ridge: float = 1.0) -> None:
        super().__init__(problem, seed=seed)
        self.ridge = real_number("ridge", ridge, 0.0)
        if self.ridge == 0.0:
            raise ProblemError(f"ridge must be positive, got {ridge}")
        self._sums = SeenSums(problem.d)
        self._limits: Floats = np.zeros(2)

    @property
    def weights(self) -> Floats:
        """The model in play, in the units of the features: at most k non-zeros."""
        return self._model()[0]

    @property
    def intercept(self) -> float:
        """What the model adds: it is learnt about the means."""
        return self._model()[1]

    def tell(self, seen: Observation, y: float) -> None:
        """Add what was read to the sums."""
        ticket, label = self._desk.settle(seen, y)
        # Copies: kernels would be compiled anew for arrays that are read-only.
        fits.tell(np.array(ticket.features), np.array(seen.values), label, self._arrays())

    def _arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        sums = self._sums
        return sums.pairs, sums.singles, sums.totals, self._limits

    @abstractmethod
    def _model(self) -> tuple[Floats, float]:
        """Weights and intercept."""


class SupportRounds(SeenRounds):
    """Plays VAW on a support, from the sums, once there is one; else on the best of what was read.

    A round reads the support and some others, drawn uniformly. The subclass says in `_stage` which.
    """

    SAVED: tuple[str, ...] = ("_desk", "_sums", "_limits", "_support")

    def __init__(self, problem: Problem, *, seed: int = 0, ridge: float = 1.0) -> None:
        super().__init__(problem, seed=seed, ridge=ridge)
        self._support: Indices = np.empty(0, dtype=np.int64)

    @abstractmethod
    def _stage(self, t: int) -> tuple[Indices, int, int]:
        """Before round t is asked: the support to play, how many others to draw, and for how many
        rounds from t on that stays so.
        """

    def ask(self) -> Ticket:
        """A ticket for the support, if one is played, and for what was drawn."""
        t = self.round + 1
        support, explore, _ = self._stage(t)
        drawn = complement_subset(self.seed, t, self.problem.d, explore, support)
        union = np.empty(len(drawn) + len(support), dtype=np.int64)
        commits.merge(drawn, support, union)
        return self._desk.issue(union, {"played": support})

    def predict(self, seen: Observation) -> float:
        """The prediction of VAW on the support of the ticket, or on the best of what was read."""
        ticket = seen.ticket
        row = (np.array(ticket.features), np.array(seen.values), np.array(ticket.memo["played"]))
        return float(commits.predict(*row, self.problem.k, self.ridge, self._arrays()))

    def _begin(self, t: int) -> None:
        self._due = self._stage(t)

    def _alike(self, t: int) -> int:
        return self._due[2]

    def _play(self, block: Block) -> int:
        model = (self.problem.k, self.ridge, self._arrays())
        return int(commits.play(block, self._due[:2], *model))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner that `state` described."""
        learner = restore(cls, state, loose=("_support",))
        S, problem = learner._support, learner.problem
        steps = np.diff(S, prepend=-1, append=problem.d)
        if (steps < 1).any() or len(S) > problem.k:
            raise StateError(f"no model of {problem} has the support {S.tolist()}")
        return learner

    def _select(self) -> None:
        """Forward selection on all that was read; without a label the support stays."""
        if self._sums.totals[0] > 0.0:
            problem = self.problem
            self._support = commits.select(problem.d, problem.k, self.ridge, self._arrays())

    def _model(self) -> tuple[Floats, float]:
        d, support = self.problem.d, self._support
        weights, S = np.zeros(d), support if len(support) else np.arange(d)
        sums = self._arrays()
        constant = commits.model(S, support, self.problem.k, self.ridge, sums, weights)
        return weights, float(constant)
