"""What the last layer of AutoLearner and the past are worth, beside AutoLearner without them.

Without a last layer AutoLearner is what it was before there was one, round for round, so that all
three are measured in one run, on the same rows and with the same seeds. How it is shown:
`layer_tables.py`.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from benchmarks.auto.rivals import rows_of_file
from benchmarks.common import Row
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE, REALIZABLE_SUITE, ArrayStream, collect

AFTER = 500  # rounds that do not count in shares of the loss
DELAYS = (1, 6, 50)  # rounds by which labels come late
LATE = 6_000  # rows of a file that are played with late labels, one by one
SEARCH = 30.0  # seconds for the best model in hindsight
SHORT = 1_024  # rows of a file that count as its beginning
WITHOUT, BENT, USUAL, PROPER = "without a layer", "past=False", "usual", "proper"
WAYS: dict[str, dict[str, Any]] = {
    WITHOUT: {"past": False, "parts": kh.AutoParts(kinks=None)},
    BENT: {"past": False},
    USUAL: {},
}
ALL_WAYS: dict[str, dict[str, Any]] = {**WAYS, PROPER: {"proper": True}}


def _late(losses: Floats) -> float:
    return float(losses[AFTER:].sum())


def _second_half(losses: Floats) -> float:
    return float(losses[len(losses) // 2 :].sum())


def run_layer_file(path: Path, k: int, budget: int, shuffled: bool, anew: bool, seed: int) -> Row:
    """Losses after the first rounds, of all, of the second half and of the beginning.

    `anew`: with rows in random order, and not in proper mode, which has no layer.
    """
    X, y = rows_of_file(path, shuffled)
    if anew:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    row: Row = {"file": path.stem, "anew": anew, "seed": seed}
    for way, how in (WAYS if anew else ALL_WAYS).items():
        learner = kh.AutoLearner(kh.Problem(X.shape[1], k, budget), seed=seed, **how)
        squared = (y - learner.advance(X, y)) ** 2
        row[way] = _late(squared)
        row[f"{way}, all"] = float(squared.sum())
        row[f"{way}, half"] = _second_half(squared)
        row[f"{way}, short"] = float(squared[:SHORT].sum())
    return row


def run_layer_best(path: Path, k: int, shuffled: bool) -> Row:
    """Losses of the best k features of the file, on its second half too, and of the constant.

    And those of the best k features of the beginning, and of its constant.
    """
    X, y = rows_of_file(path, shuffled)
    best = kh.hindsight(ArrayStream(X, y), k, intercept=True, seconds=SEARCH)
    squared = (y - np.asarray(X, dtype=np.float64) @ best.weights - best.intercept) ** 2
    short = kh.hindsight(ArrayStream(X[:SHORT], y[:SHORT]), k, intercept=True, seconds=SEARCH)
    row: Row = {"file": path.stem, "all": best.loss.high, "constant": best.empty_loss}
    row |= {"half": _second_half(squared)}
    return row | {"short": short.loss.high, "short constant": short.empty_loss}


def run_layer_stream(name: str, seed: int, n: int) -> Row:
    """The same on a stream of the ten, or of the realizable suite: there, what is lost to w*.

    The best loss is that of the best k features in hindsight, or that of w*, which is 0.
    """
    if name in AGNOSTIC_SUITE:
        problem, (X, y) = (
            AGNOSTIC_SUITE[name].problem,
            collect(AGNOSTIC_SUITE[name].simulate(n, seed).stream),
        )
        best = kh.hindsight(ArrayStream(X, y), problem.k, seconds=SEARCH, intercept=False)
        against, least = y, (y - X @ best.weights) ** 2
    else:
        setting = REALIZABLE_SUITE[name]
        stream, truth = setting.simulate(n // 4, seed)
        problem, (X, y) = setting.problem, collect(stream)
        against, least = truth.intercept + X @ truth.weights, np.zeros(len(y))
    row: Row = {"stream": name, "seed": seed, "zero": float(against @ against)}
    row |= {"best": float(least.sum()), "best half": _second_half(least)}
    for way, how in ALL_WAYS.items():
        squared = (against - kh.AutoLearner(problem, seed=seed, **how).advance(X, y)) ** 2
        row[way] = _late(squared) if name in AGNOSTIC_SUITE else float(squared.sum())
        row[f"{way}, all"] = float(squared.sum())
        row[f"{way}, half"] = _second_half(squared)
    return row


def played_late(learner: kh.AutoLearner, X: NDArray[np.floating], y: Floats, delay: int) -> Floats:
    """Predictions when the label of a round is told after `delay` more rounds were asked."""
    waiting: deque[tuple[kh.Observation, float]] = deque()
    predictions = np.empty(len(y))
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        ticket = learner.ask()
        seen = ticket.fill(np.asarray(x[ticket.features], dtype=np.float64))
        predictions[t] = learner.predict(seen)
        waiting.append((seen, label))
        if len(waiting) > delay:
            learner.tell(*waiting.popleft())
    return predictions


def run_layer_late(path: Path, k: int, budget: int, shuffled: bool, delay: int, seed: int) -> Row:
    """Losses on the first rows of a file when labels come late."""
    X, y = rows_of_file(path, shuffled)
    X, y = np.asarray(X[:LATE], dtype=np.float64), y[:LATE]
    row: Row = {"file": path.stem, "delay": delay, "seed": seed}
    for way, how in WAYS.items():
        learner = kh.AutoLearner(kh.Problem(X.shape[1], k, budget), seed=seed, **how)
        row[way] = _late((y - played_late(learner, X, y, delay)) ** 2)
    return row
