"""EpsilonGreedyLearner: how often it explores, what it reads otherwise, and where it must fail."""

import math
import re
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from tests.helpers.rounds import easy, share_of_the_mean
from tests.helpers.twins import Deaf

PROBLEM = kh.Problem(d=20, k=2, budget=6)
SHARE = 0.25  # of the loss of the mean; of rounds 513 to 1,024, 11 % explore


def test_it_beats_the_mean_and_its_twins_do_not() -> None:
    truth = easy().truth
    learner = kh.EpsilonGreedyLearner(PROBLEM, seed=0)
    assert share_of_the_mean(learner) < SHARE
    assert np.flatnonzero(learner.weights).tolist() == truth.support.tolist()
    np.testing.assert_allclose(learner.weights, truth.weights, atol=0.02)
    assert share_of_the_mean(Deaf(kh.EpsilonGreedyLearner(PROBLEM, seed=0))) > SHARE
    # It is the screening that does it: exploring alone meets both features in 8 % of the rounds.
    always = kh.EpsilonGreedyLearner(PROBLEM, seed=0, decay=0.0)
    assert share_of_the_mean(always) > SHARE


@pytest.mark.parametrize(("epsilon", "decay"), [(3.0, 1 / 3), (0.3, 0.0), (4.0, 0.4)])
def test_it_explores_as_often_as_it_says(epsilon: float, decay: float) -> None:
    n = 2000
    stream, truth = easy(n)
    learner = kh.EpsilonGreedyLearner(PROBLEM, seed=5, epsilon=epsilon, decay=decay)
    rate = np.minimum(1.0, epsilon * np.arange(1, n + 1) ** -decay)[n // 2 :]
    misses = 0
    for r in list(kh.rounds(learner, stream))[n // 2 :]:
        misses += not set(truth.support.tolist()) <= set(r.features.tolist())
    # In the second half the truth is on top, so a round misses part of it iff it explores and does
    # not draw it: probability 1 - 6 5 / (20 19). Bernstein's bound, 1e-6.
    p = rate * (1 - 30 / 380)
    variance, log = float((p * (1 - p)).sum()), math.log(2e6)
    margin = math.sqrt(2 * variance * log) + 2 * log / 3
    assert abs(misses - p.sum()) < margin
    # The margin tells rates apart that differ by half.
    assert margin < p.sum() / 2


def test_a_round_that_does_not_explore_reads_the_top_of_the_list() -> None:
    rng = np.random.default_rng(0)
    learner = kh.EpsilonGreedyLearner(kh.Problem(6, 1, 2), seed=0, epsilon=0.0)
    for _ in range(3):  # before any label there is nothing to go by
        assert len(learner.ask().features) == 2
    sums = kh.EpsilonGreedyLearner(kh.Problem(6, 1, 6), seed=0)
    X = rng.standard_normal((200, 6))
    y = X @ np.array([0.1, 1.0, 0.0, -2.0, 0.2, 0.0])
    kh.play(sums, kh.streams.ArrayStream(X, y))
    learner._sums, learner._limits = sums._sums, sums._limits
    assert learner.ask().features.tolist() == [1, 3]
    assert np.flatnonzero(learner.weights).tolist() == [3]


def test_it_cannot_find_a_feature_whose_correlation_cancels() -> None:
    # cov(x_1, y) = 0 although x_1 matters: the documented limit of screening.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4096, 10))
    X[:, 1] = -0.8 * X[:, 0] + 0.6 * X[:, 1]
    y = X[:, 0] + 0.8 * X[:, 1] + 0.1 * rng.standard_normal(4096)
    learner = kh.EpsilonGreedyLearner(kh.Problem(10, 2, 4), seed=0)
    kh.play(learner, kh.streams.ArrayStream(X, y))
    assert learner.weights[0] != 0.0
    assert learner.weights[1] == 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be at least 0 and finite, got -0.1"),
        ({"decay": 1.5}, "decay must be from 0 to 1, got 1.5"),
        ({"ridge": 0.0}, "ridge must be positive, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_errors(given: dict[str, Any], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=re.escape(message)):
        kh.EpsilonGreedyLearner(PROBLEM, **given)
