"""Broken twins that several tests use: each has one fault, which a test must notice."""

import keyhole as kh
from keyhole.problem import Floats


class Deaf:
    """Plays as the learner it is given would, and never hears a label."""

    def __init__(self, learner: kh.Learner) -> None:
        self._learner = learner

    @property
    def problem(self) -> kh.Problem:
        return self._learner.problem

    @property
    def round(self) -> int:
        return self._learner.round

    @property
    def weights(self) -> Floats:
        return self._learner.weights

    @property
    def intercept(self) -> float:
        return self._learner.intercept

    def ask(self) -> kh.Ticket:
        return self._learner.ask()

    def predict(self, seen: kh.Observation) -> float:
        return self._learner.predict(seen)

    def tell(self, seen: kh.Observation, y: float) -> None:
        self._learner.drop(seen.ticket)

    def drop(self, ticket: kh.Ticket) -> None:
        self._learner.drop(ticket)
