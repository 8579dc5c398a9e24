"""The referee of single rounds: sells features, never more than the budget, and nothing else.

The paper's protocol is in `play_round`. A learner is handed an Observation of what it bought; a row
of the stream never reaches it. What a learner says about itself is read once, and what it hands
over is copied: nothing that it changes later changes the books.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import shortened
from keyhole.problem import (
    BudgetError,
    DataError,
    Indices,
    Learner,
    Observation,
    Problem,
    ProblemError,
    Round,
    Ticket,
    finite_label,
    real_numbers,
)
from keyhole.problem.rows import LazyRow, is_lazy_row

ArrayOrLazyRow = NDArray[np.floating] | LazyRow


def sell(problem: Problem, ticket: Ticket, x: ArrayOrLazyRow) -> Observation:
    """What a ticket buys of the row x: a copy of x at its features and nothing else.

    A sparse row is asked for these features, and never written out.

    Raises
    ------
    BudgetError
        The ticket asks for more than the budget buys, for a feature twice, or for one out of range.
    """
    features = _ordered(problem, ticket)
    return _observed(ticket, _row(problem, x), features)


def _ordered(problem: Problem, ticket: Ticket) -> Indices:
    """The features of a ticket: looked at once and copied, so that they are what was checked."""
    if not isinstance(ticket, Ticket):
        raise BudgetError(f"ask must return a Ticket, got {shortened(ticket)}")
    features = np.array(ticket.features, dtype=np.int64, ndmin=1)
    if features.shape != (features.size,):
        raise BudgetError(f"round {ticket.round}: the features of a ticket must be a flat list")
    if features.size:
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
    if not problem.affords(features):
        raise BudgetError(overspent(problem, ticket.round, features))
    _refuse_another_bill(problem, ticket, features)
    return features


def _refuse_another_bill(problem: Problem, ticket: Ticket, features: Indices) -> None:
    """BudgetError if what a ticket says it costs, or what to order, is not what its features need.

    A ticket that says neither is as good; one on terms of its own (`ordered`) has other prices.
    """
    said, order = getattr(ticket, "cost", None), getattr(ticket, "order", None)
    silent = order is None and said in (None, len(features))
    if silent or "ordered" in ticket.memo:
        return
    cost = problem.cost(features)
    if said != cost:
        raise BudgetError(
            f"round {ticket.round}: the ticket says that {_named(problem, features)} cost "
            f"{shortened(said)}, they cost {cost}"
        )
    prices = problem.prices
    needed = () if prices is None else prices.to_order(features.tolist())
    if order is not None and order != needed:
        raise BudgetError(
            f"round {ticket.round}: the ticket orders {shortened(order)} for "
            f"{_named(problem, features)}, which need {shortened(needed)}"
        )


def _named(problem: Problem, features: Indices) -> str:
    return shortened([problem.label(j) for j in features.tolist()])


def overspent(problem: Problem, number: int, features: Indices) -> str:
    """What to say of features that cost more than the budget."""
    if problem.prices is None:
        return (
            f"round {number}: the ticket asks for {features.size} features, "
            f"the budget is {problem.budget} per example"
        )
    return (
        f"round {number}: {_named(problem, features)} cost {problem.cost(features)}, "
        f"the budget is {problem.budget} per example"
    )


def _row(problem: Problem, x: ArrayOrLazyRow) -> ArrayOrLazyRow:
    row: ArrayOrLazyRow = x if is_lazy_row(x) else real_numbers("x", cast(NDArray[np.floating], x))
    if row.shape != (problem.d,):
        raise DataError(f"a row must have {problem.d} features, got shape {row.shape}")
    return row


def _observed(ticket: Ticket, row: ArrayOrLazyRow, features: Indices) -> Observation:
    if isinstance(row, np.ndarray):
        values = row[features].astype(np.float64, copy=False)  # [features] copies
    else:
        values = np.array(row.values_at(features), dtype=np.float64)
    return Observation(ticket, values)


def play_round(
    problem: Problem, learner: Learner, number: int, x: ArrayOrLazyRow, y: float
) -> Round:
    """Play round `number` by the paper's protocol; the row never reaches the learner."""
    row, label = _row(problem, x), finite_label(y)
    ticket = learner.ask()
    features = _ordered(problem, ticket)
    said = ticket.round
    if said != number:
        raise BudgetError(
            f"the ticket of round {number} says it is of round {said}: "
            "one ticket is sold per example"
        )
    seen = _observed(ticket, row, features)
    y_hat = real_prediction(learner, number, learner.predict(seen))
    learner.tell(seen, label)
    return Round(number, features, label, y_hat)


def real_prediction(learner: Learner, number: int, y_hat: object) -> float:
    """What a learner predicted as a finite float, or a DataError that names learner and round."""
    if type(y_hat) is not float:
        value = np.asarray(y_hat)
        if value.dtype.kind not in "biuf" or value.size != 1:
            raise DataError(
                f"round {number}: {type(learner).__name__}.predict must return one real number, "
                f"got {shortened(y_hat)}"
            )
        y_hat = float(value.reshape(()))
    if not np.isfinite(y_hat):
        raise DataError(
            f"round {number}: {type(learner).__name__} predicted {y_hat}, a prediction is finite"
        )
    return y_hat


def problem_of(learner: Learner) -> Problem:
    """The problem of a learner, as a copy: a game is played by the problem it began with."""
    problem = getattr(learner, "problem", None)
    if not isinstance(problem, Problem):
        raise ProblemError(
            "learner must be a learner, such as kh.AutoLearner(kh.Problem(d, k, budget)), "
            f"got {shortened(learner)}"
        )
    return Problem.replace(problem)  # not its own, should it be of another class


def refuse_another_problem(problem: Problem, learner: Learner) -> None:
    """BudgetError if a learner no longer has the problem that the game began with."""
    now = learner.problem
    if type(now) is not Problem or now != problem:
        raise BudgetError(
            f"{type(learner).__name__} began the game with {shortened(problem)} "
            f"and now says {shortened(now)}"
        )
