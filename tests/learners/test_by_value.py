"""The sizes that learners derive from a problem, and the files they refuse.

Small and quick: none of these plays more than a few rounds.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners import attribute_efficient, practical_dantzig
from keyhole.learners.batches import Batches
from keyhole.learners.blocks.dantzig import selection
from keyhole.learners.blocks.draw.sampling import uniform_subset
from keyhole.learners.blocks.greedy.variants import PAPER, PRACTICAL
from keyhole.learners.blocks.sums.correlations import Correlations
from keyhole.learners.hard_thresholding import CURSOR
from keyhole.learners.moment_base import MomentLearner
from keyhole.learners.online_greedy import default_slots, theorem_parameters
from keyhole.learners.practical_dantzig import PracticalDantzig
from keyhole.saving.api import from_bytes, to_bytes

EVERYTHING = kh.Problem(12, 2, 12)  # for those that read all features, too


def test_a_base_without_a_plan_of_its_own_has_defaults_too() -> None:
    base = MomentLearner(EVERYTHING)
    assert (base.seed, base.ridge) == (0, 1.0)
    assert base.ask().features.tolist() == list(range(12))


def test_a_fixed_subset_that_is_not_named_is_the_first_k() -> None:
    assert kh.FixedSubset(EVERYTHING).ask().features.tolist() == [0, 1]


def test_a_learner_takes_one_thing_without_a_name() -> None:
    """What is not a problem is named as such only in the place of the problem."""
    with pytest.raises(TypeError, match="positional argument"):
        kh.Zero(EVERYTHING, 5)  # type: ignore[call-arg]
    for wrong in (5, None, "d=5"):
        with pytest.raises(kh.ProblemError, match="Zero needs a problem"):
            kh.Zero(wrong)  # type: ignore[arg-type]
        with pytest.raises(kh.ProblemError, match="Zero needs a problem"):
            kh.Zero(problem=wrong)  # type: ignore[arg-type]


def test_the_random_subset_is_that_of_round_1() -> None:
    for seed in range(5):
        learner = kh.RandomSubset(kh.Problem(12, 2, 5), seed=seed)
        drawn = uniform_subset(seed, 1, 12, 5)
        assert learner.ask().features.tolist() == drawn.tolist()


# --- Sizes


def test_hard_thresholding_begins_with_batches_of_2_k_log_d() -> None:
    assert kh.HardThresholdingLearner(EVERYTHING).batch_size == math.ceil(4 * math.log(12))


@pytest.mark.parametrize(
    ("k", "budget", "slots"), [(2, 20, 6), (2, 12, 6), (2, 11, 5), (2, 4, 2), (3, 4, 3), (1, 2, 1)]
)
def test_slots_are_3_k_within_half_the_budget(k: int, budget: int, slots: int) -> None:
    assert default_slots(kh.Problem(20, k, budget)) == slots
    usual = kh.OnlineGreedyLearner(kh.Problem(20, k, budget), seed=0)
    assert (usual.slots, usual.parts) == (slots, PRACTICAL)


def test_the_sizes_of_the_theorem_are_rounded_up_and_at_least_1() -> None:
    problem = kh.Problem(20, 2, 6)
    B, k1 = (6 * 1000 / (1.5**2 * 20 * 2)) ** (1 / 3), 1.5**2 * 2 * math.log(1000) / 3
    assert theorem_parameters(problem, 1.5, 1000) == (math.ceil(B), math.ceil(k1))
    assert theorem_parameters(problem, 1.0, 1) == (1, 1)
    one = kh.OnlineGreedyLearner(problem, seed=0, horizon=1, kappa=1.0)
    assert (one.batch_size, one.slots, one.parts) == (1, 1, PAPER)
    with pytest.raises(kh.ProblemError, match="horizon must be at least 1"):
        kh.OnlineGreedyLearner(problem, seed=0, horizon=0, kappa=1.0)
    many = kh.OnlineGreedyLearner.as_printed(problem, horizon=1000)
    assert (many.kappa, many.seed, many.slots) == (1.5, 0, 6)  # at most the budget
    assert many.batch_size == math.ceil(B)


def test_the_printed_dantzig_waits_for_k_log_d_log_t_rounds() -> None:
    problem = kh.Problem(20, 2, 8)
    for horizon in (1, 2, 10_000):
        learner = kh.DantzigLearner.as_printed(problem, horizon=horizon)
        assert learner.burn_in == math.ceil(2 * math.log(20) * math.log(horizon))
        assert (learner.noise_sd, learner.seed, learner.failure_probability) == (1.0, 0, 0.05)
        assert (learner.threshold_scale, learner.weighting) == (1.0, "paper")
    with pytest.raises(kh.ProblemError, match="horizon must be at least 1"):
        kh.DantzigLearner.as_printed(problem, horizon=0)


def test_the_rate_of_aelr_by_hand() -> None:
    """sqrt(ln(2d) / (5 T (M/m + 1))) / (2B), M = d unless the second moments are known."""
    problem = kh.Problem(d=20, k=2, budget=10)  # 8 are left: m = 4 draws
    for T, B in [(1, 1.0), (50, 3.0)]:
        rate = math.sqrt(math.log(40) / (5 * T * (20 / 4 + 1))) / (2 * B)
        assert attribute_efficient.aelr_theorem_rate(problem, T, radius=B) == pytest.approx(rate)
    known = attribute_efficient.aelr_theorem_rate(problem, 50, second_moments=np.full(20, 0.25))
    assert known == pytest.approx(math.sqrt(math.log(40) / (5 * 50 * (5 / 4 + 1))) / 2)
    for wrong in ({"horizon": 0}, {"horizon": 5, "radius": 0.0}):
        with pytest.raises(kh.ProblemError, match="must be"):
            attribute_efficient.aelr_theorem_rate(problem, **wrong)


@pytest.mark.parametrize(("k", "budget", "k0"), [(2, 6, 4), (2, 3, 1), (3, 3, 3)])
def test_the_printed_schedule_of_dual_averaging(k: int, budget: int, k0: int) -> None:
    """lambda_t = sqrt(8 d t / k0); with budget = k all of it explores, when it does."""
    problem = kh.Problem(12, k, budget)
    learner = kh.DualAveragingLearner(problem, schedule="paper", radius=2.5)
    assert learner._schedule == pytest.approx(math.sqrt(8 * 12 / k0))
    assert learner._radius() == 2.5
    assert kh.DualAveragingLearner(problem)._schedule == 0.0


def test_64_batches_may_wait() -> None:
    shelf = Batches[int]()
    for i in range(64):
        assert shelf.overdue() is None
        shelf.begin(1, i)
    late = shelf.overdue()
    assert late is not None
    assert late.number == 1


def test_epochs_double_unless_there_is_one() -> None:
    """Of the T rounds of an epoch, from T on, the first `explored(T)` explore."""
    problem = kh.Problem(16, 1, 2)
    learner = kh.ExploreThenCommitLearner(problem)
    for t, T in {1: 1, 2: 2, 3: 2, 4: 4, 7: 4, 8: 8, 9: 8}.items():
        assert learner._commits(t) == T + learner.explored(T)
    for t in (1, 900):
        assert kh.ExploreThenCommitLearner(problem, exploration=5)._commits(t) == 6
        single = kh.ExploreThenCommitLearner(problem, horizon=1000)
        assert single._commits(t) == 1 + single.explored(1000)


def test_the_residual_is_at_least_half_of_the_recent_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In units of the label's deviation: half of the error over its variance."""
    learner = kh.LEARNERS["dantzig-data"](kh.Problem(6, 2, 5), seed=0)
    assert isinstance(learner, PracticalDantzig)
    X = np.random.default_rng(0).uniform(-1, 1, (20, 6))
    kh.play(learner, kh.streams.ArrayStream(X, 7.0 * X[:, 0]))
    told, usual = list[tuple[float, float]](), selection.select

    def select(sums: Any, found: Correlations, *rest: Any, least: float, **more: Any) -> Any:
        told.append((least, found.scale_y))
        return usual(sums, found, *rest, least=least, **more)

    monkeypatch.setattr(practical_dantzig, "select", select)
    monkeypatch.setattr(PracticalDantzig, "_recent_error", lambda self: 0.8)
    learner._solve(21)
    ((least, deviation),) = told
    assert least == pytest.approx(0.5 * 0.8 / deviation**2)
    assert deviation > 2.5  # of labels from -7 to 7


