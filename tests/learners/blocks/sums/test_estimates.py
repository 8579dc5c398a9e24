"""Estimates from partially seen rows, by enumeration: the average over all sets is the mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest

from keyhole.learners.blocks.draw.sampling import (
    inclusion_complement,
    inclusion_uniform,
    inclusion_union,
)
from keyhole.learners.blocks.sums.estimates import (
    Estimate,
    available_case,
    horvitz_thompson,
    mean_imputed,
    printed,
)
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.problem import Floats, ProblemError


def every_estimate(
    x: Floats, y: float, sets: Sequence[Sequence[int]], view: Callable[[Moments], Estimate]
) -> list[Estimate]:
    d, estimates = len(x), []
    for S in sets:
        moments = Moments(d)
        moments.add(np.array(S, dtype=np.int64), x[list(S)], y)
        estimates.append(view(moments))
    return estimates


def bias(x: Floats, y: float, estimates: Sequence[Estimate]) -> tuple[Floats, Floats]:
    G = np.mean([e.G for e in estimates], axis=0) - np.outer(x, x)
    return G, np.mean([e.b for e in estimates], axis=0) - y * x


def example(d: int) -> tuple[Floats, float]:
    return np.random.default_rng(d).uniform(0.5, 1.5, d), 0.7


@pytest.mark.parametrize(("d", "k0"), [(d, k0) for d in range(1, 8) for k0 in range(1, d + 1)])
def test_exact_is_unbiased_and_printed_is_not(d: int, k0: int) -> None:
    x, y = example(d)
    sets = list(combinations(range(d), k0))
    if k0 > 1 or d == 1:
        exact = every_estimate(x, y, sets, lambda m: horvitz_thompson(m, inclusion_uniform(d, k0)))
        G, b = bias(x, y, exact)
        assert np.abs(G).max() < 1e-12
        assert np.abs(b).max() < 1e-12
    # Broken twin, the paper's own: off the diagonal the factor d (k0 - 1) / (k0 (d - 1)).
    G, b = bias(x, y, every_estimate(x, y, sets, lambda m: printed(m, k0)))
    assert np.abs(b).max() < 1e-12
    assert np.abs(np.diag(G)).max() < 1e-12
    if d > 1:
        off = ~np.eye(d, dtype=bool)
        factor = d * (k0 - 1) / (k0 * (d - 1))
        np.testing.assert_allclose(G[off], (factor - 1) * np.outer(x, x)[off], atol=1e-12)
        assert (np.abs(G[off]) > 1e-12).all() == (k0 < d)


@pytest.mark.parametrize("d", range(2, 7))
def test_exact_is_unbiased_with_a_support(d: int) -> None:
    x, y = example(d)
    for s in range(d + 1):
        S = tuple(range(0, d, 2))[:s]
        others = [i for i in range(d) if i not in S]
        for m in range(2, len(others) + 1):
            sets = [sorted((*S, *extra)) for extra in combinations(others, m)]
            scheme = inclusion_complement(d, S, m)
            G, b = bias(x, y, every_estimate(x, y, sets, lambda M: horvitz_thompson(M, scheme)))  # noqa: B023
            assert max(np.abs(G).max(), np.abs(b).max()) < 1e-12
        for k0 in range(2, d + 1):
            sets = [sorted({*S, *extra}) for extra in combinations(range(d), k0)]
            scheme = inclusion_union(d, S, k0)
            G, b = bias(x, y, every_estimate(x, y, sets, lambda M: horvitz_thompson(M, scheme)))  # noqa: B023
            assert max(np.abs(G).max(), np.abs(b).max()) < 1e-12


@pytest.mark.parametrize(("d", "k0"), [(4, 2), (4, 3), (5, 2), (5, 5)])
def test_variance_of_exact_is_its_formula(d: int, k0: int) -> None:
    # Two rows, all pairs of sets: Var G_ij = (1 / P_ij - 1) sum_t (x_ti x_tj)^2 / n^2, same for b.
    rng = np.random.default_rng(7)
    X, y, scheme = rng.uniform(0.5, 1.5, (2, d)), rng.uniform(1, 2, 2), inclusion_uniform(d, k0)
    sets = [np.array(S) for S in combinations(range(d), k0)]
    estimates = []
    for A in sets:
        for B in sets:
            moments = Moments(d)
            moments.add(A, X[0, A], y[0])
            moments.add(B, X[1, B], y[1])
            estimates.append(horvitz_thompson(moments, scheme))
    i = np.arange(d)
    P = scheme.pair(i[:, None], i)
    squares = sum(np.outer(x, x) ** 2 for x in X)
    np.testing.assert_allclose(
        np.var([e.G for e in estimates], axis=0), (1 / P - 1) * squares / 4, atol=1e-12
    )
    np.testing.assert_allclose(
        np.var([e.b for e in estimates], axis=0),
        (1 / scheme.single - 1) * (y**2 @ X**2) / 4,
        atol=1e-12,
    )


def test_printed_is_the_formula_of_the_paper() -> None:
    # Literally: rows x_hat = (d / k0) x(S), D_hat = (1 - k0 / d) diag(X_hat^T X_hat).
    d, k0, n = 6, 3, 50
    rng = np.random.default_rng(8)
    moments, X_hat, y = Moments(d), np.zeros((n, d)), rng.standard_normal(n)
    for t in range(n):
        S = np.sort(rng.choice(d, k0, replace=False))
        x = rng.standard_normal(k0)
        X_hat[t, S] = d / k0 * x
        moments.add(S, x, y[t])
    D_hat = (1 - k0 / d) * np.diag(np.diag(X_hat.T @ X_hat))
    estimate = printed(moments, k0)
    np.testing.assert_allclose(estimate.G, (X_hat.T @ X_hat - D_hat) / n, atol=1e-13)
    np.testing.assert_allclose(estimate.b, X_hat.T @ y / n, atol=1e-13)
    assert (estimate.n, estimate.y_mean) == (n, 0.0)


def test_available_case_on_complete_rows_is_the_plain_moment_and_covariance() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((40, 3)) + 2, rng.standard_normal(40) + 1
    moments = Moments(3)
    moments.add_rows(np.tile(np.arange(3), (40, 1)), X, y)
    plain, centred = available_case(moments), available_case(moments, centred=True)
    np.testing.assert_allclose(plain.G, X.T @ X / 40, rtol=1e-12)
    np.testing.assert_allclose(plain.b, X.T @ y / 40, rtol=1e-12)
    covariance = np.cov(np.c_[X, y].T, bias=True)
    np.testing.assert_allclose(centred.G, covariance[:3, :3], atol=1e-12)
    np.testing.assert_allclose(centred.b, covariance[:3, 3], atol=1e-12)
    assert math.isclose(centred.c, covariance[3, 3], rel_tol=1e-12)
    # The intercept of the centred least squares is that of the regression with a constant column.
    w = np.linalg.solve(centred.G, centred.b).astype(np.float64)
    full: Floats = np.linalg.lstsq(np.c_[X, np.ones(40)], y, rcond=None)[0].astype(np.float64)
    np.testing.assert_allclose([*w, centred.intercept(w)], full, atol=1e-10)
    assert plain.intercept(w) == 0.0
    residual = y - X @ w
    assert math.isclose(plain.c - 2 * plain.b @ w + w @ plain.G @ w, residual @ residual / 40)


@pytest.mark.parametrize("centred", [False, True])
def test_available_case_leaves_unseen_pairs_at_zero_and_N_tells(centred: bool) -> None:
    moments = Moments(3)
    moments.add([0], [2.0], 1.0)
    moments.add([1], [4.0], 3.0)
    estimate = available_case(moments, centred=centred)
    np.testing.assert_array_equal(moments.N, np.diag([1, 1, 0]))
    assert estimate.G[0, 1] == estimate.G[1, 2] == estimate.G[2, 2] == estimate.b[2] == 0
    if centred:
        # y is centred where the feature was seen: one row says nothing about a covariance.
        assert estimate.b[0] == estimate.b[1] == estimate.G[0, 0] == 0
        assert estimate.y_mean == 2.0
        np.testing.assert_array_equal(estimate.x_mean, [2, 4, 0])
    else:
        np.testing.assert_array_equal(np.diag(estimate.G), [4, 16, 0])


def test_estimates_of_nothing_are_zero() -> None:
    empty = Moments(3)
    views = [printed(empty, 2), horvitz_thompson(empty, inclusion_uniform(3, 2))]
    for estimate in [*views, available_case(empty), available_case(empty, centred=True)]:
        assert not estimate.G.any()
        assert not estimate.b.any()
        assert (estimate.n, estimate.c) == (0, 0.0)


def test_bad_arguments_are_refused() -> None:
    moments = Moments(3)
    for k0 in (0, 4):
        with pytest.raises(ProblemError, match="k0 must be at"):
            printed(moments, k0)
    with pytest.raises(ProblemError, match="inclusion is for d = 4, the sums are for d = 3"):
        horvitz_thompson(moments, inclusion_uniform(4, 2))
    with pytest.raises(ProblemError, match="never seen together"):
        horvitz_thompson(moments, inclusion_uniform(3, 1))


def test_mean_imputed_is_the_covariance_of_rows_with_means_filled_in() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)) * [1, 2, 3, 4, 5] + [0, 100, 0, -7, 3]
    y = X[:, 1] + rng.standard_normal(60)
    X[rng.random(X.shape) < 0.4] = np.nan
    X[:, 4] = np.nan  # never there
    sums = SeenSums(5)
    for x, label in zip(X, y.tolist(), strict=True):
        sums.add(np.arange(5), x, label)
    found = mean_imputed(sums)
    means = np.append(np.nanmean(X[:, :4], axis=0), 0.0)
    Z = np.where(np.isnan(X), 0.0, X - means)
    np.testing.assert_allclose(found.x_mean, means, rtol=1e-12)
    np.testing.assert_allclose(found.G, Z.T @ Z / 60, atol=1e-9)
    np.testing.assert_allclose(found.b, Z.T @ (y - y.mean()) / 60, atol=1e-9)
    assert found.c == pytest.approx(y.var(), rel=1e-9)
    assert found.n == 60
    assert found.y_mean == pytest.approx(y.mean())
    # The available-case average of the same rows need not be a covariance: that is the difference.
    assert np.linalg.eigvalsh(found.G)[0] > -1e-9
