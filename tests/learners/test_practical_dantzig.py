"""DantzigLearner(threshold="data"): the way there, units, labels that are late, blocks, regret."""

from __future__ import annotations

import copy
import functools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.dantzig.selection import DEFAULT_PARTS, Parts
from keyhole.learners.practical_dantzig import PracticalDantzig
from keyhole.problem import Floats
from tests.helpers.rounds import realizable_rows

PROBLEM = kh.Problem(d=20, k=2, budget=6)


def make(problem: kh.Problem = PROBLEM, **options: Any) -> kh.DantzigLearner:
    return kh.DantzigLearner(problem, **{"seed": 1, "threshold": "data", **options})


def rows(n: int, **options: Any) -> tuple[Floats, Floats, Floats]:
    return realizable_rows(n, 20, 2, seed=1, **options)


def played_by_rounds(learner: kh.DantzigLearner, X: Floats, y: Floats) -> Floats:
    return np.array([r.y_hat for r in kh.rounds(learner, kh.streams.ArrayStream(X, y))])


# --- The way there


def test_the_threshold_names_the_class() -> None:
    assert isinstance(make(), kh.DantzigLearner)
    assert type(make()) is PracticalDantzig
    printed = kh.DantzigLearner(PROBLEM, seed=1, noise_sd=0.1, threshold="printed")
    assert type(printed) is kh.DantzigLearner
    assert type(copy.deepcopy(make())) is PracticalDantzig


