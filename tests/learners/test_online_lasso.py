"""OnlineLassoLearner: the scaled lasso of all rows so far."""

import re
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.testing.helpers import RowsOnly
from tests.helpers.rounds import easy
from tests.helpers.twins import Deaf

PROBLEM = kh.Problem(d=20, k=2, budget=20)


def test_it_is_close_to_the_oracle_and_its_twins_are_not() -> None:
    stream, truth = easy(2048)
    bound = 1.5 * kh.play(kh.oracle(stream, PROBLEM), stream).loss
    assert bound < kh.play(kh.RunningMean(PROBLEM), stream).loss / 20
    learner = kh.OnlineLassoLearner(PROBLEM)
    ledger = kh.play(learner, stream)
    assert ledger.loss < bound
    assert ledger.mean_reads == 20.0
    assert set(truth.support) <= set(np.flatnonzero(learner.weights))
    # scale 1 keeps noise out: all of 18 features stay below the penalty with probability near 1.
    assert len(np.flatnonzero(learner.weights)) <= 4
    assert kh.play(Deaf(kh.OnlineLassoLearner(PROBLEM)), stream).loss > bound
    # Broken twin: a penalty far above the noise it should be measured by.
    assert kh.play(kh.OnlineLassoLearner(PROBLEM, scale=30.0), stream).loss > bound


def test_the_model_is_the_lasso_of_the_rows_up_to_the_last_solve() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 6)) * [1, 2, 3, 1, 10, 0.1] + [0, 50, 0, -3, 0, 1]
    y = X @ [1.0, 0.0, -0.5, 0.0, 0.0, 0.0] + 20.0 + rng.standard_normal(600)
    learner = kh.OnlineLassoLearner(kh.Problem(6, 2, 6))
    kh.play(learner, kh.streams.ArrayStream(X, y))
    learner._next = 0
    learner._before_round(601)
    s, w = X.std(axis=0), learner.weights
    left = y - X @ w - learner.intercept
    penalty = float(left.std() * np.sqrt(2 * np.log(12) / 600))
    gradient = (X - X.mean(axis=0)).T @ left / 600 / s
    # The residual that sets the penalty rests to 1e-3 of itself, or it would be solved again.
    assert (np.abs(gradient) <= 1.002 * penalty).all()
    used = w != 0.0
    np.testing.assert_allclose(gradient[used], penalty * np.sign(w[used]), rtol=2e-3)
    assert {0, 2} <= set(np.flatnonzero(used))
    assert abs(left.mean()) < 1e-9


def test_an_absent_value_counts_as_its_mean() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3)) + 4.0
    learner = kh.OnlineLassoLearner(kh.Problem(3, 1, 3))
    kh.play(learner, kh.streams.ArrayStream(X, X[:, 0]))
    ticket = learner.ask()
    absent = learner.predict(ticket.fill([np.nan, 4.0, 4.0]))
    assert absent == learner.predict(ticket.fill([learner._means[0], 4.0, 4.0]))


def test_it_still_learns_when_much_is_absent() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 12)) + 2.0 * rng.standard_normal((3000, 1))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(3000)
    X[rng.random(X.shape) < 0.2] = np.nan
    stream, problem = kh.streams.ArrayStream(X, y), kh.Problem(12, 2, 12)
    learner, again = kh.OnlineLassoLearner(problem), kh.OnlineLassoLearner(problem)
    ledger = kh.play(learner, stream)
    # Both values are there in 0.64 of the rounds; a lone one says little, x_0 and x_1 being alike.
    assert ledger.loss < kh.play(kh.RunningMean(problem), stream).loss
    assert learner.weights[0] > 0.2
    assert learner.weights[1] < -0.2
    assert ledger.loss == kh.play(again, RowsOnly(stream)).loss


@pytest.mark.parametrize(
    ("problem", "given", "message"),
    [
        (kh.Problem(20, 2, 6), {}, "the online lasso reads all 20 features, the budget is 6"),
        (PROBLEM, {"scale": 0.0}, "scale must be positive, got 0"),
        (PROBLEM, {"scale": -1.0}, "scale must be positive, got -1"),
    ],
)
def test_errors(problem: kh.Problem, given: dict[str, Any], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=re.escape(message)):
        kh.OnlineLassoLearner(problem, **given)


def test_a_model_is_its_intercept_and_weights_times_values() -> None:
    """Means stand in for what is absent; a row that is too large is not played."""
    X = np.array([[1.0, 5.0, 4.0], [0.0, np.nan, 2.0], [1e-200, 0.0, np.nan], [1.0, 1e151, 1.0]])
    learner = kh.OnlineLassoLearner(kh.Problem(3, 1, 3))
    learner._w[:], learner._means[:], learner._intercept = [2.0, 0.0, -0.5], [10.0, 20.0, 30.0], 1.5
    learner._next = 99
    seen = learner.ask().fill([np.nan] * 3)
    assert learner.predict(seen) == 1.5 + 20.0 - 15.0
    assert learner.advance(X[:3], np.zeros(3)).tolist() == [1.5, 0.5, -13.5]
    with pytest.raises(kh.DataError, match="round 5"):
        learner.advance(X[3:], np.zeros(1))
