"""The same learner gives the same bytes, however its rounds were put in."""

import copy

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.registry import make_learner
from keyhole.problem import plays_blocks
from keyhole.saving.api import from_bytes, to_bytes


@pytest.mark.parametrize("name", sorted(kh.LEARNERS))
def test_blocks_parts_of_blocks_and_single_rounds(name: str) -> None:
    problem, rng = kh.Problem(12, 3, 7), np.random.default_rng(0)
    X = rng.normal(size=(140, problem.d))
    y = X[:, 0] + 0.1 * rng.normal(size=len(X))
    whole, parts, single = (make_learner(name, problem, 1) for _ in range(3))
    assert plays_blocks(whole)
    assert plays_blocks(parts)
    whole.advance(X, y)
    for rows in (slice(0, 37), slice(37, 38), slice(38, None)):
        parts.advance(X[rows], y[rows])
    for x, label in zip(X, y.tolist(), strict=True):
        ticket = single.ask()
        seen = ticket.fill(x[ticket.features])
        single.predict(seen)
        single.tell(seen, label)
    saved = to_bytes(whole)
    assert to_bytes(parts) == saved
    assert to_bytes(single) == saved
    assert to_bytes(from_bytes(saved)) == saved
    assert to_bytes(copy.deepcopy(whole)) == saved


@pytest.mark.parametrize("name", sorted(kh.LEARNERS))
def test_predicting_changes_no_byte(name: str) -> None:
    learner = make_learner(name, kh.Problem(12, 3, 7), 1)
    rng = np.random.default_rng(0)
    for t in range(20):
        ticket = learner.ask()
        before = to_bytes(learner)
        seen = ticket.fill(rng.normal(size=len(ticket.features)))
        learner.predict(seen)
        assert to_bytes(learner) == before
        if t % 3:
            learner.tell(seen, rng.normal())
