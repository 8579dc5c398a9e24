"""Playing a game: a learner against a stream, round by round or in blocks, with a ledger of it."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import true_or_false
from keyhole.game.audit import Audit
from keyhole.game.ledger import Ledger, next_checkpoint
from keyhole.game.observer import Observer, PlayedBlock, Progress, ten_times_a_second
from keyhole.game.referee import (
    MIN_BLOCK_ROWS,
    RowBuffer,
    buffer_rows,
    play_round,
    play_rounds,
    problem_of,
    refuse_another_problem,
)
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.residuals import HasIntervals, Residuals
from keyhole.problem import (
    BlockLearner,
    BlockStream,
    DataError,
    Floats,
    Learner,
    ProblemError,
    Round,
    Stream,
    finite_label,
    has_blocks,
    plays_blocks,
    real_numbers,
    refuse_other_features,
    rows_and_labels,
    whole_number,
)
from keyhole.problem.labels import a_coverage
from keyhole.problem.rows import (
    ArrayOrLazyRow,
    ArrayOrLazyRows,
    BoughtValues,
    are_lazy,
    bought_of_row,
    bought_of_rows,
    has_lazy_blocks,
)


def study_history(
    learner: Learner,
    history: BlockStream | DataSums,
    *,
    half_life: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Let a learner study history, as `learner.study` does; how many rows there were.

    ProblemError if it has no such method, or from that method if it refuses.
    """
    method = getattr(learner, "study", None)
    if method is None:
        raise ProblemError(
            f"{type(learner).__name__} has no `study`, so it cannot take in history: leave the "
            "history out, or use a learner that has one, such as kh.AutoLearner"
        )
    return int(method(history, half_life=half_life, progress=progress))


def rounds(learner: Learner, stream: Stream) -> Iterator[Round]:
    """Play round by round, yielding each; stop when you have enough.

    >>> import keyhole as kh
    >>> stream = kh.streams.ArrayStream([[1.0, 2.0], [3.0, 4.0]], [1.0, 3.0])
    >>> learner = kh.RunningMean(kh.Problem(d=2, k=1, budget=1))
    >>> [(r.round, r.y, r.y_hat) for r in rounds(learner, stream)]
    [(1, 1.0, 0.0), (2, 3.0, 1.0)]
    """
    problem = problem_of(learner)
    refuse_other_features(problem, stream)
    for number, (x, y) in enumerate(_rows(stream), start=learner.round + 1):
        yield play_round(problem, learner, number, x, y)
        refuse_another_problem(problem, learner)


def _rows(stream: Stream) -> Iterator[tuple[ArrayOrLazyRow, float]]:
    """The rows of a stream, not written out where it has lazy ones."""
    if not has_lazy_blocks(stream):
        yield from stream
        return
    for X, y in stream.lazy_blocks():
        yield from zip(_single(X), y.tolist(), strict=True)


def play(
    learner: Learner,
    stream: Stream,
    *,
    rounds: int | None = None,
    progress: Progress | None = None,
    keep_predictions: bool = True,
    observers: Sequence[Observer] = (),
    audit: float | Audit = 0.0,
    history: BlockStream | DataSums | None = None,
    coverage: float | None = None,
    steps: bool = False,
) -> Ledger:
    """Play a learner against a stream, with the budget enforced, and return the ledger.

    Parameters
    ----------
    learner
        Any learner; it continues from where it is, so a second call plays the next part of a game.
    stream
        Any stream with the features of the learner's problem.
    rounds
        How many rounds at most; None plays the whole stream.
    progress
        Called with the ledger so far, at most ten times a second; `ProgressLine()` prints it.
    keep_predictions
        False for a ledger whose size does not grow with the number of rounds.
    observers
        Called for every round. They change nothing about the game, but each may end it.
    audit
        The share of blocks, from 0 to 1, that a copy of the learner plays again without seeing what
        was not bought, to find out whether the learner read anything else. Pass an `Audit` for
        a repeatable choice of blocks. Single rounds need no audit.
    history
        Examples that are known in full, which the learner studies before the first round, as with
        `learner.study(history)`: they cost nothing and are not in the ledger.
    coverage
        Also record an interval for each round, which contains the label in that share of rounds.
        The intervals are those of `learner.interval`, which the learner tracks from then on; for a
        learner without intervals they are made here, from its errors. Nothing else changes.
    steps
        Whether each example is bought step by step, as `learner.next` says: for a learner with
        `worth` or a purse. Rounds are then played one by one.

    Raises
    ------
    ProblemError
        The stream has other features than the learner's problem, or the learner cannot study.
    BudgetError
        The learner asked for more than the budget, changed the labels or its problem, or did not
        play by the rules in a block that was audited.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=500, seed=1)
    >>> problem = kh.Problem(d=20, k=2, budget=2)
    >>> ledger = kh.play(kh.FixedSubset(problem, support=truth.support), stream)
    >>> ledger.rounds, ledger.most_reads
    (500, 2)
    >>> learner = kh.FixedSubset(problem, support=truth.support)
    >>> ledger = kh.play(learner, stream, coverage=0.9)
    >>> ledger.bounded, round(ledger.covered_share, 2), ledger.intervals.shape
    (499, 0.9, (500, 2))
    """
    limit = None if rounds is None else whole_number("rounds", rounds, 0)
    game = RunningGame(
        learner,
        observers,
        progress=progress,
        keep_predictions=keep_predictions,
        in_blocks=has_blocks(stream),
        audit=audit,
        coverage=coverage,
        steps=steps,
    )
    refuse_other_features(game.problem, stream)
    if history is not None:
        study_history(learner, history)
    if limit != 0:
        _play_stream(game, stream, limit)
    game.finish()
    if progress is not None:
        progress(game.ledger)
    return game.ledger


