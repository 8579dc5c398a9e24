"""Source of examples: files or the simulated clinic, with their prices and their history."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keyhole import streams
from keyhole.cli.options import CsvOptions, FileOptions, HistoryOptions, PriceOptions, ReadOptions
from keyhole.cli.progress import status_line
from keyhole.errors import printable
from keyhole.game.playing import study_history
from keyhole.learners.history import kept_per_row
from keyhole.learners.registry import learner_row
from keyhole.problem import BlockStream, DataError, Learner, ProblemError
from keyhole.problem.display import counted
from keyhole.problem.limits import LimitList
from keyhole.problem.prices import Prices, PriceTable, price_list
from keyhole.streams.files import ReadStream, read_with
from keyhole.streams.read_options import COMMAND_SYNTAX, ReadArguments, assumptions_line

CLINIC_PRICES = "clinic"  # in place of a file: the price list of the simulated clinic


@dataclass(frozen=True)
class Pricing:
    """Prices of the features of a stream, where they come from, and rows that were not needed.

    Without a price list, `columns` has the columns that several features come from, and how many:
    every column then costs 1, and a budget counts columns.
    """

    title: str
    prices: Prices
    left_out: tuple[str, ...] = ()
    columns: Mapping[str, int] = field(default_factory=dict)
    limits: LimitList = field(default_factory=dict)

    @property
    def everything(self) -> float:
        """What all features of one example cost."""
        return self.prices.cost(range(len(self.prices.needs)))

    def words(self) -> list[str]:
        """A line about what is counted, or about the rows that were left out, if any were."""
        if self.columns:
            most = sorted(self.columns, key=lambda name: -self.columns[name])
            some = ", ".join(f"{name} ({self.columns[name]} features)" for name in most[:4])
            more = f" and {len(most) - 4} more" if len(most) > 4 else ""
            return [f"A budget counts columns. One purchase each: {some}{more}."]
        if not self.left_out:
            return []
        rows = ", ".join(repr(name) for name in self.left_out)
        return [f"Prices of {rows} in {self.title} are left out: they are not features here."]

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "source": self.title,
            "left_out": list(self.left_out),
            "full": self.everything,
            "columns": bool(self.columns),
        }

    def widest(self, columns: int) -> int:
        """The most features that so many columns can have."""
        rest = len(self.prices.items) - len(self.columns)
        sizes = sorted([*self.columns.values(), *[1] * rest], reverse=True)
        return sum(sizes[:columns])


def read_table(path: str) -> PriceTable:
    """The price list of a file, or the clinic's."""
    from keyhole.problem.price_file import read_prices

    return streams.clinic_prices() if path == CLINIC_PRICES else read_prices(path)


def open_pricing(path: str, stream: BlockStream, ignored: Iterable[str] = ()) -> Pricing:
    """The price list of a file for the features of a stream; `ignored` columns are none."""
    table, away = read_table(path), {*ignored}
    groups = getattr(stream, "groups", None)
    names = stream.names or tuple(f"x{j}" for j in range(stream.d))
    fitted = table.fitted(names, groups, away)
    prices = price_list(stream.d, names, fitted.prices, fitted.panels, fitted.derived)
    title = "the clinic's price list" if path == CLINIC_PRICES else path
    left_out = tuple(sorted(_rows(table) & away))
    return Pricing(title, prices, left_out, limits=fitted.limits)


def _rows(table: PriceTable) -> set[str]:
    """The names that a price list has something to say about."""
    members = (name for _, names in table.panels.values() for name in names)
    return {*table.prices, *table.derived, *members}


def column_pricing(stream: BlockStream) -> Pricing | None:
    """A pricing where every column costs 1, however many features it has; None if all have one."""
    groups: Mapping[str, Sequence[str]] = getattr(stream, "groups", {})
    several = {column: tuple(names) for column, names in groups.items() if len(names) > 1}
    if not several or stream.names is None:
        return None
    single = {names[0]: 1 for names in groups.values() if len(names) == 1}
    taken = {*stream.names}
    panels = {
        f"column {column}" if column in taken else column: (1, names)
        for column, names in several.items()
    }
    prices = price_list(stream.d, stream.names, single, panels)
    return Pricing("columns", prices, columns={name: len(of) for name, of in several.items()})


def table_for(path: str, names: tuple[str, ...]) -> PriceTable:
    """The price list of a file for these features; its rows for anything else are left out."""
    table = read_table(path)
    columns = {name.partition("=")[0] for name in names}
    return table.fitted(names, ignored=_rows(table) - {*names} - columns)


