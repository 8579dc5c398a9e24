"""The lasso, accepted by its optimality conditions."""

import numpy as np
import pytest

from keyhole.blocks.fit.lasso import lasso, scaled_lasso
from keyhole.problem import Floats


def correlations(n: int, d: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    y = X[:, 0] - 2 * X[:, 1] + rng.standard_normal(n)
    Z, u = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    return Z.T @ Z / n, Z.T @ u / n


def violation(R: Floats, c: Floats, penalty: float, w: Floats) -> float:
    """How far the subgradient is from holding 0."""
    left = c - R @ w
    at = np.where(w != 0.0, np.abs(left - penalty * np.sign(w)), np.abs(left) - penalty)
    return float(max(at.max(), 0.0))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [12, 300])  # fewer rows than features, too
def test_it_satisfies_the_optimality_conditions(n: int, seed: int) -> None:
    R, c = correlations(n, 30, seed)
    for penalty in (0.5, 0.1, 0.02):
        w = lasso(R, c, penalty)
        assert violation(R, c, penalty, w) < 30 * 1e-6
        # A broken twin that shrinks twice fails.
        twice = np.sign(w) * np.maximum(np.abs(w) - penalty, 0.0)
        assert violation(R, c, penalty, twice) > 1e-3 or not w.any()
        again = lasso(R, c, penalty, w)
        np.testing.assert_allclose(again, w, atol=1e-4)


def test_a_penalty_that_allows_nothing_gives_nothing() -> None:
    R, c = correlations(100, 10, 0)
    assert not lasso(R, c, float(np.abs(c).max())).any()


def test_an_impossible_matrix_gives_nothing() -> None:
    R = np.full((3, 3), -0.9) + 1.9 * np.eye(3)
    assert not lasso(R, np.array([0.5, 0.4, 0.3]), 1e-4).any()


@pytest.mark.parametrize("seed", range(4))
def test_the_penalty_fits_the_noise_it_leaves(seed: int) -> None:
    R, c = correlations(400, 30, seed)
    w, sigma = scaled_lasso(R, c, 400)
    assert sigma**2 == pytest.approx(1 - 2 * c @ w + w @ R @ w, rel=1e-9)
    # sigma rests to 1e-3 of itself, so the penalty is within that of its own.
    unit = float(np.sqrt(2 * np.log(60) / 400))
    assert violation(R, c, sigma * unit, w) < 2e-3 * sigma * unit
    assert set(np.flatnonzero(w)) >= {0, 1}
