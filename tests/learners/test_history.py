"""learner.study: what history brings, old rows that fade, history that misleads, refusals."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.history import ROWS_PER_CALL, kept_per_row
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import decode, encode
from keyhole.streams import ArrayStream

SEEDS = range(16)
WIDE = kh.Problem(d=80, k=4, budget=6)


def data(seed: int, n: int = 1500) -> tuple[Floats, Floats]:
    """Four of 80 features matter, as much in all as the noise; labels are not about 0."""
    rng = np.random.default_rng([seed, 77])
    X, w = rng.standard_normal((n, 80)), np.zeros(80)
    w[rng.choice(80, 4, replace=False)] = rng.choice([-0.5, 0.5], 4)
    return X, 3.0 + X @ w + rng.standard_normal(n)


def gain(seed: int, *, at_the_budget: bool = False) -> float:
    """Loss in 300 rounds after 300 rows of history, over that without."""
    X, y = data(seed)
    history, new = ArrayStream(X[:300], y[:300]), ArrayStream(X[300:600], y[300:600])
    fresh, learner = (kh.AutoLearner(WIDE, seed=seed) for _ in range(2))
    if at_the_budget:
        kh.play(learner, history)
        return kh.play(learner, new).loss / kh.play(fresh, new).loss
    return kh.play(learner, new, history=history).loss / kh.play(fresh, new).loss


def test_history_saves_much_of_the_loss() -> None:
    """Mean ratio of 16 seeds at most 0.6.

    Measured: mean .516, standard deviation .057, so the mean of 16 has .0143 and is 5.9 of them
    below the margin: by chance alone beyond it in less than 1e-6. The twin, history played at the
    budget, has .73 and .09, so .0225, and is 5.8 of them above it.
    """
    assert np.mean([gain(seed) for seed in SEEDS]) <= 0.6


def test_history_played_at_the_budget_saves_less() -> None:
    """The broken twin: the margin above catches it."""
    assert np.mean([gain(seed, at_the_budget=True) for seed in SEEDS]) > 0.6


def after_being_misled(seed: int, *, stubborn: bool = False) -> float:
    """Loss in rounds 500 to 1000 after 500 rows with reversed labels, over that without.

    Who is stubborn forgets nothing, has no expert that does without history, and never asks whether
    history misleads.
    """
    X, y = data(seed)
    kinds = tuple(kind for kind in kh.AutoParts().experts if kind.features == "kept")
    parts = kh.AutoParts(taus=(np.inf,), experts=kinds, kinks=None) if stubborn else kh.AutoParts()
    learner, fresh = kh.AutoLearner(WIDE, seed=seed, parts=parts), kh.AutoLearner(WIDE, seed=seed)
    learner.study(ArrayStream(X[:500], -y[:500]))
    if stubborn:
        learner._state.aside[:] = 500
    new, late = ArrayStream(X[500:], y[500:]), slice(500, 1000)
    misled = kh.play(learner, new).predictions - new.y
    return float(
        (misled[late] ** 2).sum() / ((kh.play(fresh, new).predictions - new.y)[late] ** 2).sum()
    )


def test_history_that_misleads_is_overcome() -> None:
    """Mean ratio of 16 seeds at most 1.3.

    Measured: mean 1.08, standard deviation .162, so the mean of 16 has .040 and is 5.4 of them
    below. The twin has 1.74 and .288, so .072, and is 6.0 of them above.
    """
    assert np.mean([after_being_misled(seed) for seed in SEEDS]) <= 1.3


def test_who_cannot_forget_stays_misled() -> None:
    assert np.mean([after_being_misled(seed, stubborn=True) for seed in SEEDS]) > 1.3


def changing(n: int = 600) -> tuple[Floats, Floats, Floats]:
    """Weights that move from row to row, and how much each row counts at a half-life of 50."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((n, 3)) * [1.0, 2.0, 0.5] + [0.0, 3.0, -1.0]
    drift = np.linspace(-2.0, 2.0, n)
    y = 5.0 + drift * X[:, 0] + X[:, 1] - drift * X[:, 2] + 0.1 * rng.standard_normal(n)
    return X, y, np.exp(-np.log(2.0) / 50.0 * np.arange(n)[::-1])


def weighted_regression(X: Floats, y: Floats, a: Floats) -> Floats:
    """Weights, and last the intercept, by the definition."""
    Z = np.column_stack([X, np.ones(len(y))])
    return np.linalg.solve((Z * a[:, None]).T @ Z, (Z * a[:, None]).T @ y).astype(np.float64)


def test_rows_that_fade_give_a_weighted_regression() -> None:
    X, y, a = changing()
    learner = kh.OnlineOMPLearner(kh.Problem(3, 3, 3), ridge=1e-9)
    learner.study(ArrayStream(X, y), half_life=50.0)
    learner.ask()  # selects
    found = [*learner.weights, learner.intercept]
    np.testing.assert_allclose(found, weighted_regression(X, y, a), rtol=1e-6)


