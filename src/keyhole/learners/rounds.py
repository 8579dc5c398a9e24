"""What learners have in common that settle each round by itself: a desk, and how they are saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from keyhole.desk import Desk
from keyhole.problem import Floats, Observation, Problem, ProblemError, Ticket
from keyhole.snapshot import State, restore, snapshot


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


def refuse_less_than_everything(problem: Problem, what: str) -> None:
    """ProblemError unless all features may be read."""
    if problem.budget < problem.d:
        raise ProblemError(
            f"{what} reads all {problem.d} features, the budget is {problem.budget}: "
            f"make the problem with budget={problem.d}"
        )
