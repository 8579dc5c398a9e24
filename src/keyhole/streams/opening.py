"""From what was named to a table: which format, how it is written, one file or several."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from keyhole.problem import DataError, ProblemError
from keyhole.streams.csv_text import TextTable
from keyhole.streams.dates import DatedTable, checked_parts, date_columns, parts_in
from keyhole.streams.origin import ARROW_FILE, ARROW_STREAM, PARQUET, Origin, readable
from keyhole.streams.request import Assumption, Request
from keyhole.streams.several import SeveralTables, files_of
from keyhole.streams.sniff import HEAD, sniff
from keyhole.streams.spreadsheet import sheet_of
from keyhole.streams.svmlight import SvmlightTable, is_svmlight
from keyhole.streams.tables import ArrowTable, FrameTable, ParquetTable, Table


@dataclass(frozen=True)
class Opened:
    """A table, those parts of it that are text, and what was assumed about them."""

    table: Table
    texts: Sequence[TextTable]
    assumed: Sequence[Assumption]

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
    opened = _open(source, request)
    parts = _parts(opened.table, request)
    if not parts:
        return opened
    dated = DatedTable(opened.table, parts)
    return Opened(dated, opened.texts, [*opened.assumed, *dated.assumed])


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
    if isinstance(source, list | tuple) and source and all(map(_is_path, source)):
        paths = [path for one in source for path in files_of(one)]
    elif _is_path(source):
        assert isinstance(source, str | os.PathLike)
        paths = files_of(source)
    else:
        return Opened(FrameTable(source, request.words), (), ())
    opened = [_file(path, request) for path in paths]
    if len(opened) == 1:
        return opened[0]
    assumed = dict.fromkeys(one for each in opened for one in each.assumed)
    texts = [text for each in opened for text in each.texts]
    return Opened(SeveralTables([each.table for each in opened]), texts, list(assumed))


def _is_path(source: object) -> bool:
    return isinstance(source, str | os.PathLike)


def _file(path: str, request: Request) -> Opened:
    origin = Origin(path)
    assumed: list[Assumption] = []
    if origin.magic == PARQUET:
        return Opened(ParquetTable(origin, request.words), (), ())
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
