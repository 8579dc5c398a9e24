"""`lem:wstart_reg`: the true w* loses little to the best k-sparse model in hindsight.

Regret_T - Regret_T(w*) is the loss of w* minus the least k-sparse loss, whatever was played, and
with probability 1 - delta it is at most

    sigma^2 (m + 2 sqrt(m x) + 2 x),   m = 2k,  x = log(C(d, m) / delta),

which does not grow with T. (The paper's O(sigma^2 k log(d/delta)) takes x = 2k log(d/delta).)
"""

import functools
import itertools

import numpy as np
import pytest
from scipy import stats

import keyhole as kh
from keyhole import theory
from keyhole.problem import Floats
from keyhole.streams.designs import rademacher, toeplitz

D, K, SIGMA, DELTA, RUNS = 30, 2, 0.5, 0.05, 300

# If the bound fails with probability at most DELTA in each of RUNS independent runs, more than MOST
# of them fail with probability P(Binomial(RUNS, DELTA) > MOST) <= 1e-6.
MOST = int(stats.binom.isf(1e-6, RUNS, DELTA))

DESIGNS = {"rademacher": rademacher, "toeplitz": toeplitz(0.5)}


@functools.cache
def losses_to_hindsight(design: str, strength: float, n: int) -> Floats:
    """By how much w* loses to the best of all k-subsets, in RUNS draws of the noise.

    w* is `strength` on two coordinates. At 0 every subset is as good as the true one and the most
    is lost: by the best of 435 projections of the noise.
    """
    rng = np.random.default_rng([n, len(design), round(10 * strength)])
    X = DESIGNS[design](D, rng)(n, rng)
    w_star = np.zeros(D)
    w_star[[3, 17]] = strength, -strength
    eta = SIGMA * rng.standard_normal((n, RUNS))
    Y = (X @ w_star)[:, None] + eta
    G, c = X.T @ X, X.T @ Y
    explained = np.zeros(RUNS)
    for S in map(list, itertools.combinations(range(D), K)):
        gain = (c[S] * np.linalg.solve(G[np.ix_(S, S)], c[S])).sum(axis=0)
        explained = np.maximum(explained, gain)
    best = (Y**2).sum(axis=0) - explained
    return np.asarray((eta**2).sum(axis=0) - best, dtype=np.float64)


def bound() -> float:
    return theory.wstar_regret(D, K, noise_sd=SIGMA, failure_probability=DELTA).value


def bound_without_union() -> float:
    """Broken twin: the quantile of one subset, as if the best one were known beforehand."""
    return SIGMA**2 * float(stats.chi2.isf(DELTA, K))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("strength", [0.0, 0.1, 0.5])
def test_the_loss_to_hindsight_is_bounded(design: str, strength: float) -> None:
    found = losses_to_hindsight(design, strength, 100)
    assert (found >= -1e-9).all()  # w* is one of the k-sparse models
    assert (found > bound()).sum() <= MOST


def test_a_bound_without_the_union_is_a_broken_twin() -> None:
    # One subset exceeds the twin with probability 0.05, and there are 15 disjoint ones, nearly
    # orthogonal: some subset does so with probability 1 - 0.95^15 = 0.54 or more, and
    # P(Binomial(300, 0.5) <= MOST = 36) < 1e-40.
    found = losses_to_hindsight("rademacher", 0.0, 100)
    assert (found > bound_without_union()).sum() > MOST


def test_it_does_not_grow_with_the_horizon() -> None:
    """Sixteen times the rounds. Means of 300 runs with a spread below 4 sigma^2: to 0.33 sigma^2.

    A loss that grew with log T, let alone with T, would be twice as large; the margin is half of
    the smaller mean, more than six standard errors.
    """
    short, long = (losses_to_hindsight("rademacher", 0.0, n).mean() for n in (100, 1600))
    assert abs(long - short) < 0.5 * min(long, short)
    assert min(long, short) > 4 * SIGMA**2


def test_it_is_the_same_whatever_was_played() -> None:
    stream, truth = kh.streams.realizable(12, 2, 400, noise_sd=SIGMA, seed=0)
    X, y = kh.streams.collect(stream)
    best = kh.hindsight(stream, 2, intercept=False)
    of_w_star = float(((y - X @ truth.weights) ** 2).sum())
    problem = kh.Problem(12, 2, 6)
    for learner in (kh.Zero(problem), kh.RunningMean(problem), kh.RandomSubset(problem, seed=1)):
        ledger = kh.play(learner, stream)
        regret, regret_w_star = kh.regret(ledger, best).high, ledger.loss - of_w_star
        assert regret - regret_w_star == pytest.approx(of_w_star - best.loss.high, abs=1e-8)
