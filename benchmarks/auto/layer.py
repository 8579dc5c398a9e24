"""What the last layer of AutoLearner and the past are worth, beside AutoLearner without them.

Without a last layer AutoLearner is what it was before there was one, round for round, so that all
three are measured in one run, on the same rows and with the same seeds.
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
from benchmarks.common.files import FILES
from benchmarks.common.tables import markdown, names_of, pick
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE, REALIZABLE_SUITE, ArrayStream, collect

AFTER = 500  # rounds that do not count in shares of the loss
DELAYS = (1, 6, 50)  # rounds by which labels come late
LATE = 6_000  # rows of a file that are played with late labels, one by one
WITHOUT, BENT, USUAL = "without a layer", "past=False", "usual"
WAYS: dict[str, dict[str, Any]] = {
    WITHOUT: {"past": False, "parts": kh.AutoParts(kinks=None)},
    BENT: {"past": False},
    USUAL: {},
}


def _late(losses: Floats) -> float:
    return float(losses[AFTER:].sum())


def run_layer_file(path: Path, k: int, budget: int, shuffled: bool, anew: bool, seed: int) -> Row:
    """Losses after the first rounds, of all and of the second half; `anew`: rows in random order.

    Normalised regret is against the best k features of the whole file, as elsewhere.
    """
    X, y = rows_of_file(path, shuffled)
    if anew:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    row: Row = {"file": path.stem, "anew": anew, "seed": seed}
    for way, how in WAYS.items():
        learner = kh.AutoLearner(kh.Problem(X.shape[1], k, budget), seed=seed, **how)
        squared = (y - learner.advance(X, y)) ** 2
        row[way] = _late(squared)
        row[f"{way}, all"] = float(squared.sum())
        row[f"{way}, half"] = float(squared[len(y) // 2 :].sum())
    return row


def run_layer_best(path: Path, k: int, shuffled: bool) -> Row:
    """The best k features of the file: their loss, on the second half too, and the constant's."""
    X, y = rows_of_file(path, shuffled)
    best = kh.hindsight(ArrayStream(X, y), k, intercept=True, seconds=30)
    squared = (y - np.asarray(X, dtype=np.float64) @ best.weights - best.intercept) ** 2
    half = float(squared[len(y) // 2 :].sum())
    return {"file": path.stem, "best": best.loss.high, "half": half, "constant": best.empty_loss}


def run_layer_stream(name: str, seed: int, n: int) -> Row:
    """The same on a stream of the ten, or of the realizable suite: there, what is lost to w*."""
    if name in AGNOSTIC_SUITE:
        problem, (X, y) = (
            AGNOSTIC_SUITE[name].problem,
            collect(AGNOSTIC_SUITE[name].simulate(n, seed).stream),
        )
        against = y
    else:
        setting = REALIZABLE_SUITE[name]
        stream, truth = setting.simulate(n // 4, seed)
        problem, (X, y) = setting.problem, collect(stream)
        against = truth.intercept + X @ truth.weights
    row: Row = {"stream": name, "seed": seed}
    for way, how in WAYS.items():
        squared = (against - kh.AutoLearner(problem, seed=seed, **how).advance(X, y)) ** 2
        row[way] = _late(squared) if name in AGNOSTIC_SUITE else float(squared.sum())
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


def _shares(rows: list[Row], way: str, **like: Any) -> str:
    """Median and worst of the loss as a share of that without a layer."""
    pairs = zip(pick(rows, way, **like), pick(rows, WITHOUT, **like), strict=True)
    found = [a / b for a, b in pairs]
    return f"{np.median(found):.3f} / {max(found):.3f}"


def table_shares(rows: list[Row]) -> str:
    """Loss after round 500 as a share of that without a layer: median / worst, by seeds."""
    lines = []
    for name in [n for n in FILES if pick(rows, "seed", file=n)]:
        shown = [(f"{name}, labels {d} late", {"delay": d}) for d in DELAYS]
        shown = [(name, {"anew": False}), (f"{name}, rows in random order", {"anew": True}), *shown]
        for about, like in shown:
            if pick(rows, "seed", file=name, **like):
                lines.append([about, *(_shares(rows, w, file=name, **like) for w in (BENT, USUAL))])
    for name in names_of([row for row in rows if "stream" in row], "stream"):
        lines.append([name, *(_shares(rows, way, stream=name) for way in (BENT, USUAL))])
    return markdown(["", BENT, USUAL], lines)


def table_layer(rows: list[Row]) -> str:
    """Normalised regret, median / worst, then of the second half."""
    lines = []
    for best in (row for row in rows if "constant" in row):
        name, span = best["file"], best["constant"] - best["best"]
        cells = [name]
        for way in WAYS:
            whole, half = (
                (np.array(pick(rows, f"{way}, {part}", file=name, anew=False)) - least) / span
                for part, least in (("all", best["best"]), ("half", best["half"]))
            )
            cells.append(f"{np.median(whole):.3f} / {whole.max():.3f}")
            cells.append(f"{2 * np.median(half):.3f} / {2 * half.max():.3f}")
        lines.append(cells)
    heads = [head for way in WAYS for head in (way, f"{way}, second half")]
    return markdown(["file", *heads], lines)
