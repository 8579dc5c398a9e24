"""Gradients estimated from a few reads: unbiased, exact where they can be, within the budget."""

import math
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.attribute_efficient import (
    Iterate,
    SamplingPlan,
    drawn,
    draws,
    gradient,
    measure,
    new_iterate,
    plan_of,
    predicted,
)
from keyhole.learners.blocks.draw.philox import categorical
from keyhole.learners.blocks.draw.sampling import complement_subset, uniforms
from keyhole.problem import Floats

D, K, SEED = 7, 2, 5
# 5.5 standard errors: two-sided 4e-8 for each of D coordinates.
ERRORS = 5.5


def iterate() -> Iterate:
    """Some way into a game: uncentred features of different size, all of them read before."""
    rng = np.random.default_rng(0)
    it = new_iterate(D)
    it.w[:] = rng.normal(size=D)
    it.average[:] = it.w * rng.uniform(0.5, 1.5, D)
    it.counts[:] = 10.0
    it.sums[:] = rng.normal(size=D) * 10
    it.squares[:] = rng.uniform(0.5, 5, D) * 10
    it.tally[2] = 5.0
    measure(it)
    return it


def learner_of(
    d: int, budget: int, kinds: tuple[bool, bool], it: Iterate | None = None, **settings: Any
) -> kh.AERRLearner | kh.AELRLearner:
    """AERR or AELR, data-dependent or not, with this iterate."""
    lasso, dependent = kinds
    make = kh.AELRLearner if lasso else kh.AERRLearner
    learner = make(kh.Problem(d, K, budget), seed=SEED, data_dependent=dependent, **settings)
    learner._iterate = learner._iterate if it is None else it
    return learner


def plan(it: Iterate, t: int, budget: int, kinds: tuple[bool, bool]) -> SamplingPlan:
    return learner_of(D, budget, kinds, it)._plan(t)


def gradients(
    budget: int, kinds: tuple[bool, bool], n: int, one_draw_for_both: bool = False
) -> tuple[Floats, Floats]:
    """The estimates of n rounds at one x, and the gradient they estimate."""
    it = iterate()
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=D), 0.3
    found = np.zeros((n, D))
    for i in range(n):
        its = plan(it, 2 * i + 65, budget, kinds)  # odd: no new phase
        if one_draw_for_both:
            its = its._replace(product=its.reach * it.w[its.features])
        found[i, its.features] = gradient(its, x[its.features], y)
    return found, (it.w @ x - y) * x


def misses(found: Floats, truth: Floats) -> bool:
    error = found.std(axis=0) / np.sqrt(len(found))
    return bool((np.abs(found.mean(axis=0) - truth) > ERRORS * error + 1e-12).any())


@pytest.mark.parametrize(
    ("budget", "kinds"),
    [(4, (False, False)), (4, (True, True)), (5, (False, True)), (5, (True, False))],  # all pairs
)
def test_the_gradient_is_unbiased(budget: int, kinds: tuple[bool, bool]) -> None:
    assert not misses(*gradients(budget, kinds, 2_000))


def test_one_draw_for_both_factors_is_not() -> None:
    assert misses(*gradients(4, (False, False), 1_000, one_draw_for_both=True))  # by 60 errors


@pytest.mark.parametrize("lasso", [False, True])
def test_with_everything_read_the_gradient_is_exact(lasso: bool) -> None:
    found, truth = gradients(D, (lasso, False), 1)
    np.testing.assert_allclose(found[0], truth, rtol=1e-12)


