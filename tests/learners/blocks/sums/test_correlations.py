"""Correlations and their standard errors: right on whole rows, calibrated on partly seen ones."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.learners.blocks.sums.correlations import (
    Correlations,
    correlations,
    pooled_scales,
    shrunk_means,
    standard_errors,
)
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.problem import Floats, Indices


def sums_of(X: Floats, y: Floats, read: int | None = None, seed: int = 0) -> SeenSums:
    """The sums of rows of which `read` features each were seen, drawn uniformly."""
    d = X.shape[1]
    rng, sums = np.random.default_rng(seed), SeenSums(d)
    for x, label in zip(X, y, strict=True):
        S = np.sort(rng.choice(d, read or d, replace=False))
        sums.add(S, x[S], float(label))
    return sums


def example(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal([50.0, -2.0, 0.0, 1e6], [10.0, 0.1, 3.0, 1e4], (n, 4))
    X[:, 1] += 0.01 * (X[:, 0] - 50.0)
    return X, 3.0 + 0.05 * X[:, 0] + rng.standard_normal(n)


def test_on_whole_rows_they_are_the_usual_ones() -> None:
    X, y = example(20_000)
    found = correlations(sums_of(X, y))
    usual = np.asarray(np.corrcoef(np.column_stack([X, y]).T))
    # Centres and scales are shrunk by a few rows in 20,000.
    np.testing.assert_allclose(found.R, usual[:4, :4], atol=1e-3)
    np.testing.assert_allclose(found.c, usual[4, :4], atol=1e-3)
    np.testing.assert_allclose(found.centre, X.mean(axis=0), rtol=1e-3, atol=0.05)
    np.testing.assert_allclose(1 / found.inverse, X.std(axis=0), rtol=1e-3)
    assert found.centre_y == pytest.approx(y.mean(), rel=1e-3)
    assert found.scale_y == pytest.approx(y.std(), rel=1e-3)


def test_units_do_not_matter() -> None:
    X, y = example(3000)
    units = np.array([2.0**-30, 2.0**40, 1.0, 2.0**9])
    a, b = correlations(sums_of(X, y, 2)), correlations(sums_of(X * units, 2.0**20 * y, 2))
    np.testing.assert_allclose(a.R, b.R, atol=0.01)
    np.testing.assert_allclose(a.c, b.c, atol=0.01)
    np.testing.assert_allclose(a.inverse, b.inverse * units, rtol=0.01)


def test_what_never_varies_is_left_out() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 5))
    X[:, 0], X[:, 1] = 0.0, 1e8 / 3
    found = correlations(sums_of(X, X[:, 2]))
    assert (found.inverse[:2] == 0.0).all()
    assert (found.inverse[2:] > 0.0).all()
    assert not found.R[:2, 2:].any()
    assert not found.c[:2].any()
    constant = correlations(sums_of(X, np.full(50, 7.0)))
    assert constant.scale_y == 0.0
    assert not constant.c.any()


def test_one_row_is_enough_to_be_asked() -> None:
    found = correlations(sums_of(np.array([[1.0, 0.0, -2.0]]), np.array([3.0])))
    for array in (found.R, found.c, found.centre, found.inverse):
        assert np.isfinite(array).all()


def test_means_are_shrunk_when_chance_explains_them() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((8, 400))
    N = np.full(400, 8.0)
    near = shrunk_means(N, X.mean(axis=0), (X**2).mean(axis=0))
    # 400 means of variance 1/8: their excess over chance is below 0.05 (5 deviations), so less
    # than 0.05 * 8 / 1.4 = 0.29 of each is kept; 0.3 % are beyond sqrt(20) errors by chance.
    assert (np.abs(near) <= 0.3 * np.abs(X.mean(axis=0))).mean() > 0.98
    X += 5.0
    far = shrunk_means(N, X.mean(axis=0), (X**2).mean(axis=0))
    np.testing.assert_allclose(far, X.mean(axis=0), rtol=0.02)


def test_scales_are_pooled_when_they_are_alike_and_left_when_they_are_not() -> None:
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((4, 400))
    N, nothing = np.full(400, 4.0), np.zeros(400)
    alike = pooled_scales(N, (Z**2).mean(axis=0), nothing, nothing)
    assert np.log(alike).std() < 0.7 * np.log((Z**2).mean(axis=0) ** -0.5).std()
    units = 10.0 ** rng.uniform(-6, 6, 400)
    apart = pooled_scales(N, ((units * Z) ** 2).mean(axis=0), nothing, nothing)
    # Worth less than a tenth of a row: no scale moves by more than 10^(6 * 0.1 / 4) or so.
    ratio = apart * np.sqrt(((units * Z) ** 2).mean(axis=0))
    assert (np.abs(np.log10(ratio)) < 0.15).all()


# --- What shrinking is for: the error of c - R w at the true w


SUPPORT, W = np.array([3, 7, 11]), np.array([0.5, -0.5, 0.5])


def partly_seen(seed: int, factor: float) -> tuple[SeenSums, float]:
    """30 features of which 6 are read, 300 rows; the truth has variance 1 and noise 0.1."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(1 - factor) * rng.standard_normal((300, 30))
    X += np.sqrt(factor) * rng.standard_normal((300, 1))
    y = X[:, SUPPORT] @ W + 0.1 * rng.standard_normal(300)
    return sums_of(X, y, 6, seed), float(y.std())


def left(found: Correlations, scale: float) -> tuple[Floats, Indices]:
    others = np.setdiff1d(np.arange(30), SUPPORT)
    return (found.c - found.R[:, SUPPORT] @ W / scale)[others], others


@pytest.mark.parametrize("factor", [0.0, 0.4])
def test_shrinking_makes_the_residual_smaller(factor: float) -> None:
    with_it, without = [], []
    for seed in range(20):
        sums, scale = partly_seen(seed, factor)
        with_it.append(np.mean(left(correlations(sums), scale)[0] ** 2))
        without.append(np.mean(left(correlations(sums, shrink=False), scale)[0] ** 2))
    # Pairs rest on 10 rows, features on 60: without shrinking the noise of the pairs dominates.
    assert np.mean(with_it) < 0.8 * np.mean(without)
    assert np.sum(np.array(with_it) < without) >= 18  # of 20; by chance alone: 2e-4


def mean_square_z(pairs_count: bool) -> float:
    z2 = []
    for seed in range(20):
        sums, scale = partly_seen(seed, 0.0)
        found = correlations(sums)
        support, w = (SUPPORT, W / scale) if pairs_count else (SUPPORT[:0], W[:0])
        errors = standard_errors(sums, found, support, w, 0.01 / scale**2)
        rest, others = left(found, scale)
        z2.append(np.mean((rest / errors[others]) ** 2))
    return float(np.mean(z2))


def test_standard_errors_are_calibrated() -> None:
    # Mean of 20 * 27 squares of about unit variance: deviation sqrt(2 / 540) = 0.06, five of them.
    assert 0.7 < mean_square_z(True) < 1.3
    # Broken twin: errors that forget the noise of the pairs are far too small.
    assert mean_square_z(False) > 10


def test_what_was_never_seen_has_no_error() -> None:
    sums = SeenSums(3)
    for x, y in [(1.0, 2.0), (-1.0, 0.0), (1.0, 2.5)]:
        sums.add(np.array([0]), np.array([x]), y)
    errors = standard_errors(sums, correlations(sums), np.array([0]), np.array([1.0]), 0.5)
    assert np.isinf(errors[1:]).all()
    assert errors[0] == pytest.approx(np.sqrt(0.5 / 3))
