"""The best k features and the past, against least squares on all columns written out."""

import itertools
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.streams import ArrayStream, GeneratedStream

NAMES = (
    "last label",
    "label before last",
    "mean of labels, half-life 3",
    "mean of labels, half-life 20",
    "mean of labels, half-life 100",
)


def past_of(y: Floats) -> Floats:
    """The inputs of the past by their definition, with the mean where there is no label yet."""
    P = np.full((len(y), 5), np.nan)
    for t in range(1, len(y)):
        P[t, 0] = y[t - 1]
        if t > 1:
            P[t, 1] = y[t - 2]
        for i, half_life in enumerate((3, 20, 100)):
            counts = 0.5 ** (np.arange(t)[::-1] / half_life)
            P[t, 2 + i] = counts @ y[:t] / counts.sum()
    for column in P.T:
        absent = np.isnan(column)
        column[absent] = 0.0 if absent.all() else column[~absent].mean()
    return P


def filled(X: Floats) -> Floats:
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def enumerated(X: Floats, y: Floats, k: int, *, intercept: bool) -> tuple[float, float]:
    """The loss of the best k columns beside the past, and of the past alone."""
    free = np.column_stack([past_of(y), np.ones((len(y), int(intercept)))])

    def loss(S: tuple[int, ...]) -> float:
        A = np.column_stack([filled(X)[:, S], free])
        size = np.maximum(np.abs(A).max(axis=0), 1e-300)
        w = np.linalg.lstsq(A / size, y, rcond=1e-10)[0]
        return float(((y - A / size @ w) ** 2).sum())

    return min(map(loss, itertools.combinations(range(X.shape[1]), k))), loss(())


