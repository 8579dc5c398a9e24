"""OnlineOMPLearner: forward selection on all rows, close to the oracle where that is possible."""

import re

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.fit.set_function import greedy
from tests.helpers.rounds import easy
from tests.helpers.twins import Deaf

PROBLEM = kh.Problem(d=20, k=2, budget=20)


class Contrary(kh.OnlineOMPLearner):
    """A broken twin: plays features that were not selected."""

    def _select(self) -> None:
        super()._select()
        self._support = np.setdiff1d(np.arange(self.problem.d), self._support)[: self.problem.k]


def test_it_is_close_to_the_oracle_and_its_twins_are_not() -> None:
    stream, truth = easy()
    bound = 1.5 * kh.play(kh.oracle(stream, PROBLEM), stream).loss
    assert bound < kh.play(kh.RunningMean(PROBLEM), stream).loss / 20
    learner = kh.OnlineOMPLearner(PROBLEM)
    ledger = kh.play(learner, stream)
    assert ledger.loss < bound
    assert ledger.mean_reads == 20.0
    assert np.flatnonzero(learner.weights).tolist() == truth.support.tolist()
    assert kh.play(Deaf(kh.OnlineOMPLearner(PROBLEM)), stream).loss > bound
    assert kh.play(Contrary(PROBLEM), stream).loss > bound


def test_it_plays_the_greedy_choice_of_all_rows_with_an_intercept() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 8)) + 0.7 * rng.standard_normal((400, 1)) + 5.0
    y = X @ rng.standard_normal(8) + 30.0 + rng.standard_normal(400)
    learner = kh.OnlineOMPLearner(kh.Problem(8, 3, 8), ridge=1e-9)
    kh.play(learner, kh.streams.ArrayStream(X, y))
    learner._select()
    Z, u = X - X.mean(axis=0), y - y.mean()
    S = np.sort(greedy(Z.T @ Z, Z.T @ u, float(u @ u), 400, 3)[0])
    assert np.flatnonzero(learner.weights).tolist() == S.tolist()
    w = np.linalg.lstsq(Z[:, S], u, rcond=None)[0]
    np.testing.assert_allclose(learner.weights[S], w, rtol=1e-6)
    assert learner.intercept == pytest.approx(y.mean() - w @ X[:, S].mean(axis=0), rel=1e-6)


def test_it_needs_to_read_everything() -> None:
    message = "online OMP reads all 20 features, the budget is 6: make the problem with budget=20"
    with pytest.raises(kh.ProblemError, match=re.escape(message)):
        kh.OnlineOMPLearner(kh.Problem(20, 2, 6))
