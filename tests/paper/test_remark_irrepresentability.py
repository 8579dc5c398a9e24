"""The remark that irrepresentability is enough in place of RIP (the paper's conclusions).

Let G = X'X/t, D = w_hat - w*, S the support of w*, eta = max over j outside of |G_SS^-1 G_Sj|_1
and M = |G_SS^-1|_1. Where w* is feasible, |D outside S|_1 <= |D_S|_1 as in `lemma:dantzig`, and

    D_S = G_SS^-1 (G D)_S - G_SS^-1 G_SS' D_S',    so    |D_S|_1 <= k M |G D|_inf + eta |D_S|_1,

    |D|_1 <= 2 k M / (1 - eta) |G D|_inf:

the rate of the lemma with no isometry in it. Correlations of 1/2 have no RIP and eta = 2/3.
"""

import itertools

import numpy as np
import pytest

import keyhole as kh
from keyhole import theory
from keyhole.analysis import irrepresentability as file
from keyhole.learners.blocks.dantzig.solve import solve
from keyhole.learners.blocks.draw.sampling import inclusion_uniform
from keyhole.learners.blocks.sums.estimates import horvitz_thompson
from keyhole.problem import Floats, Indices
from keyhole.streams.designs import factor

D, K, K0, SIGMA = 12, 2, 6, 0.1
SEEDS = range(8)


def by_definition(X: Floats, S: tuple[int, ...]) -> float:
    """Zhao and Yu's number for the worst signs of the weights, by trying all of them."""
    others = [j for j in range(X.shape[1]) if j not in S]
    weights = np.linalg.lstsq(X[:, list(S)], X[:, others])[0]
    return max(
        float(np.abs(np.array(signs) @ weights).max())
        for signs in itertools.product((-1.0, 1.0), repeat=len(S))
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_number_is_that_of_the_definition(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6)) + rng.uniform(0.0, 2.0) * rng.normal(size=(30, 1))
    X *= rng.uniform(0.1, 10.0, 6)
    Z = X / np.sqrt((X**2).mean(axis=0))
    sets = [*itertools.combinations(range(6), k)]
    each = [by_definition(Z, S) for S in sets]
    worst = kh.irrepresentability(X, k)
    assert worst.low == worst.high == pytest.approx(max(each))
    for S, value in zip(sets, each, strict=True):
        assert kh.irrepresentability(X, support=S).high == pytest.approx(value)
        own = kh.irrepresentability(X, support=S, standardised=False).low
        assert own == pytest.approx(by_definition(X, S))


def test_many_sets_give_an_interval_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "MAX_SETS", 0)
    finite = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([8, 100, 1000]))
        X = rng.normal(size=(n, 7)) + rng.choice([0.0, 0.3]) * rng.normal(size=(n, 1))
        exact = max(
            kh.irrepresentability(X, support=S).high for S in itertools.combinations(range(7), 3)
        )
        found = kh.irrepresentability(X, 3)
        assert found.low <= exact * (1 + 1e-9)
        assert exact <= found.high * (1 + 1e-9)
        finite += found.high < np.inf
    assert 10 < finite < 40


def gradient_and_error(X: Floats, w_hat: Floats, w_star: Floats) -> tuple[float, float]:
    delta = w_hat - w_star
    return float(np.abs(X.T @ (X @ delta)).max()) / len(X), float(np.abs(delta).sum())


def factor_of(X: Floats, S: Indices) -> float:
    """2 k M / (1 - eta); negative where eta > 1."""
    G = X.T @ X / len(X)
    M = float(np.abs(np.linalg.inv(G[np.ix_(S, S)])).sum(axis=0).max())
    return 2 * len(S) * M / (1 - kh.irrepresentability(X, support=S, standardised=False).high)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_enough_where_there_is_no_isometry(seed: int) -> None:
    """Every feature correlates with every other by 1/2, and half of them are read."""
    stream, truth = kh.streams.realizable(D, K, 4096, design=factor(0.5), noise_sd=SIGMA, seed=seed)
    rows, y = kh.streams.collect(stream)
    X = rows.astype(np.float64)
    assert kh.rip(X, 3 * K).low > 0.5 > 2 - np.sqrt(3) > theory.RIP_REALIZABLE
    assert kh.irrepresentability(X, K).high < 0.85
    learner = kh.DantzigLearner(kh.Problem(D, 1, K0 + 1), seed=seed, noise_sd=SIGMA, burn_in=len(y))
    learner.advance(X, y)
    estimate = horvitz_thompson(learner._moments, inclusion_uniform(D, K0))
    lam = float(np.abs(estimate.b - estimate.G @ truth.weights).max())  # w* is feasible
    w_hat = solve(estimate.G, estimate.b, lam).w
    gradient, error = gradient_and_error(X, w_hat, truth.weights)
    assert 0.0 < error <= factor_of(X, truth.support) * gradient + 1e-7


def test_without_it_the_program_prefers_another_feature() -> None:
    """The third feature is nearly the sum of the two that matter: eta > 1, and D is far from 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    X[:, 2] = 0.8 * (X[:, 0] + X[:, 1]) + 0.1 * X[:, 2]
    w_star = np.array([1.0, 1.0, 0.0])
    assert kh.irrepresentability(X, support=[0, 1], standardised=False).low > 1.5
    G = X.T @ X / len(X)
    lam = 0.01
    w_hat = solve(G, G @ w_star, lam).w
    gradient, error = gradient_and_error(X, w_hat, w_star)
    assert gradient <= lam + 1e-9
    assert error > 1.0
    well = np.delete(X, 2, axis=1)  # without the feature the bound holds, and there is no such D
    assert error > factor_of(well, np.array([0, 1])) * gradient


def test_what_cannot_be_asked_is_refused() -> None:
    X = np.eye(3)
    for wrong, message in (
        ({}, "give k, the size of all sets to try, or the support"),
        ({"k": 1, "support": [0]}, "give k, the size of all sets to try, or the support"),
        ({"support": [0, 3]}, "support must be different features below 3, at least one, got"),
        ({"support": []}, "support must be different features"),
        ({"support": [1, 1]}, "support must be different features"),
        ({"k": 4}, "k must be at most d = 3"),
    ):
        with pytest.raises(kh.ProblemError, match=message):
            kh.irrepresentability(X, **wrong)
    assert kh.irrepresentability(np.ones((4, 2)), 2).low == np.inf  # dependent
    assert kh.irrepresentability(X, 3).high == 0.0  # no feature is outside
