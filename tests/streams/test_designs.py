"""Designs: bounds and moments, each with a broken twin that the same check refuses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from keyhole.problem import Floats, ProblemError
from keyhole.streams.designs import (
    Design,
    Noise,
    RowSampler,
    binary,
    bounded,
    duplicates,
    factor,
    gaussian,
    heavy_tailed,
    rademacher,
    signs,
    student,
    toeplitz,
    uniform,
)

N, D = 2**16, 6

# Every check below may raise a false alarm with probability at most 1e-6 over its seed.
# Means of N independent values in [-1, 1] (Hoeffding): P(|mean - truth| > e) <= 2 exp(-N e^2 / 2);
# M = D + D (D+1)/2 = 27 of them at once: e = sqrt(2 ln(2 M / 1e-6) / N) = 0.0233.
MARGIN = math.sqrt(2.0 * math.log(2 * (D + D * (D + 1) // 2) / 1e-6) / N)
# One frequency of N independent events (Hoeffding): sqrt(ln(2 / 1e-6) / (2 N)) = 0.0105.
SHARE_MARGIN = math.sqrt(math.log(2 / 1e-6) / (2 * N))

ALL: dict[str, Design] = {
    "rademacher": rademacher,
    "uniform": uniform,
    "toeplitz": toeplitz(0.8),
    "factor": factor(0.4),
    "heavy_tailed": heavy_tailed(),
    "heavy_tailed spread": heavy_tailed(3.0, spread=10.0),
    "binary": binary(),
    "duplicates": duplicates(3, 0.1),
}


def draw(design: Design, n: int = N, d: int = D, seed: int = 1) -> Floats:
    rows = design(d, np.random.default_rng([seed, 1]))
    return rows(n, np.random.default_rng([seed, 2]))


def check_moments(design: Design, second: Floats) -> None:
    """Mean 0 and E x x' = second."""
    X = draw(design)
    assert np.abs(X.mean(axis=0)).max() < MARGIN
    assert np.abs(X.T @ X / N - second).max() < MARGIN


def mapped(correlation: Floats) -> Floats:
    """E x x' for x = 2 Phi(z) - 1: variance 1/3, correlation (6/pi) asin(rho / 2)."""
    second: Floats = (6.0 / np.pi) * np.arcsin(correlation / 2.0) / 3.0
    return second


def toeplitz_correlation(rho: float) -> Floats:
    j = np.arange(D)
    return np.asarray(rho ** np.abs(j[:, None] - j), dtype=np.float64)


def factor_correlation(strength: float) -> Floats:
    s = signs(D, np.random.default_rng([1, 1]))
    assert len(set(s)) == 2, "the seed must give both signs, or the twin below is no twin"
    return strength * np.outer(s, s) + (1.0 - strength) * np.eye(D)


@pytest.mark.parametrize("name", ALL)
def test_values_are_bounded_and_rows_have_the_right_shape(name: str) -> None:
    X = draw(ALL[name], n=5000, d=7)
    assert X.shape == (5000, 7)
    assert X.dtype == np.float64
    assert np.abs(X).max() <= 1.0
    assert draw(ALL[name], n=3, d=1).shape == (3, 1)


@pytest.mark.parametrize("name", ALL)
def test_the_same_generators_give_the_same_rows(name: str) -> None:
    np.testing.assert_array_equal(draw(ALL[name], n=50), draw(ALL[name], n=50))