def test_before_any_label_no_support_was_in_play() -> None:
    learner = kh.DSOSLRCLearner(kh.Problem(6, 2, 5))
    learner.ask()  # round 1 explores
    assert int(learner.ask().memo["number"]) == 0


# --- Files


@pytest.mark.parametrize("change", ["_fixed", "_avoid", "_explore"])
def test_a_plan_that_does_not_follow_from_the_support_is_refused(change: str) -> None:
    learner = kh.LEARNERS["dantzig-data"](kh.Problem(8, 2, 6), seed=0)
    assert isinstance(learner, PracticalDantzig)
    X = np.random.default_rng(1).uniform(-1, 1, (40, 8))
    kh.play(learner, kh.streams.ArrayStream(X, X[:, 3] - X[:, 5]))
    from_bytes(to_bytes(learner))
    if change == "_explore":
        learner._explore += 1
    else:
        setattr(learner, change, getattr(learner, change)[:-1].copy())
    with pytest.raises(kh.StateError, match=r"fixed, avoid, explore are .* that is no plan"):
        from_bytes(to_bytes(learner))


def test_a_batch_of_other_slots_is_refused() -> None:
    learner = kh.OnlineGreedyLearner(kh.Problem(8, 2, 6), seed=0)
    learner.ask()
    from_bytes(to_bytes(learner))
    entry = learner._batches.asking
    assert entry is not None
    draw = entry.content.draw
    fewer = {name: getattr(draw, name)[:-1].copy() for name in ("j", "p", "weight")}
    entry.content.draw = dataclasses.replace(draw, **fewer)
    with pytest.raises(kh.StateError, match=r"batch\.draw\.j must be of 3 slots, it has 2"):
        from_bytes(to_bytes(learner))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_search_that_reads_beyond_its_order_is_refused(d: int) -> None:
    learner = kh.HardThresholdingLearner(kh.Problem(d, 1, min(d, 2)))
    for cursor in range(d):
        learner._search.whole[CURSOR] = cursor
        from_bytes(to_bytes(learner))
    learner._search.whole[CURSOR] = d
    with pytest.raises(kh.StateError, match="no search of"):
        from_bytes(to_bytes(learner))


@pytest.mark.parametrize("more", [1, 2])
def test_a_batch_whose_open_tickets_are_missing_is_refused(more: int) -> None:
    learner = kh.OnlineGreedyLearner(kh.Problem(8, 2, 6), seed=0)
    learner.ask()
    entry = learner._batches.asking
    assert entry is not None
    entry.asked += more
    with pytest.raises(kh.StateError, match=f"batch 1 has {more} open tickets too few"):
        from_bytes(to_bytes(learner))


def test_a_ticket_for_something_else_than_the_support_is_refused() -> None:
    learner = kh.FixedSubset(kh.Problem(5, 2, 2), support=[1, 3])
    learner.ask()
    from_bytes(to_bytes(learner))
    learner._support = np.array([1, 4])
    with pytest.raises(kh.StateError, match="the ticket of round 1 is not for the support"):
        from_bytes(to_bytes(learner))