def labels_that_follow(n: int, d: int, *, rho: float = 0.9, seed: int = 0) -> tuple[Floats, Floats]:
    """AR(1) about 3, driven by two features and noise."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)) + 2.0, np.zeros(n)
    for t in range(n):
        y[t] = (
            rho * (y[t - 1] if t else 1 / (1 - rho)) + X[t, 1] - 0.5 * X[t, -1] + 0.3 * rng.normal()
        )
    return X, y + 3.0


def attained(best: kh.Hindsight, X: Floats, y: Floats) -> float:
    assert best.past is not None
    guess = filled(X) @ best.weights + past_of(y) @ best.past.weights + best.intercept
    return float(((y - guess) ** 2).sum())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("absent", [0.0, 0.1])
def test_exact_against_enumeration(intercept: bool, absent: float) -> None:
    X, y = labels_that_follow(150, 6)
    X[np.random.default_rng(1).random(X.shape) < absent] = np.nan
    for k in (1, 2, 3, 6):
        # Blocks of 37 rounds: the past goes on from one to the next.
        stream = GeneratedStream(6, 150, lambda: ArrayStream(X, y).blocks(37))
        best = kh.hindsight(stream, k, intercept=intercept, past=True)
        truth, alone = enumerated(X, y, k, intercept=intercept)
        assert best.loss.low == best.loss.high == pytest.approx(truth, rel=1e-8)
        assert attained(best, X, y) == pytest.approx(truth, rel=1e-8)
        assert best.past is not None
        assert best.past.names == NAMES
        assert best.past.loss == pytest.approx(alone, rel=1e-8)
        assert np.count_nonzero(best.weights) <= k
        assert (best.intercept != 0.0) == intercept
        plain = kh.hindsight(stream, k, intercept=intercept)
        assert best.empty_loss == plain.empty_loss
        assert plain.past is None


def test_where_labels_follow_each_other_the_past_is_worth_a_lot() -> None:
    X, y = labels_that_follow(3000, 8)
    best = kh.hindsight(ArrayStream(X, y), 2, intercept=True, past=True)
    plain = kh.hindsight(ArrayStream(X, y), 2, intercept=True)
    assert best.past is not None
    assert best.support.tolist() == [1, 7]
    # Noise of 0.3 on inputs of variance 1 and more: standard errors below 0.3 / sqrt(3000) < 0.006
    # for the features; for the last label, beside the means, a few times that.
    assert best.weights[[1, 7]] == pytest.approx([1.0, -0.5], abs=0.05)
    assert best.past.weights[0] == pytest.approx(0.9, abs=0.1)
    assert best.loss.high == pytest.approx(3000 * 0.09, rel=0.15)
    assert plain.loss.high > 10 * best.loss.high
    assert best.r2 > 0.95 > 0.5 > plain.r2


def test_the_search_is_for_the_best_features_beside_the_past() -> None:
    """The twin: the feature that is best without the past only repeats the last label."""
    X, y = labels_that_follow(2000, 6, rho=0.95)
    X[1:, 3] = y[:-1] + 0.5 * np.random.default_rng(2).normal(size=1999)
    stream = ArrayStream(X, y)
    plain = kh.hindsight(stream, 1, intercept=True)
    best = kh.hindsight(stream, 1, intercept=True, past=True)
    assert plain.support.tolist() == [3]
    assert best.support.tolist() == [1]
    assert best.loss.high == pytest.approx(enumerated(X, y, 1, intercept=True)[0], rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_labels_in_any_order_gain_what_five_inputs_of_noise_gain(intercept: bool) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 6))
    stream = ArrayStream(X, X[:, 2] + rng.normal(size=4000))
    best = kh.hindsight(stream, 1, intercept=intercept, past=True)
    plain = kh.hindsight(stream, 1, intercept=intercept)
    assert best.support.tolist() == plain.support.tolist() == [2]
    # Five inputs that say nothing explain chi-square of 5 of unit noise: above 45 at most 1e-8.
    assert 0 <= plain.loss.high - best.loss.high < 45


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_never_larger_than_without_the_past(intercept: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 5)) * 10.0 ** rng.uniform(-3, 3, 5) + rng.normal(size=5) * 100
    y = X @ rng.normal(size=5) + rng.normal()
    stream = ArrayStream(X, y)
    for k in (1, 3):
        best = kh.hindsight(stream, k, intercept=intercept, past=True)
        plain = kh.hindsight(stream, k, intercept=intercept)
        assert best.loss.width == plain.loss.width == 0.0
        assert best.loss.high <= plain.loss.high + 1e-9 * plain.empty_loss


@pytest.mark.parametrize("value", [0.0, 0.1, -7.0, 1e9 + 0.3, 1e-170])
@pytest.mark.parametrize("intercept", [False, True])
def test_labels_that_never_change(value: float, intercept: bool) -> None:
    """All inputs of the past are the same, and with an intercept they say nothing at all."""
    X = np.random.default_rng(0).normal(size=(2000, 3))
    best = kh.hindsight(ArrayStream(X, np.full(2000, value)), 2, intercept=intercept, past=True)
    assert best.past is not None
    assert best.loss.high == pytest.approx(0.0, abs=1e-12 * value * value)
    assert best.past.loss == pytest.approx(0.0, abs=1e-12 * value * value)
    if intercept:
        assert not best.past.weights.any()
        assert best.intercept == pytest.approx(value)
    elif abs(value) > 1e-100:
        assert best.past.weights == pytest.approx([1.0, 0.0, 0.0, 0.0, 0.0], abs=1e-9)
        assert best.support.size == 0


def test_a_feature_that_is_the_last_label_adds_nothing() -> None:
    X, y = labels_that_follow(500, 4)
    X[:, 2] = past_of(y)[:, 0]
    best = kh.hindsight(ArrayStream(X, y), 4, intercept=True, past=True)
    assert best.weights[2] == 0.0
    truth = enumerated(X[:, [0, 1, 3]], y, 3, intercept=True)[0]
    assert best.loss.low == best.loss.high == pytest.approx(truth, rel=1e-8)


def test_labels_that_alternate() -> None:
    """Two values in turn: the last label and the one before it are the same up to a constant."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.tile([5.0, 6.0], 100)
    best = kh.hindsight(ArrayStream(X, y), 1, intercept=True, past=True)
    truth = enumerated(X, y, 1, intercept=True)[0]
    assert best.loss.high == pytest.approx(truth, rel=1e-6, abs=1e-9)
    assert attained(best, X, y) == pytest.approx(best.loss.high, rel=1e-6, abs=1e-9)


def test_labels_far_from_zero_lose_no_digits() -> None:
    X, y = labels_that_follow(400, 4)
    near = kh.hindsight(ArrayStream(X, y), 2, intercept=True, past=True)
    far = kh.hindsight(ArrayStream(X + 1e5, y + 1e6), 2, intercept=True, past=True)
    assert far.loss.high == pytest.approx(near.loss.high, rel=1e-6)
    assert far.support.tolist() == near.support.tolist()


