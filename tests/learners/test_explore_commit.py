"""ExploreThenCommitLearner: its schedule, its selection, and that both matter."""

import re
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from tests.helpers.rounds import easy, share_of_the_mean
from tests.helpers.twins import Deaf

PROBLEM = kh.Problem(d=20, k=2, budget=6)
SHARE = 0.25  # of the loss of the mean; an epoch of 1,024 rounds explores in 152 of them
N = 2048


class Contrary(kh.ExploreThenCommitLearner):
    """A broken twin: commits to features that were not selected."""

    def _select(self) -> None:
        super()._select()
        self._support = np.setdiff1d(np.arange(self.problem.d), self._support)[: self.problem.k]


def test_it_beats_the_mean_and_its_twins_do_not() -> None:
    truth = easy(N).truth
    learner = kh.ExploreThenCommitLearner(PROBLEM, seed=0)
    assert share_of_the_mean(learner, N) < SHARE
    assert np.flatnonzero(learner.weights).tolist() == truth.support.tolist()
    np.testing.assert_allclose(learner.weights, truth.weights, atol=0.02)
    single = kh.ExploreThenCommitLearner(PROBLEM, seed=0, horizon=N)
    assert share_of_the_mean(single, N) < SHARE
    assert share_of_the_mean(Deaf(kh.ExploreThenCommitLearner(PROBLEM, seed=0))) > SHARE
    assert share_of_the_mean(Contrary(PROBLEM, seed=0)) > SHARE


def test_epochs_explore_first_and_keep_the_support_for_the_rest() -> None:
    stream, _ = easy(512)
    learner = kh.ExploreThenCommitLearner(PROBLEM, seed=3)
    played = list(kh.rounds(learner, stream))
    assert {len(r.features) for r in played} == {6}  # the whole budget, always
    explored = learner.explored(256)
    assert explored == int(np.ceil((256**2 * 20 / 6) ** (1 / 3)))
    epoch = played[255:511]
    kept = set.intersection(*({*r.features.tolist()} for r in epoch[explored:]))
    assert len(kept) == 2
    # 6 of 20 at random: all of 60 hold a given pair with probability (6 5 / 20 19)^60 < 1e-60.
    early = set.intersection(*({*r.features.tolist()} for r in epoch[:explored]))
    assert not early


def test_a_single_phase_reads_its_support_alone_once_it_is_chosen() -> None:
    stream, truth = easy(1000)
    learner = kh.ExploreThenCommitLearner(PROBLEM, seed=0, horizon=1000, exploration=300)
    reads = [r.features.tolist() for r in kh.rounds(learner, stream)]
    assert {len(r) for r in reads[:300]} == {6}
    assert all(r == truth.support.tolist() for r in reads[300:])
    default = kh.ExploreThenCommitLearner(PROBLEM, seed=0, horizon=1000)
    sizes = [len(r.features) for r in kh.rounds(default, stream)]
    assert sizes.index(2) == default.explored(1000) == 150


def test_no_label_in_time_means_exploring_on() -> None:
    learner = kh.ExploreThenCommitLearner(PROBLEM, seed=0, exploration=2)
    waiting = [learner.ask() for _ in range(5)]
    assert {len(ticket.features) for ticket in waiting} == {6}
    rng = np.random.default_rng(0)
    for ticket in waiting:
        x = rng.standard_normal(6)
        learner.tell(ticket.fill(x), float(x[0]))
    assert len(learner.ask().features) == 2


def test_units_and_origins_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 20))
    y = X[:, 3] - X[:, 7] + 0.1 * rng.standard_normal(1000)
    shift, scale = rng.normal(0, 10, 20), np.exp(rng.normal(0, 2, 20))

    def predictions(X: Floats, y: Floats) -> Floats:
        learner = kh.ExploreThenCommitLearner(PROBLEM, seed=0)
        return kh.play(learner, kh.streams.ArrayStream(X, y)).predictions

    moved = predictions(X * scale + shift, 5.0 * y + 30.0)
    # Before the first label the prediction is 0, whatever the origin.
    np.testing.assert_allclose((moved[1:] - 30.0) / 5.0, predictions(X, y)[1:], atol=1e-6)


def test_selection_sees_through_a_correlation_that_cancels() -> None:
    # cov(x_1, y) = 0 although x_1 matters: what screening by correlation cannot find.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2048, 10))
    X[:, 1] = -0.8 * X[:, 0] + 0.6 * X[:, 1]
    y = X[:, 0] + 0.8 * X[:, 1] + 0.1 * rng.standard_normal(2048)
    learner = kh.ExploreThenCommitLearner(kh.Problem(10, 2, 4), seed=0)
    kh.play(learner, kh.streams.ArrayStream(X, y))
    assert np.flatnonzero(learner.weights).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"exploration": 0}, "exploration must be at least 1, got 0"),
        ({"horizon": 5, "exploration": 6}, "exploration must be at most horizon = 5, got 6"),
        ({"ridge": 0.0}, "ridge must be positive, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_errors(given: dict[str, Any], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=re.escape(message)):
        kh.ExploreThenCommitLearner(PROBLEM, **given)


def test_a_state_with_an_impossible_support_is_refused() -> None:
    learner = kh.ExploreThenCommitLearner(PROBLEM, seed=0)
    learner._support = np.array([3, 25])
    with pytest.raises(kh.StateError, match=r"support must be below d, the state has 25"):
        kh.ExploreThenCommitLearner.from_state(learner.state())
