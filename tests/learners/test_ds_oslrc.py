"""DS-OSLRC: when it explores, what it reads, its Newton steps, and that it learns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.ds_oslrc import NewtonStep
from tests.helpers.rounds import easy, share_of_the_mean

PROBLEM = kh.Problem(d=20, k=2, budget=6)


def stream(n: int) -> kh.Stream:
    return easy(n).stream


class LearnsNothing(kh.DSOSLRCLearner):
    """Broken twin: explores and never solves."""

    def _before_round(self, t: int) -> None:
        pass


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("weighting", ["ratio", "exact"])
def test_it_beats_the_running_mean(seed: int, weighting: str) -> None:
    learner = kh.DSOSLRCLearner(PROBLEM, seed=seed, weighting=weighting)
    assert share_of_the_mean(learner) < 0.1


def test_without_a_program_or_with_the_printed_constant_it_does_not() -> None:
    assert share_of_the_mean(LearnsNothing(PROBLEM)) > 0.9
    printed = kh.DSOSLRCLearner(PROBLEM, threshold_scale=1.0, noise_sd=0.1)
    assert share_of_the_mean(printed) > 0.5


def test_reading_no_more_than_is_played_it_still_learns() -> None:
    """As in the paper, budget = k: 45 rounds explore, 4 of 20 features each."""
    learner = kh.DSOSLRCLearner(kh.Problem(20, 4, 4), seed=0, threshold_scale=0.1)
    assert share_of_the_mean(learner, 2048) < 0.5


@pytest.mark.parametrize(("k", "budget"), [(2, 2), (2, 3), (2, 4), (4, 6), (3, 20)])
def test_it_explores_at_squares_and_reads_the_support_else(k: int, budget: int) -> None:
    learner = kh.DSOSLRCLearner(kh.Problem(20, k, budget), seed=1)
    played = 0
    for t, (x, y) in enumerate(stream(600), start=1):
        ticket = learner.ask()
        S = learner._support
        if math.isqrt(t) ** 2 == t:
            assert len(ticket.features) == budget
        else:
            spare = budget - len(S)
            assert set(S.tolist()) <= set(ticket.features.tolist())
            # A single feature beside the support would see no pair, and is left.
            assert len(ticket.features) == len(S) + (spare if spare != 1 else 0)
            played += len(S) > 0
        learner.tell(ticket.fill(x[ticket.features]), y)
    assert played > 100


def test_newton_steps_are_taken_on_the_support_until_it_changes() -> None:
    learner = kh.DSOSLRCLearner(PROBLEM, seed=2)
    mirror, number, restarts, same = NewtonStep(2), 0, 0, 0
    for t, (x, y) in enumerate(stream(1500), start=1):
        before = learner._newton.weights.copy()
        ticket = learner.ask()
        S = learner._support
        if learner._number != number:
            number, restarts = learner._number, restarts + 1
            mirror.start(learner._fit.weights[S], 2 * learner._fit.sums.squares[S])
        elif math.isqrt(t - 1) ** 2 == t - 1:
            np.testing.assert_array_equal(learner._newton.weights, before)  # kept at a program
            mirror.refresh()
            same += 1
        seen = ticket.fill(x[ticket.features])
        prediction = learner.predict(seen)
        learner.tell(seen, y)
        if math.isqrt(t) ** 2 == t:
            w = learner._fit.weights[ticket.features]
            along = float(w @ x[ticket.features])
            assert prediction == pytest.approx(np.clip(along, -mirror.label, mirror.label))
            mirror.note(y)
        else:
            assert prediction == mirror.step(x[S], y)
        np.testing.assert_array_equal(learner._newton.weights, mirror.weights)
    assert restarts > 1
    assert same > 10


def test_the_printed_constants_of_the_newton_step() -> None:
    learner = kh.DSOSLRCLearner(PROBLEM, seed=0, noise_sd=0.1, threshold_scale=0.02)
    kh.play(learner, stream(500))
    Y = 1 + 0.1 * math.sqrt(2 * math.log(1 / 0.05))
    assert learner._newton.limits[1] == 1 + Y
    assert np.linalg.eigvalsh(learner._newton.A).min() >= 2.0


def test_a_label_that_comes_after_the_support_changed_leaves_the_steps_alone() -> None:
    learner = kh.DSOSLRCLearner(PROBLEM, seed=2)
    rows = list(stream(1500))
    late: Any = None
    for x, y in rows:
        ticket = learner.ask()
        seen = ticket.fill(x[ticket.features])
        if late is None and "number" in ticket.memo and ticket.memo["number"] == 1:
            late = seen, y
        else:
            learner.tell(seen, y)
    assert learner._number > 1
    weights, n = learner._newton.weights.copy(), learner._fit.sums.n
    learner.predict(late[0])
    learner.tell(*late)
    np.testing.assert_array_equal(learner._newton.weights, weights)
    assert learner._fit.sums.n == n + 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 1}, "budget must be at least 2, got 1"),
        ({"threshold_scale": -1.0}, "threshold_scale must be at least 0"),
        ({"weighting": None}, "weighting must be one of ratio, exact"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], message: str) -> None:
    problem = kh.Problem(20, 1, given.pop("budget", 6))
    with pytest.raises(kh.ProblemError, match=message):
        kh.DSOSLRCLearner(problem, **given)
