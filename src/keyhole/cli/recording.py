"""Recording of `keyhole run`: study, play, save, report; Ctrl-C ends the game early."""

from __future__ import annotations

import contextlib
import functools
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from keyhole.analysis.findings import Finding
from keyhole.analysis.first_look import FirstLook
from keyhole.cli.progress import RunProgress
from keyhole.cli.run import LearnerOptions, OutputOptions
from keyhole.cli.sizes import ChosenSizes
from keyhole.cli.source import HistorySource, Source
from keyhole.cli.spending import (
    NO_SPENDING_RULE,
    SEARCH_SECONDS,
    CompleteRows,
    SpendingRule,
    SpendingSummary,
    best_for,
)
from keyhole.errors import printable
from keyhole.game import Observer, PlayedBlock
from keyhole.problem import DataError, KeyholeError, Learner
from keyhole.problem.optional_imports import extra
from keyhole.report import About, Recorder, Run, Scope
from keyhole.report.observers import QUICK_WORK


@dataclass(frozen=True)
class Preparation:
    """What happened before the game: sizes and how to spend were chosen, history was studied."""

    sizes: ChosenSizes
    history: HistorySource | None = None
    spending: SpendingRule = NO_SPENDING_RULE


@dataclass(frozen=True)
class RecordedRun:
    """A run, who played it, the source, the files that were written; what was before."""

    run: Run
    learner: Learner
    source: Source
    files: OutputOptions
    before: Preparation
    interrupted: bool
    money: SpendingSummary | None = None
    failure: Exception | None = None  # why the learner could not be saved
    findings: tuple[Finding, ...] = ()  # what is to be known before anything else


def recorded(
    learner: Learner,
    source: Source,
    player: LearnerOptions,
    keep: OutputOptions,
    before: Preparation,
) -> RecordedRun:
    """Study, play, record, write the learner and the report where that is asked for.

    The learner comes first, as soon as the game is over: whatever happens after that, it is there.
    """
    _check_places(keep)
    if before.history is not None:
        before.history.teach(learner)
    reported = keep.report is not None
    about = About(
        name=player.learner,
        settings=before.spending.settings(),
        seed=player.seed,
        title=source.title,
        target=source.target,
        command=shlex.join(["keyhole", *sys.argv[1:]]),
        curve=before.sizes.curve,
        history=0 if before.history is None else before.history.rows,
        columns=source.counts_columns,
    )
    rows = source.stream.rounds
    # Whether reading everything can be played beside the game without anybody noticing.
    quick = rows is not None and rows * float(source.stream.d) ** 2 <= QUICK_WORK
    scope = Scope(
        seconds=SEARCH_SECONDS,
        full=reported or quick,
        diagnosed=reported,
        audit=player.audit,
        coverage=player.coverage,
        steps=player.steps,
    )
    keeper = None
    if keep.save is not None:
        from keyhole.saving.api import save

        keeper = functools.partial(save, path=keep.save)
    recorder, interrupt = Recorder(learner, source.stream, about, scope), Interrupt(keeper)
    complete, look = CompleteRows(), FirstLook(source.stream.d, brief=True)
    with RunProgress(learner, source.stream.rounds, recorder) as board, interrupt.on_ctrl_c():
        try:
            run = recorder.record(board, board.stage, [interrupt, complete, look])
            money = _spent(source, run, learner, before.spending, complete, board)
            if keep.report is not None:
                from keyhole.report import write

                board.stage("report")
                write(run, keep.report)
        except KeyboardInterrupt:
            if board.ledger is not None:
                sys.stdout.write(f"{board.ledger}\n")
            if interrupt.kept:
                sys.stdout.write(f"Learner: {printable(str(keep.save))}\n")
            raise
    pressed, failure = interrupt.pressed, interrupt.failure
    findings = look.findings(source.stream.names)
    return RecordedRun(run, learner, source, keep, before, pressed, money, failure, findings)


def _spent(
    source: Source,
    run: Run,
    learner: Learner,
    spending: SpendingRule,
    complete: CompleteRows,
    board: RunProgress,
) -> SpendingSummary | None:
    """The books in money, where there are prices."""
    if source.pricing is None:
        return None
    board.stage("the best model for the same money in hindsight")
    best = best_for(source.stream, run.ledger.rounds, run.problem, spending, SEARCH_SECONDS)
    left = getattr(learner, "purse_left", None)
    return SpendingSummary(source.pricing, spending, run.ledger, best, left, complete.count)


def _check_places(keep: OutputOptions) -> None:
    """What is needed to write the files should not be found missing after the game."""
    for path in (keep.report, keep.save):
        if path is not None and not Path(path).parent.is_dir():
            raise DataError(f"cannot write {path}: there is no directory {Path(path).parent}")
    if keep.report is not None:
        extra("matplotlib", "report")
        extra("jinja2", "report")


class Interrupt(Observer):
    """Ends a game once it is `pressed`, after the block of the stream that is being played.

    Parameters
    ----------
    keep
        What to do with the learner as soon as the game is over, before anything else. No Ctrl-C
        comes between the two: a second one waits until the learner is kept, and then leaves.

    `failure` is what went wrong with keeping it: the game can be summed up all the same.
    """

    def __init__(self, keep: Callable[[Learner], None] | None = None) -> None:
        self.pressed = False
        self.kept = False
        self.failure: KeyholeError | OSError | None = None
        self._keep = keep
        self._has_played = self._ended_the_game = self._over = self._leave = False

    def enough(self) -> bool:
        """Whether it was pressed. Before the first round there is nothing to sum up: leave."""
        if self.pressed and not self._has_played:
            raise KeyboardInterrupt
        self._ended_the_game = self.pressed
        return self.pressed

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """There is something to sum up."""
        self._has_played = True

    def finish(self, learner: Learner) -> None:
        """Keep the learner; if it was pressed too late, all was played: nothing was interrupted."""
        self.pressed = self._ended_the_game
        if self._keep is not None:
            try:
                self._keep(learner)
                self.kept = True
            except (KeyholeError, OSError) as error:
                self.failure = error
        self._over = True
        if self._leave:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def on_ctrl_c(self) -> Iterator[None]:
        """Within: the first Ctrl-C presses it, the second ends everything."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals belong to the main thread
            return
        before = signal.signal(signal.SIGINT, self._press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._over or (self.pressed and self._keep is None):
            raise KeyboardInterrupt
        if self.pressed and not self._leave:
            self._leave = True
            sys.stderr.write("keyhole: the learner is saved first, then this ends\n")
        self.pressed = True
