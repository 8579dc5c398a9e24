"""The referee: plays rounds and blocks with a learner, sells what it buys, enforces the budget.

The paper's protocol is in `play_round`. A learner is handed an Observation of what it bought; a row
of the stream never reaches it. What a learner says about itself is read once, and what it hands
over is copied: nothing that it changes later changes the books.

A learner that plays blocks is handed whole rows. They are copies, of exactly this block: neither
the stream's memory nor a later row can be reached from them. Lazy rows are written out into a
buffer, which holds no other rows either and is wiped before the next. What it wrote down as bought
is checked here; that it read nothing else is tried by the audit and proven by `keyhole.testing`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import shortened
from keyhole.problem import (
    BlockLearner,
    BudgetError,
    DataError,
    Floats,
    Indices,
    Learner,
    Observation,
    Problem,
    ProblemError,
    Round,
    Ticket,
    real_numbers,
)
from keyhole.problem.rows import ArrayOrLazyRow, ArrayOrLazyRows, LazyRows, are_lazy, is_lazy_row
from keyhole.problem.step import PLAN, Step


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


class BuysInSteps(Protocol):
    """A learner that says, given what was seen of an example, what to buy next for it."""

    def ask(self, *, steps: bool) -> Ticket:
        """The first step."""

    def next(self, seen: Observation) -> Step:
        """What to buy next, or that enough is known."""


def play_round(
    problem: Problem,
    learner: Learner,
    number: int,
    x: ArrayOrLazyRow,
    y: float,
    *,
    steps: bool = False,
) -> Round:
    """Play round `number` by the paper's protocol; the row never reaches the learner.

    With `steps` the learner is asked, after each step, what to buy next.
    """
    row, label = _row(problem, x), problem.possible_label(y)
    ticket = cast(BuysInSteps, learner).ask(steps=True) if steps else learner.ask()
    features = _ordered(problem, ticket)
    said = ticket.round
    if said != number:
        raise BudgetError(
            f"the ticket of round {number} says it is of round {said}: "
            "one ticket is sold per example"
        )
    seen = _observed(ticket, row, features)
    if steps:
        seen = _bought_on(problem, cast(BuysInSteps, learner), seen, row)
        features = np.array(seen.ticket.features)
    y_hat = real_prediction(learner, number, learner.predict(seen))
    learner.tell(seen, label)
    plan = np.array(seen.ticket.memo.get(PLAN, features)) if steps else None
    return Round(number, features, label, y_hat, plan)


def _bought_on(
    problem: Problem, learner: BuysInSteps, seen: Observation, row: ArrayOrLazyRow
) -> Observation:
    """What was seen after all steps that the learner makes: each buys more, within the budget."""
    while True:
        step = learner.next(seen)
        if not isinstance(step, Step):
            raise BudgetError(f"next must return a Step, got {shortened(step)}")
        if not step:
            return seen
        grown, number = step.ticket, seen.ticket.round
        features, before = _ordered(problem, grown), seen.ticket.features
        if grown.round != number or not np.isin(before, features).all():
            raise BudgetError(
                f"round {number}: a step goes on with its ticket, for {before.tolist()}; got one "
                f"of round {grown.round} for {features.tolist()}"
            )
        if len(features) == len(before):
            raise BudgetError(f"round {number}: a step that buys nothing says that it goes on")
        seen = _observed(grown, row, features)


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


BUFFER_VALUES = 2**22  # in the buffer: 32 MB,
MAX_BUFFER_VALUES = 2**24  # or up to 128 MB where that would be fewer rows than
GOOD_BLOCK_ROWS = 16  # which a call of `advance` is shared by
MIN_BLOCK_ROWS = 4  # rows that make block play worth while


def buffer_rows(d: int) -> int:
    """How many rows of d features the buffer holds; 0 if so few that single rounds are as good.

    >>> [buffer_rows(d) for d in (1_000, 100_000, 1_000_000, 5_000_000)]
    [4194, 41, 16, 0]
    """
    rows = max(BUFFER_VALUES // d, min(GOOD_BLOCK_ROWS, MAX_BUFFER_VALUES // d))
    return rows if rows >= MIN_BLOCK_ROWS else 0


class RowBuffer:
    """Memory for lazy rows, made when the first of them are played."""

    def __init__(self) -> None:
        self._memory: NDArray[np.floating] = np.empty((0, 0))
        self._fill = 0.0

    @contextmanager
    def filled_with(self, rows: LazyRows) -> Iterator[NDArray[np.floating]]:
        """The rows, written out, for as long as they are played."""
        n, d = rows.shape
        memory, fill = self._memory, rows.fill
        alike = memory.dtype == rows.dtype and repr(self._fill) == repr(fill)  # NaN is alike
        if not alike or memory.shape[1] != d or len(memory) < n:
            self._memory = memory = np.zeros((n, d), rows.dtype)  # pages are made when touched
            self._fill = fill
            if fill != 0.0:
                memory.fill(fill)
        block = memory[:n]
        try:
            rows.write_into(block)
            yield block
        finally:
            rows.wipe(block)


class BlockAnswer(NamedTuple):
    """What a learner made of a block, as copies: predictions, purchases; the seconds it took."""

    y_hat: Floats
    bought: NDArray[np.int32]
    seconds: float


def play_rounds(
    problem: Problem,
    learner: BlockLearner,
    first: int,
    X: ArrayOrLazyRows,
    y: Floats,
    buffer: RowBuffer,
) -> BlockAnswer:
    """Have a learner play a block of rounds, `first` and those after it."""
    name, n = type(learner).__name__, len(y)
    last = first + n - 1
    labels = y.copy()
    bought = np.full((n, problem.width), -1, dtype=np.int32)
    with _copied(X, buffer) as rows:
        began = time.perf_counter()
        predicted = learner.advance(rows, labels, bought)
        seconds = time.perf_counter() - began
    if labels.tobytes() != y.tobytes():
        raise BudgetError(f"rounds {first} to {last}: {name}.advance changed the labels")
    y_hat = _predictions(learner, first, n, predicted)
    written = np.array(bought)
    if written.shape != (n, problem.width) or written.dtype != np.int32:
        raise BudgetError(f"rounds {first} to {last}: {name}.advance changed the shape of `bought`")
    _check_purchases(problem, first, written)
    if learner.round != last:
        raise BudgetError(
            f"{name}.advance played rounds {first} to {last} and says it is in round "
            f"{shortened(learner.round)}"
        )
    return BlockAnswer(y_hat, written, seconds)


@contextmanager
def _copied(X: ArrayOrLazyRows, buffer: RowBuffer) -> Iterator[NDArray[np.floating]]:
    """Rows that a learner may have: a copy, or written out into the buffer."""
    if are_lazy(X):
        with buffer.filled_with(X) as rows:
            yield rows
    else:
        yield np.array(X, order="C")


def _predictions(learner: BlockLearner, first: int, n: int, predicted: object) -> Floats:
    """A copy of what `advance` returned, one finite real number per round."""
    plain = isinstance(predicted, np.ndarray) and predicted.dtype.kind == "f"
    y_hat = np.array(predicted, dtype=np.float64) if plain else np.zeros(0)
    if not plain or y_hat.shape != (n,):
        got = shortened(predicted)
        if isinstance(predicted, np.ndarray):
            got = f"an array of shape {np.asarray(predicted).shape}, dtype {predicted.dtype}"
        raise DataError(
            f"rounds {first} to {first + n - 1}: {type(learner).__name__}.advance must return an "
            f"array of {n} real predictions, shape ({n},), got {got}"
        )
    for at in np.flatnonzero(~np.isfinite(y_hat))[:1].tolist():
        real_prediction(learner, first + at, float(y_hat[at]))
    return y_hat


def _check_purchases(problem: Problem, first: int, bought: NDArray[np.int32]) -> None:
    """Every row of `bought`: ascending feature indices within range, then -1; within the budget."""
    before, after = bought[:, :-1], bought[:, 1:]
    in_order = (after == -1) | ((before >= 0) & (after > before))
    wrong = ((bought >= problem.d) | (bought < -1)).any(axis=1) | ~in_order.all(axis=1)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise BudgetError(
            f"round {first + at}: block play bought {bought[at].tolist()}; "
            f"features run from 0 to {problem.d - 1}, ascending, each once, then -1"
        )
    for at in np.flatnonzero(problem.too_dear(bought))[:1].tolist():
        features = bought[at][bought[at] >= 0].astype(np.int64)
        raise BudgetError(overspent(problem, first + at, features))
