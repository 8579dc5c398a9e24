"""`lemma:localization`: with probability 1 - delta the true w* satisfies `equation:conv.prog`.

That is what makes the program feasible and keeps its solution near w*: with the learner's G and b
after t rounds,

    |b - G w*|_inf <= C sqrt(d log(t d/delta)/(t k0)) (sigma + d/k0).

The lemma names no C. `proven` below derives what the right-hand side must be for a failure
probability of at most delta when G and b are weighted exactly; C = 0.61 is enough for every size
here, and half of it is not. No C is enough for the printed weighting once t is large: its residual
tends to (1 - d(k0 - 1)/(k0(d - 1))) |offdiag(X'X/t) w*|, the threshold to 0.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import keyhole as kh
from keyhole.learners.blocks.dantzig.threshold import printed_threshold
from keyhole.problem import Floats

C, DELTA, SIGMA, RUNS = 0.61, 0.05, 0.1, 300
SIZES = [(10, 3, 2**12), (20, 5, 2**12), (12, 2, 2**12)]  # d, k0, t
CORRELATED = (10, 3, 2**14)

# If w* is infeasible with probability at most DELTA in each of RUNS independent runs, more than
# MOST of them are so with probability P(Binomial(RUNS, DELTA) > MOST) <= 1e-6.
MOST = int(stats.binom.isf(1e-6, RUNS, DELTA))

Rows = Callable[[int, int, np.random.Generator], Floats]


def independent_signs(t: int, d: int, rng: np.random.Generator) -> Floats:
    return np.where(rng.random((t, d), dtype=np.float32) < 0.5, -1.0, 1.0)


def followers(t: int, d: int, rng: np.random.Generator) -> Floats:
    """Signs that agree with one hidden sign with probability 0.975: E x_i x_j = 0.95^2."""
    hidden = independent_signs(t, 1, rng)
    return hidden * np.where(rng.random((t, d), dtype=np.float32) < 0.975, 1.0, -1.0)


def proven(d: int, k0: int, t: int) -> float:
    """A bound that |b - G w*|_inf exceeds with probability at most DELTA, if |w*|_1 <= 1, |x| <= 1.

    Write p = k0/d and r = (k0 - 1)/(d - 1), the probability of j in S given i in S. One round adds

        (x_i 1_i / p) sum_{j != i} x_j w_j (1 - 1_j / r)   +   (x_i 1_i / p) noise

    to t (b - G w*)_i, where 1_i says whether i is in S. The first part has mean 0, is at most
    M = max(1, 1/r - 1)/p in size, and its variance is at most V = (1/r - 1)/p: given i, the
    standard deviation of a sum is at most the sum of the standard deviations, |w*|_1 sqrt(1/r - 1).
    Bernstein: its mean over t rounds is beyond v with probability at most
    2 exp(-t v^2 / (2 V + 2 M v / 3)), which is DELTA / (3 d) for the v below. The second part is
    Gaussian given S, with standard deviation SIGMA sqrt(N_i)/(t p), N_i ~ Binomial(t, p). Each of
    the three events (v, N_i, the Gaussian) has DELTA / 3 for all d coordinates together.
    """
    p, r = k0 / d, (k0 - 1) / (d - 1)
    V, M = (1 / r - 1) / p, max(1.0, 1 / r - 1) / p
    L = math.log(6 * d / DELTA)
    v = (M * L / 3 + math.sqrt((M * L / 3) ** 2 + 2 * V * L * t)) / t
    N = float(stats.binom.isf(DELTA / (3 * d), t, p))
    return v + float(stats.norm.isf(DELTA / (6 * d))) * SIGMA * math.sqrt(N) / (t * p)


def threshold(d: int, k0: int, t: int, scale: float = C) -> float:
    return printed_threshold(t, d, k0, noise_sd=SIGMA, failure_probability=DELTA, scale=scale)


@functools.cache
def residuals(rows: Rows, d: int, k0: int, t: int) -> dict[str, Floats]:
    """|b - G w*|_inf of RUNS runs of t rounds, for both weightings of the same explored values.

    w* is one coordinate, the worst case of the bound: nothing averages out.
    """
    found: dict[str, list[float]] = {"exact": [], "paper": []}
    for run in range(RUNS):
        rng = np.random.default_rng([run, d, k0, t])
        X, w_star = rows(t, d, rng), np.zeros(d)
        w_star[run % d] = 1.0
        y = X @ w_star + SIGMA * rng.standard_normal(t)
        problem = kh.Problem(d, 1, k0 + 1)
        learner = kh.DantzigLearner(problem, seed=run, noise_sd=SIGMA, burn_in=t)
        learner.advance(X, y)
        for weighting, list_ in found.items():
            learner.weighting = weighting
            G, b = learner._estimate()
            list_.append(float(np.abs(b - G @ w_star).max()))
    return {weighting: np.array(list_) for weighting, list_ in found.items()}


def failures(weighting: str, rows: Rows, size: tuple[int, int, int], scale: float = C) -> int:
    """In how many of RUNS runs w* is not feasible."""
    return int((residuals(rows, *size)[weighting] > threshold(*size, scale)).sum())


@pytest.mark.parametrize("size", [*SIZES, CORRELATED])
def test_the_constant_is_proven(size: tuple[int, int, int]) -> None:
    assert 0.5 * threshold(*size) < proven(*size) <= threshold(*size)


@pytest.mark.parametrize("size", SIZES)
def test_w_star_is_feasible(size: tuple[int, int, int]) -> None:
    assert failures("exact", independent_signs, size) <= MOST


@pytest.mark.parametrize("size", SIZES)
def test_half_the_constant_is_a_broken_twin(size: tuple[int, int, int]) -> None:
    # C / 2 is at most 2.5 standard deviations of d - 1 coordinates alike, d = 10 to 20: w* is
    # infeasible with probability about 0.24 or more, and P(Binomial(300, 0.24) <= 36) < 1e-6.
    assert failures("exact", independent_signs, size, scale=C / 2) > MOST


def test_w_star_is_feasible_on_correlated_features() -> None:
    assert failures("exact", followers, CORRELATED) <= MOST


def test_the_printed_weighting_is_a_broken_twin_on_correlated_features() -> None:
    d, k0, _ = CORRELATED
    bias = (1 - d * (k0 - 1) / (k0 * (d - 1))) * 0.95**2
    assert bias > threshold(*CORRELATED)
    assert failures("paper", followers, CORRELATED) == RUNS
    # Each of d - 1 coordinates is as likely above the bias as below; the residual is the largest.
    assert np.median(residuals(followers, *CORRELATED)["paper"]) > bias


def test_independent_features_hide_the_printed_bias() -> None:
    """X'X/t is nearly diagonal there: the error is off the diagonal, and no run shows it."""
    assert failures("paper", independent_signs, SIZES[0]) <= MOST


def test_the_threshold_is_the_learners() -> None:
    d, k0, t = SIZES[0]
    learner = kh.DantzigLearner(
        kh.Problem(d, 1, k0 + 1),
        seed=0,
        noise_sd=SIGMA,
        threshold_scale=C,
        failure_probability=DELTA,
        burn_in=t - 1,
    )
    X = independent_signs(t, d, np.random.default_rng(0))
    learner.advance(X, X[:, 0])  # its last round, t, is the first that solves: t - 1 labels
    assert learner.diagnostics.solves == 1
    assert learner.diagnostics.threshold == threshold(d, k0, t - 1)
