"""AERR and AELR: the steps, and that they learn; the estimates have a test file of their own."""

import re
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.attribute_efficient import (
    AttributeEfficient,
    aelr_theorem_rate,
    aerr_theorem_rate,
)
from keyhole.problem import Floats
from tests.helpers.rounds import easy, share_of_the_mean

PROBLEM = kh.Problem(d=20, k=2, budget=10)
BOTH = [kh.AERRLearner, kh.AELRLearner]


def estimate(seen: kh.Observation, w: Floats, y: float) -> Floats:
    """The gradient of a ticket, by hand."""
    reach, product, _, means = seen.ticket.memo["counts"]
    phi = seen.ticket.memo["offsets"][0] + product @ (seen.values - means) - y
    g = np.zeros(len(w))
    g[seen.ticket.features] = phi * reach * seen.values
    return g


def game(learner: AttributeEfficient, n: int) -> Any:
    """Rounds of a learner: what it saw, the label, w before and after."""
    stream, _ = kh.streams.realizable(d=learner.problem.d, k=2, n=n, seed=1)
    for x, y in stream:
        ticket = learner.ask()
        seen, before = ticket.fill(x[ticket.features]), learner.iterate
        learner.tell(seen, y)
        yield seen, y, before, learner.iterate


@pytest.mark.parametrize("rate", [None, 0.03])
def test_ridge_is_projected_gradient_descent(rate: float | None) -> None:
    learner = kh.AERRLearner(PROBLEM, seed=1, radius=0.5, rate=rate)
    total, largest, average, projected = 0.0, 0.0, np.zeros(20), 0
    for n, (seen, y, before, after) in enumerate(game(learner, 1500), start=1):
        g = estimate(seen, before, y)
        square = float(g @ g)
        total, largest = total + square, max(largest, square)
        measured = np.sqrt(2 / (total + 8 * 20 * largest)) * 0.5
        w = before - (measured if rate is None else rate) * g
        projected += bool(np.linalg.norm(w) > 0.5)
        np.testing.assert_allclose(after, w * 0.5 / max(np.linalg.norm(w), 0.5), atol=1e-12)
        average += 2 / (n + 1) * (after - average)
    assert projected > 5
    top = np.sort(np.argsort(-np.abs(average))[:2])
    np.testing.assert_array_equal(np.flatnonzero(learner.weights), top)
    np.testing.assert_allclose(learner.weights[top], average[top], rtol=1e-9)


def test_lasso_multiplies_weights() -> None:
    rate, cut = 0.2, 0
    learner = kh.AELRLearner(PROBLEM, seed=1, radius=0.5, rate=rate)
    up, down = np.ones(20), np.ones(20)
    for seen, y, before, after in game(learner, 200):
        g = estimate(seen, before, y)
        cut += int((np.abs(g) > 1 / rate).any())
        clipped = np.clip(g, -1 / rate, 1 / rate)
        up, down = up * np.exp(-rate * clipped), down * np.exp(rate * clipped)
        np.testing.assert_allclose(after, 0.5 * (up - down) / (up + down).sum(), atol=1e-12)
    assert cut > 5


def test_lasso_measures_its_rate() -> None:
    learner = kh.AELRLearner(PROBLEM, seed=1)
    theta, total, shares = np.zeros(20), 0.0, np.full(20, 1 / 20)
    for seen, y, before, after in game(learner, 200):
        g = estimate(seen, before, y)
        total += float(shares @ g**2)
        rate = np.sqrt(np.log(40) / total)
        theta += np.clip(g, -1 / rate, 1 / rate)
        z = np.exp(-rate * theta) + np.exp(rate * theta)
        shares = z / z.sum()
        np.testing.assert_allclose(after, -2 * np.sinh(rate * theta) / z.sum(), atol=1e-9)


@pytest.mark.parametrize("data_dependent", [False, True])
@pytest.mark.parametrize("make", BOTH)
def test_it_beats_the_running_mean_and_finds_the_support(make: Any, data_dependent: bool) -> None:
    learner = make(PROBLEM, seed=0, data_dependent=data_dependent)
    assert share_of_the_mean(learner) < 0.2
    np.testing.assert_array_equal(np.flatnonzero(learner.weights), easy().truth.support)
    still = make(PROBLEM, seed=0, data_dependent=data_dependent, rate=1e-12)
    assert share_of_the_mean(still) > 0.9


