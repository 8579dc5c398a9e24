"""The referee: sells features, never more than the budget, and audits what was bought in blocks.

The paper's protocol is in `play_round`. A learner is handed an Observation of what it bought; a row
of the stream never reaches it, except in block play, where what it bought is audited and
`keyhole.testing.check_learner` proves by poisoned rows that it read nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import (
    BlockLearner,
    BudgetError,
    DataError,
    Floats,
    Learner,
    Observation,
    Problem,
    ProblemError,
    Round,
    Stream,
    Ticket,
    finite_label,
)


def sell(problem: Problem, ticket: Ticket, x: NDArray[np.floating]) -> Observation:
    """What a ticket buys of the row x: a copy of x at its features and nothing else.

    Raises
    ------
    BudgetError
        The ticket asks for more features than the budget, for one twice, or for one out of range.
    """
    features = ticket.features
    if len(features) > problem.budget:
        raise BudgetError(
            f"round {ticket.round}: the ticket asks for {len(features)} features, "
            f"the budget is {problem.budget} per example"
        )
    if len(features):
        if features[0] < 0 or features[-1] >= problem.d:
            raise BudgetError(
                f"round {ticket.round}: features run from 0 to {problem.d - 1}, "
                f"the ticket asks for {features.tolist()}"
            )
        if (features[1:] <= features[:-1]).any():
            raise BudgetError(
                f"round {ticket.round}: a ticket lists features in ascending order and each once, "
                f"got {features.tolist()}"
            )
    if x.shape != (problem.d,):
        raise DataError(f"a row must have {problem.d} features, got shape {x.shape}")
    return Observation(ticket, x[features].astype(np.float64, copy=False))  # [features] copies


def play_round(
    problem: Problem, learner: Learner, number: int, x: NDArray[np.floating], y: float
) -> Round:
    """Play round `number` by the paper's protocol; the row never reaches the learner."""
    label = finite_label(y)
    ticket = learner.ask()
    if ticket.round != number:
        raise BudgetError(
            f"the ticket of round {number} says it is of round {ticket.round}: "
            "one ticket is sold per example"
        )
    seen = sell(problem, ticket, x)
    y_hat = _finite_prediction(number, learner.predict(seen))
    learner.tell(seen, label)
    return Round(number, ticket.features, label, y_hat)


def play_rounds(
    problem: Problem,
    learner: BlockLearner,
    X: NDArray[np.floating],
    y: Floats,
    bought: NDArray[np.int32],
) -> Floats:
    """Have a learner play a block of rounds, and audit what it wrote to `bought`."""
    if not np.isfinite(y).all():
        finite_label(y[~np.isfinite(y)][0])
    first = learner.round + 1
    y_hat = learner.advance(X, y, bought)
    _audit(problem, first, bought)
    if not np.isfinite(y_hat).all():
        at = int(np.flatnonzero(~np.isfinite(y_hat))[0])
        _finite_prediction(first + at, float(y_hat[at]))
    return y_hat


def _audit(problem: Problem, first_round: int, bought: NDArray[np.int32]) -> None:
    """Every row of `bought` must be ascending feature indices within range, then -1."""
    before, after = bought[:, :-1], bought[:, 1:]
    in_order = (after == -1) | ((before >= 0) & (after > before))
    wrong = ((bought >= problem.d) | (bought < -1)).any(axis=1) | ~in_order.all(axis=1)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise BudgetError(
            f"round {first_round + at}: block play bought {bought[at].tolist()}; "
            f"features run from 0 to {problem.d - 1}, ascending, each once, then -1"
        )


def problem_of(learner: Learner, stream: Stream) -> Problem:
    """The learner's problem, which must be about the features of the stream."""
    problem = learner.problem
    if stream.d != problem.d:
        raise ProblemError(f"the learner's problem has {problem.d} features, the stream {stream.d}")
    if problem.names is not None and stream.names is not None and problem.names != stream.names:
        ours, theirs = next(
            (a, b) for a, b in zip(problem.names, stream.names, strict=True) if a != b
        )
        raise ProblemError(
            f"the learner's problem and the stream name their features differently: "
            f"{ours!r} against {theirs!r}"
        )
    return problem


def _finite_prediction(number: int, y_hat: float) -> float:
    value = float(y_hat)
    if not np.isfinite(value):
        raise DataError(f"round {number}: the learner predicted {value}, a prediction is finite")
    return value
