"""Losses and gradients of all subsets at once: unbiased over what is explored, exactly."""

import itertools
import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.philox import categorical, uniform
from keyhole.learners.blocks.draw.sampling import uniform_subset
from keyhole.learners.subset_experts import all_subsets
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
        learner = made(p=p, q=q, radius=1e6, rate=1e-3)
        w = learner._weights.w
        w[:] = W
        losses += learner._judge(np.where(np.isin(np.arange(D), R), X, 0.0), Y)
        gradients += (W - w) / 1e-3
        sets += 1
    return losses / sets, gradients / sets


def made(
    d: int = D, k: int = K, m: int = M, *, radius: float = 1.0, **given: float
) -> kh.SubsetExpertsLearner:
    """A learner with other probabilities p and q, or rates, than follow from its problem."""
    learner = kh.SubsetExpertsLearner(kh.Problem(d, k, min(d, m + k)), seed=7, radius=radius)
    for name, value in {"m": m, "p": P, "q": Q, **given}.items():
        setattr(learner, f"_{name}", value)
    return learner


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
    learner = made(p=1.0, q=1.0, radius=0.5)
    it, total = learner._weights, np.zeros(len(SUBSETS))
    for y in (1.0, 5.0, -2.0):
        before = it.w.copy()
        learner._judge(X, y)
        g = 2 * ((before * X[SUBSETS]).sum(axis=1) - y)[:, None] * X[SUBSETS]
        total += (g**2).sum(axis=1)
        w = before - 0.5 * np.sqrt(2 / total)[:, None] * g
        norm = np.linalg.norm(w, axis=1, keepdims=True)
        np.testing.assert_allclose(it.w, w * 0.5 / np.maximum(norm, 0.5), atol=1e-12)


def test_what_was_not_explored_changes_nothing() -> None:
    learner = made(radius=1e6)
    it = learner._weights
    it.w[:] = W
    loss = learner._judge(np.where(np.arange(D) < 2, X, 0.0), Y)
    away = (SUBSETS >= 2).all(axis=1)
    assert away.any()
    assert (it.w[away] == W[away]).all()
    assert (loss[away] == 0).all()
    assert (it.w[~away] != W[~away]).any(axis=1).all()


def test_chances_follow_losses_at_the_measured_rate() -> None:
    learner, n = made(), len(SUBSETS)
    it = learner._weights
    total, variance, largest = np.zeros(n), 0.0, 0.0
    for _ in range(20):
        loss = RNG.normal(size=n)
        chance = it.chances / it.chances.sum()
        variance += chance @ loss**2 - (chance @ loss) ** 2
        largest = max(largest, np.abs(loss - chance @ loss).max())
        learner._weigh(loss)
        total += loss
        eta = min(np.sqrt(np.log(n) / variance), 1 / largest)
        np.testing.assert_allclose(it.chances, np.exp(-eta * (total - total.min())), rtol=1e-9)


def test_losses_beyond_squaring_are_left_out() -> None:
    learner = made()
    it = learner._weights
    with np.errstate(over="ignore"):
        learner._weigh(np.full(len(SUBSETS), 1e200))
    assert (it.losses == 0).all()
    assert (it.chances == 1).all()


@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 5), (7, 3)])
def test_all_subsets_are_all_subsets(d: int, k: int) -> None:
    assert all_subsets(d, k).tolist() == [list(c) for c in itertools.combinations(range(d), k)]


@pytest.mark.parametrize("hedge_rate", [0.0, 0.3])
@pytest.mark.parametrize(("radius", "rate"), [(0.4, 0.0), (9.0, 0.0), (0.4, 0.2)])
def test_rounds_of_subset_experts(hedge_rate: float, radius: float, rate: float) -> None:
    d, k, m = 5, 2, 3
    p, q = m / d, m * (m - 1) / (d * (d - 1))
    rows = np.array(list(itertools.combinations(range(d), k)), dtype=np.int32)
    learner = made(d, k, m, p=p, q=q, radius=radius, hedge_rate=hedge_rate, rate=rate)
    it, n = learner._weights, len(rows)
    w, squares, losses, variance, deviation = np.zeros((n, d)), np.zeros(n), np.zeros(n), 0.0, 0.0
    chances, arrived = np.ones(n), [list[float]() for _ in range(d)]
    for t in range(1, 9):
        ticket = learner.ask()
        R, row = uniform_subset(7, t, d, m), categorical(uniform(np.uint64(7), t, 1, 0), chances)
        np.testing.assert_array_equal(ticket.memo["explore"], R)
        np.testing.assert_array_equal(ticket.memo["support"], rows[row])
        features = np.union1d(R, rows[row])
        np.testing.assert_array_equal(ticket.features, features)
        x, y = RNG.normal(size=len(features)), float(RNG.normal())
        if t % 3 == 0:
            x[0] = np.nan
        means = np.array([float(np.mean(a)) if a else 0.0 for a in arrived])
        learner.tell(ticket.fill(x), y)
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
    np.testing.assert_allclose(learner._sums, [sum(a) for a in arrived], atol=1e-12)
    assert learner._counts.tolist() == [len(a) for a in arrived]
