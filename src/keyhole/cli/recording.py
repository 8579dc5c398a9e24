"""A run, recorded under the eyes of a person who may lose patience."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from keyhole import report as reports
from keyhole.cli.interruptible import Watched, ends_on_interrupt
from keyhole.cli.progress import Board
from keyhole.cli.source import Source
from keyhole.optional_imports import extra
from keyhole.problem import DataError, Learner
from keyhole.report import Run
from keyhole.saving import api as state

SEARCH = 5.0  # seconds for the best models in hindsight


@dataclass(frozen=True)
class Recorded:
    """A run, the learner that played it, the source, and what was written where."""

    run: Run
    learner: Learner
    source: Source
    interrupted: bool
    report: str | None
    save: str | None


def recorded(
    learner: Learner,
    source: Source,
    *,
    name: str,
    seed: int,
    report: str | None,
    save: str | None,
) -> Recorded:
    """Play, record, write the report and the learner where that is asked for."""
    for path in (report, save):
        if path is not None and not Path(path).parent.is_dir():
            raise DataError(f"cannot write {path}: there is no directory {Path(path).parent}")
    if report is not None:  # what a page needs should not be found missing after the game
        extra("matplotlib", "report")
        extra("jinja2", "report")
    stream = Watched(source.stream)
    with Board(learner, stream) as board, ends_on_interrupt(stream):
        try:
            run = reports.record(
                learner,
                stream,
                name=name,
                seed=seed,
                title=source.title,
                target=source.target,
                command=shlex.join(["keyhole", *sys.argv[1:]]),
                seconds=SEARCH,
                full=report is not None,
                diagnosed=report is not None,
                progress=board,
                stage=board.stage,
            )
            if report is not None:
                board.stage("report")
                reports.write(run, report)
        except KeyboardInterrupt:
            if board.ledger is not None:
                sys.stdout.write(f"{board.ledger}\n")
            raise
    if save is not None:
        state.save(learner, save)
    return Recorded(run, learner, source, stream.stopped, report, save)
