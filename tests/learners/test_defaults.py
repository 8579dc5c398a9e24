"""What learners do unless told otherwise, as their pages say; and edges of what they take."""

import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.attribute_efficient import aerr_theorem_rate
from keyhole.learners.blocks.greedy.variants import VARIANTS
from keyhole.learners.blocks.sums.seen_sums import WEIGHT
from keyhole.learners.dantzig import _Model
from keyhole.learners.practical_dantzig import PracticalDantzig
from keyhole.learners.registry import learner_class
from keyhole.problem.state_checks import prove
from keyhole.saving.api import from_bytes, to_bytes


def test_rates_of_theorems_by_hand() -> None:
    """2 B / (G sqrt(T)), G^2 = 8 B^2 d/m; for DDAERR 1/sqrt(T ((sum of roots)^2/m + 1))."""
    problem = kh.Problem(d=20, k=2, budget=10)  # 8 are left: m = 4 draws
    assert aerr_theorem_rate(problem, horizon=1, radius=3.0) == pytest.approx(2 / 40**0.5)
    assert aerr_theorem_rate(problem, horizon=100) == pytest.approx(2 / 4000**0.5)
    moments = np.full(20, 0.25)  # the roots add up to 10
    rate = aerr_theorem_rate(problem, horizon=50, second_moments=moments)
    assert rate == pytest.approx(1 / (50 * (100 / 4 + 1)) ** 0.5)
    with pytest.raises(kh.ProblemError, match="horizon must be at least 1"):
        aerr_theorem_rate(problem, horizon=0)


SIZES = {"d": 10, "k": 2, "budget": 6}


@pytest.mark.parametrize("support", [[-1, 2], [-2], [4, 10], [3, 3], [5, 2], [1, 2, 3]])
def test_a_model_of_other_features_is_refused(support: list[int]) -> None:
    S, zeros = np.array(support), np.zeros(len(support))
    with pytest.raises(kh.StateError, match=r"model\.support must be"):
        prove(_Model(S, zeros, zeros.copy()), "model", SIZES)


@pytest.mark.parametrize("support", [[], [0], [9], [0, 9]])
def test_a_model_of_its_own_features_is_not(support: list[int]) -> None:
    S, zeros = np.array(support, dtype=np.int64), np.zeros(len(support))
    prove(_Model(S, zeros, zeros.copy()), "model", SIZES)
    short = _Model(S.copy(), np.zeros(len(support) + 1), zeros.copy())
    with pytest.raises(kh.StateError, match=r"model\.w must have the shape"):
        prove(short, "model", SIZES)


