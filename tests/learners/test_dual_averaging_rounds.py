"""Rounds of dual averaging against its formulas, written out."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.learners.blocks.draw.sampling import complement_subset
from keyhole.learners.dual_averaging import DualAveragingDraw
from keyhole.problem import Floats

RNG = np.random.default_rng(5)


def average_of(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.0


@pytest.mark.parametrize("radius", [0.0, 0.7])
@pytest.mark.parametrize("schedule", [0.0, 2.0])
@pytest.mark.parametrize(("budget", "dense"), [(4, False), (4, True), (2, True), (6, False)])
def test_rounds_of_dual_averaging(radius: float, schedule: float, budget: int, dense: bool) -> None:
    d, k = 6, 2
    learner = kh.DualAveragingLearner(
        kh.Problem(d, k, budget),
        seed=2,
        gradient="unbiased" if dense else "residual",
        radius=radius or None,
    )
    learner._schedule = schedule
    it = learner._dual
    h, gradients, labels, values = np.zeros(d), 0.0, 0.0, 0.0
    arrived = [list[float]() for _ in range(d)]
    for t in range(1, 12):
        ticket = learner.ask()
        draw = DualAveragingDraw(ticket.features, **ticket.memo)
        n = len(draw.features)
        reach = radius or (1.25 * math.sqrt(labels / values) if values else 0.0)
        w = np.zeros(d)
        if reach > 0.0:
            strength = max(schedule * math.sqrt(t), float(np.linalg.norm(h)) / reach)
            strength = max(strength, 0.0 if schedule else math.sqrt(gradients) / reach)
            w = -h / strength if strength > 0.0 else w
        S = np.sort(np.argsort(-np.abs(w), kind="stable")[:k]) if w.any() else np.arange(0)
        kept = draw.features[draw.always]
        if budget == k and math.isqrt(t) ** 2 == t and len(S):
            assert kept.size == 0
        elif w.any():
            assert kept.tolist() == S.tolist()
        outside, m = d - len(kept), budget - len(kept)
        others = complement_subset(2, t, d, m, kept.tolist(), purpose=0)
        assert draw.features.tolist() == sorted([*kept.tolist(), *others.tolist()])
        p, q = m / outside, m * (m - 1) / (outside * (outside - 1))
        assert draw.chances.tolist() == pytest.approx([p, q])
        played = np.where(np.isin(np.arange(d), S), w, 0.0)
        np.testing.assert_allclose(draw.played, played[draw.features], atol=1e-12)
        point = w if dense else played
        np.testing.assert_allclose(draw.point, point[draw.features], atol=1e-12)
        means = np.array([average_of(a) for a in arrived])
        np.testing.assert_allclose(draw.means, means[draw.features], atol=1e-12)
        x, y = RNG.normal(size=n), float(RNG.normal())
        if t % 4 == 0:
            x[0] = np.nan
        learner.tell(ticket.fill(x), y)
        z = np.where(np.isnan(x), means[draw.features], x)
        g = dual_gradient(z, y, point[draw.features], draw.always, (p, q))
        h[draw.features] += g
        gradients, labels = gradients + float(g @ g), labels + y * y
        values += float(z @ z) / n
        for j, value in zip(draw.features.tolist(), x.tolist(), strict=True):
            if not math.isnan(value):
                arrived[j].append(value)
        np.testing.assert_allclose(it.h, h, atol=1e-9)
    np.testing.assert_allclose(it.sizes**2, [gradients, labels, values], rtol=1e-9)
    assert it.updates[0] == 11
    assert it.arrived.tolist() == [len(a) for a in arrived]
    np.testing.assert_allclose(it.total, [sum(a) for a in arrived], atol=1e-12)


def dual_gradient(
    x: Floats, y: float, point: Floats, always: NDArray[np.bool_], chances: tuple[float, float]
) -> Floats:
    """g_i = (2 x_i / p_i) (sum_j point_j x_j p_i / p_ij - y), p_ii = p_i, p_ij = 0 left out."""
    p, q = chances
    g = np.zeros(len(x))
    for i in range(len(x)):
        p_i = 1.0 if always[i] else p
        total = -y
        for j in range(len(x)):
            p_j = 1.0 if always[j] else p
            p_ij = p_i if i == j else p_i * p_j if always[i] or always[j] else q
            total += point[j] * x[j] * p_i / p_ij if p_ij > 0.0 else 0.0
        g[i] = 2.0 * x[i] / p_i * total
    return g


def test_before_anything_was_learnt_the_radius_is_measured_as_0() -> None:
    learner = kh.DualAveragingLearner(kh.Problem(3, 1, 2))
    assert learner._radius() == 0.0
    assert kh.DualAveragingLearner(kh.Problem(3, 1, 2), radius=0.5)._radius() == 0.5
    learner._dual.sizes[:] = 9.0, 4.0, 2.0
    assert learner._radius() == 2.5
