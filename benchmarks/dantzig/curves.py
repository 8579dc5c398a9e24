"""Regret of Algorithm 1 as it grows, for the figure of its page."""

from __future__ import annotations

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from keyhole.streams.designs import factor, rademacher

NOISE = 0.1
PANELS = {  # the problem and the features
    "rademacher": (kh.Problem(d=50, k=3, budget=18), rademacher),
    "one factor": (kh.Problem(d=12, k=3, budget=6), factor(0.6)),
}


def run_curve(panel: str, scale: float, weighting: str, seed: int, n: int) -> Row:
    """Regret against the best k-sparse model of every prefix, and whether its support was found."""
    problem, design = PANELS[panel]
    stream, truth = kh.streams.realizable(
        problem.d, problem.k, n, design=design, noise_sd=NOISE, seed=seed
    )
    learner = kh.DantzigLearner(
        problem, seed=seed, noise_sd=NOISE, threshold_scale=scale, weighting=weighting
    )
    ledger = kh.play(learner, stream, keep_predictions=False)
    curve = kh.regret_curve(ledger, stream, problem.k, seconds=60, intercept=False)
    assert np.array_equal(curve.low, curve.high), "the best model of every prefix is proven"
    return {
        "panel": panel,
        "scale": scale,
        "weighting": weighting,
        "seed": seed,
        "rounds": curve.rounds.tolist(),
        "regret": curve.high.tolist(),
        "found": bool(np.array_equal(np.flatnonzero(learner.weights), truth.support)),
    }
