"""Games in which the same is bought whatever was learnt, told right or wrong and then corrected."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import keyhole as kh
from keyhole.learners.blocks.sums.column_stats import mean
from keyhole.problem import Floats
from keyhole.saving.api import from_bytes, to_bytes
from tests.helpers.auto_sums import learnt

D, ROUNDS = 6, 180
Wrong = dict[int, tuple[dict[int, float], float | None]]  # by row: wrong values, wrong label


@dataclass(frozen=True)
class Case:
    """A game in which the same is bought whatever was learnt: everything, or what terms leave."""

    delay: int = 0
    shuffled: bool = False
    absent: float = 0.0
    history: int = 0
    saved: bool = False
    own: bool = False
    problem: dict[str, Any] = field(default_factory=dict)
    how: dict[str, Any] = field(default_factory=dict)


PANEL = {
    "prices": dict.fromkeys((f"x{j}" for j in range(D)), 0.0),
    "panels": {"sample": (2.0, [f"x{j}" for j in range(D)])},
    "names": [f"x{j}" for j in range(D)],
}
CASES = {
    "steady": Case(),
    "late": Case(delay=40),
    "shuffled": Case(delay=70, shuffled=True),
    "absent": Case(absent=0.3),
    "history": Case(history=40, absent=0.1),
    "proper": Case(how={"proper": True}, absent=0.1),
    "no past": Case(how={"past": False}),
    "saved": Case(saved=True, delay=9),
    "a panel": Case(problem=PANEL, absent=0.1),
    "own terms": Case(own=True, delay=5, absent=0.1),
    "short memories": Case(how={"parts": kh.AutoParts(taus=(30.0, 5.0))}),
    "batches closed before": Case(
        delay=100, shuffled=True, how={"parts": kh.AutoParts(shortest=1, longest=1)}
    ),
    "longer batches": Case(how={"parts": kh.AutoParts(shortest=16)}, delay=30, shuffled=True),
}
# What is wild is learnt as absent, labels as the end of what was seen, whatever they are.
WRONG: dict[str, Wrong] = {
    "a value": {60: ({0: 8.0}, None)},
    "a wild value": {60: ({0: 77.0}, None)},
    "the first value": {0: ({1: 60.0}, None)},
    "a label": {60: ({}, 15.0)},
    "a wild label": {60: ({}, 75.0)},
    "the first label": {0: ({}, 16.0)},
    "both": {60: ({0: 5.0, 3: 8.0, 5: -11.0}, 9.0)},
    "a value that never arrived": {60: ({2: np.nan, 0: np.nan}, None)},
    "the last row": {ROUNDS - 1: ({0: 8.0}, 20.0)},
    "three rows": {60: ({2: 5.5}, 15.0), 61: ({2: 5.5}, 14.0), 20: ({2: 4.5}, 1.0)},
    "three wild rows": {60: ({2: 9.0}, 70.0), 61: ({2: 9.0}, 71.0), 20: ({2: -3.0}, -70.0)},
}


def data(case: Case) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(3)
    n = ROUNDS + case.history
    X = rng.standard_normal((n, D)) * [1.0, 10.0, 0.1, 1.0, 1.0, 1.0] + [0, 100, 5, 0, 1, -3]
    y = X[:, 0] + 0.1 * rng.standard_normal(n) + 7.0
    gone = rng.random(X.shape) < case.absent
    gone[case.history + np.array([0, 20, 60, 61, ROUNDS - 1])] = False  # those told wrong
    X[gone] = np.nan
    return X, y


def play(case: Case, wrong: Wrong) -> tuple[kh.AutoLearner, dict[int, kh.Ticket]]:
    """The game; what is told wrong changes neither the tickets nor the order of the labels."""
    budget = 2.0 if case.problem else D
    learner = kh.AutoLearner(kh.Problem(D, 2, budget, **case.problem), seed=1, **case.how)
    (X, y), rng = data(case), np.random.default_rng(8)
    if case.history:
        rows = kh.streams.ArrayStream(X[: case.history], y[: case.history])
        learner.study(rows)
    X, y, waiting = X[case.history :].copy(), y[case.history :].copy(), list[Any]()
    tickets = dict[int, kh.Ticket]()
    for t in range(ROUNDS + case.delay):
        if t < ROUNDS:
            values, label = wrong.get(t, ({}, None))
            for j, value in values.items():
                X[t, j] = value
            terms = {"without": [t % D, (t + 2) % D]} if case.own and t % 3 == 1 else {}
            ticket = tickets[t] = learner.ask(**terms)  # type: ignore[arg-type]
            seen = ticket.fill(X[t, ticket.features])
            waiting.append((seen, float(y[t] if label is None else label)))
        if t >= case.delay:
            seen, label = waiting.pop(rng.integers(len(waiting)) if case.shuffled else 0)
            learner.predict(seen)
            learner.tell(seen, label)
        if case.saved and t % 50 == 25:
            learner = from_bytes(to_bytes(learner), kh.AutoLearner)
    return learner, tickets


def correct(
    learner: kh.AutoLearner, case: Case, wrong: Wrong, ticket: dict[int, kh.Ticket]
) -> None:
    X, y = (part[case.history :] for part in data(case))
    for t, (values, label) in wrong.items():
        right = {j: float(X[t, j]) for j in values if j in ticket[t].features}
        y_right = None if label is None else float(y[t])
        if right or label is not None:
            learner.correct(ticket[t], y=y_right, values=right or None)


def sizes(case: Case, wrong: Wrong) -> Floats:
    """The largest value of every column, wrong ones included; 1 for the constant, label last."""
    X, y = data(case)
    X = np.vstack(
        [X, *(np.array([row.get(j, 0.0) for j in range(D)]) for row, _ in wrong.values())]
    )
    largest = np.nanmax(np.abs(X), axis=0)
    labels = [abs(label) for _, label in wrong.values() if label is not None]
    return np.array([*largest, 1.0, max(float(np.abs(y).max()), *labels, 0.0)])


def furthest(one: kh.AutoLearner, other: kh.AutoLearner, off: Floats) -> float:
    """How far the sums of two learners are from each other, in units of what rounding may do."""
    worst = [0.0]
    for a, b in zip(learnt(one), learnt(other), strict=True):
        worst.append(float((np.abs(a.G - b.G) / off[:-1, :-1]).max()))
        worst.append(float((np.abs(a.c - b.c) / off[:-1, -1]).max()))
        worst.append(float((np.abs(a.n - b.n) / off[-2, -2]).max()))
        worst.append(abs(a.yy - b.yy) / off[-1, -1])
    for ours, its, square in (
        (one._state.values, other._state.values, np.diag(off)[:-2]),
        (one._state.label, other._state.label, np.diag(off)[-1:]),
    ):
        worst.append(0.0 if ours.reads.tolist() == its.reads.tolist() else np.inf)
        worst.append(float((np.abs(mean(ours) - mean(its)) / np.sqrt(square * off[-2, -2])).max()))
        spread, same = (p.square - p.total**2 / np.maximum(p.reads, 1.0) for p in (ours, its))
        worst.append(float((np.abs(spread - same) / square).max()))
    return max(worst)
