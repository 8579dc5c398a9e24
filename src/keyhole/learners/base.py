"""What learners have in common: a desk, how they are saved, how they play blocks of rounds."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import uniform_subset, workspace
from keyhole.problem import (
    Floats,
    Observation,
    Problem,
    ProblemError,
    Ticket,
    refuse_block,
    refuse_round,
)
from keyhole.saving.snapshot import State, restore, snapshot
from keyhole.tickets import Desk


class Rounds(ABC):
    """A desk and nothing else; the algorithm is `weights`, `ask`, `predict` and `tell`.

    A convenience, not a contract: a learner is any class with the members of `keyhole.Learner`.

    A subclass names in SAVED what changes as it plays, `_desk` first, and returns from `settings`
    what its class must be called with, beside the problem and the seed, to make it anew.
    """

    SAVED: tuple[str, ...] = ("_desk",)

    def __init__(self, problem: Problem, *, seed: int = 0) -> None:
        self.seed = seed
        self._desk = Desk(problem)

    @property
    def problem(self) -> Problem:
        """The problem the learner was made for."""
        return self._desk.problem

    @property
    def round(self) -> int:
        """How many tickets were issued so far."""
        return self._desk.round

    @property
    def intercept(self) -> float:
        """0: a model through the origin, unless the learner says otherwise."""
        return 0.0

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """The linear model as it is now."""

    @abstractmethod
    def ask(self) -> Ticket:
        """A ticket for what to buy in the next round."""

    @abstractmethod
    def predict(self, seen: Observation) -> float:
        """The prediction from what was bought."""

    @abstractmethod
    def tell(self, seen: Observation, y: float) -> None:
        """Learn the label."""

    def drop(self, ticket: Ticket) -> None:
        """Close the ticket."""
        self._desk.drop(ticket)

    def settings(self) -> Mapping[str, Any]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {}

    def state(self) -> State:
        """Everything this learner is, for `keyhole.save`."""
        return snapshot(self, {"seed": self.seed, **self.settings()})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner that `state` described."""
        return restore(cls, state)


class BlockRounds(Rounds):
    """Rounds that draw by their seed and are played in compiled code, many at a time.

    A subclass says in `_play` how. If something that is not compiled must happen before some of
    the rounds, that is `_begin`, which `ask` calls too, and `_alike` says when it is due again.
    """

    def __init__(self, problem: Problem, *, seed: int = 0) -> None:
        uniform_subset(seed, 1, problem.d, 0)  # checks the seed
        super().__init__(problem, seed=seed)

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        """Play len(y) rounds at once, compiled."""
        d, budget = self.problem.d, self.problem.budget
        refuse_block(X, y, d)
        y = np.array(y, dtype=np.float64)  # kernels are compiled anew for read-only arrays
        if bought is None:
            bought = np.empty((len(y), budget), dtype=np.int32)
        predictions, start = np.empty(len(y)), 0
        while start < len(y):
            t = self.round + 1
            self._begin(t)
            rows = slice(start, min(len(y), start + self._alike(t)))
            key = (np.uint64(self.seed), t)
            out = (bought[rows], predictions[rows])
            played = self._play(Block(*key, X[rows], y[rows], *out, workspace(d)))
            self._desk.skip(played)
            if played < rows.stop - start:  # everything before the bad round stands
                refuse_round(t + played)
            start = rows.stop
        return predictions

    def _begin(self, t: int) -> None:
        """What happens before round t is asked, as a rule nothing."""

    def _alike(self, t: int) -> int:
        """For how many rounds, from t on, `_begin` is not needed again."""
        return sys.maxsize

    @abstractmethod
    def _play(self, block: Block) -> int:
        """Play rounds that are alike; how many there were before one that cannot be played.

        One kernel, as a rule: see `Block` for what it may look at and what it writes.
        """


def refuse_less_than_everything(problem: Problem, what: str) -> None:
    """ProblemError unless all features may be read."""
    if problem.budget < problem.d:
        raise ProblemError(
            f"{what} reads all {problem.d} features, the budget is {problem.budget}: "
            f"make the problem with budget={problem.d}"
        )
