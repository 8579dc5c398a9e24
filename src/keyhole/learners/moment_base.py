"""What learners have in common that predict from the sums of what they saw."""

from __future__ import annotations

import sys
from typing import Annotated, NamedTuple, Self

import numpy as np

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import workspace
from keyhole.blocks.fit.priced_selection import forward_within
from keyhole.blocks.fit.purchase import shop_of
from keyhole.blocks.fit.seen_fit import Sums
from keyhole.blocks.fit.seen_fit import tell as add_row
from keyhole.blocks.literature import commit as kernels
from keyhole.blocks.literature.commit import Stage
from keyhole.blocks.sums.seen_sums import WEIGHT, SeenSums
from keyhole.data_sums import DataSums
from keyhole.fields import Holds
from keyhole.learners.base import LearnerBase
from keyhole.learners.study_sums import add_to_seen_sums, widen
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    StateError,
    Ticket,
    positive_number,
)
from keyhole.saving.snapshot import State, restore


class Plan(NamedTuple):
    """The support that rounds play, how many other features they draw, how many rounds they are.

    With prices, rounds draw others while there is money for them, or none at all if it says 0.
    """

    support: Indices
    explore: int
    rounds: int


class Memo(NamedTuple):
    """What a ticket remembers: the support that was played when it was issued."""

    played: Annotated[Indices, Holds(below="d", ascending=True, longest="k")]


class MomentLearner(LearnerBase):
    """Sums of all that was read, from which the model in play is worked out anew every round.

    So a late label is one more row, an absent value one entry less, and the support may change at
    any time without anything being forgotten.

    A round reads a support and some others, drawn uniformly, and plays VAW on the support, or on
    the best k of what was read as long as there is none. A subclass says in `_plan` which support
    and how many others, and calls `_select` for a new one; as it is here, there never is one.

    Sums: `_sums`. Not a sum: the least and largest label so far, `_limits`. Derived: the rest.
    """

    SAVED: tuple[str, ...] = ("_desk", "_sums", "_limits", "_support")
    MEMOS: tuple[type, ...] | None = (Memo,)
    BLIND = False  # draws and selects within the money
    STUDIES = FADES = STUDIES_SUMS = True

    _support: Annotated[Indices, Holds(below="d", ascending=True, longest="k")]
    BYTES_PER_PAIR = 24.0  # the sums

    def __init__(self, problem: Problem, *, seed: int = 0, ridge: float = 1.0) -> None:
        super().__init__(problem, seed=seed)
        self.ridge = positive_number("ridge", ridge)
        self._shop = shop_of(problem)
        self._sums = SeenSums(problem.d)
        self._limits: Floats = np.zeros(2)
        self._support = np.empty(0, dtype=np.int64)
        self._planned = Plan(self._support, problem.width, sys.maxsize)

    @property
    def weights(self) -> Floats:
        """The model in play, in the units of the features: at most k non-zeros."""
        return self._model()[0]

    @property
    def intercept(self) -> float:
        """What the model adds: it is learnt about the means."""
        return self._model()[1]

    def ask(self) -> Ticket:
        """A ticket for the support, if one is played, and for what was drawn."""
        t, d = self.round + 1, self.problem.d
        self._before_round(t)
        support, explore, _ = self._planned
        features, stage = (
            np.empty(self.problem.width, dtype=np.int64),
            self._stage(support, explore),
        )
        key = (np.uint64(self.seed), t)
        n = kernels.choose(*key, d, stage, self._shop, features, workspace(d))
        return self._desk.issue(features[:n], {"played": support})

    def _predict(self, seen: Observation) -> float:
        """The prediction of VAW on the support of the ticket, or on the best of what was read."""
        row = (np.array(seen.ticket.features), np.array(seen.values))
        stage = self._stage(np.array(seen.ticket.memo["played"]))
        return float(kernels.predict(*row, stage, self._arrays()))

    def tell(self, seen: Observation, y: float) -> None:
        """Add what was read to the sums."""
        ticket, label = self._desk.settle(seen, y)
        # Copies: kernels would be compiled anew for arrays that are read-only.
        add_row(np.array(ticket.features), np.array(seen.values), label, self._arrays())

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        everything, sums = np.arange(self.problem.d), self._arrays()
        for row, label in zip(X, y.tolist(), strict=True):
            if keep < 1.0:
                self._sums.scale(keep)
            add_row(everything, row, label, sums)

    def _study_sums(self, history: DataSums) -> None:
        widen(self._limits, history.ends, known=bool(self._sums.totals[WEIGHT] > 0.0))
        add_to_seen_sums(self._sums, history)

    @classmethod
    def _restored(cls, state: State) -> Self:
        return restore(cls, state, loose=("_support",))

    def _plan(self, t: int) -> Plan:
        """What round t, and as many after it as it says, read and play."""
        return self._planned

    def _before_round(self, t: int) -> None:
        self._planned = self._plan(t)

    def _rounds_alike(self, t: int) -> int:
        return self._planned.rounds

    def _play(self, block: Block) -> int:
        support, explore, _ = self._planned
        return kernels.play(block, self._stage(support, explore), self._arrays(), self._shop)

    def _select(self) -> None:
        """Forward selection on all that was read; without a label the support stays."""
        if self._sums.totals[WEIGHT] > 0.0:
            self._support = self._selected()

    def _selected(self) -> Indices:
        problem, fit = self.problem, (self.problem.k, self.ridge, self._arrays())
        if problem.prices is None:
            return kernels.select(problem.d, *fit)
        return np.sort(forward_within(self._shop, *fit))

    def _model(self) -> tuple[Floats, float]:
        """Weights and intercept."""
        weights, support = np.zeros(self.problem.d), self._support
        S = support
        if not len(S):
            priced = self.problem.prices is not None
            S = self._selected() if priced else np.arange(self.problem.d)
        constant = kernels.model(S, self._stage(support), self._arrays(), weights)
        return weights, float(constant)

    def _resume(self) -> None:
        """StateError unless the support is affordable."""
        if not self.problem.affords(self._support):
            raise StateError(f"support: {self._support.tolist()} is more than the budget buys")

    def _stage(self, support: Indices, explore: int = 0) -> Stage:
        return Stage(support, explore, self.problem.k, self.ridge)

    def _arrays(self) -> Sums:
        return Sums(*self._sums.arrays(), self._limits)
