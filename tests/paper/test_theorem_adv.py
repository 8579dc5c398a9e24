"""`theorem:adv`: the regret of Algorithm 2 grows slower than T.

The growth exponent is the slope of log regret against log T over T = 2^10, ..., 2^15, seed by seed.
The theorem's rate is T^(2/3); a learner that stops learning has exponent 1. Over independent seeds
(mean - 0.9)/standard error is Student's t for a true exponent of 0.9 and smaller below: a false
alarm has probability at most 1e-6.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t as student

import keyhole as kh
from keyhole.learners.blocks.greedy.budgeted_experts import Tally
from keyhole.learners.blocks.greedy.variants import PAPER, Variant
from keyhole.problem import Floats, Indices
from tests.helpers.statistics import standard_errors_above

SEEDS, POWERS, EXPONENT = range(16), range(10, 16), 0.9
PROBLEM = kh.Problem(d=20, k=2, budget=12)


def frozen(tally: Tally) -> Floats:
    return np.zeros_like(tally.spread)


FROZEN = Variant(PAPER.scheme, frozen, PAPER.losses, PAPER.memory)


Game = tuple[kh.streams.ArrayStream, Floats]


def best_on(support: Indices, X: Floats, y: Floats) -> float:
    """Loss of the best model on the true support: the best k-sparse one at this noise and T."""
    w = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    return float(((y - X[:, support] @ w) ** 2).sum())


@pytest.fixture(scope="module")
def games() -> list[Game]:
    """Streams of 2^15 rounds, each with the loss of the best model at the powers of 2."""
    result = []
    for seed in SEEDS:
        simulated, truth = kh.streams.realizable(20, 2, 2**15, noise_sd=0.1, seed=seed)
        X, y = (np.asarray(part, dtype=np.float64) for part in kh.streams.collect(simulated))
        best = [best_on(truth.support, X[: 2**j], y[: 2**j]) for j in POWERS]
        result.append((kh.streams.ArrayStream(X, y), np.array(best)))
    return result


def regrets(games: list[Game], make: Callable[[int], kh.OnlineGreedyLearner]) -> Floats:
    rows = []
    for seed, (stream, best) in enumerate(games):
        ledger = kh.play(make(seed), stream, keep_predictions=False)
        losses = {c.round: c.loss for c in ledger.checkpoints}
        rows.append([losses[2**j] for j in POWERS] - best)
    return np.array(rows)


def excess(regret: Floats) -> float:
    """By how much the mean exponent exceeds EXPONENT; 1 has probability 1e-6 by chance."""
    slopes = np.polyfit(np.array(POWERS), np.log2(regret).T, 1)[0]
    return standard_errors_above(slopes, EXPONENT) / float(student.isf(1e-6, len(slopes) - 1))


def printed(seed: int, parts: Variant = PAPER) -> kh.OnlineGreedyLearner:
    return kh.OnlineGreedyLearner(
        PROBLEM, seed=seed, batch_size=50, slots=4, horizon=2**15, parts=parts
    )


def test_regret_grows_slower_than_T(games: list[Game]) -> None:
    """As printed, and as it comes; the latter has hardly any regret at all."""
    regret = regrets(games, printed)
    assert excess(regret) < -1.0  # not only "not above": below, and that is significant
    ours = regrets(games[:6], lambda seed: kh.OnlineGreedyLearner(PROBLEM, seed=seed))
    assert excess(ours) < -1.0
    assert ours[:, -1].mean() < 0.02 * regret[:6, -1].mean()


def test_experts_that_never_learn_are_a_broken_twin(games: list[Game]) -> None:
    assert excess(regrets(games, lambda seed: printed(seed, FROZEN))) > 1.0
