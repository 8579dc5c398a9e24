"""What `benchmarks.prices` measures."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from benchmarks.common.priced_files import PRICED_FILES
from benchmarks.prices import rivals
from benchmarks.prices.rivals import Played
from keyhole.problem import Floats
from keyhole.streams import ArrayStream, collect, priced_suite

SEARCH = 20.0  # seconds for the best model in hindsight
WINDOW, LEVEL = 256, 0.1  # rounds, and normalised regret in them: when a learner has arrived
WORTH = 10.0  # times what the useful features cost


def _rows(source: str | Path, limit: str, seed: int, n: int) -> tuple[kh.Problem, Floats, Floats]:
    if isinstance(source, Path):
        stream = kh.streams.read(str(source), target="target")
        X, y = collect(stream)
        assert stream.names is not None
        return PRICED_FILES[source.stem].problem(stream.names), X[:n].astype(np.float64), y[:n]
    case = priced_suite(source, n, seed=seed)
    X, y = collect(case.stream)
    return case.problem(limit), X.astype(np.float64), y


def _empty_loss(problem: kh.Problem, X: Floats, y: Floats) -> float:
    """The loss of the best model of the free features alone."""
    stream = ArrayStream(X, y)
    return kh.hindsight(stream, cost=0, prices=problem, intercept=True, seconds=1.0).loss.high


def _arrived(played: Played, best: float, empty: float, n: int) -> float:
    """The money spent when a window of rounds first has a normalised regret below LEVEL."""
    late = np.convolve(played.losses, np.full(WINDOW, 1.0 / WINDOW), mode="valid")
    near = np.flatnonzero(late <= (best + LEVEL * (empty - best)) / n)
    return float(played.costs[: near[0] + WINDOW].sum()) if len(near) else np.inf


class Case(NamedTuple):
    """What is played, and what there is to compare with: losses for the budget, and for nothing."""

    problem: kh.Problem
    X: Floats
    y: Floats
    low: float
    high: float
    empty: float


@functools.lru_cache(1)
def _case(source: str | Path, limit: str, seed: int, n: int) -> Case:
    problem, X, y = _rows(source, limit, seed, n)
    money: dict[str, Any] = {"cost": problem.budget, "prices": problem}
    best = kh.hindsight(ArrayStream(X, y), **money, intercept=True, seconds=SEARCH)
    return Case(problem, X, y, best.loss.low, best.loss.high, _empty_loss(problem, X, y))


def run_limit(source: str | Path, limit: str, seed: int, n: int) -> Row:
    """Normalised regret against the best model for the same money, and what was spent."""
    same = isinstance(source, Path)  # rows of a file are the same for all seeds
    problem, X, y, low, high, empty = _case(source, limit, 0 if same else seed, n)
    ways = {
        "by price": rivals.by_price(problem, X, y, seed, None),
        "blind": rivals.blind(problem, X, y, seed),
        "panel for ever": rivals.panel_for_ever(problem, X, y),
    }
    name = source.stem if isinstance(source, Path) else source
    row: Row = {"source": name, "limit": limit, "seed": seed, "budget": problem.budget}
    row["could be"] = (low - high) / (empty - high)  # normalised regret of what was not found
    for way, played in ways.items():
        row[way] = (float(played.losses.sum()) - high) / (empty - high)
        row[f"{way}, spent"] = float(played.costs.mean())
        row[f"{way}, dearest"] = float(played.costs.max())
        row[f"{way}, arrived"] = _arrived(played, high, empty, len(y))
    return row


def run_rate(source: str | Path, seed: int, n: int) -> Row:
    """Normalised regret in J = worth * loss + money; 1 is buying nothing."""
    problem, X, y = _rows(source, "tight", seed, n)
    worth, whole, stream = WORTH * problem.budget, problem.whole(), ArrayStream(X, y)
    best = kh.hindsight(stream, prices=problem, worth=worth, intercept=True, seconds=SEARCH)
    assert best.total is not None
    least, nothing = best.total.high, worth * _empty_loss(problem, X, y)
    played = rivals.by_price(whole, X, y, seed, worth)
    name = source.stem if isinstance(source, Path) else source
    row: Row = {"source": name, "seed": seed, "worth": worth}
    for end in (n // 16, n // 4, n):
        J = worth * float(played.losses[:end].sum()) + float(played.costs[:end].sum())
        share = end / n
        row[f"after {end}"] = (J - share * least) / (share * (nothing - least))
    row["spent"], row["best spends"] = float(played.costs.mean()), float(best.cost or 0.0)
    return row


def run_purse(source: str, seed: int, n: int) -> Row:
    """A purse of n limits, complete rows first, against the limit in every round."""
    problem, X, y, _, high, empty = _case(source, "loose", seed, n)
    purse = kh.AutoLearner(
        problem.whole(), seed=seed, purse=round(problem.budget * n, 2), horizon=n
    )
    ledger = kh.play(purse, ArrayStream(X, y))
    limit = rivals.by_price(problem, X, y, seed, None)
    return {
        "source": source,
        "rounds": n,
        "seed": seed,
        "purse": (ledger.loss - high) / (empty - high),
        "limit": (float(limit.losses.sum()) - high) / (empty - high),
        "left": float(purse.purse_left or 0.0) / (problem.budget * n),
    }


def run_cost(d: int, reads: int, n: int) -> Row:
    """Processor time of a priced round over that of an unpriced one with as many reads."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, d))
    y = 0.2 * X[:, :4].sum(axis=1) + 0.1 * rng.uniform(-1.0, 1.0, n)
    priced = kh.Problem(d, 4, reads, prices=np.ones(d))
    plain, times = kh.Problem(d, 4, reads), {"priced": list[float](), "plain": list[float]()}
    for turn in range(7):
        for name, problem in (("priced", priced), ("plain", plain)):
            learner = kh.AutoLearner(problem)
            began = time.process_time()
            learner.advance(X, y)
            if turn:
                times[name].append(time.process_time() - began)
    least = {name: min(found) for name, found in times.items()}
    return {"d": d, "reads": reads, "ratio": least["priced"] / least["plain"]}
