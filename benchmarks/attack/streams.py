"""Streams at the edges of what a number is: tiny, huge, constant, absent, all alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.attack.outcome import finite
from benchmarks.attack.victims import NAMES, make
from keyhole.saving.api import from_bytes, to_bytes

Case = list[Any]

PROBLEMS = (kh.Problem(1, 1, 1), kh.Problem(6, 2, 4), kh.Problem(8, 3, 8))
VALUES = (0.0, 1.0, 1e-310, 1e-160, 1e-156, 1e-80, 1e8, 1e60, 1e100, 1e150)
LABELS = (0.0, 1.0, 1e-310, 1e-160, 1e60, 1e150)
FORMS = ("all", "one row", "one column", "one cell", "constant", "absent", "growing")
TOLD = ("at once", "late", "in blocks")
ROUNDS = 40


def cases() -> Iterator[Case]:
    """Learner, problem, size of values, size of labels, form, when labels are told."""
    for name in NAMES:
        for problem in range(len(PROBLEMS)):
            for value in VALUES:
                for label in LABELS:
                    for form in FORMS:
                        for told in TOLD:
                            yield [name, problem, value, label, form, told]


def suffer(case: Case) -> str:
    """Play it; predictions, losses and weights are finite, and what is left can be saved."""
    name, number, value, label, form, told = case
    problem = PROBLEMS[number]
    try:
        learner: Any = make(name, problem, seed=0)
    except kh.ProblemError:
        return "refused"
    X, y = _rows(learner.problem.d, value, label, form)
    try:
        if told == "in blocks":
            finite(learner.advance(X, y))
        else:
            _play(learner, X, y, late=told == "late")
    except kh.DataError:
        return "refused"
    finite(learner.weights)
    finite(learner.intercept)
    from_bytes(to_bytes(learner))
    return "played"


def _play(learner: Any, X: Any, y: Any, *, late: bool) -> None:
    """Round by round; late labels come when nine are missing, the last of them first."""
    waiting: list[tuple[kh.Observation, float]] = []
    for t, (x, truth) in enumerate(zip(X, y.tolist(), strict=True), 1):
        ticket = learner.ask()
        waiting.append((ticket.fill(x[ticket.features]), truth))
        if late and t % 9 and t < len(y):
            continue
        while waiting:
            seen, label = waiting.pop()
            finite(learner.predict(seen))
            learner.tell(seen, label)


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
