"""Steps of the learners from the literature against their formulas, written out in NumPy."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import categorical, scratch, uniform
from keyhole.blocks.draw.sampling import complement_subset, uniform_subset
from keyhole.blocks.literature import attribute_efficient_kernels as attributes
from keyhole.blocks.literature import dual_averaging as dual
from keyhole.blocks.literature import subset_experts as subsets
from keyhole.blocks.literature.attribute_efficient import Plan, Rule, new_iterate
from keyhole.problem import Floats

RNG = np.random.default_rng(5)


# --- AERR and AELR: the step, the average, the sums


def some_plan(d: int) -> Plan:
    features = np.sort(RNG.choice(d, 3, replace=False))
    reach, product, played, means = RNG.uniform(0.5, 2.0, (4, 3))
    return Plan(features, reach, product, played, means, RNG.normal(size=2))


@pytest.mark.parametrize("rate", [0.0, 0.05])
@pytest.mark.parametrize("radius", [0.05, 3.0])  # reached at once, never reached
@pytest.mark.parametrize("lasso", [False, True])
def test_attribute_efficient_steps(lasso: bool, radius: float, rate: float) -> None:
    d, rule = 5, Rule(2, 4, lasso, False, radius, rate)
    it = new_iterate(d)
    w, average, theta, shares = np.zeros(d), np.zeros(d), np.zeros(d), np.full(d, 1 / d)
    counts, sums, squares = np.zeros((3, d))
    np.testing.assert_array_equal(it.shares, shares)
    gradients = largest = biggest = 0.0
    for t in range(1, 8):
        plan, x, y = some_plan(d), RNG.normal(size=3), float(RNG.normal())
        if t % 3 == 0:
            x[1] = np.nan
        attributes.learn(x, y, plan, rule, it)
        filled = np.where(np.isnan(x), plan.means, x)
        phi = plan.offsets[0] + float(plan.product @ (filled - plan.means)) - y
        g = np.zeros(d)
        g[plan.features] = phi * plan.reach * filled
        if lasso:
            gradients += float(shares @ g**2)
            eta = rate or math.sqrt(math.log(2 * d) / gradients)
            theta += np.clip(g, -1 / eta, 1 / eta)
            up, down = np.exp(-eta * theta), np.exp(eta * theta)
            total = float((up + down).sum())
            w, shares = radius * (up - down) / total, (up + down) / total
        else:
            gradients += float(g @ g)
            largest = max(largest, float(g @ g))
            eta = rate or math.sqrt(2 / (gradients + 8 * d * largest)) * radius
            w = w - eta * g
            w *= min(1.0, radius / float(np.linalg.norm(w)))
        average += 2 / (t + 1) * (w - average)
        here = plan.features[~np.isnan(x)]
        values = x[~np.isnan(x)]
        counts[here] += 1
        sums[here] += values
        squares[here] += values**2
        biggest = max(biggest, float((values**2).max()))
        np.testing.assert_allclose(it.w, w, atol=1e-12)
        np.testing.assert_allclose(it.average, average, atol=1e-12)
    np.testing.assert_allclose(it.theta, theta, atol=1e-12)
    np.testing.assert_allclose(it.shares, shares, atol=1e-12)
    np.testing.assert_array_equal(it.counts, counts)
    np.testing.assert_allclose(it.sums, sums, atol=1e-12)
    np.testing.assert_allclose(it.squares, squares, atol=1e-12)
    np.testing.assert_allclose(it.tally, [7.0, gradients, biggest, largest], atol=1e-12)


def test_attribute_efficient_predictions_and_second_moments() -> None:
    plan, x = some_plan(5), np.array([1.0, np.nan, -2.0])
    filled = np.where(np.isnan(x), plan.means, x)
    assert attributes.predict(x, plan) == pytest.approx(plan.offsets[1] + plan.played @ filled)
    it = new_iterate(4)
    it.counts[:], it.squares[:], it.tally[2] = [0.0, 2.0, 900.0, 50.0], [0.0, 3.0, 90.0, 9.0], 4.0
    attributes.measure(it)
    n = np.array([1.0, 2.0, 900.0, 50.0])
    error = np.minimum((math.log(40.0) + math.log(4.0)) / n, 1.0)
    np.testing.assert_allclose(it.moments, [0.0, 3 / 8, 90 / 3600, 9 / 200] + 13 / 6 * error)
    it.tally[2] = 0.0
    attributes.measure(it)
    np.testing.assert_array_equal(it.moments, np.ones(4))


def test_draws_add_up_to_their_values() -> None:
    """Draw by draw: i is where the uniform number falls, and adds value_i / (draws P_i)."""
    weights, value = np.array([0.0, 2.0, 1.0, 0.0, 5.0, 0.0]), np.arange(1.0, 7.0)
    for t in range(1, 30):
        out, expected = np.zeros(6), np.zeros(6)
        attributes.draw_into(np.uint64(3), t, 1, 4, weights, value, out)
        for r in range(4):
            i = categorical(uniform(np.uint64(3), t, 1, r), weights)
            expected[i] += value[i] / (4 * weights[i] / 8.0)
        np.testing.assert_allclose(out, expected)
    nothing = np.zeros(6)
    attributes.draw_into(np.uint64(3), 1, 1, 4, np.zeros(6), value, nothing)
    assert not nothing.any()


# --- Multiplicative weights over all subsets


@pytest.mark.parametrize("hedge_rate", [0.0, 0.3])
@pytest.mark.parametrize(("radius", "rate"), [(0.4, 0.0), (9.0, 0.0), (0.4, 0.2)])
def test_rounds_of_subset_experts(hedge_rate: float, radius: float, rate: float) -> None:
    d, k, m = 5, 2, 3
    p, q = m / d, m * (m - 1) / (d * (d - 1))
    rows = np.array(list(itertools.combinations(range(d), k)), dtype=np.int32)
    rule = subsets.Rule(rows, m, p, q, radius, hedge_rate, rate)
    it, n = subsets.new_weights(len(rows), k), len(rows)
    seen = subsets.Seen(np.zeros(d), np.zeros(d))
    w, squares, losses, variance, deviation = np.zeros((n, d)), np.zeros(n), np.zeros(n), 0.0, 0.0
    chances, arrived = np.ones(n), [list[float]() for _ in range(d)]
    for t in range(1, 9):
        R, space = np.empty(m, dtype=np.int64), scratch(d)
        row = subsets.draw(np.uint64(7), t, it.chances, d, R, space)
        np.testing.assert_array_equal(R, uniform_subset(7, t, d, m))
        assert row == categorical(uniform(np.uint64(7), t, 1, 0), chances)
        features = np.union1d(R, rows[row])
        x, y = RNG.normal(size=len(features)), float(RNG.normal())
        if t % 3 == 0:
            x[0] = np.nan
        means = np.array([float(np.mean(a)) if a else 0.0 for a in arrived])
        subsets.learn(rule, (R, features, x, y), it, seen)
        full = np.zeros(d)
        full[features] = np.where(np.isnan(x), means[features], x)
        full[np.setdiff1d(np.arange(d), R)] = 0.0  # played, but not explored
        for j, value in zip(features.tolist(), x.tolist(), strict=True):
            if not math.isnan(value):
                arrived[j].append(value)
        # Inverse probabilities: 1/p for a feature with itself or the label, 1/q for two.
        inverse = np.where(np.eye(d, dtype=bool), 1 / p, 1 / q)
        G, b = np.outer(full, full) * inverse, y * full / p
        loss = np.array([v @ G @ v - 2 * b @ v for v in w])
        for e in range(n):
            inside = np.isin(np.arange(d), rows[e])
            g = np.where(inside, 2 * (G @ w[e] - b), 0.0)
            if not full[inside].any():
                continue
            squares[e] += float(g @ g)
            step = rate or math.sqrt(2 / squares[e]) * radius
            w[e] -= step * g
            w[e] *= min(1.0, radius / max(float(np.linalg.norm(w[e])), 1e-300))
        share = chances / chances.sum()
        variance += float(share @ loss**2 - (share @ loss) ** 2)
        deviation = max(deviation, float(np.abs(loss - share @ loss).max()))
        losses += loss
        if variance > 1e-15:
            eta = hedge_rate or min(math.sqrt(math.log(n) / variance), 1 / deviation)
            chances = np.exp(-eta * (losses - losses.min()))
        np.testing.assert_allclose(it.chances, chances, atol=1e-9)
    np.testing.assert_allclose(it.w, [v[r] for v, r in zip(w, rows, strict=True)], atol=1e-9)
    np.testing.assert_allclose(it.losses, losses, atol=1e-9)
    np.testing.assert_allclose(it.squares, squares, atol=1e-9)
    np.testing.assert_allclose(it.tally, [variance, deviation], atol=1e-9)
    np.testing.assert_allclose(seen.sums, [sum(a) for a in arrived], atol=1e-12)
    assert seen.counts.tolist() == [len(a) for a in arrived]


# --- Dual averaging


def average_of(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.0


@pytest.mark.parametrize("radius", [0.0, 0.7])
@pytest.mark.parametrize("schedule", [0.0, 2.0])
@pytest.mark.parametrize(("budget", "dense"), [(4, False), (4, True), (2, True), (6, False)])
def test_rounds_of_dual_averaging(radius: float, schedule: float, budget: int, dense: bool) -> None:
    d, k = 6, 2
    rule = dual.Rule(k, budget, radius, schedule, dense)
    it, room = dual.nothing_learnt(d), dual.room_for(budget)
    h, gradients, labels, values = np.zeros(d), 0.0, 0.0, 0.0
    arrived = [list[float]() for _ in range(d)]
    for t in range(1, 12):
        n = dual.choose(np.uint64(2), t, rule, it, room, scratch(d))
        draw = dual.first(room, n)
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
        dual.learn(it, draw, x, y)
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
    it = dual.nothing_learnt(3)
    assert dual.radius_of(dual.Rule(1, 2, 0.0, 1.0, False), it) == 0.0
    assert dual.radius_of(dual.Rule(1, 2, 0.5, 1.0, False), it) == 0.5
    it.sizes[:] = 9.0, 4.0, 2.0
    assert dual.radius_of(dual.Rule(1, 2, 0.0, 1.0, False), it) == 2.5


def test_attribute_efficient_phases_begin_at_powers_of_two() -> None:
    for dependent in (True, False):
        rule, it = Rule(2, 4, False, dependent, 1.0, 0.0), new_iterate(6)
        it.counts[:], it.squares[:], it.tally[2] = 1e9, 2e9, 4.0  # mean square 2, the largest 4
        changed = []
        for t in range(1, 18):
            it.moments[:] = 7.0
            attributes.plan(np.uint64(0), t, rule, it, scratch(6))
            if it.moments[0] != 7.0:
                np.testing.assert_allclose(it.moments, 0.5, atol=1e-6)
                changed.append(t)
        assert changed == ([1, 2, 4, 8, 16] if dependent else [])


@pytest.mark.parametrize("budget", [2, 3])
def test_with_nothing_left_others_are_looked_at_in_square_rounds(budget: int) -> None:
    """Played features that are not read then count as their means, in the offset."""
    rule, it = Rule(2, budget, False, False, 1.0, 0.0), new_iterate(6)
    it.w[:] = it.average[:] = [0.0, 0.3, 0.0, -0.4, 0.1, 0.0]
    it.counts[:], it.sums[:] = 2.0, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    for t in range(1, 40):
        plan = attributes.plan(np.uint64(1), t, rule, it, scratch(6))
        square = math.isqrt(t) ** 2 == t
        assert len(plan.features) == budget
        if not (square and budget == 2):
            assert {1, 3} <= {*plan.features.tolist()}
        assert plan.offsets[0] == pytest.approx(0.3 * 2.0 - 0.4 * 4.0 + 0.1 * 5.0)
        played = {1: 0.3 * 2.0, 3: -0.4 * 4.0}
        unread = sum(v for j, v in played.items() if j not in plan.features)
        assert plan.offsets[1] == pytest.approx(unread)
        expected = [{1: 0.3, 3: -0.4}.get(j, 0.0) for j in plan.features.tolist()]
        assert plan.played.tolist() == expected
    seen = {
        tuple(attributes.plan(np.uint64(1), t * t, rule, it, scratch(6)).features.tolist())
        for t in range(1, 20)
    }
    assert (len(seen) > 5) == (budget == 2)  # any pair, against one of four beside 1 and 3
