"""What learners have in common that predict from the sums of what they saw."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Self

import numpy as np

from keyhole.learners.base import Choice, LearnerBase
from keyhole.learners.blocks.draw.sampling import complement_subset
from keyhole.learners.blocks.fit.purchase import fill, shop_of
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.blocks.sums.seen_sums import WEIGHT, SeenSums
from keyhole.learners.priced_selection import forward_within
from keyhole.learners.seen_fit import Fit, forward, natural, predicted
from keyhole.learners.study_sums import add_to_seen_sums, widen
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    StateError,
    positive_number,
)
from keyhole.problem.fields import Holds
from keyhole.problem.snapshot import State, restore

GATE = 2.0  # standard errors: below, a feature of a round that explores is not played


class Plan(NamedTuple):
    """The support that a round plays, and how many other features it draws.

    With prices, it draws others while there is money for them, or none at all if it says 0.
    """

    support: Indices
    explore: int


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

    @property
    def weights(self) -> Floats:
        """The model in play, in the units of the features: at most k non-zeros."""
        return self._model()[0]

    @property
    def intercept(self) -> float:
        """What the model adds: it is learnt about the means."""
        return self._model()[1]

    def _choose(self, t: int) -> Choice:
        """The support, if one is played, and what was drawn."""
        support, explore = self._plan(t)
        if self.problem.prices is not None and explore > 0:
            features = self._filled(t, support)
        else:
            drawn = complement_subset(self.seed, t, self.problem.d, explore, support)
            features = np.sort(np.concatenate([drawn, support]))
        return features, {"played": support}

    def _filled(self, t: int, support: Indices) -> Indices:
        """The support and whatever else fits within the money, in a random order."""
        out = np.empty(self.problem.width, dtype=np.int64)
        return out[: fill(np.uint64(self.seed), t, 0, support, self._shop, out)]

    def _predict(self, seen: Observation) -> float:
        """The prediction of VAW on the support of the ticket, or on the best of what was read."""
        support, (S, x) = seen.ticket.memo["played"], seen.arrived()
        if len(support):
            x = seen.at(support)
            here = ~np.isnan(x)
            S, x = support[here], x[here]
        return predicted(x, self._fit(S, support), self._sums, self._limits)

    def _fit(self, S: Indices, support: Indices) -> Fit:
        """The fit of all of S, which is within the support if there is one, else of the best k."""
        if len(support):
            return forward(S, len(S), 0.0, self.ridge, self._sums)
        return forward(S, self.problem.k, GATE, self.ridge, self._sums)

    def _learn(self, seen: Observation, label: float) -> None:
        """Add what was read to the sums."""
        ticket = seen.ticket
        self._add(ticket.features, seen.values, label)

    def _add(self, features: Indices, values: Floats, y: float) -> None:
        """A row, NaN for what is absent, and its label."""
        widen(self._limits, (y, y), known=bool(self._sums.totals[WEIGHT] > 0.0))
        self._sums.add(features, values, y)

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        everything = np.arange(self.problem.d)
        for row, label in zip(X, y.tolist(), strict=True):
            if keep < 1.0:
                self._sums.scale(keep)
            self._add(everything, row, label)

    def _study_sums(self, history: DataSums) -> None:
        widen(self._limits, history.ends, known=bool(self._sums.totals[WEIGHT] > 0.0))
        add_to_seen_sums(self._sums, history)

    @classmethod
    def _restored(cls, state: State) -> Self:
        return restore(cls, state, loose=("_support",))

    def _plan(self, t: int) -> Plan:
        """What round t reads and plays."""
        return Plan(self._support, self.problem.width)

    def _select(self) -> None:
        """Forward selection on all that was read; without a label the support stays."""
        if self._sums.totals[WEIGHT] > 0.0:
            self._support = self._selected()

    def _selected(self) -> Indices:
        """The k features that forward selection takes, ascending; fewer if nothing is gained."""
        d, k = self.problem.d, self.problem.k
        if self.problem.prices is not None:
            return np.sort(forward_within(self._shop, k, self.ridge, self._sums))
        chosen = forward(np.arange(d), k, 0.0, self.ridge, self._sums).chosen
        return np.array(sorted(chosen), dtype=np.int64)

    def _model(self) -> tuple[Floats, float]:
        """Weights and intercept."""
        S = self._support
        if not len(S):
            priced = self.problem.prices is not None
            S = self._selected() if priced else np.arange(self.problem.d)
        return natural(S, self._fit(S, self._support), self._sums)

    def _resume(self) -> None:
        """StateError unless the support is affordable."""
        if not self.problem.affords(self._support):
            raise StateError(f"support: {self._support.tolist()} is more than the budget buys")