def test_auto_learns_a_weighted_regression_too() -> None:
    """Its experts are shrunk, by about one row in 72; without the half-life it is far off."""
    (X, y, a), problem = changing(), kh.Problem(3, 3, 3)
    fading, steady = kh.AutoLearner(problem, seed=1), kh.AutoLearner(problem, seed=1)
    fading.study(ArrayStream(X, y), half_life=50.0)
    steady.study(ArrayStream(X, y))
    truth = weighted_regression(X, y, a)[:3]

    def longest(learner: kh.AutoLearner) -> Floats:
        kept = learner._state.kept
        centred = kept.G[0] + np.diag([*(kept.G[0].diagonal()[:3] / kept.n[0, :3]), 0.0])
        found: Floats = np.linalg.solve(centred, kept.c[0])[:3]
        return found

    np.testing.assert_allclose(longest(fading), truth, rtol=0.1)
    assert np.abs(longest(steady) - truth).max() > 1.0


def test_who_has_studied_has_a_model_before_the_first_round() -> None:
    X, y = data(0)
    learner = kh.AutoLearner(WIDE, seed=0)
    assert len(learner.model().features) == 0
    learner.study(ArrayStream(X[:300], y[:300]))
    before = to_bytes(learner)
    model = learner.model()
    twin = copy.deepcopy(learner)
    twin.ask()
    assert len(model.features) == 4
    assert model.intercept == pytest.approx(3.0, abs=0.5)
    assert (learner.weights == twin.weights).all()
    assert learner.intercept == twin.intercept
    assert to_bytes(learner) == before  # looking changes nothing


def test_progress_is_told_and_rows_are_counted() -> None:
    X, y = data(0)
    told = list[int]()
    learner = kh.RunningMean(WIDE)
    assert learner.study(ArrayStream(X[:600], y[:600]), progress=told.append) == 600
    assert told[-1] == 600
    assert max(np.diff([0, *told])) <= ROWS_PER_CALL
    assert learner.study(ArrayStream(X[:0], y[:0])) == 0


def test_ctrl_c_leaves_the_learner_as_it_was() -> None:
    X, y = data(0)
    learner = kh.AutoLearner(WIDE, seed=0)
    before = to_bytes(learner)

    def press(rows: int) -> None:
        if rows > ROWS_PER_CALL:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.study(ArrayStream(X, y), progress=press)
    assert to_bytes(learner) == before


CANNOT = [
    name
    for name, row in kh.LEARNERS.items()
    if not getattr(row.cls, "STUDIES", False) and not row.reads_everything
]


@pytest.mark.parametrize("name", CANNOT)
def test_one_that_cannot_says_who_can(name: str) -> None:
    learner: Any = kh.LEARNERS[name](kh.Problem(80, 1, 6), seed=0)
    with pytest.raises(kh.ProblemError, match=r"cannot study history.*auto, mean"):
        learner.study(ArrayStream(np.ones((3, 80)), np.ones(3)))


def test_one_that_cannot_forget_says_who_can() -> None:
    stream = ArrayStream(np.ones((3, 80)), np.ones(3))
    with pytest.raises(kh.ProblemError, match=r"half_life: RunningMean cannot .* auto, dantzig"):
        kh.RunningMean(WIDE).study(stream, half_life=3.0)
    assert kh.RunningMean(WIDE).study(stream, half_life=np.inf) == 3  # that is no half-life


def test_a_row_that_cannot_be_used_is_named() -> None:
    X, y = data(0)
    X, y = X[:300].copy(), y[:300].copy()
    X[270, 3] = -np.inf
    with pytest.raises(kh.DataError, match=r"history, row 271, feature 3: .* NaN for absent"):
        kh.AutoLearner(WIDE).study(ArrayStream(X[:, :80], y))


@pytest.mark.parametrize("bad", [0.0, -3.0, np.nan, "ten", True, np.True_])
def test_a_half_life_is_a_positive_number(bad: Any) -> None:
    with pytest.raises(kh.ProblemError, match="half_life"):
        kept_per_row(bad)


@pytest.mark.parametrize("bad", [-1, 2**60, -(2**63), 1.5, [1, 2], None])
def test_a_forged_number_of_rows_is_refused(bad: Any) -> None:
    learner = kh.AutoLearner(kh.Problem(5, 1, 3), seed=0)
    learner.study(ArrayStream(np.eye(5), np.arange(5.0)))
    state = decode(to_bytes(learner))
    value = None if bad is None else np.atleast_1d(np.array(bad))
    with pytest.raises(kh.StateError):
        from_bytes(encode(replace(state, parts={**state.parts, "studied": value}), "1"))


@pytest.mark.parametrize("many", [0, 1, 8])
def test_a_forged_number_that_could_be_is_harmless(many: int) -> None:
    learner = kh.AutoLearner(kh.Problem(8, 1, 6), seed=0)
    learner.study(ArrayStream(np.eye(8), np.arange(8.0)))
    state = decode(to_bytes(learner))
    forged = {**state.parts, "studied": np.array([many])}
    again = from_bytes(encode(replace(state, parts=forged), "1"), kh.AutoLearner)
    again.study(ArrayStream(np.eye(8), np.arange(8.0)))
    again.advance(np.ones((40, 8)), np.arange(40.0))
    assert np.isfinite(again.weights).all()


def test_files_from_before_there_was_history_go_on() -> None:
    X, y = data(0, 40)
    learner = kh.AutoLearner(WIDE, seed=0)
    learner.advance(X, y)
    state = decode(to_bytes(learner))
    later = "studied", "trial", "aside"
    old = {name: part for name, part in state.parts.items() if name not in later}
    again = from_bytes(encode(replace(state, parts=old), "1"), kh.AutoLearner)
    assert (again.advance(X, y) == learner.advance(X, y)).all()
