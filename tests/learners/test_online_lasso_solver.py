"""The lasso: accepted by its optimality conditions; its sweeps, one by one."""

import math

import numpy as np
import pytest

from keyhole.learners.online_lasso import descend, lasso, scaled_lasso
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


@pytest.mark.parametrize("seed", range(5))
def test_the_lasso_is_accepted_by_its_optimality_conditions(seed: int) -> None:
    """c - R w = penalty sign(w) where w is not 0, and within +-penalty elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 6)) * [0.3, 1.0, 3.0, 0.5, 2.0, 1.0]
    y = X[:, 0] - X[:, 2] + rng.standard_normal(40)
    R, c = X.T @ X / 40, X.T @ y / 40 / float(np.sqrt(np.mean(y**2)))  # the label has square 1
    R[5], R[:, 5], c[5] = 0.0, 0.0, 0.0  # a constant column
    w = lasso(R, c, 0.1)
    left = c - R @ w
    np.testing.assert_allclose(left[w != 0.0], 0.1 * np.sign(w[w != 0.0]), atol=1e-6)
    assert np.abs(left).max() <= 0.1 + 1e-6
    assert w[5] == 0.0
    assert (w != 0.0).any()
    # One coordinate by hand: (|c| - penalty) / R.
    for sign in (1.0, -1.0):
        v = np.zeros(1)
        descend(np.array([[4.0]]), np.array([3.0 * sign]), 1.0, v, 1e-12, 50)
        assert v[0] == pytest.approx(0.5 * sign)


def one_sweep(R: Floats, c: Floats, penalty: float, w: Floats, *, full: bool) -> float:
    """Each coordinate at the minimum of the objective along it; returns the largest step."""
    moved = 0.0
    for j in range(len(c)):
        if (full or w[j] != 0.0) and R[j, j] > 0.0:
            rest = float(c[j] - R[j] @ w + R[j, j] * w[j])
            best = math.copysign(max(abs(rest) - penalty, 0.0) / R[j, j], rest)
            moved, w[j] = max(moved, abs(best - w[j])), best
    return moved


@pytest.mark.parametrize("start", [[0.0] * 4, [0.3, 0.0, -2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
def test_sweeps_go_through_all_coordinates_then_through_those_in_use(start: list[float]) -> None:
    R = np.array([[1.0, 0.4, 0.3, 0], [0.4, 2.0, -0.5, 0], [0.3, -0.5, 1.5, 0], [0.0] * 4])
    c, penalty, tolerance = np.array([0.9, -0.2, 0.5, 7.0]), 0.15, 1e-3
    expected, full, made = np.array(start), True, 0
    for sweeps in range(1, 30):
        moved = one_sweep(R, c, penalty, expected, full=full)
        made += 1
        w = np.array(start)
        assert descend(R, c, penalty, w, tolerance, sweeps) == made
        np.testing.assert_allclose(w, expected, atol=1e-14)
        if moved <= tolerance and full:
            break
        full = moved <= tolerance
    assert 2 < made < 29
    w = np.array(start)
    assert descend(R, c, penalty, w, tolerance, 1000) == made
    np.testing.assert_allclose(w, expected, atol=1e-14)


def test_a_descent_that_runs_away_is_left_at_once_and_counts_for_nothing() -> None:
    R = np.array([[1e-4, -1.0], [-1.0, 1e-4]])  # no correlations of anything
    w, c = np.zeros(2), np.array([1.0, 1.0])
    expected = np.zeros(2)
    made = 1
    while one_sweep(R, c, 0.1, expected, full=True) <= 1e6:
        made += 1
    assert descend(R, c, 0.1, w, 1e-6, 1000) == made
    assert not lasso(R, c, 0.1).any()


def test_a_step_of_the_largest_allowed_size_is_no_runaway() -> None:
    w = np.zeros(1)
    descend(np.ones((1, 1)), np.array([1e6]), 0.0, w, 1e-6, 1000)
    assert w[0] == 1e6
    assert descend(np.ones((1, 1)), np.array([1e6]), 0.0, np.zeros(1), 1e-6, 1000) == 3
    assert descend(np.ones((1, 1)), np.array([2e6]), 0.0, np.zeros(1), 1e-6, 1000) == 1


def test_without_a_tolerance_it_stops_when_nothing_moves() -> None:
    w = np.zeros(2)
    assert descend(np.eye(2), np.array([0.5, -0.25]), 0.0, w, 0.0, 1000) == 3
    assert w.tolist() == [0.5, -0.25]


def test_the_lasso_gives_up_after_a_thousand_sweeps() -> None:
    """Two features that are nearly one: a sweep takes 2e-3 of what is left off it."""
    R, c = np.array([[1.0, 0.999], [0.999, 1.0]]), np.array([0.50, 0.499])
    after = {sweeps: np.zeros(2) for sweeps in (999, 1000, 1001)}
    for sweeps, w in after.items():
        assert descend(R, c, 0.0, w, 1e-6, sweeps) == sweeps
    np.testing.assert_array_equal(lasso(R, c, 0.0), after[1000])
    assert not np.array_equal(after[999], after[1000])
    assert not np.array_equal(after[1001], after[1000])


def test_an_objective_that_no_rows_have_counts_for_nothing() -> None:
    """-c^2 / 2 = -1 at c = sqrt 2 is the least that is believed; rows have -1/2 at least."""
    for c, believed in [(1.0, True), (1.4142, True), (1.4143, False), (3.0, False)]:
        w = lasso(np.eye(1), np.array([c]), 0.0)
        assert w[0] == (pytest.approx(c) if believed else 0.0)
    assert lasso(np.eye(2), np.ones(2), 0.0).tolist() == [1.0, 1.0]  # -1 itself
    assert lasso(np.eye(1), np.array([1.3]), 0.3).tolist() == [1.0]  # 1/2 - 1.3 + 0.3


@pytest.mark.parametrize(("n", "scale"), [(50.0, 1.0), (50.0, 0.3), (4.0, 0.7), (0.0, 0.1)])
def test_penalty_and_noise_take_turns_until_the_noise_rests(n: float, scale: float) -> None:
    R, c = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.0]]), np.array([0.9, 0.3, 0.3])
    unit = scale * math.sqrt(2 * math.log(6) / max(n, 1))
    for start in (None, np.array([0.2, -0.1, 0.0])):
        v, before, sigma, turns = start, 0.0, 1.0, 0
        while turns < 20 and not abs(sigma - before) <= 1e-3 * before:
            v, before, turns = lasso(R, c, sigma * unit, v), sigma, turns + 1
            left = 1 - 2 * float(c @ v) + float(v @ R @ v)
            sigma = math.sqrt(min(max(left, 1e-4), 1.0))
        w, found = scaled_lasso(R, c, n, start, scale=scale)
        assert v is not None
        np.testing.assert_allclose(w, v, rtol=1e-12)
        assert found == pytest.approx(sigma, rel=1e-14)


def test_the_noise_is_never_below_a_hundredth() -> None:
    """A label that is a feature leaves 0; its variance of 1e-4 keeps a penalty."""
    w, sigma = scaled_lasso(np.eye(2), np.array([1.0, 0.0]), 1e12)
    assert sigma == pytest.approx(1e-2)
    np.testing.assert_allclose(w, [1.0, 0.0], atol=1e-5)
