"""History of a run: a file of complete examples that a learner studies before the game."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from keyhole.cli.options import FileOptions, HistoryOptions, ReadOptions
from keyhole.cli.progress import status_line
from keyhole.cli.source import Source, read_files, request_of
from keyhole.game.playing import study_history
from keyhole.learners.history import kept_per_row
from keyhole.learners.registry import learner_row
from keyhole.problem import BlockStream, DataError, Learner, ProblemError
from keyhole.problem.display import counted


@dataclass(frozen=True)
class History:
    """The stream of a history, what it is called, its rows, and after how many they count half."""

    stream: BlockStream
    title: str
    rows: int
    half_life: float | None
    left_out: int = 0

    def words(self) -> str:
        """What a learner did before the game."""
        fading = "" if self.half_life is None else f", half-life {self.half_life:g}"
        return f"after {counted(self.rows, 'row')} of history{fading}"

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "source": self.title,
            "rows": self.rows,
            "half_life": self.half_life,
            "rows_without_target": self.left_out,
        }

    def teach(self, learner: Learner) -> None:
        """Let a learner study it, with progress on a terminal."""
        with status_line("history") as stage:
            study_history(
                learner,
                self.stream,
                half_life=self.half_life,
                progress=lambda rows: stage(f"{rows:,} of {self.rows:,} rows"),
            )

    def teach_if_possible(self, learner: Learner) -> None:
        """Let it study if it can; without the half-life if it cannot let old rows count less."""
        if getattr(learner, "STUDIES", False):
            fades = getattr(learner, "FADES", False)
            study_history(learner, self.stream, half_life=self.half_life if fades else None)


def open_history(
    file: FileOptions, reading: ReadOptions, history: HistoryOptions, source: Source
) -> History | None:
    """The history that was asked for, with the features of the source, in their order."""
    if history.history is None:
        if history.half_life is not None:
            raise ProblemError(f"--half-life {history.half_life:g} needs --history FILE")
        return None
    try:
        kept_per_row(history.half_life)
    except ProblemError:
        got = f"got {history.half_life:g}"
        raise ProblemError(f"--half-life must be a positive number of rows, {got}") from None
    if history.history == "-" and "-" in file.files:
        raise DataError("--history - and - : only one of them can be standard input")
    path, title = history.history, "standard input" if history.history == "-" else history.history
    request = dataclasses.replace(
        request_of(reading.csv, source.target),
        features=source.stream.names,
        n_features=None if source.stream.names else source.stream.d,
        positive=source.answers,
        yes_no=None if source.answers else False,
    )
    try:
        table = read_files([path], request, title)
    except DataError as error:
        raise DataError(f"--history: {error}") from None
    if source.answers is None and table.answers is not None:
        raise DataError(
            f"--history: {title}: the target {source.target!r} must be numbers, as in "
            f"{source.title}, got {table.answers.yes!r}"
        )
    if not table.rounds:
        raise DataError(f"--history: {title} has no row with a value in {source.target!r}")
    return History(table, title, table.rounds, history.half_life, table.left_out)


def cannot_study(names: list[str], history: History) -> list[str]:
    """Lines about those learners that begin without the history, or cannot let it fade."""

    def those(what: str) -> list[str]:
        return [name for name in names if not getattr(learner_row(name).cls, what, False)]

    without, lines = those("STUDIES"), []
    if without:
        lines.append(f"Without the history, which they cannot study: {', '.join(without)}.")
    alike = [name for name in those("FADES") if name not in without]
    if alike and history.half_life is not None:
        lines.append(f"Without the half-life, which they cannot use: {', '.join(alike)}.")
    return lines
