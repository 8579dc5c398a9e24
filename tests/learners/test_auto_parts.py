"""AutoLearner put together from other parts: it plays, explains itself, is saved; or is refused."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.experts import EXPERTS, ExpertKind
from keyhole.learners.blocks.auto.state import KEPT
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from tests.helpers.variants import check_variant

USUAL = kh.AutoParts()
PROBLEM = kh.Problem(d=20, k=2, budget=8)
FRESH = ExpertKind("everything, from nothing", "everything", "nothing", ridge=3.0)
OTHER = kh.AutoParts(
    taus=(500.0, 30.0),
    experts=(*EXPERTS[:5], FRESH),
    threshold=2.2,
    shortest=3,
    longest=7,
    bold=0.5,
)


def data(n: int = 400) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    return X, 2.0 * X[:, 3] - X[:, 7] + 0.3 * rng.standard_normal(n)


def without(features: str) -> kh.AutoParts:
    return replace(USUAL, experts=tuple(kind for kind in EXPERTS if kind.features != features))


def test_the_usual_parts_are_those_of_the_page() -> None:
    assert kh.AutoParts(
        taus=(math.inf, 1024.0, 64.0),
        experts=(
            ExpertKind("memory of {tau}", "kept", "each", 1.0, "typical", False),
            ExpertKind("best k, memory of {tau}", "best", "each", 1.0, "peak", True),
            ExpertKind("safety net with memory", "net", "longest", 1.0, "typical", False),
            ExpertKind("safety net", "net", "nothing", 1.0, "typical", False),
            ExpertKind("mean of the labels", "nothing", "nothing", 1.0, "typical", True),
            ExpertKind("everything read", "everything", "leading", 10.0, "typical", False),
        ),
        bolder=0.8,
        optimism=0.35,
        far=2.0,
        shortest=4,
        longest=16,
        growth=64,
        bold=0.9,
    ) == kh.AutoParts()  # fmt: skip
    assert kh.AutoLearner(PROBLEM).parts == kh.AutoParts()


@pytest.mark.parametrize("proper", [False, True])
def test_other_parts_keep_the_promises_of_a_learner(proper: bool) -> None:
    """One expert left out and another added: block play is single rounds, files go on."""
    check_variant(lambda problem: kh.AutoLearner(problem, seed=3, proper=proper, parts=OTHER))


@pytest.mark.parametrize("features", ["kept", "best", "net", "nothing", "everything"])
def test_any_expert_can_be_left_out(features: str) -> None:
    """It is not heard; the game goes on, and so do model, explain and bound."""
    X, y = data()
    problem = kh.Problem(d=20, k=2, budget=12)
    learner = kh.AutoLearner(problem, parts=without(features))
    predictions = learner.advance(X, y)
    assert float(((y - predictions)[200:] ** 2).mean()) < 0.3
    assert set(learner.model().features.tolist()) == {3, 7}
    told = learner.explain()
    heard = {name for name, share in told.shares.items() if share > 0.0}
    mark = {"kept": "memory of ", "best": "best k", "net": "safety net", "nothing": "mean of",
            "everything": "everything read"}[features]  # fmt: skip
    assert not any(name.startswith(mark) for name in heard)
    assert len(heard) == 10 - {"kept": 3, "best": 3, "net": 2}.get(features, 1)
    assert (learner.bound() == math.inf) == (features == "net")
    usual = kh.AutoLearner(problem)
    assert (usual.advance(X, y) != predictions).any()


def test_an_expert_that_is_added_is_heard() -> None:
    """Labels that follow everything at once, anew every 40 rounds: fresh weights are best."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((800, 6))
    w = rng.standard_normal((20, 6)).repeat(40, axis=0)
    y = (X * w).sum(axis=1)
    problem = kh.Problem(d=6, k=1, budget=6)
    parts = replace(USUAL, experts=(*EXPERTS, replace(FRESH, ridge=0.01)))
    parts = replace(parts, shortest=40, longest=40)  # a batch is as long as the weights last
    more, usual = kh.AutoLearner(problem, parts=parts), replace(parts, experts=EXPERTS)
    less = kh.AutoLearner(problem, parts=usual)
    losses = [float(((y - learner.advance(X, y)) ** 2).sum()) for learner in (more, less)]
    assert losses[0] < 0.8 * losses[1]
    assert more.explain().shares["everything, from nothing"] > 0.5


