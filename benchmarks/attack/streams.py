"""Streams at the edges of what a number is: tiny, huge, constant, absent, all alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.attack.outcome import finite
from keyhole.learners.registry import LEARNERS, make_learner
from keyhole.saving.api import from_bytes, to_bytes

Case = list[Any]

PROBLEMS = (kh.Problem(1, 1, 1), kh.Problem(6, 2, 4), kh.Problem(8, 3, 8))
VALUES = (0.0, 1.0, 1e-310, 1e-160, 1e-156, 1e-80, 1e8, 1e60, 1e100, 1e150)
LABELS = (0.0, 1.0, 1e-310, 1e-160, 1e60, 1e150)
FORMS = ("all", "one row", "one column", "one cell", "constant", "absent", "growing")
ROUNDS = 40


def cases() -> Iterator[Case]:
    """Learner, problem, size of values, size of labels, form, blocks or not."""
    for name in LEARNERS:
        for problem in range(len(PROBLEMS)):
            for value in VALUES:
                for label in LABELS:
                    for form in FORMS:
                        for blocks in (False, True):
                            yield [name, problem, value, label, form, blocks]


def suffer(case: Case) -> str:
    """Play it; predictions, losses and weights are finite, and what is left can be saved."""
    name, number, value, label, form, blocks = case
    problem = PROBLEMS[number]
    try:
        learner: Any = make_learner(name, problem, seed=0)
    except kh.ProblemError:
        return "refused"
    X, y = _rows(learner.problem.d, value, label, form)
    try:
        if blocks:
            finite(learner.advance(X, y))
        else:
            for x, truth in zip(X, y.tolist(), strict=True):
                ticket = learner.ask()
                seen = ticket.fill(x[ticket.features])
                finite(learner.predict(seen))
                learner.tell(seen, truth)
    except kh.DataError:
        return "refused"
    finite(learner.weights)
    finite(learner.intercept)
    from_bytes(to_bytes(learner))
    return "played"


def _rows(d: int, value: float, label: float, form: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(11)
    X = rng.uniform(-1.0, 1.0, size=(ROUNDS, d))
    y = X[:, 0] + 0.1 * rng.uniform(-1.0, 1.0, size=ROUNDS)
    match form:
        case "all":
            X, y = value * X, label * y
        case "one row":
            X[20], y[20] = value * X[20], label * y[20]
        case "one column":
            X[:, 0], y = value * X[:, 0], label * y
        case "one cell":
            X[20, 0], y[20] = value, label
        case "constant":
            X, y = np.full_like(X, value), np.full_like(y, label)
        case "absent":
            X, y = value * X, label * y
            X[rng.random(X.shape) < 0.5] = np.nan
        case _:
            steps = np.arange(ROUNDS) / ROUNDS
            X, y = X * max(value, 1e-310) ** steps[:, None], y * max(label, 1e-310) ** steps
    return X, np.clip(y, -1e150, 1e150)
