"""A run, recorded under the eyes of a person who may lose patience."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from keyhole.cli.history import History
from keyhole.cli.interrupt import Interrupt
from keyhole.cli.money import CompleteRows, Spent, best_for
from keyhole.cli.progress import Board
from keyhole.cli.run import KeepOptions, LearnerOptions
from keyhole.cli.sizes import Sizes
from keyhole.cli.source import Source
from keyhole.cli.spending import ONLY_A_LIMIT, Spending
from keyhole.optional_imports import extra
from keyhole.problem import DataError, Learner
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


def recorded(
    learner: Learner, source: Source, player: LearnerOptions, keep: KeepOptions, before: Before
) -> Recorded:
    """Study, play, record, write the report and the learner where that is asked for."""
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
    )
    scope = Scope(
        seconds=SEARCH,
        full=reported,
        diagnosed=reported,
        audit=player.audit,
        coverage=player.coverage,
    )
    recorder, interrupt = Recorder(learner, source.stream, about, scope), Interrupt()
    complete = CompleteRows()
    total, rivals = source.stream.rounds, (recorder.mean.ledger, recorder.last.ledger)
    with Board(learner, total, *rivals) as board, interrupt.on_ctrl_c():
        try:
            run = recorder.record(board, board.stage, [interrupt, complete])
            money = _spent(source, run, learner, before.spending, complete, board)
            if keep.report is not None:
                board.stage("report")
                write(run, keep.report)
        except KeyboardInterrupt:
            if board.ledger is not None:
                sys.stdout.write(f"{board.ledger}\n")
            raise
    if keep.save is not None:
        state.save(learner, keep.save)
    return Recorded(run, learner, source, keep, before, interrupt.pressed, money)


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