@pytest.mark.parametrize(
    ("budget", "options", "message"),
    [
        (6, {"threshold": "dta"}, "one of printed, data, got 'dta' (did you mean 'data'?)"),
        (6, {"threshold": None}, "threshold must be one of printed, data, got None"),
        (6, {"threshold": "printed"}, "noise_sd must be given; threshold='data' does without"),
        (
            6,
            {"noise_sd": 0.1},
            "noise_sd belongs to threshold='printed'; threshold='data' measures",
        ),
        (6, {"threshold_scale": 0.1}, "leave threshold_scale out"),
        (6, {"failure_probability": 0.1}, "leave failure_probability out"),
        (6, {"burn_in": 5}, "leave burn_in out"),
        (6, {"weighting": "exact"}, "leave weighting out"),
        (2, {}, "k = 2 features are played, got budget = 2; make it at least 3"),
        (6, {"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_errors(budget: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=re.escape(message)):
        make(kh.Problem(20, 2, budget), **options)


def test_there_are_sums_and_no_moments() -> None:
    learner = make()
    assert not hasattr(learner, "moments")
    X, y, _ = rows(30)
    learner.advance(X, y)
    assert isinstance(learner, PracticalDantzig)
    copied = learner.sums
    learner.advance(X, y)
    assert copied.totals[0] < learner.sums.totals[0]


# --- What it reads


@pytest.mark.parametrize("budget", [3, 6, 19, 20])
def test_the_whole_budget_is_read_every_round(budget: int) -> None:
    X, y, _ = rows(300)
    learner = make(kh.Problem(20, 2, budget))
    bought = np.full((300, budget), -1, dtype=np.int32)
    learner.advance(X, y, bought)
    assert (bought >= 0).all()
    assert np.count_nonzero(learner.weights) <= 2


def test_the_same_sets_whatever_the_labels_until_the_first_solve() -> None:
    tickets = [[make().ask().features.tolist() for _ in range(1)] for _ in range(2)]
    assert tickets[0] == tickets[1]
    learner = make()
    for _ in range(40):  # no label ever comes: it goes on exploring
        assert len(learner.ask().features) == 6
    assert learner.diagnostics.solves == 0


# --- Units


def test_units_and_origins_of_features_and_labels_hardly_matter() -> None:
    X, y, w = rows(1500)
    units, origins = 10.0 ** np.linspace(-6, 6, 20), np.linspace(-9, 9, 20)
    learner = make()
    learner.advance((X + origins) * units, 1e5 * (y + 40.0))
    assert (np.flatnonzero(learner.weights) == np.flatnonzero(w)).all()
    mine = learner.weights * units / 1e5
    # Noise 0.1 over some 1,500 rows: a standard error of 0.003 for a weight.
    np.testing.assert_allclose(mine, w, atol=0.02)
    assert learner.intercept / 1e5 == pytest.approx(40.0 - w @ origins, abs=0.2)


def test_an_intercept_is_learnt() -> None:
    stream, truth = kh.streams.realizable_suite("S9", 2000, seed=2)
    learner = make(kh.streams.REALIZABLE_SUITE["S9"].problem)
    kh.play(learner, stream)
    assert learner.intercept == pytest.approx(truth.intercept, abs=0.05)
    np.testing.assert_allclose(learner.weights, truth.weights, atol=0.05)


def test_weights_and_intercept_are_those_of_the_next_prediction() -> None:
    X, y, _ = rows(1000)
    learner = make()
    learner.advance(X[:-1], y[:-1])
    ticket = learner.ask()
    linear = learner.intercept + float(learner.weights @ X[-1])
    # VAW divides by 1 + x'Px, x'Px = 3 / 1000 or so.
    assert learner.predict(kh.sell(PROBLEM, ticket, X[-1])) == pytest.approx(linear, rel=0.01)


def test_constant_labels_are_predicted_at_once() -> None:
    X, _, _ = rows(100)
    predictions = make().advance(X, np.full(100, 7.0))
    np.testing.assert_allclose(predictions[1:], 7.0)


def test_labels_without_noise_are_learnt() -> None:
    X, y, w = rows(1000, noise_sd=0.0)
    learner = make()
    predictions = learner.advance(X, y)
    np.testing.assert_allclose(predictions[-250:], y[-250:], atol=0.02)
    np.testing.assert_allclose(learner.weights, w, atol=0.02)


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_sizes_at_the_edge_of_what_can_be_squared(size: float) -> None:
    X, y, w = rows(500)
    learner = make()
    predictions = learner.advance(X * size, y)
    assert np.isfinite(predictions).all()
    np.testing.assert_allclose(learner.weights * size, w, atol=0.1)


# --- Labels and values that are late, lost or absent


def test_late_labels_are_learnt_from() -> None:
    X, y, w = rows(1000)
    learner, waiting = make(), []
    for x, label in zip(X, y, strict=True):
        ticket = learner.ask()
        waiting.append((kh.sell(PROBLEM, ticket, x), label))
        if len(waiting) > 100:
            learner.tell(*waiting.pop(0))
    for seen, label in waiting[::2]:
        learner.tell(seen, label)
    for seen, _ in waiting[1::2]:
        learner.drop(seen.ticket)
    np.testing.assert_allclose(learner.weights, w, atol=0.05)


def test_a_ticket_is_predicted_by_its_own_model() -> None:
    X, y, _ = rows(1000)
    learner = make()
    learner.advance(X[:500], y[:500])
    early = kh.sell(PROBLEM, learner.ask(), X[500])
    before = learner.predict(early)
    for x, label in zip(X[501:], -5.0 * y[501:], strict=True):
        learner.tell(kh.sell(PROBLEM, learner.ask(), x), label)
    assert learner.predict(early) == before
    learner.tell(early, 1.0)


def test_absent_values_are_left_out() -> None:
    X, y, w = rows(3000)
    X[np.random.default_rng(5).random(X.shape) < 0.2] = np.nan
    learner = make()
    learner.advance(X, y)
    assert (np.flatnonzero(learner.weights) == np.flatnonzero(w)).all()
    # A fifth of the time one of two played values counts as its mean: VAW shrinks, by a fifth of
    # nothing as the others are uncorrelated with it.
    np.testing.assert_allclose(learner.weights, w, atol=0.05)


# --- Blocks


@pytest.mark.parametrize(
    "parts", [DEFAULT_PARTS, replace(DEFAULT_PARTS, played=False, adapt=False)]
)
def test_blocks_of_any_size_are_the_same_game(parts: Parts) -> None:
    X, y, _ = rows(400, design=kh.streams.designs.toeplitz(0.5))
    slow = make(parts=parts)
    expected = played_by_rounds(slow, X, y)
    for cut in (1, 37, 333, 400):
        fast = make(parts=parts)
        parts_of = [fast.advance(X[a : a + cut], y[a : a + cut]) for a in range(0, 400, cut)]
        np.testing.assert_array_equal(np.concatenate(parts_of), expected)
        np.testing.assert_array_equal(fast.weights, slow.weights)
        assert fast.intercept == slow.intercept
        assert fast.diagnostics == slow.diagnostics


def test_rounds_before_a_bad_one_stand() -> None:
    X, y, _ = rows(100)
    X[60] = 1e200
    learner = make()
    with pytest.raises(kh.DataError, match="round 61"):
        learner.advance(X, y)
    assert learner.round == 60
    twin = make()
    twin.advance(X[:60], y[:60])
    np.testing.assert_array_equal(twin.weights, learner.weights)
    assert learner.ask() == twin.ask()


def test_block_play_refuses_the_wrong_shape() -> None:
    learner = make()
    with pytest.raises(kh.DataError, match="20 features per row and one label for each"):
        learner.advance(np.zeros((3, 4)), np.zeros(3))
    assert learner.round == 0


# --- What it is for


@functools.cache
def score(name: str, seed: int, parts: Parts = DEFAULT_PARTS) -> tuple[float, float]:
    """What 4,096 rounds cost against the truth, and what predicting the mean would."""
    setting = kh.streams.REALIZABLE_SUITE[name]
    stream, truth = setting.simulate(4096, seed)
    X, y = kh.streams.collect(stream)
    learner = make(setting.problem, seed=seed, parts=parts)
    clean = truth.intercept + X @ truth.weights
    cost = float(((learner.advance(X, y) - clean) ** 2).sum())
    return cost, float(((clean - clean.mean()) ** 2).sum())


# Each cost was some 3 to 6 % of predicting the mean when this was written, the worst of 24 seeds
# below 12 %; the seed is fixed, so that the margin is for other platforms' rounding.
@pytest.mark.parametrize("name", ["S1", "S2", "S6", "S9"])
def test_it_costs_little_on_realizable_streams(name: str) -> None:
    cost, mean = score(name, 0)
    assert cost < 0.12 * mean


def test_without_the_played_support_it_would_cost_much_more() -> None:
    broken = replace(DEFAULT_PARTS, played=False, shrink=False)
    assert score("S2", 0, broken)[0] > 3 * score("S2", 0)[0]
