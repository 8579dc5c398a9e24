"""All subsets as experts: the printed algorithm line by line, and that it learns."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.sampling import categorical, uniform_subset
from keyhole.problem import Floats

PROBLEM = kh.Problem(d=10, k=2, budget=6)


def printed(X: Floats, y: Floats, d: int, k: int, budget: int, seed: int) -> Floats:
    """Predictions of the algorithm as it is printed, but for sqrt(k) in the rate of the experts."""
    T, m = len(y), budget - k
    p, q = m / d, m * (m - 1) / (d * (d - 1))
    eta_hedge, eta_step = q * np.sqrt(k * np.log(d) / T), q / np.sqrt(T)
    subsets = [list(S) for S in itertools.combinations(range(d), k)]
    D, w, predictions = np.ones(len(subsets)), np.zeros((len(subsets), d)), np.empty(T)
    for t in range(T):
        drawn = categorical(seed, t + 1, D, purpose=1)
        R = uniform_subset(seed, t + 1, d, m)
        predictions[t] = w[drawn] @ X[t]
        x = np.zeros(d)
        x[R] = X[t, R]
        gram = np.outer(x, x) / q
        np.fill_diagonal(gram, x**2 / p)
        z = y[t] * x / p
        for e, S in enumerate(subsets):
            loss = w[e] @ gram @ w[e] - 2 * z @ w[e] + y[t] ** 2
            D[e] *= np.exp(-eta_hedge * loss)
            w[e, S] -= 2 * eta_step * (gram @ w[e] - z)[S]
            w[e] /= max(1.0, np.linalg.norm(w[e]))
        D /= D.sum()
    return predictions


def test_with_a_horizon_it_is_the_printed_algorithm() -> None:
    stream, _ = kh.streams.realizable(d=6, k=2, n=400, noise_sd=0.5, seed=3)
    X, y = kh.streams.collect(stream)
    learner = kh.SubsetExpertsLearner(kh.Problem(6, 2, 5), seed=4, horizon=400)
    expected = printed(X.astype(np.float64), y, 6, 2, 5, 4)
    np.testing.assert_allclose(kh.play(learner, stream).predictions, expected, atol=1e-9)
    assert np.abs(expected).max() > 0.1


def test_it_beats_the_running_mean_and_finds_the_support() -> None:
    stream, truth = kh.streams.realizable(d=10, k=2, n=2048, noise_sd=0.1, seed=0)
    learner = kh.SubsetExpertsLearner(PROBLEM, seed=0)
    bound = kh.play(kh.RunningMean(PROBLEM), stream).loss / 5
    assert kh.play(learner, stream).loss < bound
    np.testing.assert_array_equal(np.flatnonzero(learner.weights), truth.support)
    assert learner.probabilities().max() > 0.9
    still = kh.SubsetExpertsLearner(PROBLEM, seed=0, horizon=10**24)  # rates of nearly 0
    assert kh.play(still, stream).loss > bound


def test_it_finds_a_pair_that_no_single_feature_shows() -> None:
    # y = x_0 - x_1 with x_1 nearly x_0: neither explains y alone, and greedy choices miss them.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 6))
    X[:, 1] = 0.8 * X[:, 0] + 0.2 * X[:, 1]
    y = 2 * (X[:, 0] - X[:, 1]) + 0.3 * X[:, 2]
    learner = kh.SubsetExpertsLearner(kh.Problem(6, 2, 6), seed=0, radius=3.0)
    kh.play(learner, kh.streams.ArrayStream(X, y))
    np.testing.assert_array_equal(np.flatnonzero(learner.weights), [0, 1])


def test_a_ticket_reads_the_subset_and_what_is_explored() -> None:
    learner = kh.SubsetExpertsLearner(PROBLEM, seed=0)
    for _ in range(20):
        ticket = learner.ask()
        both = np.union1d(ticket.memo["support"], ticket.memo["explore"])
        np.testing.assert_array_equal(ticket.features, both)
        assert len(ticket.memo["explore"]) == 4


def test_a_ticket_of_another_learner_is_refused() -> None:
    other = kh.RandomSubset(PROBLEM, seed=0).ask()
    with pytest.raises(kh.TicketError, match="round 1 was never issued"):
        kh.SubsetExpertsLearner(PROBLEM).predict(other.fill(np.zeros(6)))


@pytest.mark.parametrize(
    ("problem", "settings", "message"),
    [
        (kh.Problem(10, 2, 3), {}, "budget must be at least k + 2 = 4, or all d = 10"),
        (kh.Problem(10, 2, 2), {}, "got 2"),
        (kh.Problem(40, 6, 20), {}, "d = 40, k = 6 have 3,838,380 subsets"),
        (kh.Problem(40, 6, 20), {}, "use fewer features, a smaller k, or by name a learner"),
        (PROBLEM, {"radius": 0.0}, "radius must be positive, got 0"),
        (PROBLEM, {"horizon": 0}, "horizon must be at least 1, got 0"),
        (PROBLEM, {"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_errors(problem: kh.Problem, settings: Any, message: str) -> None:
    with pytest.raises(kh.ProblemError, match=re.escape(message)):
        kh.SubsetExpertsLearner(problem, **settings)
