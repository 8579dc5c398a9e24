"""learner.study(sums): what learners whose state is sums take over without the rows."""

from __future__ import annotations

import copy
from typing import cast

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.base import LearnerBase
from keyhole.learners.blocks.sums.column_stats import mean, variance
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.streams import ArrayStream
from tests.learners.test_history import WIDE, data

SUMMED = [row.name for row in kh.LEARNERS.values() if getattr(row.cls, "STUDIES_SUMS", False)]
ALIKE = [name for name in SUMMED if name != "auto"]


def rows(n: int = 200, d: int = 6) -> tuple[Floats, Floats]:
    """Rows about 5, some cells absent."""
    rng = np.random.default_rng(2)
    X = rng.normal(5.0, 1.0, (n, d))
    y = X[:, 1] - 2 * X[:, 4] + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_those_that_can() -> None:
    assert {"auto", "mean", "online-lasso", "dantzig-data"} <= {*SUMMED}
    assert {"last", "random", "fixed"}.isdisjoint(SUMMED)


def test_sums_of_complete_rows_become_sums_of_seen_ones() -> None:
    X, y = rows()
    one, other = SeenSums(6), SeenSums(6)
    for x, label in zip(X, y.tolist(), strict=True):
        one.add(np.arange(6), x, label)
    other.add_complete(kh.sums(ArrayStream(X, y)))
    for mine, its in zip(one.arrays(), other.arrays(), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("name", ALIKE)
def test_sums_teach_the_same_as_rows(name: str) -> None:
    X, y = rows()
    problem = kh.Problem(d=6, k=2, budget=6)
    by_rows, by_sums = (cast(LearnerBase, kh.LEARNERS[name](problem, seed=3)) for _ in range(2))
    history = ArrayStream(X, y)
    assert by_rows.study(history) == by_sums.study(kh.sums(history)) == 200
    new = ArrayStream(*rows(60))
    ours, theirs = kh.play(by_sums, new).predictions, kh.play(by_rows, new).predictions
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def test_auto_has_the_same_long_memory_and_centres() -> None:
    X, y = rows(400)
    problem, history = kh.Problem(d=6, k=2, budget=3), ArrayStream(X, y)
    learner, row_by_row = kh.AutoLearner(problem), kh.AutoLearner(problem)
    learner.study(kh.sums(history))
    row_by_row.study(history)
    ours, theirs = learner._state, row_by_row._state
    np.testing.assert_array_equal(ours.values.reads, theirs.values.reads)
    np.testing.assert_allclose(mean(ours.values), mean(theirs.values), rtol=1e-12)
    np.testing.assert_allclose(variance(ours.values), variance(theirs.values), rtol=1e-9)
    np.testing.assert_allclose(mean(ours.label), mean(theirs.label), rtol=1e-12)
    np.testing.assert_allclose(variance(ours.label), variance(theirs.label), rtol=1e-9)
    # Row by row centres move; only the counts are the same, and the correlations nearly.
    np.testing.assert_allclose(ours.kept.n[0], theirs.kept.n[0], rtol=1e-12)
    assert ours.studied[0] == theirs.studied[0] == 400
    assert np.array_equal(ours.mixture.span, theirs.mixture.span)
    assert (ours.kept.n[1:] == 0).all(), "the memories that forget begin with the first round"
    np.testing.assert_allclose(ours.peaks, theirs.peaks, rtol=0.2)
    assert np.array_equal(ours.kept.G[0], ours.kept.G[0].T)


def gain(seed: int, history: str) -> float:
    """Loss in 300 rounds after 300 rows of history, over that without."""
    X, y = data(seed)
    old, new = ArrayStream(X[:300], y[:300]), ArrayStream(X[300:600], y[300:600])
    fresh, learner = (kh.AutoLearner(WIDE, seed=seed) for _ in range(2))
    if history == "shuffled":  # the twin: features go with the labels of other rows
        old = ArrayStream(np.random.default_rng(seed).permutation(X[:300]), y[:300])
    learner.study(kh.sums(old))
    return kh.play(learner, new).loss / kh.play(fresh, new).loss


def test_sums_save_much_of_the_loss() -> None:
    """Mean ratio of 16 seeds at most 0.65; rows instead of sums have .516.

    Measured: mean .532, standard deviation .053, so the mean of 16 has .0133 and is 8.8 of them
    below the margin: by chance alone beyond it in less than 1e-6. The twin, sums of features beside
    the labels of other rows, has .953 and .081, so .0203, and is 15 of them above it.
    """
    gains = [gain(seed, "right") for seed in range(16)]
    twins = [gain(seed, "shuffled") for seed in range(16)]
    assert np.mean(gains) <= 0.65
    assert np.mean(twins) > 0.65


def test_it_is_saved_and_goes_on() -> None:
    X, y = rows(300)
    learner = kh.AutoLearner(kh.Problem(d=6, k=2, budget=3), seed=1)
    learner.study(kh.sums(ArrayStream(X[:200], y[:200])))
    assert learner.model().weights.any(), "who has studied looks ahead"
    again = from_bytes(to_bytes(learner), kh.AutoLearner)
    rest = ArrayStream(X[200:], y[200:])
    assert np.array_equal(kh.play(learner, rest).predictions, kh.play(again, rest).predictions)
    learner.study(kh.sums(ArrayStream(X[:50], y[:50])))  # between rounds too
    kh.play(learner, rest)


def test_refusals_change_nothing() -> None:
    X, y = rows()
    known, problem = kh.sums(ArrayStream(X, y)), kh.Problem(d=6, k=2, budget=3)
    with pytest.raises(kh.ProblemError, match=r"RandomSubset cannot study sums.*auto"):
        kh.RandomSubset(problem).study(known)
    learner = kh.AutoLearner(problem)
    before = to_bytes(copy.deepcopy(learner))
    with pytest.raises(kh.ProblemError, match="half_life: sums do not know the order"):
        learner.study(known, half_life=10)
    with pytest.raises(kh.ProblemError, match="has 5 features, the history 6"):
        kh.AutoLearner(kh.Problem(d=5, k=2, budget=3)).study(known)
    assert to_bytes(learner) == before
    assert learner.study(kh.sums(ArrayStream(np.empty((0, 6)), np.empty(0)))) == 0
    assert to_bytes(learner) == before
    with pytest.raises(kh.ProblemError, match="yes and no studies rows"):
        kh.YesNoLearner(kh.AutoLearner(problem)).study(known)  # type: ignore[arg-type]


def test_kh_play_takes_sums_as_history() -> None:
    X, y = rows()
    known, problem = kh.sums(ArrayStream(X, y)), kh.Problem(d=6, k=2, budget=3)
    one, other = kh.AutoLearner(problem), kh.AutoLearner(problem)
    other.study(known)
    played = kh.play(one, ArrayStream(X, y), history=known)
    assert np.array_equal(played.predictions, kh.play(other, ArrayStream(X, y)).predictions)


def test_seats_go_to_what_is_most_related_to_the_label() -> None:
    """With fewer seats than features: pairs of those with a seat, sums of all the others."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 12))
    y = 3.0 * X[:, 7] - 2.0 * X[:, 4] + X[:, 10] + 0.1 * rng.standard_normal(400)
    sums = kh.sums(ArrayStream(X, y))
    few, all_of_them = (
        kh.AutoLearner(kh.Problem(12, 3, 3), seed=0, parts=kh.AutoParts(active=active))
        for active in (6, 12)
    )
    for learner in (few, all_of_them):
        learner.study(sums)
    kept, whole = few._state.kept, all_of_them._state.kept
    assert {4, 7, 10} <= set(kept.who.tolist())
    there = np.append(kept.who, 12)
    assert np.array_equal(kept.G[0], whole.G[0][np.ix_(there, there)])
    away = np.flatnonzero(kept.seat < 0)
    assert len(away) == 6
    assert np.array_equal(kept.rest[0, away, 2], whole.c[0, away])
    assert np.array_equal(kept.rest[0, away, 0], np.diag(whole.G[0])[away])
    assert not kept.rest[0, kept.who].any()
    assert few.ask().features.tolist() == [4, 7, 10]
