"""Every learner by name, briefly: saved with open tickets and read back it is the same learner."""

from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.registry import make_learner
from keyhole.saving.api import from_bytes, to_bytes

PROBLEM = kh.Problem(6, 2, 5)
X = np.random.default_rng(0).uniform(-1, 1, (100, 6))
Y = X[:, 1] - 0.5 * X[:, 4] + 0.25


def finish(learner: kh.Learner, tickets: list[kh.Ticket]) -> list[float]:
    """Close these tickets in turn, play on; all predictions."""
    predictions = []
    for ticket, x, y in zip(tickets, X[60:], Y[60:], strict=False):
        seen = ticket.fill(x[ticket.features])
        predictions.append(learner.predict(seen))
        learner.tell(seen, float(y))
    ledger = kh.play(learner, kh.streams.ArrayStream(X[70:], Y[70:]))
    return [*predictions, *ledger.predictions.tolist()]


@pytest.mark.parametrize("name", kh.LEARNERS)
@pytest.mark.parametrize("rounds", [0, 1, 60])
def test_it_goes_on_as_it_would_have(name: str, rounds: int) -> None:
    learner: Any = make_learner(name, PROBLEM, 7)
    if rounds:
        kh.play(learner, kh.streams.ArrayStream(X[:rounds], Y[:rounds]))
    tickets = [learner.ask() for _ in range(3)]
    learner.drop(tickets.pop(1))
    content = to_bytes(learner)
    again: Any = from_bytes(content)
    assert to_bytes(again) == content
    assert (again.seed, again.round, again.problem) == (7, rounds + 3, learner.problem)
    np.testing.assert_array_equal(again.weights, learner.weights)
    assert again.intercept == learner.intercept
    assert finish(again, tickets) == finish(learner, tickets)
    assert to_bytes(again) == to_bytes(learner)
