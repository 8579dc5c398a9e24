"""Beside AutoLearner by price: the same learner blind to prices, and a panel chosen once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import lars_path  # type: ignore[import-untyped]

import keyhole as kh
from keyhole.problem import Floats, Indices
from keyhole.streams import ArrayStream

COMPLETE = 500  # rows that are bought in full before a panel is chosen


class Played(NamedTuple):
    """Squared losses of all rounds, and what each round cost."""

    losses: Floats
    costs: Floats


def by_price(problem: kh.Problem, X: Floats, y: Floats, seed: int, worth: float | None) -> Played:
    """AutoLearner, with prices."""
    return _play(kh.AutoLearner(problem, seed=seed, worth=worth), problem, X, y)


def blind(problem: kh.Problem, X: Floats, y: Floats, seed: int) -> Played:
    """AutoLearner on a count of features that costs about the budget; it may cost more."""
    mean = problem.cost(range(problem.d)) / problem.d
    many = int(np.clip(round(problem.budget / mean), problem.k, problem.d))
    return _play(kh.AutoLearner(kh.Problem(problem.d, problem.k, many), seed=seed), problem, X, y)


def _play(learner: kh.AutoLearner, problem: kh.Problem, X: Floats, y: Floats) -> Played:
    bought = np.empty((len(y), learner.problem.width), dtype=np.int32)
    losses = (y - learner.advance(X, y, bought)) ** 2
    assert problem.prices is not None
    units = problem.prices.count_rows(bought)
    return Played(losses, units / 10.0**problem.prices.decimals)


def panel_for_ever(problem: kh.Problem, X: Floats, y: Floats) -> Played:
    """Complete rows first; then the largest affordable set on the lasso's path, and no other.

    While rows are complete, and after it, predictions are those of a VAW on what is read: all
    features, then those of the panel.
    """
    rows, whole = COMPLETE, problem.whole()
    full = kh.FixedSubset(kh.Problem(problem.d, problem.d, problem.d), support=np.arange(problem.d))
    first = full.advance(X[:rows], y[:rows])
    S = affordable_lasso(problem, X[:rows], y[:rows])
    count = max(len(S), 1)
    panel = kh.FixedSubset(
        kh.Problem(problem.d, count, count), support=S if len(S) else np.zeros(1, dtype=np.int64)
    )
    panel.study(ArrayStream(X[:rows], y[:rows]))
    later = panel.advance(X[rows:], y[rows:])
    costs = np.full(len(y), problem.cost(S))
    costs[:rows] = whole.budget
    return Played((y - np.concatenate([first, later])) ** 2, costs)


def affordable_lasso(problem: kh.Problem, X: Floats, y: Floats) -> Indices:
    """The last set on the lasso's path that the budget buys; free features are always in."""
    scale = np.where(X.std(axis=0) > 0.0, X.std(axis=0), np.inf)
    _, _, path = lars_path((X - X.mean(axis=0)) / scale, y - y.mean(), method="lasso")
    free = {j for j in range(problem.d) if problem.cost([j]) == 0.0}
    best = sorted(free)
    for weights in path.T:
        S = sorted(free | set(np.flatnonzero(weights).tolist()))
        if problem.affords(S):
            best = S
    return np.array(best, dtype=np.int64)
