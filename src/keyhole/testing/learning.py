"""Does it learn? An easy stream, and by when a learner must be far better than the running mean."""

from __future__ import annotations

import numpy as np

from keyhole.game import play
from keyhole.learners.baselines import RunningMean
from keyhole.problem import Floats, Learner, whole_number
from keyhole.streams.arrays import ArrayStream
from keyhole.testing.helpers import LearnerMaker, make, require

EASY_SHAPE = (12, 2, 6)  # d, k, budget
SUPPORT, WEIGHTS, NOISE = [4, 9], [1.0, -0.8], 0.2
SHARE = 0.5  # of the running mean's loss, at most


def easy_stream(rounds: int, seed: int = 0) -> ArrayStream:
    """Twelve independent signs, two of which make the label, with little noise and no offset.

    >>> easy_stream(100).d
    12
    """
    rng = np.random.default_rng(seed)
    X = np.sign(rng.standard_normal((rounds, EASY_SHAPE[0])))
    return ArrayStream(X, X[:, SUPPORT] @ WEIGHTS + NOISE * rng.standard_normal(rounds))


def learns_an_easy_stream(factory: LearnerMaker, learns_by: int) -> None:
    """In rounds learns_by / 2 + 1 to learns_by of `easy_stream`: half the running mean's loss.

    `learns_by` is at least 32. A learner that reads everything gets budget = d.
    """
    n = whole_number("learns_by", learns_by, 32)
    learner = make(factory, EASY_SHAPE)
    stream = easy_stream(n)
    late = slice(n // 2, n)
    lost = _late_loss(learner, stream, late)
    mean = _late_loss(RunningMean(learner.problem), stream, late)
    require(
        lost <= SHARE * mean,
        f"learns an easy stream by round {n}: mean loss {lost:.3g} after round {n // 2}, "
        f"the running mean has {mean:.3g}",
    )


def _late_loss(learner: Learner, stream: ArrayStream, late: slice) -> float:
    errors: Floats = stream.y - play(learner, stream).predictions
    return float(np.mean(errors[late] ** 2))
