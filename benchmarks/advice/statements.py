"""What `benchmarks.advice` measures: statements of curves beside the truth, and budgets played."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from benchmarks.common import Row
from benchmarks.common.files import FILES
from keyhole.problem import Floats, Indices
from keyhole.streams import AGNOSTIC_SUITE, REALIZABLE_SUITE, ArrayStream, collect

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24)  # of the models that statements are about
LONG = 20_000  # rows of a simulated stream: the history, and the rest that is the truth


def statements(X: NDArray[np.floating], y: Floats, history: Indices, rest: Indices) -> list[Row]:
    """What a curve of the history says, beside what its models explain of the rest."""
    curve = kh.budget_curve(ArrayStream(X[history], y[history]))
    mean = float(y[history].mean())
    empty = float(((y[rest] - mean) ** 2).sum())
    found = []
    for k in (k for k in SIZES if k < len(curve.k)):
        predicted = fitted(X, y, history, rest, np.array(curve.features[k], dtype=np.int64))
        found.append(
            {
                "k": k,
                "explained": float(curve.explained[k]),
                "error": float(curve.error[k]),
                "in sample": float(curve.in_sample[k]),
                "truth": 1.0 - float(((y[rest] - predicted) ** 2).sum()) / empty,
            }
        )
    return found


def fitted(
    X: NDArray[np.floating], y: Floats, history: Indices, rest: Indices, chosen: Indices
) -> Floats:
    """Predictions of the rest by least squares on the history, within the labels seen there."""
    old, labels = X[np.ix_(history, chosen)].astype(np.float64), y[history]
    centre, size = old.mean(axis=0), old.std(axis=0)
    size[size == 0.0] = 1.0
    w = np.linalg.lstsq((old - centre) / size, labels - labels.mean(), rcond=None)[0]
    new = (X[np.ix_(rest, chosen)] - centre) / size
    predicted: Floats = np.clip(labels.mean() + new @ w, labels.min(), labels.max())
    return predicted


def mixed(rows: int, n: int, seed: int) -> tuple[Indices, Indices]:
    """A history of n rows from all over a stream, in their order, and the rest."""
    drawn = np.zeros(rows, dtype=bool)
    drawn[np.random.default_rng(seed).choice(rows, n, replace=False)] = True
    return np.flatnonzero(drawn), np.flatnonzero(~drawn)


def run_stream(name: str, n: int, seed: int) -> Row:
    """Statements about a simulated stream."""
    suite: dict[str, Any] = {**AGNOSTIC_SUITE, **REALIZABLE_SUITE}
    X, y = collect(suite[name].simulate(LONG, seed).stream)
    told = statements(X, y, *mixed(len(y), n, seed))
    return {"stream": name, "rows": n, "seed": seed, "statements": told}


def rows_of(path: Path) -> tuple[Any, Floats]:
    """The rows of a file, in a fixed random order where theirs means nothing."""
    X, y = collect(kh.streams.read(path, target="target"))
    if FILES[path.stem][2]:
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    return X, y


def run_file(path: Path, n: int, seed: int) -> Row:
    """Statements about a file: rows from all over it, and the rest."""
    X, y = rows_of(path)
    told = statements(X, y, *mixed(len(y), n, seed))
    return {"stream": path.stem, "rows": n, "seed": seed, "statements": told}


def run_after(path: Path, n: int) -> Row:
    """The same with the first rows as history, and what comes after them: the world may change."""
    X, y = rows_of(path)
    told = statements(X, y, np.arange(n), np.arange(n, len(y)))
    return {"stream": path.stem, "rows": n, "seed": 0, "statements": told}


def run_budget(path: Path | None, seed: int) -> Row:
    """AutoLearner at the recommended budget, at less and at more; without a file the clinic."""
    X, y = rows_of(path) if path else collect(kh.streams.clinic().stream)
    X, y = X[:12_000], y[:12_000]
    n, d = X.shape
    first = min(max(n // 10, 200), 2000)
    curve = kh.budget_curve(ArrayStream(X[:first], y[:first]), most=min(16, d))
    k, row = curve.sparsity, {"stream": path.stem if path else "clinic", "seed": seed}
    later = slice(n // 4, None)
    for name, budget in (
        ("k + 1", k + 1),
        ("recommended", curve.budget),
        ("2 k + 2", 2 * k + 2),
        ("3 k", 3 * k),
    ):
        b = min(d, max(budget, 1))
        learner = kh.AutoLearner(kh.Problem(d, max(min(k, b), 1), b), seed=seed, past=False)
        errors = (y - kh.play(learner, ArrayStream(X, y)).predictions) ** 2
        row[name] = [b, 1.0 - float(errors[later].mean() / y[later].var())]
    whole = kh.budget_curve(ArrayStream(X, y), most=min(16, d))
    return {**row, "k": k, "explained": float(whole.explained[k])}
