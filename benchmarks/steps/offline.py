"""A reference that nobody has online: trees fitted to complete rows, stopping by the same rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import (  # type: ignore[import-untyped]
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.common import Row
from benchmarks.steps.parts import LONGEST, OLD, WORTHS, Rows, rows_of
from keyhole.learners.blocks.auto.steps import ends_of_steps, gain_of_going_on, learn, new_steps
from keyhole.problem import Floats, Indices, Problem

TREES = "trees, offline"
ITEMS = 12  # at most, in the order of forward selection


def run_trees(source: Path | str, seed: int) -> Row:
    """Loss and money by the worth of an error, beside each nested set bought at once.

    Half of the rows fit the trees, a quarter says what going on brings, the last is played.
    """
    rows = rows_of(source, seed, OLD + LONGEST)
    half, rest = len(rows.y) // 2, 3 * len(rows.y) // 4
    problem, variance = rows.problem(max(rows.how.budgets)), float(rows.y.var())
    sets = nested_sets(problem, rows.X[:half], rows.y[:half])
    with threadpool_limits(1):  # as many games as there are cores run beside it
        guesses = np.column_stack([_fitted(rows, S, half) for S in sets])
    prices = np.array([problem.cost(S) for S in sets])
    known, steps = new_steps(), np.arange(len(sets), dtype=np.int64)
    for i in range(half, rest):
        learn(known, steps, guesses[i], float(rows.y[i]))
    errors = (guesses[rest:] - rows.y[rest:, None]) ** 2 / variance
    row: Row = {"source": rows.name, "way": TREES, "seed": seed}
    row["sets"] = [[float(p), float(e)] for p, e in zip(prices, errors.mean(axis=0), strict=True)]
    row["stopped early"] = []
    for worth in WORTHS:
        rate = variance / (worth * max(rows.how.budgets))
        at = [_stop(known, g, rate * prices) for g in guesses[rest:]]
        row["stopped early"].append(
            [worth, float(prices[at].mean()), float(errors[np.arange(len(at)), at].mean())]
        )
    return row


def _stop(known: Any, guesses: Floats, price: Floats) -> int:
    """The step after which going on is not worth its price."""
    for s in range(len(guesses) - 1):
        later = np.arange(s + 1, len(guesses), dtype=np.int64)
        if gain_of_going_on(known, s, float(guesses[s]), later, price[later] - price[s]) <= 0.0:
            return s
    return len(guesses) - 1


def _fitted(rows: Rows, S: Indices, half: int) -> Floats:
    """Predictions for all rows by trees that read these columns and know the first half."""
    if rows.how.yes_no:
        model = HistGradientBoostingClassifier(random_state=0).fit(rows.X[:half, S], rows.y[:half])
        found: Floats = model.predict_proba(rows.X[:, S])[:, 1]
        return found
    model = HistGradientBoostingRegressor(random_state=0).fit(rows.X[:half, S], rows.y[:half])
    predicted: Floats = model.predict(rows.X[:, S])
    return predicted


def nested_sets(problem: Problem, X: Floats, y: Floats) -> list[Indices]:
    """Columns by linear forward selection, most gained for the money first, within the budget."""
    Z = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.maximum(np.nanstd(X, axis=0), 1e-12))
    left, columns = y - y.mean(), Z.copy()
    chosen, sets = list[int](), list[Indices]()
    while len(sets) < ITEMS:
        size = (columns**2).sum(axis=0)
        gain = np.where(size > 1e-3 * len(y), (columns.T @ left) ** 2 / np.maximum(size, 1e-9), 0.0)
        paid = problem.cost(chosen)
        more = np.array([problem.cost([*chosen, j]) - paid for j in range(problem.d)])
        can = [problem.affords([*chosen, j]) for j in range(problem.d)]
        score = np.where(can, gain / np.maximum(more, 1e-6), 0.0)
        score[chosen] = 0.0
        best = int(np.argmax(score))
        if score[best] <= 0.0:
            break
        chosen.append(best)
        unit = columns[:, best] / np.linalg.norm(columns[:, best])
        left = left - unit * (unit @ left)
        columns = columns - np.outer(unit, unit @ columns)
        if more[best] > 0.0 or not sets:
            sets.append(np.sort(chosen))
        else:  # free: it comes with what was bought before
            sets[-1] = np.sort(chosen)
    return [sets[end - 1] for end in ends_of_steps(len(sets))]
