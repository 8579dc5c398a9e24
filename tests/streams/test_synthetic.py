"""Streams with one fixed rule: what each was made to show, with broken twins."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from keyhole.problem import Floats, ProblemError
from keyhole.streams.arrays import LabelledRows, collect
from keyhole.streams.designs import bounded, toeplitz, uniform
from keyhole.streams.simulate import Simulated, linear
from keyhole.streams.synthetic import (
    dense,
    ill_conditioned,
    needle,
    nonlinear,
    padded_hard,
    realizable,
)

# Every statistical check: false alarm at most 1e-6 over its seed, margins derived where used.
Reals = NDArray[np.floating]


def explained(X: Reals, y: Floats) -> float:
    """R^2 of least squares with an intercept."""
    A = np.column_stack([X, np.ones(len(y))])
    e = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return 1.0 - float(e @ e) / float(((y - y.mean()) ** 2).sum())


def test_realizable_meets_the_assumptions_of_the_paper() -> None:
    for seed in range(20):
        stream, truth = realizable(15, 4, 50, noise_sd=0.0, seed=seed)
        X, y = collect(stream)
        np.testing.assert_allclose(y, X @ truth.weights, rtol=0, atol=1e-14)
        sizes = np.abs(truth.weights[truth.support])
        assert len(truth.support) == 4
        assert abs(sizes.sum() - 1.0) < 1e-12
        assert sizes.max() / sizes.min() <= 3.0
        assert np.abs(X).max() <= 1.0


def check_random_truth(make: Callable[[int], Simulated]) -> None:
    """Over 2,000 seeds every feature is in the support equally often, and signs are fair."""
    truths = [make(seed).truth for seed in range(2000)]
    used = np.array([truth.weights != 0 for truth in truths]).mean(axis=0)
    # 8 frequencies of 2,000 independent events (Hoeffding): sqrt(ln(18 / 1e-6) / 4000) = 0.065.
    margin = math.sqrt(math.log(18 / 1e-6) / 4000)
    assert np.abs(used - 2 / 8).max() < margin
    positive = np.mean([truth.weights[truth.support[0]] > 0 for truth in truths])
    assert abs(positive - 0.5) < margin


def first_features(seed: int) -> Simulated:
    w = realizable(8, 2, 1, seed=seed).truth.weights
    return linear(np.sort(w), 1, seed=seed)


def test_the_support_is_uniform_and_signs_are_fair() -> None:
    check_random_truth(lambda seed: realizable(8, 2, 1, seed=seed))
    with pytest.raises(AssertionError):
        check_random_truth(first_features)


def test_dense_weights_fall_off_as_promised() -> None:
    truth = dense(50, 10, power=1.2, noise_sd=0.1, seed=4).truth
    sizes = np.sort(np.abs(truth.weights))[::-1]
    np.testing.assert_allclose(sizes / sizes[0], np.arange(1, 51) ** -1.2)
    assert abs(sizes.sum() - (1 - math.sqrt(3) * 0.1)) < 1e-12
    assert len(truth.support) == 50
    assert not (np.diff(np.abs(truth.weights)) < 0).all(), "the places are random"


def test_dense_has_a_good_sparse_part() -> None:
    stream, truth = dense(100, 4000, seed=1)
    X, y = collect(stream)
    best = np.argsort(np.abs(truth.weights))[-4:]
    assert 0.75 < explained(X[:, best], y) < 0.97


def check_curved(stream_and_truth: Simulated) -> None:
    """Lines explain much but not all; the truth is the best line; all of it is in the support."""
    stream, truth = stream_and_truth
    X, y = collect(stream)
    line = explained(X[:, truth.support], y)
    noise = truth.noise_sd**2 / y.var()
    assert 0.5 < line < 1.0 - noise - 0.05
    e = y - truth.intercept - X @ truth.weights
    # The line was fitted on 20,000 other rows, so its 6 coefficients are off by O(1/sqrt(20000)):
    # it can't be worse than the best line here by more than a few times 6/20000 of the variance.
    assert e.var() / y.var() < 1.0 - line + 0.01
    others = np.setdiff1d(np.arange(stream.d), truth.support)
    assert explained(X[:, others], y) < line / 2


def test_nonlinear_labels_are_not_linear() -> None:
    check_curved(nonlinear(30, 8000, seed=2))
    check_curved(nonlinear(30, 8000, design=uniform, seed=3))
    straight = realizable(30, 5, 8000, design=toeplitz(0.5), noise=bounded, noise_sd=0.05, seed=2)
    with pytest.raises(AssertionError):
        check_curved(straight)


def check_correlations(X: Reals, y: Floats, weights: Floats) -> None:
    """E x_j y = w_j for every feature, and labels are signs."""
    # 50 means of n values in [-1, 1] (Hoeffding): sqrt(2 ln(100 / 1e-6) / n) = 0.024.
    margin = math.sqrt(2 * math.log(100 / 1e-6) / len(y))
    assert set(y) == {-1.0, 1.0}
    assert np.abs(X.T @ y / len(y) - weights).max() < margin


def test_needle_correlations() -> None:
    stream, truth = needle(50, 2**16, seed=1)
    X, y = collect(stream)
    check_correlations(X, y, truth.weights)
    assert sorted(np.abs(truth.weights[truth.support])) == [0.07] * 10 + [0.22]
    no_coin = np.where(X @ truth.weights < 0, -1.0, 1.0)
    with pytest.raises(AssertionError):
        check_correlations(X, no_coin, truth.weights)


def check_needs_the_difference(stream_and_truth: Simulated) -> None:
    """One feature of a pair says little, both say all, and the pair is nearly singular."""
    stream, truth = stream_and_truth
    X, y = collect(stream)
    assert explained(X[:, truth.support], y) > 1.0 - 1e-9
    for j in truth.support:
        # corr(x_j, y) = gap / sqrt(4 (gap^2 + (1-gap)^2)) = 0.055 here for gap = 0.1 and two pairs;
        # n = 20,000: the standard error is 0.0071; six of it leave 1e-9 for each of the four.
        assert explained(X[:, [j]], y) < (0.055 + 6 * 0.0071) ** 2
    eigenvalues = np.linalg.eigvalsh(X.T @ X / len(y))
    assert eigenvalues[-1] / eigenvalues[0] > 100.0  # 1 + 2 (1-gap)^2 / gap^2 = 163 for a pair


def test_ill_conditioned_labels_need_the_difference_of_near_duplicates() -> None:
    check_needs_the_difference(ill_conditioned(12, 2, 20_000, noise_sd=0.0, seed=1))
    with pytest.raises(AssertionError):
        check_needs_the_difference(ill_conditioned(12, 2, 20_000, gap=1.0, noise_sd=0.0, seed=1))


def test_ill_conditioned_weights_are_differences_inside_groups() -> None:
    stream, truth = ill_conditioned(16, 3, 10, copies=4, gap=0.05, noise_sd=0.0, seed=1)
    first, second = truth.support[::2], truth.support[1::2]
    assert (first % 4 == 0).all()
    np.testing.assert_array_equal(second, first + 1)
    np.testing.assert_array_equal(truth.weights[first], -truth.weights[second])
    assert abs(np.abs(truth.weights).sum() - 1 / 0.05) < 1e-9
    X, _ = collect(stream)
    assert np.abs(X[:, first] - X[:, second]).max() <= 2 * 0.05


D, K, HARD, PADDING = 14, 2, 5000, 45_000


@pytest.fixture(scope="module")
def padded() -> tuple[LabelledRows, Simulated]:
    made = padded_hard(D, K, HARD, PADDING, seed=2)
    return collect(made.stream), made


def test_the_hard_part_is_an_exact_cover(padded: tuple[LabelledRows, Simulated]) -> None:
    (X, y), (_, truth) = padded
    X, y = X[:HARD], y[:HARD]
    np.testing.assert_allclose(y, X @ truth.weights, rtol=0, atol=1e-15)
    assert set(np.unique(X)) == {-1.0, 0.0, 1.0}
    np.testing.assert_array_equal(np.count_nonzero(X[:, truth.support], axis=1), 1)
    assert set(np.round(y, 12)) == {-1 / K, 1 / K}
    np.testing.assert_array_equal(np.unique(truth.weights), [0.0, 1 / K])


def check_alike(X: Reals, y: Floats) -> None:
    """Every feature has the same E x_j y = 1/k^2: x_j y is 1/k with probability 1/k, else 0."""
    # D frequencies of n events (Hoeffding): sqrt(ln(2 D / 1e-6) / (2 n)) = 0.041 for k x_j y.
    margin = math.sqrt(math.log(2 * D / 1e-6) / (2 * len(y)))
    assert np.abs(K * X.T @ y / len(y) - 1 / K).max() < margin


def test_no_feature_of_the_hard_part_stands_out(padded: tuple[LabelledRows, Simulated]) -> None:
    (X, y), _ = padded
    check_alike(X[:HARD], y[:HARD])
    smaller = X[:HARD].copy()
    smaller[::3, 0] = 0.0  # a set that has lost a third of its elements
    with pytest.raises(AssertionError):
        check_alike(smaller, y[:HARD])


def restricted(X: Reals, size: int) -> tuple[float, float]:
    """Least and greatest singular value of X / sqrt(n) over all subsets of `size` columns."""
    G = X.T @ X / len(X)
    subsets = np.array(list(combinations(range(X.shape[1]), size)))
    eigenvalues = np.linalg.eigvalsh(G[subsets[:, :, None], subsets[:, None, :]])
    low, high = float(eigenvalues.min()), float(eigenvalues.max())
    return math.sqrt(max(low, 0.0)), math.sqrt(high)


def check_isometry(X: Reals) -> None:
    """The restricted isometry property with (1/5, 3k), `definition:RIP`."""
    low, high = restricted(X, 3 * K)
    assert low >= 4 / 5
    assert high <= 6 / 5


def test_only_the_padded_whole_is_well_conditioned(padded: tuple[LabelledRows, Simulated]) -> None:
    # The whole has G = 0.1 G_hard + 0.9 G_pad. G_hard restricted to 6 columns has eigenvalues from
    # 0 to its trace 6/k = 3. The 91 off-diagonals of G_pad are below sqrt(2 ln(182/1e-6)/45000) =
    # 0.029 (Hoeffding), so its eigenvalues on 6 columns are within 1 +- 5 * 0.029 (Gershgorin).
    # Together: 0.76 to 1.34, inside [0.8^2, 1.2^2].
    (X, _), _ = padded
    check_isometry(X)
    low, _ = restricted(X[:HARD], 3 * K)
    assert low < 1e-6, "some 3k columns of the hard part are linearly dependent"
    for early in (HARD, HARD + 200):
        with pytest.raises(AssertionError):
            check_isometry(X[:early])


def test_padding_rounds_follow_the_same_weights(padded: tuple[LabelledRows, Simulated]) -> None:
    (X, y), (_, truth) = padded
    X, y = X[HARD:], y[HARD:]
    assert set(np.unique(X)) == {-1.0, 1.0}
    e = (y - X @ truth.weights) / truth.noise_sd
    n, log = len(y), math.log(4 / 1e-6)  # Gaussian noise, bounds as in test_simulate
    assert abs(e.mean()) < math.sqrt(2 * log / n)
    assert abs((e**2).mean() - 1.0) < 2 * math.sqrt(log / n) + 2 * log / n


def test_planted_sets_are_everywhere_and_all_sets_have_one_size() -> None:
    X, _ = collect(padded_hard(30, 4, 3000, 0, set_size=5, seed=9).stream)
    elements = np.unique(np.abs(X), axis=0)
    assert len(elements) == 20
    np.testing.assert_array_equal(elements.sum(axis=0), 5.0)
    starts = {int(padded_hard(30, 4, 1, 0, seed=seed).truth.support[0]) for seed in range(20)}
    assert len(starts) > 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dense(5, 10, power=-1), "power must be at least 0"),
        (lambda: dense(5, 10, noise_sd=0.7), "noise_sd must be from 0 to 0.5, got 0.7"),
        (lambda: nonlinear(4, 10), "d must be at least 5, got 4"),
        (lambda: needle(5, 10), "correlations must be 1 to d = 5 numbers"),
        (lambda: needle(5, 10, correlations=[0.9, 0.9]), "add up to at most 1, got 2 with sum 1.8"),
        (lambda: needle(5, 10, correlations=[]), "correlations must be 1 to d = 5"),
        (lambda: needle(5, 10, correlations=[-0.5]), "correlations must be from 0 to 1"),
        (lambda: ill_conditioned(5, 3, 10), "d must be at least copies . pairs = 6, got 5"),
        (lambda: ill_conditioned(5, 0, 10), "pairs must be at least 1, got 0"),
        (lambda: ill_conditioned(5, 1, 10, copies=1), "copies must be at least 2, got 1"),
        (lambda: ill_conditioned(5, 1, 10, gap=0), "gap must be from 0.001 to 1, got 0"),
        (lambda: padded_hard(5, 6, 10, 10), "k must be at most d = 5, got 6"),
        (lambda: padded_hard(5, 2, 0, 10), "hard must be at least 1, got 0"),
        (lambda: padded_hard(5, 2, 10, -1), "padding must be at least 0, got -1"),
        (lambda: padded_hard(5, 2, 10, 10, set_size=0), "set_size must be at least 1"),
        (lambda: padded_hard(5, 2, 10, 10, noise_sd=math.nan), "noise_sd must be at least 0"),
    ],
)
def test_senseless_arguments_are_refused_at_once(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()
