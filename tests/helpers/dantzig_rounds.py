"""A small DantzigLearner and rows for it: for the tests of it."""

from typing import Any

import keyhole as kh
from keyhole.problem import Floats
from tests.helpers.rounds import realizable_rows

PROBLEM = kh.Problem(d=12, k=2, budget=6)


def make(problem: kh.Problem = PROBLEM, **options: Any) -> kh.DantzigLearner:
    return kh.DantzigLearner(
        problem, **{"seed": 1, "noise_sd": 0.1, "threshold_scale": 0.03, **options}
    )


def rows(n: int, seed: int = 1) -> tuple[Floats, Floats]:
    X, y, _ = realizable_rows(n, 12, 2, design=kh.streams.designs.toeplitz(0.5), seed=seed)
    return X, y
