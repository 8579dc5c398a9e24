"""A small DantzigLearner, rows for it, and one round of it: for the tests of it."""

from typing import Any

import numpy as np

import keyhole as kh
from keyhole.problem import Floats

PROBLEM = kh.Problem(d=12, k=2, budget=6)


def make(problem: kh.Problem = PROBLEM, **options: Any) -> kh.DantzigLearner:
    return kh.DantzigLearner(
        problem, **{"seed": 1, "noise_sd": 0.1, "threshold_scale": 0.03, **options}
    )


def rows(n: int, d: int = 12, seed: int = 1) -> tuple[Floats, Floats]:
    stream, _ = kh.streams.realizable(d, 2, n, design=kh.streams.designs.toeplitz(0.5), seed=seed)
    X, y = kh.streams.collect(stream)
    return X.astype(np.float64), y


def one_round(learner: kh.DantzigLearner, x: Floats, y: float) -> float:
    seen = kh.sell(learner.problem, learner.ask(), x)
    y_hat = learner.predict(seen)
    learner.tell(seen, y)
    return y_hat