def prices_for(path: str, names: tuple[str, ...]) -> Prices:
    """The prices alone."""
    fitted = table_for(path, names)
    return price_list(len(names), names, fitted.prices, fitted.panels, fitted.derived)


def request_of(csv: CsvOptions, target: str | None) -> ReadArguments:
    """What the options of a CSV ask of the reader."""
    given = {field.name: getattr(csv, field.name) for field in dataclasses.fields(csv)}
    missing = tuple(given.pop("missing") or ())
    return ReadArguments(target, **given, missing=missing, syntax=COMMAND_SYNTAX)


def whole_request(reading: ReadOptions, target: str) -> ReadArguments:
    """What all options ask of the reader."""
    parts = ",".join(reading.dates or ()).split(",")
    return dataclasses.replace(
        request_of(reading.csv, target),
        ignore=reading.ignore or (),
        categorical=reading.categorical or (),
        most_levels=reading.most_levels,
        dates=tuple(part.strip() for part in parts if part.strip()),
        partitions=reading.partitions,
        order_by=reading.order_by,
        rounds=reading.rounds,
        positive=reading.answers.positive,
        yes_no=reading.answers.yes_no,
    )


def read_files(files: Sequence[str], request: ReadArguments, title: str) -> ReadStream:
    """The stream of some files; a line on standard error says what was assumed about them."""
    source = files[0] if len(files) == 1 else list(files)
    with status_line(f"reading {title}") as stage:
        watched = dataclasses.replace(request, progress=lambda rows: stage(f"{rows:,} rows so far"))
        stream = read_with(source, watched)
    line = assumptions_line(stream.assumed, request.syntax)
    if line:
        sys.stderr.write(f"keyhole: {printable(title)}: {printable(line)}\n")
    return stream


@dataclass(frozen=True)
class Source:
    """A stream, what it is called in front of a person, and the name of its label."""

    stream: BlockStream
    title: str
    target: str
    left_out: int = 0
    pricing: Pricing | None = None
    answers: streams.Answers | None = None  # of a target that is yes or no

    @property
    def counts_columns(self) -> bool:
        """Whether a budget counts columns: some have several features, and there is no price."""
        return self.pricing is not None and bool(self.pricing.columns)

    def price_words(self) -> list[str]:
        """Lines about the prices; none where there are none."""
        return [] if self.pricing is None else self.pricing.words()

    def prices_json(self) -> dict[str, Any] | None:
        """The same for machines."""
        return None if self.pricing is None else self.pricing.as_json()

    def answer_words(self) -> list[str]:
        """A line about what the values of the target mean; none for a target of numbers."""
        if self.answers is None:
            return []
        return [f"Yes or no: {self.answers}. Predictions are probabilities of yes."]

    def answers_json(self) -> dict[str, str | None] | None:
        """The same for machines."""
        return None if self.answers is None else {"yes": self.answers.yes, "no": self.answers.no}


def open_source(file: FileOptions, reading: ReadOptions, money: PriceOptions) -> Source:
    """The stream of a file, or the clinic if there is none; with prices if there are some."""
    if not file.files and file.target is not None:
        raise DataError(f"--target {file.target} needs a file: name one before it")
    clinic = "the simulated clinic", "days in hospital"
    source = _table(file, reading) if file.files else Source(streams.clinic().stream, *clinic)
    stream = source.stream
    if money.prices is None:
        pricing = column_pricing(stream)
    else:
        away = [*(reading.ignore or ()), *([file.target] if file.target else ())]
        pricing = open_pricing(money.prices, stream, away)
    if reading.rounds is not None and not file.files:
        stream = streams.take(stream, reading.rounds)
    return dataclasses.replace(source, stream=stream, pricing=pricing)


def _table(file: FileOptions, reading: ReadOptions) -> Source:
    if file.target is None:
        raise DataError(f"which column of {file.title} is to be predicted? Use --target COLUMN")
    table = read_files(file.files, whole_request(reading, file.target), file.title)
    if not table.rounds:
        raise DataError(f"{file.title} has no row with a value in {file.target!r}")
    return Source(table, file.title, file.target, table.left_out, answers=table.answers)


@dataclass(frozen=True)
class HistorySource:
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
) -> HistorySource | None:
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
    return HistorySource(table, title, table.rounds, history.half_life, table.left_out)


def cannot_study(names: list[str], history: HistorySource) -> list[str]:
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
