"""Gradients estimated from a few reads: unbiased, exact where they can be, within the budget."""

from typing import Any

import numpy as np
import pytest

from keyhole.blocks.draw.sampling import complement_subset, uniforms, workspace
from keyhole.blocks.literature import attribute_efficient_kernels as kernels
from keyhole.blocks.literature.attribute_efficient import Iterate, Rule, draws, new_iterate
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
    kernels.measure(it)
    return it


def plan(it: Iterate, t: int, budget: int, kinds: tuple[bool, bool]) -> Any:
    rule = Rule(K, budget, *kinds, radius=1.0, rate=0.0)
    return kernels.plan(np.uint64(SEED), t, rule, it, workspace(D))


def gradients(
    budget: int, kinds: tuple[bool, bool], n: int, one_draw_for_both: bool = False
) -> tuple[Floats, Floats]:
    """The estimates of n rounds at one x, and the gradient they estimate."""
    it = iterate()
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=D), 0.3
    found = np.zeros((n, D))
    for i in range(n):
        drawn = plan(it, 2 * i + 65, budget, kinds)  # odd: no new phase
        if one_draw_for_both:
            drawn = drawn._replace(product=drawn.reach * it.w[drawn.features])
        g = np.empty(len(drawn.features))
        kernels.gradient(x[drawn.features], y, drawn, g)
        found[i, drawn.features] = g
    return found, (it.w @ x - y) * x


def misses(found: Floats, truth: Floats) -> bool:
    error = found.std(axis=0) / np.sqrt(len(found))
    return bool((np.abs(found.mean(axis=0) - truth) > ERRORS * error + 1e-12).any())


@pytest.mark.parametrize("kinds", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("budget", [4, 5])
def test_the_gradient_is_unbiased(budget: int, kinds: tuple[bool, bool]) -> None:
    assert not misses(*gradients(budget, kinds, 20_000))


def test_one_draw_for_both_factors_is_not() -> None:
    assert misses(*gradients(4, (False, False), 20_000, one_draw_for_both=True))


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
        drawn = plan(it, t, budget, (lasso, False) if not dependent else kinds)
        np.testing.assert_array_equal(drawn.features, np.union1d(read, fill))
        np.testing.assert_allclose(drawn.reach, reach[drawn.features], rtol=1e-12)
        np.testing.assert_allclose(drawn.product, product[drawn.features], rtol=1e-12)
        assert drawn.offsets[0] == pytest.approx(it.w @ (it.sums / it.counts))
        played = np.where(np.isin(np.arange(D), S), it.average, 0.0)
        np.testing.assert_array_equal(drawn.played, played[drawn.features])


def test_absent_values_count_as_means() -> None:
    it = iterate()
    drawn = plan(it, 65, 5, (True, False))
    gaps, means, filled = np.full(5, np.nan), np.empty(5), drawn.means
    kernels.gradient(gaps, 0.3, drawn, gaps)
    kernels.gradient(filled, 0.3, drawn, means)
    np.testing.assert_allclose(gaps, means, rtol=1e-12)
    assert kernels.predict(np.full(5, np.nan), drawn) == kernels.predict(filled, drawn)


def test_second_moments_carry_their_uncertainty() -> None:
    it = new_iterate(2)
    it.counts[:], it.squares[:], it.tally[2] = (100.0, 0.0), (25.0, 0.0), 4.0
    kernels.measure(it)
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
