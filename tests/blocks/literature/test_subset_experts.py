"""Losses and gradients of all subsets at once: unbiased over what is explored, exactly."""

import itertools

import numpy as np
import pytest

from keyhole.blocks.literature import subset_experts as kernels
from keyhole.blocks.literature.subset_experts import Rule, SubsetWeights, all_subsets, new_weights
from keyhole.problem import Floats

D, K, M = 6, 3, 4
P, Q = M / D, M * (M - 1) / (D * (D - 1))
SUBSETS = all_subsets(D, K)
RNG = np.random.default_rng(0)
W, X, Y = RNG.normal(size=(len(SUBSETS), K)), RNG.normal(size=D), 0.7


def expectations(p: float, q: float) -> tuple[Floats, Floats]:
    """Mean loss and gradient of every subset over all M-subsets that may be explored."""
    losses, gradients, sets = np.zeros(len(W)), np.zeros_like(W), 0
    for R in itertools.combinations(range(D), M):
        it = fresh()
        it.w[:] = W
        loss = np.empty(len(W))
        x = np.where(np.isin(np.arange(D), R), X, 0.0)
        rate = 1e-3
        kernels.judge(Rule(SUBSETS, M, p, q, 1e6, 0.0, rate), x, Y, it, loss)
        losses += loss
        gradients += (W - it.w) / rate
        sets += 1
    return losses / sets, gradients / sets


def fresh() -> SubsetWeights:
    return new_weights(len(SUBSETS), K)


def truth() -> tuple[Floats, Floats]:
    products = (W * X[SUBSETS]).sum(axis=1)
    return products**2 - 2 * Y * products, 2 * (products - Y)[:, None] * X[SUBSETS]


def test_losses_and_gradients_are_unbiased() -> None:
    for found, expected in zip(expectations(P, Q), truth(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_with_pairs_as_if_independent_they_are_not() -> None:
    for found, expected in zip(expectations(P, P * P), truth(), strict=True):
        assert np.abs(found - expected).max() > 0.1


def test_steps_stay_in_the_ball_and_adapt() -> None:
    it, loss = fresh(), np.empty(len(SUBSETS))
    total = np.zeros(len(SUBSETS))
    for y in (1.0, 5.0, -2.0):
        before = it.w.copy()
        kernels.judge(Rule(SUBSETS, M, 1.0, 1.0, 0.5, 0.0, 0.0), X, y, it, loss)
        g = 2 * ((before * X[SUBSETS]).sum(axis=1) - y)[:, None] * X[SUBSETS]
        total += (g**2).sum(axis=1)
        w = before - 0.5 * np.sqrt(2 / total)[:, None] * g
        norm = np.linalg.norm(w, axis=1, keepdims=True)
        np.testing.assert_allclose(it.w, w * 0.5 / np.maximum(norm, 0.5), atol=1e-12)


def test_what_was_not_explored_changes_nothing() -> None:
    it, loss = fresh(), np.empty(len(SUBSETS))
    it.w[:] = W
    x = np.where(np.arange(D) < 2, X, 0.0)
    kernels.judge(Rule(SUBSETS, M, P, Q, 1e6, 0.0, 0.0), x, Y, it, loss)
    away = (SUBSETS >= 2).all(axis=1)
    assert away.any()
    assert (it.w[away] == W[away]).all()
    assert (loss[away] == 0).all()
    assert (it.w[~away] != W[~away]).any(axis=1).all()


def test_chances_follow_losses_at_the_measured_rate() -> None:
    it, n = fresh(), len(SUBSETS)
    total, variance, largest = np.zeros(n), 0.0, 0.0
    for _ in range(20):
        loss = RNG.normal(size=n)
        chance = it.chances / it.chances.sum()
        variance += chance @ loss**2 - (chance @ loss) ** 2
        largest = max(largest, np.abs(loss - chance @ loss).max())
        kernels.weigh_subsets(loss, 0.0, it)
        total += loss
        eta = min(np.sqrt(np.log(n) / variance), 1 / largest)
        np.testing.assert_allclose(it.chances, np.exp(-eta * (total - total.min())), rtol=1e-9)


def test_losses_beyond_squaring_are_left_out() -> None:
    it = fresh()
    kernels.weigh_subsets(np.full(len(SUBSETS), 1e200), 0.0, it)
    assert (it.losses == 0).all()
    assert (it.chances == 1).all()


@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 5), (7, 3)])
def test_all_subsets_are_all_subsets(d: int, k: int) -> None:
    assert all_subsets(d, k).tolist() == [list(c) for c in itertools.combinations(range(d), k)]