@pytest.mark.parametrize("kinds", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("budget", [3, 4, 5, 6])
def test_a_plan_is_the_formula(budget: int, kinds: tuple[bool, bool]) -> None:
    it, (lasso, dependent) = iterate(), kinds
    S = np.sort(np.argsort(-np.abs(it.average))[:K])
    for t in range(65, 97):
        q = it.moments if lasso else np.sqrt(it.moments)
        p = np.abs(it.w) if lasso else it.w**2
        if dependent:
            p = np.abs(it.w) * np.sqrt(it.moments)
        reach, product = np.zeros(D), np.zeros(D)
        for weights, value, m, out, purpose in [
            (q, np.ones(D), (budget - K + 1) // 2, reach, 0),
            (p, it.w, (budget - K) // 2, product, 1),
        ]:
            chance = np.where(np.isin(np.arange(D), S), 0.0, weights)
            chance /= chance.sum()
            for u in uniforms(SEED, t, m, purpose=purpose):
                i = int((u >= np.cumsum(chance)).sum())
                out[i] += value[i] / chance[i] / m
        reach[S], product[S] = 1.0, it.w[S]
        read = np.flatnonzero((reach != 0) | (product != 0))
        fill = complement_subset(SEED, t, D, budget - len(read), read, purpose=2)
        found = plan(it, t, budget, kinds)
        np.testing.assert_array_equal(found.features, np.union1d(read, fill))
        np.testing.assert_allclose(found.reach, reach[found.features], rtol=1e-12)
        np.testing.assert_allclose(found.product, product[found.features], rtol=1e-12)
        assert found.offsets[0] == pytest.approx(it.w @ (it.sums / it.counts))
        played = np.where(np.isin(np.arange(D), S), it.average, 0.0)
        np.testing.assert_array_equal(found.played, played[found.features])


def test_absent_values_count_as_means() -> None:
    it = iterate()
    its, gaps = plan(it, 65, 5, (True, False)), np.full(5, np.nan)
    np.testing.assert_allclose(gradient(its, gaps, 0.3), gradient(its, its.means, 0.3), rtol=1e-12)
    assert predicted(its, gaps) == predicted(its, its.means)


def test_second_moments_carry_their_uncertainty() -> None:
    it = new_iterate(2)
    it.counts[:], it.squares[:], it.tally[2] = (100.0, 0.0), (25.0, 0.0), 4.0
    measure(it)
    # 25/100 in units of 4, and 13/6 ln(2 d/0.05)/100; never read: the largest error, 1.
    expected = [0.25 / 4 + 13 / 6 * np.log(80) / 100, 13 / 6]
    np.testing.assert_allclose(it.moments, expected)


def test_draws_share_what_is_left() -> None:
    assert [draws(20, 2, budget) for budget in (2, 3, 4, 9, 20)] == [
        (0, 0),
        (1, 0),
        (1, 1),
        (4, 3),
        (0, 0),
    ]


@pytest.mark.parametrize("rate", [0.0, 0.05])
@pytest.mark.parametrize("radius", [0.05, 3.0])  # reached at once, never reached
@pytest.mark.parametrize("lasso", [False, True])
def test_attribute_efficient_steps(lasso: bool, radius: float, rate: float) -> None:
    d, rng = 5, np.random.default_rng(5)
    learner = learner_of(d, 4, (lasso, False), radius=radius, rate=rate or None)
    it = learner._iterate
    w, average, theta, shares = np.zeros(d), np.zeros(d), np.zeros(d), np.full(d, 1 / d)
    counts, sums, squares = np.zeros((3, d))
    np.testing.assert_array_equal(it.shares, shares)
    gradients = largest = biggest = 0.0
    for t in range(1, 8):
        ticket = learner.ask()
        plan = plan_of(ticket)
        x, y = rng.normal(size=4), float(rng.normal())
        if t % 3 == 0:
            x[1] = np.nan
        learner.tell(ticket.fill(x), y)
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


def test_predictions_and_second_moments() -> None:
    rng = np.random.default_rng(5)
    reach, product, played, means = rng.uniform(0.5, 2.0, (4, 3))
    its = SamplingPlan(np.array([0, 2, 3]), reach, product, played, means, rng.normal(size=2))
    x = np.array([1.0, np.nan, -2.0])
    filled = np.where(np.isnan(x), its.means, x)
    assert predicted(its, x) == pytest.approx(its.offsets[1] + its.played @ filled)
    it = new_iterate(4)
    it.counts[:], it.squares[:], it.tally[2] = [0.0, 2.0, 900.0, 50.0], [0.0, 3.0, 90.0, 9.0], 4.0
    measure(it)
    n = np.array([1.0, 2.0, 900.0, 50.0])
    error = np.minimum((math.log(40.0) + math.log(4.0)) / n, 1.0)
    np.testing.assert_allclose(it.moments, [0.0, 3 / 8, 90 / 3600, 9 / 200] + 13 / 6 * error)
    it.tally[2] = 0.0
    measure(it)
    np.testing.assert_array_equal(it.moments, np.ones(4))


def test_draws_add_up_to_their_values() -> None:
    """Draw by draw: i is where the uniform number falls, and adds value_i / (draws P_i)."""
    weights, value = np.array([0.0, 2.0, 1.0, 0.0, 5.0, 0.0]), np.arange(1.0, 7.0)
    for t in range(1, 30):
        expected, u = np.zeros(6), uniforms(3, t, 4, purpose=1)
        for one in u.tolist():
            i = categorical(one, weights)
            expected[i] += value[i] / (4 * weights[i] / 8.0)
        np.testing.assert_allclose(drawn(u, weights, value), expected)
    assert not drawn(u, np.zeros(6), value).any()
    # A number that rounds up to the whole falls on the last that has a weight.
    assert drawn(np.array([1.0]), weights, value).tolist() == [0, 0, 0, 0, 5.0 * 8.0 / 5.0, 0]


def test_phases_begin_at_powers_of_two() -> None:
    for dependent in (True, False):
        learner = learner_of(6, 4, (False, dependent))
        it = learner._iterate
        it.counts[:], it.squares[:], it.tally[2] = 1e9, 2e9, 4.0  # mean square 2, the largest 4
        changed = []
        for t in range(1, 18):
            it.moments[:] = 7.0
            learner._plan(t)
            if it.moments[0] != 7.0:
                np.testing.assert_allclose(it.moments, 0.5, atol=1e-6)
                changed.append(t)
        assert changed == ([1, 2, 4, 8, 16] if dependent else [])


@pytest.mark.parametrize("budget", [2, 3])
def test_with_nothing_left_others_are_looked_at_in_square_rounds(budget: int) -> None:
    """Played features that are not read then count as their means, in the offset."""
    learner = learner_of(6, budget, (False, False))
    it = learner._iterate
    it.w[:] = it.average[:] = [0.0, 0.3, 0.0, -0.4, 0.1, 0.0]
    it.counts[:], it.sums[:] = 2.0, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    for t in range(1, 40):
        plan = learner._plan(t)
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
    seen = {tuple(learner._plan(t * t).features.tolist()) for t in range(1, 20)}
    assert (len(seen) > 5) == (budget == 2)  # any pair, against one of four beside 1 and 3
