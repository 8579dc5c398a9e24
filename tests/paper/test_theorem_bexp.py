"""`theorem:bexp`: expected regret at most 2 sqrt(d log(d) T / k) for budget k, anytime.

A bank of runs over the same losses is so many independent replicas. What is averaged is
sum_t <p_t, l_t> - min_j sum_t l_tj, whose expectation is the expected regret: the draw of j_t given
the past is integrated out.

The statistic (mean - bound) / standard error is, for a true expectation at the bound, Student's t
over the replicas, and smaller below it: a false alarm has probability at most 1e-6 per case.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t as student

from keyhole.learners.blocks.greedy.budgeted_experts import (
    BEXP,
    Draw,
    OwnBins,
    OwnSubsets,
    Rate,
    Scheme,
    Tally,
    anytime,
    equal_bins,
    known_horizon,
)
from keyhole.problem import Floats
from tests.helpers.statistics import standard_errors_above

D, T, RUNS = 10, 1000, 40
LIMIT = float(student.isf(1e-6, RUNS - 1))


def _constant_gap(rng: np.random.Generator) -> Floats:
    losses = np.full((T, D), 0.9)
    losses[:, 3] = 0.1
    return losses


def _small_gap(rng: np.random.Generator) -> Floats:
    means = np.where(np.arange(D) == 7, 0.45, 0.55)
    return (rng.random((T, D)) < means).astype(np.float64)


def _switching(rng: np.random.Generator) -> Floats:
    """Expert 0 is best for half the time, then expert 1 for long enough to be the best of all."""
    losses = np.full((T, D), 0.8)
    losses[: T // 2, 0] = 0.2
    losses[T // 2 - 100 :, 1] = 0.0
    return losses


def _turns(rng: np.random.Generator) -> Floats:
    """Two good experts take turns, a hair out of step: following the leader is always wrong."""
    losses = np.ones((T, D))
    losses[:, 0] = np.arange(T) % 2
    losses[:, 1] = 1 - losses[:, 0]
    losses[0, 0] = 0.5
    return losses


def _noise(rng: np.random.Generator) -> Floats:
    return rng.random((T, D))


def _fading(rng: np.random.Generator) -> Floats:
    """The best expert gets worse until it is the worst."""
    losses = np.full((T, D), 0.5)
    losses[:, 2] = np.linspace(0.0, 1.0, T)
    losses[:, 5] = 0.4
    return losses


SUITE: dict[str, Callable[[np.random.Generator], Floats]] = {
    "constant gap": _constant_gap,
    "small gap": _small_gap,
    "switching": _switching,
    "turns": _turns,
    "noise": _noise,
    "fading": _fading,
}


def excess(scheme: Scheme, losses: Floats, rate: Rate, feed: Callable[[Draw], Draw]) -> float:
    """By how many standard errors the mean regret of the replicas exceeds the bound."""
    bexp = BEXP(scheme, seed=1, rate=rate)
    suffered = np.zeros(scheme.n)
    for t, row in enumerate(losses, start=1):
        suffered += bexp.probabilities() @ row
        draw = bexp.draw(t)
        bexp.feed(feed(draw), np.tile(row[draw.S], (scheme.n, 1)))
    regret = suffered - losses.sum(axis=0).min()
    bound = 2 * math.sqrt(float(scheme.spread[0]) * len(losses) * math.log(scheme.d))
    return standard_errors_above(regret, bound, least=1e-9)


def honest(draw: Draw) -> Draw:
    return draw


def subsets(M: int) -> OwnSubsets:
    return OwnSubsets(D, np.full(RUNS, M))


@pytest.mark.parametrize("name", SUITE)
@pytest.mark.parametrize("M", [1, 3, 10])
def test_regret_is_within_the_bound(name: str, M: int) -> None:
    losses = SUITE[name](np.random.default_rng(0))
    assert excess(subsets(M), losses, anytime, honest) <= LIMIT


@pytest.mark.parametrize("name", ["switching", "small gap"])
def test_bins_and_a_known_horizon_keep_it_too(name: str) -> None:
    losses = SUITE[name](np.random.default_rng(0))
    bins = OwnBins(equal_bins(D, 3, RUNS, seed=2))
    assert excess(bins, losses, anytime, honest) <= LIMIT
    assert excess(subsets(3), losses, known_horizon(T), honest) <= LIMIT


# Broken twins: each breaks the bound on a sequence of the suite.


def test_forgetting_the_importance_weights_breaks_it() -> None:
    """Losses added as they are: the expert that is played, and so always read, looks worst."""

    def unweighted(draw: Draw) -> Draw:
        return Draw(draw.j, draw.S, draw.p, (draw.weight > 0).astype(np.float64))

    losses = np.where(np.arange(D) == 3, 0.4, np.full((T, D), 0.9))
    assert excess(subsets(3), losses, anytime, unweighted) > LIMIT
    assert excess(subsets(3), losses, anytime, honest) <= LIMIT


def test_weights_that_never_move_break_it() -> None:
    def frozen(tally: Tally) -> Floats:
        return np.zeros_like(tally.spread)

    losses = SUITE["constant gap"](np.random.default_rng(0))
    assert excess(subsets(3), losses, frozen, honest) > LIMIT


def test_the_swapped_rate_breaks_it() -> None:
    """eta upside down, sqrt(t d / (M log d)): follows the leader, who is always wrong."""

    def swapped(tally: Tally) -> Floats:
        return 1.0 / anytime(tally)

    losses = SUITE["turns"](np.random.default_rng(0))
    assert excess(subsets(10), losses, swapped, honest) > LIMIT
