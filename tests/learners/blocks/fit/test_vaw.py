"""VAW: equal to the direct solve, and inside its regret bound on hostile sequences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.fit.vaw import UPDATES_PER_REFRESH, VAW
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
    X, y = (
        rng.uniform(-1, 1, (UPDATES_PER_REFRESH + 50, 3)),
        rng.uniform(-1, 1, UPDATES_PER_REFRESH + 50),
    )
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


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), float("inf")])
def test_ridge_is_not_negative(ridge: float) -> None:
    with pytest.raises(ProblemError, match="ridge must be at least 0"):
        VAW(2, ridge)


@given(seed=st.integers(0, 10**6), ridge=st.sampled_from([0.0, 0.1, 1.0]))
def test_the_played_weights_make_the_prediction(seed: int, ridge: float) -> None:
    """w.x = predict(x) and w = (ridge I + sum_{s<=t} x x')^-1 sum_{s<t} y x, with x inside."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-1, 1, (20, 3)), rng.uniform(-1, 1, 20)
    vaw = VAW(3, ridge)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        w = vaw.played(x)
        assert w @ x == pytest.approx(vaw.predict(x), abs=1e-9)
        if t > 5:
            A = vaw.ridge * np.eye(3) + X[: t + 1].T @ X[: t + 1]
            np.testing.assert_allclose(w, np.linalg.solve(A, X[:t].T @ y[:t]), atol=1e-9)
            # Broken twin: the ridge solution, which has not seen x.
            assert abs(vaw.theta @ x - vaw.predict(x)) > 0
        vaw.update(x, label)


@given(seed=st.integers(0, 10**6), power=st.integers(-60, 60))
def test_without_a_ridge_the_scale_of_x_does_not_matter(seed: int, power: int) -> None:
    """Times 2^power: the same predictions bit for bit. A ridge of 1 is a broken twin."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-1, 1, (40, 3)), rng.uniform(-1, 1, 40)
    X[:2] = 0.0
    X[2] *= 1e-3  # a small first one: the ridge is raised later
    np.testing.assert_array_equal(online(X, y, 0.0), online(2.0**power * X, y, 0.0))
    if abs(power) > 1:
        assert not np.allclose(online(X, y, 1.0), online(2.0**power * X, y, 1.0))


def test_without_a_ridge_it_is_the_forward_algorithm_of_least_squares() -> None:
    """u = G_t^+ b_{t-1} once the rows span the space, up to the 1e-6 of the tiny ridge."""
    rng = np.random.default_rng(2)
    X, y = rng.uniform(-1, 1, (60, 3)), rng.uniform(-1, 1, 60)
    expected = [
        np.linalg.pinv(X[: t + 1].T @ X[: t + 1]) @ X[:t].T @ y[:t] @ X[t] for t in range(60)
    ]
    np.testing.assert_allclose(online(X, y, 0.0)[5:], expected[5:], atol=1e-5)


def test_without_a_ridge_zeros_and_collinear_rows_are_harmless() -> None:
    X = np.zeros((UPDATES_PER_REFRESH + 5, 2))
    assert not online(X, np.ones(len(X)), 0.0).any()
    X[:] = np.linspace(-1, 1, len(X))[:, None]
    predictions = online(X, X[:, 0], 0.0)
    np.testing.assert_allclose(predictions[10:], X[10:, 0], atol=0.2)
    assert np.isfinite(predictions).all()


def test_without_a_ridge_one_tiny_x_does_not_fix_it() -> None:
    """The ridge is 1e-6 of the mean square of the first x, and raised by one twice as long."""
    vaw, A, b = VAW(2, 0.0), np.zeros((2, 2)), np.zeros(2)
    tiny = np.array([3e-9, 4e-9])
    ridge = 0.0
    for x, y, raised in [
        (tiny, 1e-9, True),
        (1.9 * tiny, 1e-9, False),
        (2.1 * tiny[::-1], 2e-9, True),
        (np.array([1.0, 2.0]), 5.0, True),
        (np.array([2.0, 1.0]), 4.0, False),
        (np.array([1.0, 1.0]), 3.0, False),
    ]:
        vaw.update(x, y)
        A, b = A + np.outer(x, x), b + y * x
        ridge = 1e-6 * float(x @ x) / 2 if raised else ridge
        assert vaw.ridge == pytest.approx(ridge, rel=1e-12)
        np.testing.assert_allclose(vaw.theta, np.linalg.solve(A + ridge * np.eye(2), b), rtol=1e-6)
    np.testing.assert_allclose(vaw.theta, [1.0, 2.0], rtol=1e-4)


def test_without_a_ridge_the_first_updates_are_factorised_each() -> None:
    """The first 4 m updates, then 1,024 at a time; with a ridge, 1,024 from the first."""
    vaw, plain = VAW(3, 0.0), VAW(3, 1.0)
    for done in range(1, 14):
        assert vaw.until_refresh == (1 if done <= 12 else 1024 - 12)
        assert plain.until_refresh == 1024 - (done - 1)
        for each in (vaw, plain):
            each.update(np.array([1.0, float(done), 2.0]), 1.0)
