"""That a learner learns: on an easy stream it beats the running mean by the round it says."""

from __future__ import annotations

import numpy as np

from keyhole.game import play
from keyhole.problem import Floats, Learner, ProblemError
from keyhole.streams.arrays import ArrayStream
from keyhole.testing.require import require
from keyhole.testing.tools import LearnerMaker, make_learner

EASY = (10, 2, 5)  # d, k, budget
ENOUGH = 0.5  # of the running mean's loss; knowing everything leaves 0.01
STREAMS = 3


def easy_rows(n: int, seed: int) -> tuple[Floats, Floats]:
    """y = 0.8 x_i - 0.6 x_j + 0.1 e: independent normal features and noise, the pair by the seed.

    Nothing is in the way of learning: no offset, no correlations, labels of unit size, a share of
    noise of 1 %.
    """
    rng = np.random.default_rng([seed, 71])
    i, j = rng.choice(EASY[0], 2, replace=False)
    X = rng.standard_normal((n, EASY[0]))
    return X, 0.8 * X[:, i] - 0.6 * X[:, j] + 0.1 * rng.standard_normal(n)


def late_shares(learner: Learner, seed: int, ends: list[int]) -> list[float]:
    """Its loss as a share of the running mean's, over the last quarter of the rounds up to each."""
    X, y = easy_rows(ends[-1], seed)
    errors = (play(learner, ArrayStream(X, y)).predictions - y) ** 2
    mean = np.append(0.0, np.cumsum(y)[:-1] / np.arange(1, len(y)))
    yardstick = (mean - y) ** 2
    lasts = [slice(end - end // 4, end) for end in ends]
    return [float(errors[last].sum() / yardstick[last].sum()) for last in lasts]


def learns_an_easy_stream(factory: LearnerMaker, learns_by: int | None) -> None:
    """Over the last quarter of the rounds up to `learns_by` it loses half of the mean's loss.

    The problem has d = 10, k = 2, budget = 5 (or d, if that is refused). None declares that the
    learner does not learn, or only with luck, and asks for nothing.

    The values of keyhole's own learners were measured with 16 seeds of stream and learner: the
    round from which on even the worst seed stays below half of the mean's loss, then doubled.
    `python -m tests.helpers.learns_by` measures them again.
    """
    if learns_by is None:
        return
    if learns_by < 4:
        raise ProblemError(f"learns_by must be at least 4 rounds, or None, got {learns_by}")
    for seed in range(STREAMS):
        (share,) = late_shares(make_learner(factory, EASY), seed, [learns_by])
        require(
            share < ENOUGH,
            f"it learns an easy stream by round {learns_by}: it still loses {share:.0%} of what "
            f"the running mean does, stream {seed}",
        )