def _play_stream(game: RunningGame, stream: Stream, limit: int | None) -> None:
    ledger = game.ledger
    if not has_blocks(stream):
        for x, y in stream:
            if game.enough():
                return
            game.play_row(x, y)
            if ledger.rounds == limit:
                return
        return
    for X, labels in _blocks(stream):
        if game.enough():
            return
        left = None if limit is None else limit - ledger.rounds
        game.play_block(X[:left], labels[:left])
        if ledger.rounds == limit:
            return


def _blocks(stream: BlockStream) -> Iterator[tuple[ArrayOrLazyRows, Floats]]:
    """The blocks of a stream; lazy ones only as long as observers can have them written out."""
    room = buffer_rows(stream.d) or MIN_BLOCK_ROWS
    if has_lazy_blocks(stream):
        yield from stream.lazy_blocks(room)
    else:
        yield from stream.blocks()


class RunningGame:
    """A game in progress: rows are put in, the books are kept, observers are told.

    `play` puts in a stream. An observer that lets another learner play the same rows has a game of
    its own and puts in what it is told.

    Parameters
    ----------
    learner
        Who plays; it goes on from where it is.
    observers, progress, keep_predictions, audit, coverage, steps
        As in `play`.
    in_blocks
        Whether a learner that can play blocks does so.
    """

    def __init__(
        self,
        learner: Learner,
        observers: Sequence[Observer] = (),
        *,
        progress: Progress | None = None,
        keep_predictions: bool = True,
        in_blocks: bool = True,
        audit: float | Audit = 0.0,
        coverage: float | None = None,
        steps: bool = False,
    ) -> None:
        self._steps = true_or_false("steps", steps)
        if steps and not hasattr(learner, "next"):
            raise ProblemError(
                f"{type(learner).__name__} has no `next`, so it cannot buy step by step: leave "
                "`steps` out, or use a learner that has it, such as kh.AutoLearner"
            )
        self.problem = problem_of(learner)
        self.ledger = Ledger(self.problem, keep_predictions=keep_predictions)
        self._audit = audit if isinstance(audit, Audit) else Audit(audit)
        self._learner = learner
        self._block_learner = learner if in_blocks and not steps and plays_blocks(learner) else None
        self._buffer = RowBuffer()
        self._observers = tuple(observers)
        self._report = ten_times_a_second(progress, self.ledger)
        self._round = learner.round  # the last one
        self._checkpoint = next_checkpoint(self._round)
        self._coverage = None if coverage is None else a_coverage(coverage)
        self._residuals: Residuals | None = None  # from the first round on
        self._stopped: Residuals | None = None  # of rounds that stopped early, from the first on

    def enough(self) -> bool:
        """Whether an observer wants the game to end."""
        return any(observer.enough() for observer in self._observers)

    def play_row(self, x: NDArray[np.floating], y: float) -> None:
        """Play one round."""
        if self._observers:
            self.play_block(real_numbers("x", x)[None], np.array([finite_label(y)]))
        else:
            self._play_single(x, y)

    def play_block(self, X: ArrayOrLazyRows, y: Floats) -> None:
        """Play a round for each row; lazy rows only as many at a time as the buffer holds."""
        rows, labels = _rows_and_labels(X, y, self.problem.d)
        room = buffer_rows(self.problem.d) if are_lazy(rows) else len(labels)
        labels = labels.copy()  # the referee's own
        n, start = len(labels), 0
        bought = np.full((n, self.problem.width), -1, dtype=np.int32)
        ends = None if self._coverage is None else np.empty((n, 2))
        played = PlayedBlock(self._round + 1, rows, labels, np.zeros(n), bought, ends)
        told = [0 for _ in self._observers]  # how many of these rounds each knows of
        due = [_due(observer, 0, n) for observer in self._observers]  # when it has to know more
        while start < n:
            # Not past a checkpoint: supports are taken where single rounds take them.
            stop = min(n, start + self._checkpoint - self._round, start + (room or n), *due)
            part = played.part(start, stop)
            if self._block_learner is None or not room:
                self._play_singles(part)
            else:
                self._advance(self._block_learner, part)
            for i, observer in enumerate(self._observers):
                if stop == due[i]:
                    observer.after_block(played.part(told[i], stop), self._learner)
                    told[i], due[i] = stop, _due(observer, stop, n)
            start = stop

    def finish(self) -> None:
        """Tell the observers that the game is over."""
        for observer in self._observers:
            observer.finish(self._learner)

    def _advance(self, learner: BlockLearner, part: PlayedBlock) -> None:
        for y in part.y[~np.isfinite(part.y)][:1].tolist():
            finite_label(y)
        self._calibrate()
        first, twin = part.first_round, self._audit.copy_of(learner)
        answer = play_rounds(self.problem, learner, first, part.rows, part.y, self._buffer)
        part.y_hat[:], part.bought[:] = answer.y_hat, answer.bought
        if twin is not None:
            self._audit.look(self.problem, learner, twin, (first, part.rows, part.y), answer)
        self.ledger.seconds += answer.seconds
        self.ledger.add_block(first, part.bought, part.y, part.y_hat)
        if self._residuals is not None:
            bought = bought_of_rows(part.rows, part.bought)
            self._enter_intervals(self._residuals, part.y_hat, part.y, bought, part.ends)
        self._after(len(part.y))

    def _play_singles(self, part: PlayedBlock) -> None:
        for i, (x, y) in enumerate(zip(_single(part.rows), part.y.tolist(), strict=True)):
            played = self._play_single(x, y, None if part.ends is None else part.ends[i : i + 1])
            part.y_hat[i] = played.y_hat
            part.bought[i, : len(played.features)] = played.features

    def _play_single(self, x: ArrayOrLazyRow, y: float, ends: Floats | None = None) -> Round:
        self._calibrate()
        began = time.perf_counter()
        number, steps = self._round + 1, self._steps
        played = play_round(self.problem, self._learner, number, x, y, steps=steps)
        self.ledger.seconds += time.perf_counter() - began
        self.ledger.add(played)
        if self._residuals is not None:
            errors, bought = self._residuals, bought_of_row(x, played.features)
            if played.stopped:  # as the learner keeps them apart
                errors = self._stopped = self._stopped or copy.deepcopy(errors)
            one = np.array([played.y_hat]), np.array([played.y])
            self._enter_intervals(errors, *one, bought, ends)
        self._after(1)
        return played

    def _calibrate(self) -> None:
        """Before the first round: the learner's calibration as it is then, or one for it."""
        if self._coverage is None or self._residuals is not None:
            return
        if isinstance(self._learner, HasIntervals):
            self._learner.track_coverage(self._coverage)
            self._residuals = self._learner.residuals()
            stopped = getattr(self._learner, "_stopped", None)
            self._stopped = copy.deepcopy(stopped) if isinstance(stopped, Residuals) else None
        else:
            self._residuals = Residuals(self.problem.d)

    def _enter_intervals(
        self,
        errors: Residuals,
        y_hat: Floats,
        y: Floats,
        bought: BoughtValues,
        ends: Floats | None,
    ) -> None:
        if self._coverage is None:
            return
        found = errors.play_block(y_hat, y, self._coverage, bought)
        self.ledger.add_intervals(self._coverage, found, y)
        if ends is not None:
            ends[:] = found

    def _after(self, rounds: int) -> None:
        refuse_another_problem(self.problem, self._learner)
        self._round += rounds
        if self._round == self._checkpoint:
            self.ledger.mark(self._learner.weights)
            self._checkpoint = next_checkpoint(self._round)
        self._report()


def _rows_and_labels(X: ArrayOrLazyRows, y: Floats, d: int) -> tuple[ArrayOrLazyRows, Floats]:
    """A row of d features for each label, or a DataError."""
    if not are_lazy(X):
        return rows_and_labels(X, y, d)
    labels = real_numbers("y", y).astype(np.float64, copy=False)
    if labels.shape != X.shape[:1] or X.shape[1] != d:
        raise DataError(
            f"a block needs {d} features per row and one label for each, "
            f"got rows of shape {X.shape} and y of shape {labels.shape}"
        )
    return X, labels


def _single(X: ArrayOrLazyRows) -> Iterator[ArrayOrLazyRow]:
    """Rows, one at a time; those that are written out in double precision."""
    if are_lazy(X):
        return (X.row(i) for i in range(len(X)))
    return iter(np.asarray(X).astype(np.float64, copy=False))


def _due(observer: Observer, told: int, n: int) -> int:
    """When an observer that knows of `told` rounds of a block has to be told of more: n at most."""
    room = observer.room
    return n if room is None else min(n, told + max(1, room))
