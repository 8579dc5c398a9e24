"""What `benchmarks.history` measures: AutoLearner with history, without, and what others do."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import keyhole as kh
from benchmarks.auto.rivals import rows_of_file
from benchmarks.common import Row
from benchmarks.history import rivals
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE, ArrayStream, clinic, collect

TENTH = 10  # one of so many rows is history
SEARCH = 20.0  # seconds for the best model in hindsight
REVERSED = (0, 250, 500, 1000, 2000)  # rounds between which losses are told
OTHER, LUCK = 1_000, ", another seed"  # the seed that shows what luck does, and how it is named


def _squared(
    problem: kh.Problem, seed: int, old: tuple[Floats, Floats] | None, X: Floats, y: Floats
) -> Floats:
    """Squared losses of AutoLearner on X, y after it has studied the old rows."""
    learner = kh.AutoLearner(problem, seed=seed)
    if old is not None:
        learner.study(ArrayStream(*old))
    return np.asarray((y - learner.advance(X, y)) ** 2)


def run_split(path: Path, k: int, budget: int, rows: int, split: int, seed: int) -> Row:
    """R2 after `rows` rows of history: split 0 is the order of the file, others are drawn."""
    X, y = (np.asarray(a, dtype=np.float64) for a in rows_of_file(path, False))
    order = np.arange(len(y)) if split == 0 else np.random.default_rng(split).permutation(len(y))
    old, new = (X[order[:rows]], y[order[:rows]]), (X[order[rows:]], y[order[rows:]])
    problem, total = kh.Problem(X.shape[1], k, budget), float(((new[1] - new[1].mean()) ** 2).sum())
    found = {
        "studied": _squared(problem, seed, old, *new),
        "without": _squared(problem, seed, None, *new),
        "OMP, fixed": (new[1] - rivals.omp_fixed(*old, new[0], budget)) ** 2,
        "OMP, then VAW": (new[1] - rivals.omp_vaw(*old, *new, budget)) ** 2,
        "boosted trees, everything": (new[1] - rivals.boosted(*old, new[0])) ** 2,
    }
    row: Row = {"file": path.stem, "split": split, "seed": seed}
    return row | {way: 1.0 - float(squared.sum()) / total for way, squared in found.items()}


def _rows(source: Path | str, shuffled: bool, seed: int, n: int) -> tuple[Floats, Floats]:
    if isinstance(source, Path):
        X, y = rows_of_file(source, shuffled)
    elif source == "clinic":
        X, y = collect(clinic(seed=seed).stream)
    else:
        X, y = collect(AGNOSTIC_SUITE[source].simulate(n, seed).stream)
    return np.asarray(X[:n], dtype=np.float64), y[:n]


def _filled(X: Floats, old: Floats) -> Floats:
    """Absent values as the means of the history, for those who cannot do without."""
    return np.where(np.isnan(X), np.nanmean(old, axis=0), X)


class Beside(NamedTuple):
    """What stands beside AutoLearner: losses of the best model, the constant, and the others."""

    best: float
    constant: float
    others: dict[str, float]


@lru_cache(maxsize=16)
def _beside(source: Path | str, k: int, budget: int, shuffled: bool, draw: int, n: int) -> Beside:
    # None of it hangs on the seed of the learner: for a file it is found once.
    X, y = _rows(source, shuffled, draw, n)
    rows = len(y) // TENTH
    old, new = (X[:rows], y[:rows]), (X[rows:], y[rows:])
    best = kh.hindsight(ArrayStream(*new), k, intercept=True, seconds=SEARCH)
    (X_old, y_old), rest = (_filled(old[0], old[0]), old[1]), _filled(new[0], old[0])
    found = {
        "OMP, fixed": (new[1] - rivals.omp_fixed(X_old, y_old, rest, budget)) ** 2,
        "OMP, then VAW": (new[1] - rivals.omp_vaw(X_old, y_old, rest, new[1], budget)) ** 2,
        "lasso, fixed": (new[1] - rivals.lasso(X_old, y_old, rest, budget)) ** 2,
    }
    others = {way: float(squared.sum()) for way, squared in found.items()}
    return Beside(best.loss.high, best.empty_loss, others)


def run_tenth(source: Path | str, k: int, budget: int, shuffled: bool, seed: int, n: int) -> Row:
    """Normalised regret on nine tenths of the rows, the first tenth being history."""
    X, y = _rows(source, shuffled, seed, n)
    rows = len(y) // TENTH
    old, new = (X[:rows], y[:rows]), (X[rows:], y[rows:])
    draw = 0 if isinstance(source, Path) else seed
    best, constant, others = _beside(source, k, budget, shuffled, draw, n)
    problem = kh.Problem(X.shape[1], k, budget)
    studied, without = (float(_squared(problem, seed, had, *new).sum()) for had in (old, None))
    found = {"studied": studied, "without": without, **others}
    name = source.stem if isinstance(source, Path) else source
    row: Row = {"source": name, "seed": seed, "history": rows}
    return row | {way: (lost - best) / (constant - best) for way, lost in found.items()}


def _drawn(path: Path, seed: int) -> tuple[Floats, Floats]:
    """The rows of a file in an order of their own."""
    X, y = _rows(path, True, seed, 10**9)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


@lru_cache(maxsize=16)
def _best_after(path: Path, k: int, most: int, seed: int) -> tuple[float, float]:
    # Losses of the best model in hindsight and of the constant, whatever was studied before.
    X, y = _drawn(path, seed)
    best = kh.hindsight(ArrayStream(X[most:], y[most:]), k, intercept=True, seconds=SEARCH)
    return best.loss.high, best.empty_loss


def run_growth(path: Path, k: int, budget: int, rows: int, most: int, seed: int) -> Row:
    """Normalised regret after round `most` of the file, with the `rows` rows before it studied."""
    X, y = _drawn(path, seed)
    best, constant = _best_after(path, k, most, seed)
    old = (X[most - rows : most], y[most - rows : most]) if rows else None
    lost = _squared(kh.Problem(X.shape[1], k, budget), seed, old, X[most:], y[most:]).sum()
    regret = (float(lost) - best) / (constant - best)
    return {"file": path.stem, "studied": rows, "seed": seed, "regret": regret}


def run_reversed(source: Path | str, k: int, budget: int, shuffled: bool, seed: int, n: int) -> Row:
    """Losses by stretches of rounds when history has the labels reversed, over those without.

    Beside it what another seed loses, without history too: that is luck.
    """
    X, y = _rows(source, shuffled, seed, n)
    rows = min(len(y) // TENTH, 1000)
    old, new = (X[:rows], 2.0 * y[:rows].mean() - y[:rows]), (X[rows:], y[rows:])
    problem = kh.Problem(X.shape[1], k, budget)
    misled, without = _squared(problem, seed, old, *new), _squared(problem, seed, None, *new)
    luck = _squared(problem, seed + OTHER, None, *new)
    row: Row = {"source": source.stem if isinstance(source, Path) else source, "seed": seed}
    for first, last in zip(REVERSED, (*REVERSED[1:], len(new[1])), strict=True):
        stretch, rounds = (
            f"{first} to {last if last in REVERSED else 'the end'}",
            slice(first, last),
        )
        for name, lost in ((stretch, misled), (f"{stretch}{LUCK}", luck)):
            row[name] = float(lost[rounds].sum() / without[rounds].sum())
    return row
