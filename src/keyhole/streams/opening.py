"""From what was named to a table: which format, how it is written, one file or several."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyhole.problem import DataError, ProblemError
from keyhole.streams.csv_text import TextTable
from keyhole.streams.dates import DatedTable, checked_parts, date_columns, parts_in
from keyhole.streams.origin import ARROW_FILE, ARROW_STREAM, PARQUET, Origin, readable
from keyhole.streams.partitions import PartitionedTable, Place
from keyhole.streams.request import Assumption, Request
from keyhole.streams.several import SeveralTables, files_of
from keyhole.streams.sniff import HEAD, sniff
from keyhole.streams.spreadsheet import sheet_of
from keyhole.streams.svmlight import SvmlightTable, is_svmlight
from keyhole.streams.tables import ArrowTable, FrameTable, ParquetTable, Table


@dataclass(frozen=True)
class Opened:
    """A table, those parts of it that are text, and what was assumed about them.

    `parquet` is the Parquet file that it is, or is made from, if that is one.
    """

    table: Table
    texts: Sequence[TextTable]
    assumed: Sequence[Assumption]
    parquet: ParquetTable | None = None

    def still_assumed(self) -> list[Assumption]:
        """The assumptions, without those that the first pass has shown to be wrong."""
        units = {(n, r.unit) for t in self.texts for n, r in t.rewrites.items() if r.unit}
        gone = {
            f"{unit!r} a unit in {name!r}"
            for t in self.texts
            for name, unit in t.habits.units.items()
            if (name, unit) not in units
        }
        return [one for one in self.assumed if one.what not in gone]


def open_table(source: object, request: Request) -> Opened:
    """The table that was named, dates made numbers where that is asked for."""
    _check_marks(request)
    return _dated(_open(source, request), request)


def _dated(opened: Opened, request: Request) -> Opened:
    parts = _parts(opened.table, request)
    if not parts:
        return opened
    dated = DatedTable(opened.table, parts)
    return replace(opened, table=dated, assumed=[*opened.assumed, *dated.assumed])


def _check_marks(request: Request) -> None:
    """ProblemError unless what was said about a CSV can be."""
    name = request.words.name
    for option in ("separator", "decimal", "quote", "thousands"):
        mark = getattr(request, option)
        if mark is None or (mark == "" and option == "thousands"):
            continue
        one = isinstance(mark, str) and len(mark) == 1
        if not one or mark in "\r\n" or (mark == '"' and option != "quote"):
            raise ProblemError(f"{name(option)} must be one character, got {mark!r}")
        if option in ("separator", "decimal", "quote") and not mark.isascii():
            raise ProblemError(f"{name(option)} must be one character of ASCII, got {mark!r}")
    comment = request.comment
    if comment is not None and (not isinstance(comment, str) or {*comment} & {"\r", "\n"}):
        raise ProblemError(f"{name('comment')} must be what lines begin with, got {comment!r}")
    pairs = (("separator", "decimal"), ("separator", "quote"), ("thousands", "decimal"))
    for one_option, other in pairs:
        mark = getattr(request, one_option)
        if mark and mark == getattr(request, other):
            raise ProblemError(
                f"{name(one_option)} and {name(other)} must differ, both are {mark!r}"
            )


def _open(source: object, request: Request) -> Opened:
    found = places_of(source)
    if found is None:
        return Opened(FrameTable(source, request.words), (), ())
    opened = [_placed(place, request) for place in _sorted(found, request)]
    if len(opened) == 1:
        return opened[0]
    assumed = dict.fromkeys(one for each in opened for one in each.assumed)
    texts = [text for each in opened for text in each.texts]
    return Opened(SeveralTables([each.table for each in opened]), texts, list(assumed))


def places_of(source: object) -> list[Place] | None:
    """The files of a path, an address or a list of them; None if it is something else."""
    if isinstance(source, list | tuple) and source and all(map(_is_path, source)):
        return [place for one in source for place in files_of(one)]
    return files_of(source) if isinstance(source, str | os.PathLike) else None


def _sorted(found: Sequence[Place], request: Request) -> Sequence[Place]:
    """The files in alphabetical order or as listed, or by the first value of a column in each."""
    if request.order_by is None or len(found) < 2:
        return found
    return sorted(found, key=lambda place: first_value(place, request))


def first_value(place: Place, request: Request) -> tuple[Any, ...]:
    """What a file is sorted by: the value of a column in its first row; those without come last."""
    name, table = request.order_by or "", _placed(place, request).table
    if name not in table.names:
        raise DataError(
            f"{table.title} has no column {name!r} to sort files by "
            f"({request.words.name('order_by')})"
        )
    value = None
    for batch in table.batches([name], {}, 1):
        value = batch.rows.column(name)[0].as_py()
        break
    if isinstance(value, str):
        return 1, 0.0, value, place.path
    if value is None:
        return 2, 0.0, "", place.path
    number = value if isinstance(value, int | float) else None
    return (0, number, "", place.path) if number is not None else (1, 0.0, str(value), place.path)


def open_place(place: Place, request: Request) -> Opened:
    """The table of one file, dates made numbers where that is asked for."""
    _check_marks(request)
    return _dated(_placed(place, request), request)


def _placed(place: Place, request: Request) -> Opened:
    """The table of a file, with the values of its folders as columns unless they are left out."""
    opened = _file(place.path, request)
    if not place.values or request.partitions is False:
        return opened
    table = PartitionedTable(opened.table, place.values)
    told = [
        Assumption(f"{constant.name!r}, the name of folders, a column", "partitions")
        for constant in place.values
        if request.partitions is None
    ]
    return replace(opened, table=table, assumed=[*opened.assumed, *told])


def _is_path(source: object) -> bool:
    return isinstance(source, str | os.PathLike)


def _file(path: str, request: Request) -> Opened:
    origin = Origin(path)
    assumed: list[Assumption] = []
    if origin.magic == PARQUET:
        parquet = ParquetTable(origin, request.words)
        return Opened(parquet, (), (), parquet)
    if origin.magic in (ARROW_FILE, ARROW_STREAM):
        return Opened(ArrowTable(origin, request.words), (), ())
    if origin.is_spreadsheet:
        origin, assumed = sheet_of(origin, request.sheet)
    elif request.sheet is not None:
        raise DataError(
            f"{origin.title} is no spreadsheet: it has no sheet {request.sheet!r}; leave out "
            f"{request.words.name('sheet')}"
        )
    head = _head(origin)
    if not assumed and is_svmlight(origin, head):
        return Opened(SvmlightTable(origin, request.words, request.rounds), (), ())
    plain = "\t" if ".tsv" in origin.path.suffixes[-2:] else ","
    found = sniff(head, request, plain)
    text = TextTable(origin, found.habits, request.words)
    return Opened(text, (text,), [*assumed, *found.assumed])


def _head(origin: Origin) -> bytes:
    parts, size = [], 0
    with origin.open() as handle, readable(origin.title, origin.packing):
        while size < HEAD and (data := handle.read(HEAD - size)):
            parts.append(data)
            size += len(data)
    return b"".join(parts)


def _parts(table: Table, request: Request) -> dict[str, tuple[str, ...]]:
    """By column of dates, what is made of it."""
    asked = checked_parts(request.dates)
    if request.features is not None:
        return parts_in(request.features, table.names)
    if not asked:
        return {}
    skip = [*request.ignore, *request.categorical]
    skip += [] if request.target is None else [request.target]
    found = date_columns(table, skip)
    if not found:
        raise DataError(
            f"{table.title}: {request.words.say('dates', asked[0])}, and no column holds dates"
        )
    return dict.fromkeys(found, asked)