@pytest.mark.parametrize(("level", "spread"), [(1e3, 1.0), (1e3, 0.0), (1e-3, 1e-3), (0.0, 1e-9)])
def test_the_online_lasso_knows_labels_that_vary_from_labels_that_do_not(
    level: float, spread: float
) -> None:
    """Labels with a mean square of 1e6 times their variance still teach; equal ones do not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((64, 4))
    learner = kh.OnlineLassoLearner(kh.Problem(4, 2, 4))
    kh.play(learner, kh.streams.ArrayStream(X, level + spread * X[:, 2]))
    learner.ask()
    assert np.flatnonzero(learner.weights).tolist() == ([2] if spread else [])
    if spread:
        assert learner.weights[2] == pytest.approx(spread, rel=0.2)


def test_old_rows_lose_weight_as_the_error_falls() -> None:
    """error = total / n; level = error (1 + sqrt(2/n)); rows lose sqrt(level / before)."""
    learner = kh.LEARNERS["dantzig-data"](kh.Problem(6, 2, 5), seed=0)
    assert isinstance(learner, PracticalDantzig)
    X = np.random.default_rng(0).uniform(-1, 1, (20, 6))
    kh.play(learner, kh.streams.ArrayStream(X, X[:, 0]))
    weight = float(learner._sums.totals[WEIGHT])
    learner._level = math.inf
    for total, n, before, level in [
        (0.0, 0.0, math.inf, math.inf),  # too few errors: no level
        (6.0, 6.0, math.inf, math.inf),
        (16.0, 8.0, math.inf, 3.0),  # the first level: nothing to compare it with
        (32.0, 8.0, 3.0, 3.0),  # it has not fallen
        (4.0, 8.0, 3.0, 0.75),
        (0.0, 8.0, 0.75, 0.0),  # no error at all: no weight can be lost
    ]:
        learner._record[:2] = total, n
        assert learner._level == before
        assert learner._recent_error() == pytest.approx(total / max(n, 1.0))
        assert learner._level == pytest.approx(level)
        assert learner._record[:2].tolist() == [total / 2, n / 2]
        if (before, level) == (3.0, 0.75):
            weight *= 0.5  # the root of a quarter
        assert float(learner._sums.totals[WEIGHT]) == pytest.approx(weight)


def test_subset_experts_take_no_more_subsets_than_they_can_and_their_rates_are_printed() -> None:
    with pytest.raises(kh.ProblemError, match="d = 200, k = 3 have 1,313,400 subsets"):
        kh.SubsetExpertsLearner(kh.Problem(200, 3, 10))
    problem = kh.Problem(6, 2, 5)  # 3 explore: p = 1/2, q = 3 2 / (6 5) = 1/5
    one = kh.SubsetExpertsLearner(problem, horizon=1)
    assert one._p == 0.5
    assert one._q == pytest.approx(0.2)
    assert one._hedge_rate == pytest.approx(0.2 * math.sqrt(2 * math.log(6)))
    assert one._rate == pytest.approx(0.2)
    many = kh.SubsetExpertsLearner(problem, horizon=400)
    assert many._hedge_rate == pytest.approx(0.2 * math.sqrt(2 * math.log(6) / 400))
    assert many._rate == pytest.approx(0.01)
    measured = kh.SubsetExpertsLearner(problem)
    assert (measured._hedge_rate, measured._rate) == (0.0, 0.0)
    with pytest.raises(kh.ProblemError, match="horizon must be at least 1"):
        kh.SubsetExpertsLearner(problem, horizon=0)


def test_the_range_of_epsilon_and_its_decay() -> None:
    problem = kh.Problem(6, 2, 4)
    for decay in (0.0, 1.0):
        assert kh.EpsilonGreedyLearner(problem, decay=decay).decay == decay
    for decay in (-0.1, 1.1):
        with pytest.raises(kh.ProblemError, match="decay"):
            kh.EpsilonGreedyLearner(problem, decay=decay)
    with pytest.raises(kh.ProblemError, match="epsilon"):
        kh.EpsilonGreedyLearner(problem, epsilon=-0.1)


@pytest.mark.parametrize(
    ("T", "d", "budget", "rounds"),
    [(1000, 16, 2, 200), (1000, 8, 8, 100), (1001, 8, 8, 101), (1, 16, 2, 1), (8, 64, 1, 8)],
)
def test_rounds_that_explore_before_a_commitment(T: int, d: int, budget: int, rounds: int) -> None:
    """ceil(T^(2/3) (d/budget)^(1/3)), at most T."""
    assert kh.ExploreThenCommitLearner(kh.Problem(d, 1, budget)).explored(T) == rounds


@pytest.mark.parametrize("support", [[-1], [-3, 2], [6], [3, 3], [4, 1], [0, 1, 2]])
def test_a_committed_support_of_other_features_is_refused(support: list[int]) -> None:
    learner = kh.ExploreThenCommitLearner(kh.Problem(6, 2, 4))
    learner._support = np.array(support)
    with pytest.raises(kh.StateError, match="support must be"):
        from_bytes(to_bytes(learner))
    for good in ([], [0, 5], [3]):
        learner._support = np.array(good, dtype=np.int64)
        again = from_bytes(to_bytes(learner))
        assert isinstance(again, kh.ExploreThenCommitLearner)
        assert again._support.tolist() == good


def test_classes_are_found_by_their_names_and_named_parts_by_theirs() -> None:
    assert learner_class("AutoLearner") is kh.AutoLearner
    assert learner_class("RunningMean") is kh.RunningMean
    assert learner_class("LastValue") is kh.LastValue
    assert learner_class("Nobody") is None
    for name, parts in VARIANTS.items():
        learner = kh.OnlineGreedyLearner(kh.Problem(6, 2, 4), seed=0, parts=parts)
        assert learner.settings()["parts"] == name
