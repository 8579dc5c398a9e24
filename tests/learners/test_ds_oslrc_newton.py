"""The online Newton step: a plain transcription, its bound, the range of predictions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyhole.learners.ds_oslrc import NewtonStep, predicted
from keyhole.problem import Floats


def rows(n: int, k: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, k))
    return X, X @ np.linspace(0.5, 0.2, k) + 0.1 * rng.uniform(-1, 1, n)


def test_a_plain_transcription_takes_the_same_steps() -> None:
    X, y = rows(300, 3)
    y[20] = 5.0  # the range grows, the projection bites
    newton = NewtonStep(5)
    newton.start(np.array([2.0, -3.0, 1.0]), np.array([3.0, 1.0, 2.0]))
    u, A = np.array([2.0, -3.0, 1.0]), np.diag([3.0, 1.0, 2.0])
    largest = worst = 0.0
    clipped = 0
    for x, label in zip(X, y.tolist(), strict=True):
        along = float(u @ x)
        tau = np.sign(along) * max(abs(along) - largest, 0.0)
        clipped += tau != 0.0
        w = u - tau / (x @ np.linalg.solve(A, x)) * np.linalg.solve(A, x)
        prediction = float(w @ x)
        assert np.isclose(newton.predict(x), prediction, rtol=1e-9, atol=1e-12)
        assert np.isclose(newton.step(x, label), prediction, rtol=1e-9, atol=1e-12)
        largest, worst = max(largest, abs(label)), max(worst, abs(prediction - label))
        g = 2 * (prediction - label) * x
        A += np.outer(g, g) / (2 * worst**2)
        u = w - np.linalg.solve(A, g)
        np.testing.assert_allclose(newton.weights, u, rtol=1e-8, atol=1e-10)
    assert clipped > 5
    np.testing.assert_allclose(newton.inverse, np.linalg.inv(A), rtol=1e-8)
    kept = newton.inverse.copy()
    newton.refresh()
    np.testing.assert_allclose(newton.inverse, kept, rtol=1e-9)


Play = Callable[[NewtonStep, Floats, float], float]


def learns(newton: NewtonStep, x: Floats, y: float) -> float:
    return newton.step(x, y)


def learns_nothing(newton: NewtonStep, x: Floats, y: float) -> float:
    """Broken twin: predicts and notes the range."""
    prediction = newton.predict(x)
    newton.note(y)
    return prediction


def within_its_bound(play: Play) -> bool:
    """Regret against the best v, in hindsight, after the range is known: a theorem, no margin."""
    k = 4
    X, y = rows(3000, k, seed=1)
    newton = NewtonStep(k)
    newton.note(float(np.abs(y).max()))
    start = np.zeros(k)
    newton.start(start, np.full(k, float(k)))
    loss = sum((play(newton, x, label) - label) ** 2 for x, label in zip(X, y, strict=True))
    v = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.abs(X @ v).max() <= newton.label  # what the theorem asks of v
    best = float(((X @ v - y) ** 2).sum())
    ratio = np.linalg.slogdet(newton.A)[1] - k * np.log(k)
    bound = k * float(v @ v) / 2 + float(newton.limits[1]) ** 2 * ratio
    return bool(loss - best <= bound)


def test_regret_is_within_the_bound() -> None:
    assert within_its_bound(learns)
    assert not within_its_bound(learns_nothing)


def test_units_do_not_matter_and_odd_rows_do_no_harm() -> None:
    X, y = rows(200, 2)
    plain, large = NewtonStep(2), NewtonStep(2)
    plain.start(np.zeros(2), np.ones(2))
    large.start(np.zeros(2), np.array([1e-12, 1e12]))
    units = np.array([1e-6, 1e6])
    for x, label in zip(X, y.tolist(), strict=True):
        assert np.isclose(plain.step(x, label), large.step(x * units, 8.0 * label) / 8.0, rtol=1e-6)
    for x in (np.zeros(2), np.full(2, 1e100), np.full(2, 1e-200)):
        assert np.isfinite(plain.step(x, 1.0))
    assert np.isfinite(plain.weights).all()
    empty = NewtonStep(2)
    empty.start(np.empty(0), np.empty(0))
    assert empty.step(np.empty(0), 3.0) == 0.0
    assert empty.label == 3.0


def test_a_newton_step_on_a_row_too_large_learns_the_range_alone() -> None:
    for x, P, first in [
        (np.zeros(2), np.eye(2), 1.0),
        (np.full(2, 1e151), np.eye(2), 1.0),
        (np.array([1.0, 0.0]), np.diag([1e150, 1.0]), 1.0),
        (np.array([1.0, 0.0]), np.eye(2), 1e300),
    ]:
        newton = NewtonStep(2)
        newton.start(np.array([first, -2.0]), np.ones(2))
        newton.P[:], newton.limits[:] = P, (1.0, 2.0)
        prediction = newton.step(x, -4.0)
        assert prediction == min(max(float(newton.u @ x), -1.0), 1.0)
        assert newton.limits.tolist() == [4.0, max(2.0, abs(prediction + 4.0))]
        assert newton.u.tolist() == [first, -2.0]
        np.testing.assert_array_equal(newton.P, P)
        np.testing.assert_array_equal(newton.A, np.eye(2))
    # inf - inf is no prediction.
    limits = np.array([3.0, 0.0])
    assert predicted(np.array([1e200, -1e200]), limits, np.full(2, 1e150)) == 0.0
    assert predicted(np.array([1e200, 0.0]), limits, np.full(2, 1e150)) == 3.0
    assert predicted(np.array([-1e200, 0.0]), limits, np.full(2, 1e150)) == -3.0


def test_a_label_that_was_met_exactly_moves_nothing() -> None:
    newton = NewtonStep(1)
    newton.start(np.array([2.0]), np.ones(1))
    newton.limits[:] = 5.0, 0.0
    assert newton.step(np.ones(1), 2.0) == 2.0
    assert newton.u.tolist() == [2.0]
    assert newton.A.tolist() == newton.P.tolist() == [[1.0]]
    assert newton.limits.tolist() == [5.0, 0.0]
