"""Examples bought step by step: the ledger adds up, the page, the summary, explain and advice."""

import json
import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Round
from keyhole.report import Run, record
from keyhole.report.page import page
from keyhole.report.tables import how_far, step_facts

NAMES = ("tsh", "t3", "scan", "age")
N = 1500


def patients() -> kh.streams.ArrayStream:
    """The second test matters only where the first is vague."""
    X = np.random.default_rng(0).standard_normal((N, 4))
    y = np.where(np.abs(X[:, 0]) > 0.6, X[:, 0] > 0, X[:, 1] > 0).astype(float)
    return kh.streams.ArrayStream(X, y, NAMES)


def learner() -> kh.AutoLearner:
    problem = kh.Problem(4, 2, 70, names=NAMES, prices=[2, 5, 60, 0])
    return kh.AutoLearner(problem, seed=0, worth=150)


@pytest.fixture(scope="module")
def player() -> kh.AutoLearner:
    return learner()


@pytest.fixture(scope="module")
def run(player: kh.AutoLearner) -> Run:
    return record(
        player, patients(), name="auto", seconds=1.0, full=False, diagnosed=False, steps=True
    )


def test_what_was_bought_and_what_was_not_is_the_whole_plan(run: Run) -> None:
    ledger = run.ledger
    assert ledger.stepwise == N
    assert ledger.spent + ledger.not_bought == N * 67  # all tests are in every plan
    assert 0.3 < ledger.stopped_share < 1.0
    assert sum(ledger.stopped_after.values()) == round(ledger.stopped_share * N)
    assert set(ledger.stopped_after) <= {0, 1, 2}  # items before the last step


def test_the_ledger_of_a_game_is_that_of_the_recorder(run: Run) -> None:
    ledger = kh.play(learner(), patients(), steps=True)
    assert (ledger.loss, ledger.spent) == (run.ledger.loss, run.ledger.spent)
    assert ledger.stopped_after == run.ledger.stopped_after
    assert f"{ledger.stopped_share:.0%} of examples stopped early" in str(ledger)


def test_ledgers_of_parts_add() -> None:
    problem = kh.Problem(4, 2, 3)
    plan = np.array([0, 1, 3])
    rounds = [
        Round(1, np.array([1]), 1.0, 0.0, plan),
        Round(2, np.array([0, 1, 3]), 1.0, 0.0, plan),
        Round(3, np.array([1, 3]), 1.0, 0.0, plan),
        Round(4, np.array([1, 3]), 1.0, 0.0),  # bought at once
    ]
    parts, whole = (kh.Ledger(problem), kh.Ledger(problem)), kh.Ledger(problem)
    for i, played in enumerate(rounds):
        parts[i // 2].add(played)
        whole.add(played)
    both = parts[0] + parts[1]
    assert (both.stepwise, both.stopped_after, both.not_bought) == (3, {1: 1, 2: 1}, 3.0)
    assert (whole.stepwise, whole.stopped_after, whole.not_bought) == (3, {1: 1, 2: 1}, 3.0)
    assert both.stopped_share == 2 / 3
    assert math.isnan(kh.Ledger(problem).stopped_share)


def test_it_is_said_in_page_and_summary(run: Run) -> None:
    names = [fact.name for fact in step_facts(run)]
    assert names == ["stopped early", "saved by stopping"]
    text = page(run)
    assert "saved by stopping" in text
    assert how_far(run.ledger).split(",")[0] in text
    told = json.loads(json.dumps(run.summary()))["steps"]
    assert told["rounds"] == N
    assert told["not_bought"] == run.ledger.not_bought
    assert sum(told["stopped_after_items"].values()) == run.ledger.stopped_after.total()


def test_explain_and_advice_have_the_steps(player: kh.AutoLearner, run: Run) -> None:
    steps = player.explain().steps
    assert player.advice().steps == steps == run.advice.steps if run.advice else False
    items = [item for step in steps for item in step.items]
    assert sorted(items) == ["scan", "t3", "tsh"]  # age is free
    assert len(steps) > 1
    assert steps[-1].goes_on is None
    for step in steps:
        assert step.error is None or step.error >= 0.0
        assert step.goes_on is None or 0.0 <= step.goes_on <= 1.0
    assert "\nstep by step:\n" in str(player.explain())
    assert any(sentence.startswith("Step by step, ") for sentence in player.advice().sentences)
    assert len(player.advice().as_json()["steps"]) == len(steps)


def test_nothing_is_said_of_what_is_bought_at_once() -> None:
    player = learner()
    at_once = record(player, patients(), seconds=1.0, full=False, diagnosed=False)
    assert not step_facts(at_once)
    assert "steps" not in at_once.summary()
    assert "stopped early" not in page(at_once)
    assert "stopped early" not in str(at_once.ledger)
    assert player.explain().steps == ()
    assert "steps" not in player.advice().as_json()