@pytest.mark.parametrize("intercept", [False, True])
def test_prefixes_have_a_past_of_their_own(intercept: bool) -> None:
    X, y = labels_that_follow(120, 4)
    ends = [1, 2, 3, 30, 120]
    models = kh.hindsight_curve(ArrayStream(X, y), 1, ends, intercept=intercept, past=True)
    for n, model in zip(ends, models, strict=True):
        truth, _ = enumerated(X[:n], y[:n], 1, intercept=intercept)
        assert model.rounds == n
        assert model.past is not None
        assert model.loss.high == pytest.approx(truth, rel=1e-7, abs=1e-9)


def test_in_the_first_round_there_is_no_past() -> None:
    best = kh.hindsight(ArrayStream([[0.0]], [3.0]), 1, past=True, intercept=False)
    assert best.past is not None
    assert (best.loss.high, best.past.loss, best.empty_loss) == (9.0, 9.0, 9.0)
    assert not best.past.weights.any()


def test_regret_against_the_past() -> None:
    X, y = labels_that_follow(256, 4)  # where the ledger has a checkpoint
    stream, problem = ArrayStream(X, y), kh.Problem(4, 1, 2)
    ledger = kh.play(kh.LastValue(problem), stream)
    best = kh.hindsight(stream, 1, intercept=True, past=True)
    curve = kh.regret_curve(ledger, stream, 1, intercept=True, past=True)
    assert curve.high[-1] == pytest.approx(kh.regret(ledger, best).high, rel=1e-9)
    assert curve.high[-1] > kh.regret_curve(ledger, stream, 1, intercept=True).high[-1]
    truth = enumerated(X, y, 1, intercept=True)[0]
    assert curve.high[-1] == pytest.approx(ledger.loss - truth, rel=1e-6)


@pytest.mark.parametrize("wrong", [None, 1, "yes"])
def test_past_is_true_or_false(wrong: Any) -> None:
    with pytest.raises(kh.ProblemError, match="past must be True or False, got"):
        kh.hindsight(ArrayStream([[1.0]], [1.0]), 1, past=wrong, intercept=False)


def test_short_streams_of_all_kinds_are_attained_and_no_worse_than_without_the_past() -> None:
    """Saturated, trending, two-valued, with features that repeat the last label, with gaps."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
        k, intercept = int(rng.integers(1, d + 1)), bool(rng.integers(2))
        X, y = rng.normal(size=(n, d)) * 10 ** rng.uniform(-3, 3), rng.normal(size=n) + 5.0
        if seed % 4 == 1:
            y = np.arange(n, dtype=np.float64)
        elif seed % 4 == 2:
            y = rng.integers(0, 2, n).astype(np.float64)
        elif seed % 4 == 3:
            X[1:, 0] = y[:-1]
            X[1:][rng.random((n - 1, d)) < 0.2] = np.nan
        best, plain = (
            kh.hindsight(ArrayStream(X, y), k, intercept=intercept, past=past)
            for past in (True, False)
        )
        rounding = 1e-6 * float(y @ y)
        assert best.loss.high <= plain.loss.high + rounding, seed
        assert attained(best, X, y) == pytest.approx(best.loss.high, abs=rounding), seed


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("of_x", "of_y"), [(1e200, 1.0), (1.0, 1e200), (1e154, 1e154)])
@pytest.mark.parametrize("intercept", [False, True])
def test_what_cannot_be_squared_is_refused(of_x: float, of_y: float, intercept: bool) -> None:
    X, y = labels_that_follow(50, 3)
    with pytest.raises(kh.DataError, match="too large for sums of their squares"):
        kh.hindsight(ArrayStream(X * of_x, y * of_y), 1, intercept=intercept, past=True)


def test_sizes_that_no_product_can_hold_are_refused() -> None:
    """Labels of 1e-160 beside a column of 1e150: finite sums, and slopes that overflow."""
    rng = np.random.default_rng(11)
    X = rng.uniform(-1.0, 1.0, size=(40, 1))
    y = 1e-160 * (X[:, 0] + 0.1 * rng.uniform(-1.0, 1.0, size=40))
    with pytest.raises(kh.DataError, match="divide large columns, or the label, by their size"):
        kh.hindsight(kh.streams.ArrayStream(1e150 * X[:3], y[:3]), 1, past=True, intercept=False)
    assert np.isfinite(
        kh.hindsight(kh.streams.ArrayStream(1e20 * X[:3], y[:3]), 1, intercept=False).intercept
    )
