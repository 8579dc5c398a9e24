"""Regret of AutoLearner and of the recipe it grew out of, as it grows."""

from __future__ import annotations

import numpy as np

import keyhole as kh
from benchmarks.auto.grammix import grammix
from benchmarks.auto.parts import losses
from benchmarks.common import Row
from keyhole.streams import AGNOSTIC_SUITE, ArrayStream, collect


def run_curve(name: str, seed: int, n: int) -> Row:
    """Regret at 2^8, 2^9, ..., n rounds, by learner."""
    case, ends = AGNOSTIC_SUITE[name], [2**power for power in range(8, n.bit_length())]
    X, y = collect(case.simulate(n, seed).stream)
    found = kh.hindsight_curve(ArrayStream(X, y), case.problem.k, ends, intercept=False)
    best, at = np.array([model.loss.high for model in found]), np.array(ends) - 1
    peer = (y - grammix(X, y, case.problem.reads, seed=seed)) ** 2
    return {
        "stream": name,
        "seed": seed,
        "rounds": ends,
        "AutoLearner": (np.cumsum(losses(X, y, case.problem, seed))[at] - best).tolist(),
        "GramMix + BEXP": (np.cumsum(peer)[at] - best).tolist(),
    }
