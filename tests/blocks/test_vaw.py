"""VAW: equal to the direct solve, and inside its regret bound on hostile sequences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.blocks.vaw import REFRESH, VAW
from keyhole.problem import Floats, ProblemError


def direct(X: Floats, y: Floats, ridge: float) -> Floats:
    """The definition: argmin_u sum_{s<t} (y_s - u.x_s)^2 + (u.x_t)^2 + ridge |u|^2, anew each t."""
    n, m = X.shape
    predictions = np.empty(n)
    for t in range(n):
        A = ridge * np.eye(m) + X[: t + 1].T @ X[: t + 1]
        predictions[t] = np.linalg.solve(A, X[:t].T @ y[:t]) @ X[t]
    return predictions


def online(X: Floats, y: Floats, ridge: float) -> Floats:
    vaw = VAW(X.shape[1], ridge)
    predictions = np.empty(len(y))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        predictions[t] = vaw.predict(x)
        vaw.update(x, label)
    return predictions


@given(
    seed=st.integers(0, 10**6),
    m=st.integers(1, 6),
    ridge=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_equal_to_the_direct_solve(seed: int, m: int, ridge: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-1, 1, (60, m)), rng.uniform(-1, 1, 60)
    np.testing.assert_allclose(online(X, y, ridge), direct(X, y, ridge), rtol=0, atol=1e-12)


def test_the_refresh_from_the_sums_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (REFRESH + 50, 3)), rng.uniform(-1, 1, REFRESH + 50)
    np.testing.assert_allclose(online(X, y, 1.0), direct(X, y, 1.0), rtol=0, atol=1e-12)


def hostile(kind: str, n: int, m: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (n, m))
    if kind == "flips":
        return X, np.where(np.arange(n) % 2, 1.0, -1.0)
    if kind == "switch":
        return X, np.sign(X[:, 0]) * np.where(np.arange(n) < n // 2, 1.0, -1.0)
    if kind == "collinear":
        return np.repeat(X[:, :1], m, axis=1), rng.choice([-1.0, 1.0], n)
    return X * np.geomspace(1, 1e-4, n)[:, None], np.ones(n)


@pytest.mark.parametrize("kind", ["flips", "switch", "collinear", "fading"])
@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0])
def test_regret_is_within_the_bound(kind: str, ridge: float) -> None:
    X, y = hostile(kind, 400, 4)
    loss = float(((online(X, y, ridge) - y) ** 2).sum())
    G = X.T @ X
    # sup over u of [bound(u) - regret(u)] is attained at the ridge solution: check it there, which
    # implies the inequality for every u.
    u = np.linalg.solve(G + ridge * np.eye(4), X.T @ y)
    best = float(((y - X @ u) ** 2).sum() + ridge * u @ u)
    logs = float(np.log1p(np.linalg.eigvalsh(G).clip(0) / ridge).sum())
    assert loss <= best + np.abs(y).max() ** 2 * logs + 1e-9


def test_ridge_regression_is_a_broken_twin_of_the_bound() -> None:
    """Plain online ridge, which does not look at x first, breaks the bound that VAW keeps."""
    n, ridge = 40, 0.01
    X = np.geomspace(1e-3, 1e3, n)[:, None]
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    theta, A, b, loss = 0.0, ridge, 0.0, 0.0
    for x, label in zip(X[:, 0], y, strict=True):
        loss += (label - theta * x) ** 2
        A, b = A + x * x, b + label * x
        theta = b / A
    G = float((X**2).sum())
    bound = float(y @ y) - b * b / (G + ridge) + np.log1p(G / ridge)
    assert loss > bound
    assert ((online(X, y, ridge) - y) ** 2).sum() <= bound


@pytest.mark.parametrize("ridge", [0.0, -1.0, float("nan"), float("inf")])
def test_ridge_is_positive(ridge: float) -> None:
    with pytest.raises(ProblemError, match="ridge must be positive"):
        VAW(2, ridge)
