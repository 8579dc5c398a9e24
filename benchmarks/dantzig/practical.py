"""Algorithm 1 as printed and in practice: what each costs, and what each step is worth.

The score is the sum of (y_hat - E(y | x))^2 over the rounds of the streams of
`keyhole.streams.REALIZABLE_SUITE`; every learner reads the same number of features per round. The
printed algorithm is told the noise, and on S8 and S9 gets rows and labels that are centred and
scaled beforehand; its constant C is also shown at the best of a grid, chosen in hindsight. The
practical one is told nothing.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from keyhole.learners.blocks.dantzig.selection import DEFAULT_PARTS, Parts, Thresholds
from keyhole.learners.practical_dantzig import PracticalDantzig
from keyhole.problem import Floats

SCALES = (1.0, 0.3, 0.1, 0.05, 0.02, 0.01)
STANDARDISED = ("S8", "S9")  # for the printed algorithm, which neither centres nor scales
LADDER_STREAM = "S2"

FIRST = Parts(
    growth=2.0,
    least=1,
    shrink=False,
    played=False,
    refit=False,
    adapt=False,
    fill=False,
    reweight=False,
)
LADDER = {  # each step keeps those before
    "thresholds from the data, available cases": (now := FIRST),
    "least squares on the support, guarded": (now := replace(now, refit=True)),
    "moments also use the played support": (now := replace(now, played=True)),
    "VAW on the played support": (now := replace(now, adapt=True)),
    "solve again at 1.2^n": (now := replace(now, growth=1.2, least=4)),
    "idle slots read the best candidates": (now := replace(now, fill=True)),
    "correlations shrunk, 1.1^n": (now := replace(now, shrink=True, growth=1.1)),
    "old rows weigh less: all of it": replace(now, reweight=True),
}
WITHOUT = {  # all of it but one
    "moments without the played support": replace(DEFAULT_PARTS, played=False),
    "without VAW": replace(DEFAULT_PARTS, adapt=False),
    "weights of the program, no refit": replace(DEFAULT_PARTS, refit=False),
    "idle slots explore": replace(DEFAULT_PARTS, fill=False),
    "without shrinking": replace(DEFAULT_PARTS, shrink=False),
    "all rows weigh the same": replace(DEFAULT_PARTS, reweight=False),
    "threshold not raised for dense answers": replace(
        DEFAULT_PARTS, thresholds=Thresholds(most=float("inf"))
    ),
    "solve again at 2^n": replace(DEFAULT_PARTS, growth=2.0, least=1),
    "solve again at 1.05^n": replace(DEFAULT_PARTS, growth=1.05, least=2),
}
WAYS = {"practical": DEFAULT_PARTS, **LADDER, **WITHOUT}


def run_score(name: str, seed: int, rounds: int, way: float | str) -> Row:
    """One game on a stream: the printed algorithm with a constant C, or a practical one.

    The sum of squared distances to the truth, and microseconds per round of the learner.
    """
    setting = kh.streams.REALIZABLE_SUITE[name]
    stream, truth = setting.simulate(rounds, seed)
    given = not isinstance(way, str) and name in STANDARDISED
    centre, size, shift = _units(stream, truth) if given else (np.zeros(1), np.ones(1), 0.0)
    learner: kh.DantzigLearner
    if isinstance(way, str):
        learner = PracticalDantzig(setting.problem, seed=seed, parts=WAYS[way])
    else:
        learner = kh.DantzigLearner(
            setting.problem, seed=seed, noise_sd=setting.noise_sd, threshold_scale=way
        )
    total, seconds = 0.0, 0.0
    for X, y in stream.blocks():
        rows = (X - centre) / size if given else X
        began = time.perf_counter()
        predictions = learner.advance(rows, y - shift) + shift
        seconds += time.perf_counter() - began
        total += float(((predictions - truth.intercept - X @ truth.weights) ** 2).sum())
    us = 1e6 * seconds / rounds
    return {"stream": name, "seed": seed, "way": way, "score": total, "us": us}


def _units(
    stream: kh.streams.GeneratedStream, truth: kh.streams.Truth
) -> tuple[Floats, Floats, float]:
    X, _ = kh.streams.collect(kh.streams.take(stream, 16_384))
    centre, size = X.mean(axis=0), X.std(axis=0)
    return centre, size, truth.intercept + float(centre @ truth.weights)
