"""A run, recorded under the eyes of a person who may lose patience."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from keyhole.cli.games import QUICK_WORK
from keyhole.cli.history import History
from keyhole.cli.interrupt import Interrupt
from keyhole.cli.money import CompleteRows, Spent, best_for
from keyhole.cli.progress import Board
from keyhole.cli.run import KeepOptions, LearnerOptions
from keyhole.cli.sizes import Sizes
from keyhole.cli.source import Source
from keyhole.cli.spending import ONLY_A_LIMIT, Spending
from keyhole.errors import printable
from keyhole.problem import BlockStream, DataError, Learner
from keyhole.problem.optional_imports import extra
from keyhole.report import About, Recorder, Run, Scope, write
from keyhole.saving import api as state

SEARCH = 5.0  # seconds for the best models in hindsight


@dataclass(frozen=True)
class Before:
    """What happened before the game: sizes and how to spend were chosen, history was studied."""

    sizes: Sizes
    history: History | None = None
    spending: Spending = ONLY_A_LIMIT


@dataclass(frozen=True)
class Recorded:
    """A run, who played it, the source, the files that were written; what was before."""

    run: Run
    learner: Learner
    source: Source
    files: KeepOptions
    before: Before
    interrupted: bool
    money: Spent | None = None
    failure: Exception | None = None  # why the learner could not be saved


def recorded(
    learner: Learner, source: Source, player: LearnerOptions, keep: KeepOptions, before: Before
) -> Recorded:
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
        columns=source.shop is not None and bool(source.shop.columns),
    )
    scope = Scope(
        seconds=SEARCH,
        full=reported or _quick_in_full(source.stream),
        diagnosed=reported,
        audit=player.audit,
        coverage=player.coverage,
    )
    recorder, interrupt = Recorder(learner, source.stream, about, scope), Interrupt(_keeper(keep))
    complete = CompleteRows()
    with Board(learner, source.stream.rounds, recorder) as board, interrupt.on_ctrl_c():
        try:
            run = recorder.record(board, board.stage, [interrupt, complete])
            money = _spent(source, run, learner, before.spending, complete, board)
            if keep.report is not None:
                board.stage("report")
                write(run, keep.report)
        except KeyboardInterrupt:
            if board.ledger is not None:
                sys.stdout.write(f"{board.ledger}\n")
            if interrupt.kept:
                sys.stdout.write(f"Learner: {printable(str(keep.save))}\n")
            raise
    pressed, failure = interrupt.pressed, interrupt.failure
    return Recorded(run, learner, source, keep, before, pressed, money, failure)


def _keeper(keep: KeepOptions) -> Callable[[Learner], None] | None:
    """What saves the learner, if that was asked for."""
    path = keep.save
    return None if path is None else lambda learner: state.save(learner, path)


def _quick_in_full(stream: BlockStream) -> bool:
    """Whether reading everything can be played beside a game without anybody noticing."""
    return stream.rounds is not None and stream.rounds * float(stream.d) ** 2 <= QUICK_WORK


def _spent(
    source: Source,
    run: Run,
    learner: Learner,
    spending: Spending,
    complete: CompleteRows,
    board: Board,
) -> Spent | None:
    """The books in money, where there are prices."""
    if source.shop is None:
        return None
    board.stage("the best model for the same money in hindsight")
    best = best_for(source.stream, run.ledger.rounds, run.problem, spending, SEARCH)
    left = getattr(learner, "purse_left", None)
    return Spent(source.shop, spending, run.ledger, best, left, complete.count)


def _check_places(keep: KeepOptions) -> None:
    """What is needed to write the files should not be found missing after the game."""
    for path in (keep.report, keep.save):
        if path is not None and not Path(path).parent.is_dir():
            raise DataError(f"cannot write {path}: there is no directory {Path(path).parent}")
    if keep.report is not None:
        extra("matplotlib", "report")
        extra("jinja2", "report")
