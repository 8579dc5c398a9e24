"""Source of examples: the stream of the files that were named, or the simulated clinic."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

from keyhole import streams
from keyhole.cli.options import CsvOptions, FileOptions, PriceOptions, ReadOptions
from keyhole.cli.pricing import Pricing, column_pricing, open_pricing
from keyhole.cli.progress import status_line
from keyhole.errors import printable
from keyhole.problem import BlockStream, DataError
from keyhole.streams.files import ReadStream, read_with
from keyhole.streams.read_options import COMMAND_SYNTAX, ReadArguments, assumptions_line


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
        counted = dataclasses.replace(request, progress=lambda rows: stage(f"{rows:,} rows so far"))
        stream = read_with(source, counted)
    line = assumptions_line(stream.assumed, request.syntax)
    if line:
        sys.stderr.write(f"keyhole: {printable(title)}: {printable(line)}\n")
    return stream


@dataclasses.dataclass(frozen=True)
class Source:
    """A stream, what it is called in front of a person, and the name of its label."""

    stream: BlockStream
    title: str
    target: str
    left_out: int = 0
    pricing: Pricing | None = None
    answers: streams.Answers | None = None  # of a target that is yes or no

    def answer_words(self) -> list[str]:
        """A line about what the values of the target mean; none for a target of numbers."""
        if self.answers is None:
            return []
        return [f"Yes or no: {self.answers}. Predictions are probabilities of yes."]

    def answers_json(self) -> dict[str, str | None] | None:
        """The same for machines."""
        return None if self.answers is None else {"yes": self.answers.yes, "no": self.answers.no}


def open_source(
    file: FileOptions, reading: ReadOptions, money: PriceOptions | None = None
) -> Source:
    """The stream of a file, or the clinic if there is none; with prices if there are some."""
    source = _table(file, reading) if file.files else _clinic(file)
    if money is not None and money.prices is not None:
        away = [*(reading.ignore or ()), *([file.target] if file.target else ())]
        pricing = open_pricing(money.prices, source.stream, away)
        source = dataclasses.replace(source, pricing=pricing)
    elif money is not None:
        source = dataclasses.replace(source, pricing=column_pricing(source.stream))
    if reading.rounds is None or file.files:
        return source
    return dataclasses.replace(source, stream=streams.take(source.stream, reading.rounds))


def _clinic(file: FileOptions) -> Source:
    if file.target is not None:
        raise DataError(f"--target {file.target} needs a file: name one before it")
    return Source(streams.clinic().stream, "the simulated clinic", "days in hospital")


def _table(file: FileOptions, reading: ReadOptions) -> Source:
    if file.target is None:
        raise DataError(f"which column of {file.title} is to be predicted? Use --target COLUMN")
    table = read_files(file.files, whole_request(reading, file.target), file.title)
    if not table.rounds:
        raise DataError(f"{file.title} has no row with a value in {file.target!r}")
    return Source(table, file.title, file.target, table.left_out, answers=table.answers)
