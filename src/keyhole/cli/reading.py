"""Files as they were typed: read in the words of the command line, what was assumed is said."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

from keyhole.cli.options import CsvOptions, ReadOptions
from keyhole.cli.progress import staged
from keyhole.errors import printable
from keyhole.streams.files import ReadStream, read_request
from keyhole.streams.request import Request, told
from keyhole.streams.words import COMMAND


def request_of(csv: CsvOptions, target: str | None) -> Request:
    """What the options of a CSV ask of the reader."""
    given = {field.name: getattr(csv, field.name) for field in dataclasses.fields(csv)}
    missing = tuple(given.pop("missing") or ())
    return Request(target, **given, missing=missing, words=COMMAND)


def whole_request(reading: ReadOptions, target: str) -> Request:
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


def read_files(files: Sequence[str], request: Request, title: str) -> ReadStream:
    """The stream of some files; a line on standard error says what was assumed about them."""
    source = files[0] if len(files) == 1 else list(files)
    with staged(f"reading {title}") as stage:
        counted = dataclasses.replace(request, progress=lambda rows: stage(f"{rows:,} rows so far"))
        stream = read_request(source, counted)
    line = told(stream.assumed, request.words)
    if line:
        sys.stderr.write(f"keyhole: {printable(title)}: {printable(line)}\n")
    return stream