@pytest.mark.parametrize(
    ("design", "second"),
    [
        (rademacher, np.eye(D)),
        (uniform, np.eye(D) / 3.0),
        (toeplitz(0.8), mapped(toeplitz_correlation(0.8))),
        (toeplitz(-0.5), mapped(toeplitz_correlation(-0.5))),
        (toeplitz(1.0), np.full((D, D), 1.0 / 3.0)),
        (factor(0.4), mapped(factor_correlation(0.4))),
        (factor(0.0), np.eye(D) / 3.0),
        (
            duplicates(2, 0.2),
            (0.64 * np.kron(np.eye(D // 2), np.ones((2, 2))) + 0.04 * np.eye(D)) / 3.0,
        ),
    ],
)
def test_moments(design: Design, second: Floats) -> None:
    check_moments(design, second)


def rho_ignored(d: int, rng: np.random.Generator) -> RowSampler:
    return toeplitz(0.0)(d, rng)


def signs_ignored(d: int, rng: np.random.Generator) -> RowSampler:
    # Its own signs once more: every loading becomes positive.
    plain, s = factor(0.4)(d, np.random.default_rng([1, 1])), signs(d, rng)
    return lambda n, rng: plain(n, rng) * s


def half_range(d: int, rng: np.random.Generator) -> RowSampler:
    return lambda n, rng: rng.uniform(0.0, 1.0, (n, d))


@pytest.mark.parametrize(
    ("twin", "second"),
    [
        (rho_ignored, mapped(toeplitz_correlation(0.8))),
        (signs_ignored, mapped(factor_correlation(0.4))),
        (half_range, np.eye(D) / 3.0),
        (uniform, np.eye(D)),
    ],
)
def test_broken_twins_of_the_moments_are_caught(twin: Design, second: Floats) -> None:
    with pytest.raises(AssertionError):
        check_moments(twin, second)


def check_tails(design: Design) -> None:
    """P(|x| > 0.8) = P(|t| > 4) with 4 degrees of freedom."""
    from scipy.stats import t

    p = 2.0 * float(t.sf(4.0, 4))  # 0.0161
    # Bernstein for one frequency of n = N D events: sqrt(2 p L / n) + L / (3 n), L = ln(2 / 1e-6).
    n, log = N * D, math.log(2 / 1e-6)
    margin = math.sqrt(2 * p * log / n) + log / (3 * n)
    assert abs((np.abs(draw(design)) > 0.8).mean() - p) < margin


def thin_tails(d: int, rng: np.random.Generator) -> RowSampler:
    # The same variance as a Student t with 4 degrees of freedom, divided by 5.
    return lambda n, rng: np.clip(rng.normal(0.0, math.sqrt(2.0) / 5.0, (n, d)), -1.0, 1.0)


def test_heavy_tails() -> None:
    check_tails(heavy_tailed(dof=4))
    with pytest.raises(AssertionError):
        check_tails(thin_tails)


def test_spread_gives_features_different_scales() -> None:
    X = draw(heavy_tailed(4, spread=10.0), d=40)
    middle = np.median(np.abs(X), axis=0)
    assert 3.0 < middle.max() / middle.min() < 11.0
    same = np.median(np.abs(draw(heavy_tailed(4), d=40)), axis=0)
    assert same.max() / same.min() < 1.1


def check_binary(design: Design) -> None:
    X = draw(design, d=20)
    assert set(np.unique(X)) == {0.0, 1.0}
    # 20 frequencies at once: the Hoeffding margin grows to sqrt(ln(40 / 1e-6) / (2 N)) = 0.0116.
    margin = math.sqrt(math.log(40 / 1e-6) / (2 * N))
    means = X.mean(axis=0)
    assert means.min() > 0.1 - margin
    assert means.max() < 0.5 + margin
    assert means.max() - means.min() > 0.1


def test_binary_means_differ_and_stay_in_their_range() -> None:
    check_binary(binary(0.1, 0.5))
    with pytest.raises(AssertionError):
        check_binary(binary(0.3, 0.3))


def check_share(noise: Noise, beyond: float, share: float) -> None:
    e = noise(N, np.random.default_rng(5))
    assert e.shape == (N,)
    assert abs((np.abs(e) > beyond).mean() - share) < SHARE_MARGIN
    assert abs((e > 0).mean() - 0.5) < SHARE_MARGIN


def unscaled(n: int, rng: np.random.Generator) -> Floats:
    return rng.standard_t(3, n)


def test_noises_have_variance_one() -> None:
    from scipy.stats import norm, t

    check_share(gaussian, 1.0, 2.0 * float(norm.sf(1.0)))
    check_share(bounded, 1.0, 1.0 - 1.0 / math.sqrt(3.0))
    # Variance 1 means: divided by sqrt(dof / (dof - 2)) = sqrt(3).
    check_share(student(3), 1.0, 2.0 * float(t.sf(math.sqrt(3.0), 3)))
    with pytest.raises(AssertionError):
        check_share(unscaled, 1.0, 2.0 * float(t.sf(math.sqrt(3.0), 3)))
    assert np.abs(bounded(N, np.random.default_rng(0))).max() <= math.sqrt(3.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: toeplitz(1.5), "rho must be from -1 to 1, got 1.5"),
        (lambda: toeplitz(math.nan), "rho must be from -1 to 1, got nan"),
        (lambda: toeplitz("much"), "rho must be a number, got 'much'"),  # type: ignore[arg-type]
        (lambda: factor(-0.1), "strength must be from 0 to 1, got -0.1"),
        (lambda: heavy_tailed(0.5), "dof must be at least 1"),
        (lambda: heavy_tailed(math.inf), "dof must be at least 1 and finite, got inf"),
        (lambda: heavy_tailed(4, spread=0.5), "spread must be at least 1"),
        (lambda: binary(0.6, 0.5), "low must be from 0 to 0.5, got 0.6"),
        (lambda: binary(0.1, 1.5), "high must be from 0 to 1, got 1.5"),
        (lambda: duplicates(0), "copies must be at least 1, got 0"),
        (lambda: duplicates(2, 0.0), "gap must be from 0.001 to 1, got 0"),
        (lambda: student(2.0), "dof must be at least 2.1"),
    ],
)
def test_senseless_parameters_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()