@pytest.mark.parametrize("make", BOTH)
def test_the_theorem_rate_learns_too(make: Any) -> None:
    n = 2048
    rate = aerr_theorem_rate if make is kh.AERRLearner else aelr_theorem_rate
    learner = make(PROBLEM, seed=0, rate=rate(PROBLEM, n))
    assert share_of_the_mean(learner, n) < 1 / 1.5
    np.testing.assert_array_equal(np.flatnonzero(learner.weights), easy(n).truth.support)


def test_theorem_rates_are_those_of_the_papers() -> None:
    # 4 draws for x_tilde; second moments 1/4 each: their roots sum to 10, they to 5.
    quarter = np.full(20, 0.25)
    assert aerr_theorem_rate(PROBLEM, 100, radius=3.0) == pytest.approx(2 / np.sqrt(8 * 5 * 100))
    known = aerr_theorem_rate(PROBLEM, 100, second_moments=quarter)
    assert known == pytest.approx(1 / np.sqrt(100 * (100 / 4 + 1)))
    known = aelr_theorem_rate(PROBLEM, 100, radius=3.0, second_moments=quarter)
    assert known == pytest.approx(np.sqrt(np.log(40) / (5 * 100 * (5 / 4 + 1))) / 6)


@pytest.mark.parametrize("make", BOTH)
def test_data_dependent_draws_leave_small_features_alone(make: Any) -> None:
    rng = np.random.default_rng(0)
    size = np.where(np.arange(20) < 10, 1.0, 0.05)
    X = rng.choice([-1.0, 1.0], (600, 20)) * size
    drawn = {}
    for data_dependent in (False, True):
        learner = make(kh.Problem(20, 1, 5), seed=0, data_dependent=data_dependent)
        it = learner._iterate
        it.counts[:], it.squares[:], it.tally[2] = 1e6, 1e6 * size**2, 1.0  # second moments known
        counts = np.zeros(20)
        for t, x in enumerate(X):
            ticket = learner.ask()
            if t >= 100:
                counts[ticket.features] += ticket.memo["counts"][0] > 0
            learner.tell(ticket.fill(x[ticket.features]), x[0])
        drawn[data_dependent] = counts[10:].sum() / counts[1:].sum()  # feature 0 is played
    # 10 of 19 small ones; with their share of the roots of moments, 0.05, or of the moments.
    assert drawn[False] > 0.45
    assert drawn[True] < 0.1


@pytest.mark.parametrize("make", BOTH)
def test_a_budget_of_k_looks_elsewhere_at_square_rounds(make: Any) -> None:
    problem = kh.Problem(d=10, k=2, budget=2)
    learner = make(problem, seed=0)
    stream, _ = kh.streams.realizable(d=10, k=2, n=900, seed=0)
    elsewhere = set()
    for t, (x, y) in enumerate(stream, start=1):
        played = set(np.flatnonzero(learner.weights).tolist())
        ticket = learner.ask()
        if len(played) == 2 and not played <= set(ticket.features.tolist()):
            elsewhere.add(t)
        learner.tell(ticket.fill(x[ticket.features]), y)
    assert elsewhere <= {i * i for i in range(1, 31)}
    assert len(elsewhere) > 15


def test_too_large_a_gradient_is_left_out() -> None:
    for make in BOTH:
        learner = make(kh.Problem(3, 1, 3), seed=0)
        learner.tell(learner.ask().fill([1.0, 0.5, -1.0]), 1.0)
        before = learner.iterate
        learner.tell(learner.ask().fill([1e150, 1.0, 1.0]), 1e150)
        np.testing.assert_array_equal(learner.iterate, before)


@pytest.mark.parametrize("make", BOTH)
def test_a_ticket_of_another_learner_is_refused(make: Any) -> None:
    other = kh.RandomSubset(PROBLEM, seed=0).ask()
    with pytest.raises(kh.TicketError, match="round 1 was never issued"):
        make(PROBLEM).predict(other.fill(np.zeros(10)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0.0}, "radius must be positive, got 0"),
        ({"radius": np.inf}, "radius must be finite, got inf"),
        ({"rate": -1.0}, "rate must be positive, got -1"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_errors(settings: Any, message: str) -> None:
    for make in BOTH:
        with pytest.raises(kh.ProblemError, match=re.escape(message)):
            make(PROBLEM, **settings)
