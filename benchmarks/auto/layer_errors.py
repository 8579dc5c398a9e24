"""The last layer on the realizable suite by squared errors, as everywhere else, noise included."""

from __future__ import annotations

import keyhole as kh
from benchmarks.auto.layer import AFTER, WAYS
from benchmarks.common import Row
from keyhole.streams import REALIZABLE_SUITE, collect


def run_layer_errors(name: str, seed: int, n: int) -> Row:
    """Losses after the first rounds against the labels, not against the true weights."""
    setting = REALIZABLE_SUITE[name]
    X, y = collect(setting.simulate(n // 4, seed).stream)
    row: Row = {"labels of": name, "seed": seed}
    for way, how in WAYS.items():
        squared = (y - kh.AutoLearner(setting.problem, seed=seed, **how).advance(X, y)) ** 2
        row[way] = float(squared[AFTER:].sum())
    return row
