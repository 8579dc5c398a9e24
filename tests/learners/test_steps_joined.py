"""Steps from which nearly all go on are made at once; not for what was unknown at the start."""

from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners import auto_steps

N = 4000


def stopped_late() -> float:
    """The share of the last 1,000 examples that stop early, where four in five are clear cases."""
    rng = np.random.default_rng(7)
    clear = rng.random(N) < 0.8
    severity = np.where(clear, rng.choice([-2.0, 2.0], N), rng.normal(0.0, 0.5, N))
    tests = [severity + sd * rng.normal(size=N) for sd in (0.5, 0.4, 0.05)]
    X = np.column_stack([rng.normal(size=(N, 2)), *tests, rng.normal(size=(N, 6))])
    problem = kh.Problem(11, 3, 400, prices=[0, 0, 2, 15, 60, 10, 10, 10, 10, 10, 10])
    learner = kh.YesNoLearner(kh.AutoLearner(problem, seed=0, worth=1000))
    y, shares = (severity > 0).astype(float), list[float]()
    for part in (slice(N - 1000), slice(N - 1000, N)):
        ledger = kh.play(learner, kh.streams.ArrayStream(X[part], y[part]), steps=True)
        shares.append(ledger.stopped_share)
    return shares[-1]


def test_clear_cases_stop_after_the_first_examples() -> None:
    assert stopped_late() > 0.5


def test_a_learner_that_joins_steps_too_early_and_for_good_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auto_steps, "AGAIN", 1.0)
    note = auto_steps._note_who_goes_on

    def from_the_start(*given: Any) -> None:
        with monkeypatch.context() as within:
            within.setattr(auto_steps, "_warm", lambda learner: 0)
            note(*given)

    monkeypatch.setattr(auto_steps, "_note_who_goes_on", from_the_start)
    assert stopped_late() < 0.1
