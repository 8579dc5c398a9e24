"""The referee: sells features to a learner, never more than the budget, and keeps the ledger.

The loop is the paper's protocol. A learner is handed an Observation of what it bought; a row of
the stream never reaches it, except in block play, where what it bought is audited and
`keyhole.testing.check_learner` proves by poisoned rows that it read nothing else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from keyhole.ledger import Ledger, next_checkpoint
from keyhole.problem import (
    BlockLearner,
    BlockStream,
    BudgetError,
    DataError,
    Learner,
    Observation,
    Problem,
    ProblemError,
    Round,
    Stream,
    Ticket,
    finite_label,
    has_blocks,
    plays_blocks,
    whole_number,
)

Progress = Callable[[Ledger], None]


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


def rounds(learner: Learner, stream: Stream) -> Iterator[Round]:
    """Play round by round, yielding each; stop when you have enough.

    >>> import keyhole as kh
    >>> stream = kh.streams.ArrayStream([[1.0, 2.0], [3.0, 4.0]], [1.0, 3.0])
    >>> learner = kh.RunningMean(kh.Problem(d=2, k=1, budget=1))
    >>> [(r.round, r.y, r.y_hat) for r in rounds(learner, stream)]
    [(1, 1.0, 0.0), (2, 3.0, 1.0)]
    """
    problem = _same_features(learner, stream)
    expected = learner.round + 1
    for x, y in stream:
        label = finite_label(y)
        ticket = learner.ask()
        if ticket.round != expected:
            raise BudgetError(
                f"the ticket of round {expected} says it is of round {ticket.round}: "
                "one ticket is sold per example"
            )
        seen = sell(problem, ticket, x)
        y_hat = _finite_prediction(ticket.round, learner.predict(seen))
        learner.tell(seen, label)
        yield Round(ticket.round, ticket.features, label, y_hat)
        expected += 1


def play(
    learner: Learner,
    stream: Stream,
    *,
    rounds: int | None = None,
    progress: Progress | None = None,
    keep_predictions: bool = True,
) -> Ledger:
    """Play a learner against a stream, with the budget enforced, and return the books.

    Parameters
    ----------
    learner
        Any learner; it goes on from where it is, so a second call plays the next part of a game.
    stream
        Any stream with the features of the learner's problem.
    rounds
        How many rounds at most; None plays the whole stream.
    progress
        Called with the ledger so far, at most ten times a second; `ProgressLine()` prints it.
    keep_predictions
        False for books whose size does not grow with the number of rounds.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=500, seed=1)
    >>> problem = kh.Problem(d=20, k=2, budget=2)
    >>> ledger = kh.play(kh.FixedSubset(problem, support=truth.support), stream)
    >>> ledger.rounds, ledger.most_reads
    (500, 2)
    """
    limit = None if rounds is None else whole_number("rounds", rounds, 0)
    ledger = Ledger(_same_features(learner, stream), keep_predictions=keep_predictions)
    report = _ten_times_a_second(progress, ledger)
    if plays_blocks(learner) and has_blocks(stream):
        _play_blocks(learner, stream, limit, ledger, report)
    else:
        _play_rounds(learner, stream, limit, ledger, report)
    if progress is not None:
        progress(ledger)
    return ledger


def _play_rounds(
    learner: Learner,
    stream: Stream,
    limit: int | None,
    ledger: Ledger,
    report: Callable[[], None],
) -> None:
    if limit == 0:
        return
    checkpoint = next_checkpoint(learner.round)
    for played in rounds(learner, stream):
        ledger.add(played)
        if played.round == checkpoint:
            ledger.mark(learner.weights)
            checkpoint = next_checkpoint(checkpoint)
        report()
        if ledger.rounds == limit:
            return


def _play_blocks(
    learner: BlockLearner,
    stream: BlockStream,
    limit: int | None,
    ledger: Ledger,
    report: Callable[[], None],
) -> None:
    problem = learner.problem
    for X, y in stream.blocks():
        start = 0
        while start < len(y):
            if ledger.rounds == limit:
                return
            first = learner.round + 1
            # Blocks end at checkpoints: supports are taken where single rounds take them.
            stop = min(len(y), start + next_checkpoint(first - 1) - first + 1)
            if limit is not None:
                stop = min(stop, start + limit - ledger.rounds)
            labels = y[start:stop]
            if not np.isfinite(labels).all():
                finite_label(labels[~np.isfinite(labels)][0])
            bought = np.full((stop - start, problem.budget), -1, dtype=np.int32)
            y_hat = learner.advance(X[start:stop], labels, bought)
            _audit(problem, first, bought)
            if not np.isfinite(y_hat).all():
                at = int(np.flatnonzero(~np.isfinite(y_hat))[0])
                _finite_prediction(first + at, float(y_hat[at]))
            ledger.add_block(first, bought, labels, y_hat)
            if ledger.last_round == next_checkpoint(ledger.last_round - 1):
                ledger.mark(learner.weights)
            report()
            start = stop


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


def _same_features(learner: Learner, stream: Stream) -> Problem:
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


def _finite_prediction(round: int, y_hat: float) -> float:
    value = float(y_hat)
    if not np.isfinite(value):
        raise DataError(f"round {round}: the learner predicted {value}, a prediction is finite")
    return value


def _ten_times_a_second(progress: Progress | None, ledger: Ledger) -> Callable[[], None]:
    if progress is None:
        return lambda: None
    last = time.monotonic()

    def report() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 0.1:
            last = now
            progress(ledger)

    return report


class ProgressLine:
    """Prints rounds, rate and mean loss on one line that renews itself, from the third second on.

    Parameters
    ----------
    total
        How many rounds are to be played, None if not known; shows the share done.
    file
        Where to print; standard error by default. Nothing is printed unless it is a terminal.
    """

    def __init__(self, total: int | None = None, file: TextIO | None = None) -> None:
        self._total = total
        self._file = sys.stderr if file is None else file
        self._start = time.monotonic()

    def __call__(self, ledger: Ledger) -> None:
        seconds = time.monotonic() - self._start
        if seconds < 2 or not self._file.isatty():
            return
        done = f" of {self._total:,}" if self._total else ""
        rate = ledger.rounds / seconds
        line = f"{ledger.rounds:,}{done} rounds, {rate:,.0f}/s, mean loss {ledger.mean_loss:.4g}"
        end = "\n" if ledger.rounds == self._total else ""
        self._file.write(f"\r\x1b[2K{line}{end}")
        self._file.flush()
