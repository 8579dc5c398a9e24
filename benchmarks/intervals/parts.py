"""What `benchmarks.intervals` measures: coverage, the worst stretch, widths and scores."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import numpy as np

import keyhole as kh
from benchmarks.auto.rivals import rows_of_file
from benchmarks.common import Row
from benchmarks.intervals.rivals import WAYS, factors, ours
from keyhole.problem import Floats
from keyhole.problem.rows import bought_of_rows
from keyhole.streams import AGNOSTIC_SUITE, clinic, collect

COVERAGES = (0.5, 0.8, 0.9, 0.95, 0.99)
FROM = 500  # rounds before are not looked at
STRETCH = 200
LATE = 50
OURS = "keyhole"
ALL_WAYS = (OURS, *WAYS)  # the others see errors alone


def _rows(source: Path | str, shuffled: bool, seed: int, n: int) -> tuple[Floats, Floats]:
    if isinstance(source, Path):
        X, y = rows_of_file(source, shuffled)
    elif source == "clinic":
        X, y = collect(clinic(n, seed=seed).stream)
    else:
        X, y = collect(AGNOSTIC_SUITE[source].simulate(n, seed).stream)
    return np.asarray(X[:n], dtype=np.float64), y[:n]


def figures(errors: Floats, edges: Floats, coverage: float) -> dict[str, float]:
    """Error of coverage, the worst stretch, and width and Winkler score against the best constant.

    >>> found = figures(np.tile([-1.0, 1.0], 500), np.tile([-1.0, 1.0], (1000, 1)), 0.9)
    >>> found["error"], found["worst"], found["score"]
    (0.09..., 1.0, 1.0)
    """
    errors, (low, high), alpha = errors[FROM:], edges[FROM:].T, 1.0 - coverage
    inside = (low <= errors) & (errors <= high)
    sums = np.concatenate([[0], np.cumsum(inside)])
    worst = (sums[STRETCH:] - sums[:-STRETCH]).min() / STRETCH
    best = np.quantile(errors, [alpha / 2, 1.0 - alpha / 2])

    def score(low: Floats | float, high: Floats | float) -> float:
        below, above = np.maximum(low - errors, 0.0), np.maximum(errors - high, 0.0)
        return float(np.mean(high - low + 2.0 / alpha * (below + above)))

    width = float(best[1] - best[0])
    return {
        "error": float(inside.mean() - coverage),
        "worst": float(worst),
        "width": float(np.mean(high - low)) / width,
        "score": score(low, high) / score(float(best[0]), float(best[1])),
    }


def run_errors(source: Path | str, k: int, budget: int, shuffled: bool, seed: int, n: int) -> Row:
    """Every way on the errors of AutoLearner, which learns on time.

    At 90 % also with labels that reach the ways 50 rounds late; the predictions are the same.
    """
    X, y = _rows(source, shuffled, seed, n)
    learner = kh.AutoLearner(kh.Problem(X.shape[1], k, budget), seed=seed)
    where = np.empty((len(y), learner.problem.width), dtype=np.int32)
    y_hat = learner.advance(X, y, where)
    errors, bought = y - y_hat, bought_of_rows(X, where)
    sizes = {delay: factors(X.shape[1], bought, y_hat, errors, delay) for delay in (0, LATE)}
    name = source.stem if isinstance(source, Path) else source
    row: Row = {"source": name, "seed": seed, "rounds": len(y)}
    for way in ALL_WAYS:
        for coverage, delay in (*((c, 0) for c in COVERAGES), (0.9, LATE)):
            edges = np.empty((len(y), 2))
            if way == OURS:
                ours(errors, sizes[delay], 1.0 - coverage, delay, edges)
            else:
                WAYS[way](errors, 1.0 - coverage, delay, edges)
            late = ", late" if delay else ""
            for what, value in figures(errors, edges, coverage).items():
                row[f"{way}, {coverage:g}{late}, {what}"] = value
    return row


def run_game(
    source: Path | str, k: int, budget: int, shuffled: bool, seed: int, n: int, delay: int
) -> Row:
    """AutoLearner and `learner.interval`; labels `delay` rounds late, and a tenth of them lost."""
    X, y = _rows(source, shuffled, seed, n)
    learner = kh.AutoLearner(kh.Problem(X.shape[1], k, budget), seed=seed)
    lost = np.random.default_rng(seed).random(len(y)) < 0.1
    edges, errors = np.empty((len(y), 2)), np.empty(len(y))
    waiting = deque[tuple[int, kh.Observation]]()
    for t, x in enumerate(X):
        ticket = learner.ask()
        seen = ticket.fill(x[ticket.features])
        said = learner.interval(seen)
        errors[t] = y[t] - said.prediction
        edges[t] = said.low - said.prediction, said.high - said.prediction
        waiting.append((t, seen))
        if len(waiting) > delay:
            at, seen = waiting.popleft()
            if lost[at]:
                learner.drop(seen.ticket)
            else:
                learner.tell(seen, float(y[at]))
    name = source.stem if isinstance(source, Path) else source
    row: Row = {"source": name, "seed": seed, "delay": delay, "rounds": len(y)}
    found = figures(errors, edges, 0.9)
    # A row with an `error` is one that failed.
    return row | {"off" if key == "error" else key: value for key, value in found.items()}


def run_parts_of_depn(seed: int, n: int, everything: bool) -> Row:
    """Coverage at 90 % by tercile of the true size of the noise of `depn`, 0.3 + |x_0|."""
    X, y = _rows("depn", False, seed, n)
    problem = AGNOSTIC_SUITE["depn"].problem
    learner: kh.BlockLearner = kh.AutoLearner(problem, seed=seed)
    if everything:
        learner = kh.FullInformation(problem.whole(), seed=seed)
    ledger = kh.play(learner, kh.streams.ArrayStream(X, y), coverage=0.9)
    low, high = ledger.intervals.T
    inside = ((low <= y) & (y <= high))[FROM:]
    size = np.abs(X[FROM:, 0])
    ends = np.quantile(size, [1 / 3, 2 / 3])
    place = np.searchsorted(ends, size)
    shares = {f"tercile {i + 1}": float(inside[place == i].mean()) for i in range(3)}
    return {"learner": "full information" if everything else "auto", "seed": seed, **shares}
