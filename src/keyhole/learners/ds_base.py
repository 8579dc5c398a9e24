"""What DS-OSLRC and DS-POSLRC of Li, Liao, Xu and Nie have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Self, TypedDict, Unpack

from keyhole.learners.base import LearnerBase
from keyhole.learners.blocks.dantzig.diagnostics import Diagnostics
from keyhole.learners.blocks.dantzig.solve import DantzigBasis
from keyhole.learners.weighted_dantzig import WeightedDantzig
from keyhole.problem import Floats, Problem, Ticket
from keyhole.problem.fields import Holds
from keyhole.problem.snapshot import State, restore

Spread = Annotated[Floats, Holds(least=0.0, shape=(2,))]


class Program(TypedDict, total=False):
    """Settings of the Dantzig program whose defaults are the same in both."""

    noise_sd: float | None
    failure_probability: float
    weighting: str


class Options(Program, total=False):
    """What both take beside that."""

    clip: bool


class DSLearner(LearnerBase):
    """Sums what mixed draws have read, each divided by its probability, and solves for a model.

    Sums and derived: see `keyhole.learners.weighted_dantzig.WeightedDantzig`. A subclass
    derives from its solution, in `_derive`, what is played and how the rest is drawn.
    """

    SETTINGS: tuple[str, ...] = ("clip",)
    BYTES_PER_PAIR = 48.0  # sums, estimates, the program

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        threshold_scale: float,
        clip: bool = False,
        **program: Unpack[Program],
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        self._fit = WeightedDantzig(problem.d, threshold_scale=threshold_scale, **program)

    @property
    def diagnostics(self) -> Diagnostics:
        """How the programs went."""
        return self._fit.diagnostics

    def settings(self) -> dict[str, float | str | None]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {**self._fit.settings(), **super().settings()}

    @classmethod
    def _restored(cls, state: State) -> Self:
        return restore(cls, state, kinds=(DantzigBasis,))

    def _resume(self) -> None:
        self._derive()

    @abstractmethod
    def _derive(self) -> None:
        """From the last solution: what is played, and how the rest is drawn."""

    def _add(self, ticket: Ticket, values: Floats, label: float) -> None:
        """Add what was read to the sums, with the probabilities of its round."""
        scheme = ticket.memo["marks"], ticket.memo["spread"]
        self._fit.sums.add_marked(ticket.features, values, *scheme, label)
