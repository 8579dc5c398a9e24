"""The guarded fit: least squares where that makes sense, something harmless where it does not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.dantzig.selection import (
    MAX_EXPLAINED,
    MIN_EIGENVALUE,
    guarded_fit,
    precision,
)
from keyhole.problem import Floats


def random_correlations(m: int, seed: int, noise: float) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    R = np.corrcoef(rng.standard_normal((m + 2, 5 * m))[:m]) if m > 1 else np.eye(1)
    E = noise * rng.standard_normal((m, m))
    R = R + E + E.T
    np.fill_diagonal(R, 1.0)
    return R, rng.uniform(-1, 1, m) / np.sqrt(m)


@given(m=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_good_correlations_give_ridge_regression(m: int, seed: int) -> None:
    R, _ = random_correlations(m, seed, 0.0)
    w = np.random.default_rng(seed).uniform(-1, 1, m)
    w /= np.sqrt(w @ R @ w)  # the truth explains the label exactly
    np.testing.assert_allclose(guarded_fit(R, R @ w, 1e12), w, atol=1e-6)


@given(m=st.integers(1, 6), seed=st.integers(0, 10**6), pairs=st.floats(0.0, 1e3))
def test_bad_ones_give_no_nonsense(m: int, seed: int, pairs: float) -> None:
    R, c = random_correlations(m, seed, 1.0)
    w = guarded_fit(R, c, pairs)
    assert np.isfinite(w).all()
    shares = [share for share in (1.0, 0.5, 0.25, 0.0) if _explained(w, c, R, share)]
    assert shares, "what is claimed to be explained is possible for one of the shares"


def _explained(w: Floats, c: Floats, R: Floats, share: float) -> bool:
    S = share * R + (1.0 - share) * np.eye(len(c))
    return bool(-1e-9 <= 2 * w @ c - w @ S @ w <= MAX_EXPLAINED + 1e-9)


def test_the_naive_fit_explodes_where_the_guarded_one_does_not() -> None:
    R = np.array([[1.0, 0.999, 0.9], [0.999, 1.0, -0.9], [0.9, -0.9, 1.0]])
    c = np.array([0.5, -0.4, 0.3])
    near_singular = R + 0.0
    near_singular[0, 2] = near_singular[2, 0] = 0.04
    near_singular[1, 2] = near_singular[2, 1] = 0.0
    assert np.abs(np.linalg.solve(near_singular, c)).max() > 100
    for matrix in (R, near_singular):
        assert np.abs(guarded_fit(matrix, c, 50.0)).max() < 10


@given(m=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_a_precision_is_positive_definite(m: int, seed: int) -> None:
    R, _ = random_correlations(m, seed, 1.0)
    N = np.random.default_rng(seed).uniform(1, 1000, m)
    A = precision(R, N)
    np.testing.assert_array_equal(A, A.T)
    scaled = A / np.sqrt(np.outer(N, N))
    assert np.linalg.eigvalsh(scaled).min() > MIN_EIGENVALUE - 1e-9


def test_a_precision_leaves_good_correlations_alone() -> None:
    R = np.array([[1.0, 0.3], [0.3, 1.0]])
    np.testing.assert_allclose(precision(R, np.array([4.0, 9.0])), [[4.0, 1.8], [1.8, 9.0]])
