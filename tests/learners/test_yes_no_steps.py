"""Yes or no, step by step: probabilities to stop at, those that stopped calibrated apart."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.problem.step import Step, next_features
from keyhole.saving.api import to_bytes

COUNTED = kh.Problem(d=6, k=3, budget=4)
PRICED = kh.Problem(d=6, k=3, budget=9, prices=[1, 2, 3, 1, 1, 2])


def rows(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    score = 2.5 * X[:, 0] + 1.5 * X[:, 1] + X[:, 3]
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(np.float64)


def bought_on(learner: Any, seen: kh.Observation, x: Floats, **how: Any) -> kh.Observation:
    while step := learner.next(seen, **how):
        seen = step.fill(x[step.features])
    return seen


def play(learner: Any, n: int, seed: int = 0, **how: Any) -> list[kh.Observation]:
    found = []
    for x, label in zip(*rows(n, seed), strict=True):
        ticket = learner.ask(steps=True)
        seen = bought_on(learner, ticket.fill(x[ticket.features]), x, **how)
        learner.predict(seen)
        learner.tell(seen, float(label))
        found.append(seen)
    return found


@pytest.fixture(scope="module")
def stopping() -> kh.YesNoLearner:
    """It has stopped at 0.9 for 300 examples; copy it."""
    learner = kh.YesNoLearner(kh.AutoLearner(COUNTED, seed=1))
    play(learner, 200)
    play(learner, 300, 1, stop_at=0.9)
    return learner


def test_it_stops_where_one_answer_is_so_probable(stopping: kh.YesNoLearner) -> None:
    learner = copy.deepcopy(stopping)
    reads = {}
    for share in (0.7, 0.9, 0.999):
        twin = copy.deepcopy(learner)
        found = play(twin, 100, 2, stop_at=share)
        reads[share] = sum(len(seen.ticket.features) for seen in found)
    assert reads[0.7] < reads[0.9] < reads[0.999]
    answers = set()
    for x in rows(40, 3)[0]:
        ticket = learner.ask(steps=True)
        seen = bought_on(learner, ticket.fill(x[ticket.features]), x, stop_at=0.8)
        step, probable = learner.next(seen, stop_at=0.8), learner.predict(seen)
        assert not step
        if next_features(seen.ticket) is not None:
            assert max(probable, 1.0 - probable) >= 0.8
            answers.add(step.reason.split()[0])
            assert "has a probability of 0." in step.reason
            assert learner.next(seen)  # without a target it would go on
        learner.drop(seen.ticket)
    assert answers == {"yes", "no"}


@pytest.mark.parametrize("bad", [0.5, 0.3, 0, 1, 1.0, 1.5, -0.9, math.nan, math.inf, "0.9", True])
def test_what_is_no_probability_is_refused(stopping: kh.YesNoLearner, bad: Any) -> None:
    learner = copy.deepcopy(stopping)
    seen = (ticket := learner.ask(steps=True)).fill([0.5] * len(ticket.features))
    before = to_bytes(learner)
    with pytest.raises(kh.ProblemError, match="stop_at"):
        learner.next(seen, stop_at=bad)
    assert to_bytes(learner) == before
    learner.next(seen, stop_at=0.75)
    assert to_bytes(learner) == before


def test_what_is_no_observation_is_refused(stopping: kh.YesNoLearner) -> None:
    learner = copy.deepcopy(stopping)
    ticket = learner.ask(steps=True)
    before = to_bytes(learner)
    for nothing in (None, 3, ticket, "seen"):
        for verb in (learner.next, learner.predict):
            with pytest.raises(kh.DataError, match="fill"):
                verb(nothing)  # type: ignore[arg-type]
        with pytest.raises(kh.DataError):
            learner.tell(nothing, 1.0)  # type: ignore[arg-type]
    seen = ticket.fill([0.5] * len(ticket.features))
    for label in (0.5, 2, math.nan, "yes"):
        with pytest.raises(kh.DataError):
            learner.tell(seen, label)  # type: ignore[arg-type]
    assert to_bytes(learner) == before


def test_an_explanation_has_the_probability_that_is_predicted(stopping: kh.YesNoLearner) -> None:
    learner = copy.deepcopy(stopping)
    assert learner._stopped is not None
    x = rows(1, 4)[0][0]
    seen = (ticket := learner.ask(steps=True)).fill(x[ticket.features])
    while True:
        assert learner.explain(seen).probability == learner.predict(seen)
        if not (step := learner.next(seen)):
            break
        seen = step.fill(x[step.features])


def test_a_learner_inside_that_has_no_steps_is_named() -> None:
    class Plain(kh.Zero):
        next = property()

    learner = kh.YesNoLearner(Plain(COUNTED))
    seen = (ticket := learner.ask()).fill([0.0] * len(ticket.features))
    with pytest.raises(kh.ProblemError, match="Plain has no `next`"):
        learner.next(seen)
    usual = kh.YesNoLearner(kh.RunningMean(COUNTED))
    seen = (ticket := usual.ask(steps=True)).fill([0.0] * len(ticket.features))
    step = usual.next(seen, stop_at=0.9)
    assert isinstance(step, Step)
    assert not step


def test_whoever_never_stopped_is_calibrated_as_ever() -> None:
    plain, stepwise = (kh.YesNoLearner(kh.AutoLearner(COUNTED, seed=1)) for _ in range(2))
    found = play(stepwise, 120)
    for (x, label), theirs in zip(zip(*rows(120), strict=True), found, strict=True):
        seen = (ticket := plain.ask()).fill(x[ticket.features])
        assert ticket.features.tolist() == theirs.ticket.features.tolist()
        assert plain.inner.predict(seen) == theirs.prediction
        plain.tell(seen, float(label))
    assert plain._calibrator.state().bins.tolist() == stepwise._calibrator.state().bins.tolist()


def test_money_decides_as_it_does_for_the_learner_inside() -> None:
    learner = kh.YesNoLearner(kh.AutoLearner(PRICED, seed=1, worth=60.0))
    play(learner, 330)
    stopped = [seen for seen in play(learner, 100, 5) if next_features(seen.ticket) is not None]
    assert len(stopped) > 5
    assert learner._stopped is not None
    inside: Any = learner.inner
    seen = (ticket := learner.ask(steps=True)).fill([0.5] * len(ticket.features))
    assert repr(learner.next(seen)) == repr(inside.next(seen))


def test_stopping_never_ends_for_good(
    stopping: kh.YesNoLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could go on is judged by all that could: else none stops once too little is known."""

    def stopped(learner: kh.YesNoLearner) -> int:
        seens = play(learner, 200, 6, stop_at=0.9)
        return sum(next_features(seen.ticket) is not None for seen in seens[100:])

    assert stopped(copy.deepcopy(stopping)) > 20

    def only_those(seen: kh.Observation) -> kh.Observation | None:
        return None if next_features(seen.ticket) is None else seen

    monkeypatch.setattr("keyhole.learners.yes_no.early_view", only_those)
    blind = kh.YesNoLearner(kh.AutoLearner(COUNTED, seed=1))
    play(blind, 200)
    play(blind, 300, 1, stop_at=0.9)
    assert stopped(blind) == 0


def test_those_that_stopped_are_right_as_often_as_is_said() -> None:
    """In 4 games, of about 500 examples that stop: within 3 deviations.

    One that stops at 0.85 or more is right with a deviation of at most 0.36, so the share of 500
    has one of 0.016.
    """
    off = list[float]()
    for seed in range(4):
        learner = kh.YesNoLearner(kh.AutoLearner(COUNTED, seed=seed))
        play(learner, 150, 100 + seed)
        for x, label in zip(*rows(300, 200 + seed), strict=True):
            ticket = learner.ask(steps=True)
            seen = bought_on(learner, ticket.fill(x[ticket.features]), x, stop_at=0.85)
            probable = learner.predict(seen)
            if next_features(seen.ticket) is not None:
                right = float(label) == float(probable > 0.5)
                off.append(max(probable, 1.0 - probable) - right)
            learner.tell(seen, float(label))
    assert len(off) > 300
    assert abs(float(np.mean(off))) < 3.0 * 0.36 / np.sqrt(len(off))