def test_one_memory_is_enough() -> None:
    X, y = data()
    learner = kh.AutoLearner(PROBLEM, parts=replace(USUAL, taus=(math.inf,)))
    learner.advance(X, y)
    assert learner.model().features.tolist() == [3, 7]
    assert "memory of all rounds" in learner.explain().shares
    assert len(learner.explain().shares) == 6


def test_parts_are_saved() -> None:
    X, y = data()
    parts = replace(OTHER, pool=4, slots=1, net=3, bolder=0.1, optimism=1.0, far=3.0, growth=9)
    learner = kh.AutoLearner(PROBLEM, seed=4, parts=parts)
    learner.advance(X[:90], y[:90])
    again = from_bytes(to_bytes(learner), kh.AutoLearner)
    assert again.parts == parts
    assert again.settings() == learner.settings()
    assert (again.advance(X[90:], y[90:]) == learner.advance(X[90:], y[90:])).all()


def test_a_file_from_before_there_were_parts_has_the_usual_ones() -> None:
    old = kh.load(Path(__file__).parents[1] / "saving" / "v1" / "auto.npz", kh.AutoLearner)
    assert "parts" in old.settings()
    assert old.parts == replace(USUAL, kinks=None, slots=1)  # no last layer, and its safety net
    assert not old.past


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"taus": ()}, r"taus must be positive numbers of rounds, .* got \(\)"),
    ({"taus": (64.0, 1024.0)}, "the longest first"),
    ({"taus": (64.0, 64.0)}, "no two alike"),
    ({"taus": (math.nan,)}, "taus must be positive"),
    ({"taus": 64.0}, "taus must be positive numbers of rounds"),
    (
        {"experts": ()},
        r"experts must be a tuple of kinds of experts, such as AutoParts\(\).experts",
    ),
    ({"experts": ("net",)}, "experts must be a tuple of kinds of experts"),
    ({"pool": 0}, "pool must be at least 1, got 0"),
    ({"pool": 1.5}, "pool must be a whole number, got 1.5"),
    ({"slots": -1}, "slots must be at least 0"),
    ({"threshold": -1.0}, "threshold must be at least 0"),
    ({"optimism": math.inf}, "optimism must be at least 0 and finite"),
    ({"far": 0.5}, "far must be at least 1"),
    ({"shortest": 0}, "shortest must be at least 1"),
    ({"longest": 3}, "longest must be at least 4, got 3"),
    ({"growth": 0}, "growth must be at least 1"),
    ({"bold": 1.0}, "bold must be below 1"),
    ({"bold": 1.5}, "bold must be from 0 to 1, got 1.5"),
    ({"taus": "64"}, "taus must be positive numbers of rounds, .* got '64'"),
    ({"taus": (10**400,)}, "taus must be positive"),
    ({"taus": (2.0 + 0.0j,)}, "taus must be positive"),
    ({"taus": ((64.0,), (32.0,))}, "taus must be positive"),
    ({"kinks": "12"}, "kinks must be numbers from -100 to 100, or None for no layer, got '12'"),
    ({"kinks": (10**400,)}, "kinks must be numbers"),
    ({"kinks": (np.complex128(1.0),)}, "kinks must be numbers"),
    ({"kinks": (0.0, math.nan)}, "kinks must be numbers"),
    ({"kinks": (0.0, -100.5)}, "kinks must be numbers from -100 to 100"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_parts_that_make_no_sense_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(kh.ProblemError, match=message):
        kh.AutoParts(**change)


UNFIT: list[tuple[dict[str, Any], str]] = [
    (
        {"pool": 7, "slots": 1},
        r"pool must be at most 6, .* \(net=2\) leaves of .* 8, got 7",
    ),
    ({"net": 8}, "with budget 8 it needs slots <= net <= 7"),
    ({"slots": 3, "net": 2}, "plays slots=3 of the net=2"),
    ({"slots": 0, "net": 2}, "net=0 with slots=0"),
    ({"experts": (EXPERTS[0], EXPERTS[0])}, "'memory of all rounds' comes twice"),
    ({"longest": 10**30}, r"with these parts takes about .* GB of memory, .*`longest`"),
    ({"longest": 10**12}, "with these parts takes about 72,000.0 GB of memory"),
    ({"kinks": np.linspace(-1.0, 1.0, 10**6)}, "with these parts takes about 24,000.0 GB"),
]


@pytest.mark.parametrize(("change", "message"), UNFIT, ids=lambda value: str(value)[:30])
def test_parts_that_do_not_fit_the_problem_are_refused(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(kh.ProblemError, match=message):
        kh.AutoLearner(PROBLEM, parts=kh.AutoParts(**change))


def test_proper_mode_needs_an_expert_it_may_hear() -> None:
    parts = kh.AutoParts(experts=(EXPERTS[0],))
    kh.AutoLearner(PROBLEM, parts=parts)
    with pytest.raises(kh.ProblemError, match="one must be heard in proper mode"):
        kh.AutoLearner(PROBLEM, parts=parts, proper=True)
    with pytest.raises(kh.ProblemError, match="cannot hear expert 'everything read'"):
        replace(EXPERTS[-1], proper=True)


def test_an_expert_says_what_is_wrong_with_it() -> None:
    wrong: Any = "keptt"
    with pytest.raises(kh.ProblemError, match=r"features of expert 'x' .*did you mean 'kept'"):
        ExpertKind("x", wrong, "each")
    with pytest.raises(kh.ProblemError, match="memory of expert 'x' must be one of each"):
        ExpertKind("x", "kept", wrong)
    with pytest.raises(kh.ProblemError, match="ridge of expert 'x' must be positive, got 0"):
        ExpertKind("x", "kept", "each", ridge=0.0)
    with pytest.raises(kh.ProblemError, match="non-empty string"):
        ExpertKind("", "kept", "each")
    with pytest.raises(kh.ProblemError, match="parts must be an AutoParts"):
        kh.AutoLearner(PROBLEM, parts=wrong)


@pytest.mark.parametrize(
    ("d", "budget", "pool", "slots", "net"),
    [  # by hand: a sixth for the net from a budget of 12 on; all may be kept that it leaves
        (100, 2, 2, 0, 0),
        (100, 11, 11, 0, 0),
        (100, 12, 12, 1, 2),
        (100, 23, 23, 1, 2),
        (100, 24, 24, 2, 4),
        (100, 48, 48, 4, 8),
        (24, 24, 24, 2, 24),
        (5, 5, 5, 0, 0),
    ],
)
def test_shares_of_a_budget(d: int, budget: int, pool: int, slots: int, net: int) -> None:
    sizes = {kh.AutoParts().sizes(kh.Problem(d, k, budget)) for k in (1, min(2, budget))}
    assert sizes == {(pool, slots, net, math.sqrt(2 * math.log(d)))}  # whatever k is


def test_what_is_kept_may_be_more_than_twice_the_sparsity() -> None:
    """Ten features matter: all ten are kept. The net takes 4 of 24, an eighth of 20 explores."""
    learner = kh.AutoLearner(kh.Problem(40, 2, 24), seed=0)
    X = np.random.default_rng(0).standard_normal((1_500, 40))
    kh.play(learner, kh.streams.ArrayStream(X, X[:, :10].sum(axis=1)))
    learner.ask()
    kept = np.flatnonzero(learner._state.space.why == KEPT)
    assert {*range(10)} <= {*kept.tolist()}
    assert len(kept) <= 18


@pytest.mark.parametrize("kinks", [[-100.0, 100], np.array([-100.0, 100.0], dtype=np.float32)])
def test_kinks_may_be_any_list_of_numbers(kinks: Any) -> None:
    assert kh.AutoParts(kinks=kinks).kinks == (-100.0, 100.0)


def test_batches_that_never_grow() -> None:
    """A number beyond what compiled code holds means the same as the largest it does."""
    X = np.random.default_rng(0).standard_normal((12, PROBLEM.d))
    never, late = (kh.AutoLearner(PROBLEM, parts=kh.AutoParts(growth=t)) for t in (10**30, 10**9))
    assert never.advance(X, X[:, 0]).tolist() == late.advance(X, X[:, 0]).tolist()


def test_what_parts_take() -> None:
    parts = kh.AutoParts(taus=(8.0, 4.0), longest=5, shortest=2, kinks=(0.0, 1.0, 2.0), ring=7)
    assert parts.memory(kh.Problem(9, 2, 4)) == 8.0 * (2 * 100 + 5 * 5 + 3 * 9 + 7 * 10)
    assert replace(parts, kinks=None).memory(kh.Problem(9, 2, 4)) == 8.0 * (
        2 * 100 + 5 * 5 + 7 * 10
    )
