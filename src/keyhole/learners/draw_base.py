"""What learners have in common that write on a ticket how they drew it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.fit.linear import weigh
from keyhole.learners.base import LearnerBase
from keyhole.problem import Floats, Observation, Ticket


class DrawLearner(LearnerBase):
    """Every round is a draw, a NamedTuple of arrays, which is all that its label will need.

    Three of them are `features`, what is read, ascending; `played`, their weights in the
    prediction; and `means`, what they count as where they are absent. The ticket remembers the
    draw, whose class is in MEMOS: when the label comes, another model may be in play.
    """

    @abstractmethod
    def _choose(self, t: int) -> NamedTuple:
        """The draw of round t."""

    @abstractmethod
    def _learn(self, draw: dict[str, NDArray[Any]], values: Floats, y: float) -> None:
        """Learn the label of a draw, of which these are the arrays; NaN for absent values."""

    def ask(self) -> Ticket:
        """A ticket for what is played and what is explored beside it."""
        memo = self._choose(self.round + 1)._asdict()
        return self._desk.issue(memo.pop("features"), memo)

    def _predict(self, seen: Observation) -> float:
        """<x, w> with the weights of the ticket."""
        memo = seen.ticket.memo
        return float(weigh(memo["played"], memo["means"], seen.values))

    def tell(self, seen: Observation, y: float) -> None:
        """Learn the label, with the draw of its round."""
        ticket, label = self._desk.settle(seen, y)
        # Copies: kernels would be compiled anew for arrays that are read-only.
        memo = {name: np.array(array) for name, array in ticket.memo.items()}
        draw = {"features": np.array(ticket.features), **memo}
        self._learn(draw, np.array(seen.values), label)
