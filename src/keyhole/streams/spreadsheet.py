"""Spreadsheets of Excel and OpenDocument: one sheet, copied to CSV and read like any other."""

from __future__ import annotations

import csv
import datetime
import functools
import os
import re
import tempfile
import weakref
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from keyhole.problem import DataError, nearest
from keyhole.problem.optional_imports import extra
from keyhole.streams.read_options import Assumption
from keyhole.streams.source_file import ZIP, SourceFile, first_line, readable

CELL_REFERENCE = re.compile(rb'\br="([A-Z]{1,4})([0-9]{1,9})"')
MAX_CELLS = 20_000_000  # of one sheet
MAX_WORKBOOK_BYTES = 1 << 30  # that a workbook may unpack to: it is held in memory once


def sheet_of(origin: SourceFile, sheet: str | None) -> tuple[SourceFile, list[Assumption]]:
    """A sheet as a file of text, and what was assumed about it; lines are the sheet's rows."""
    rows, title, assumed = _rows(origin, sheet)
    if not any(map(any, rows)):
        raise DataError(f"{title} is empty")
    descriptor, name = tempfile.mkstemp(prefix="keyhole-", suffix=".csv")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            for row in rows:
                if any(row):
                    writer.writerow(row)
                else:
                    file.write("\n")
        made = SourceFile(name)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    weakref.finalize(made, Path(name).unlink, missing_ok=True)
    made.title = title
    return made, assumed


def _rows(origin: SourceFile, sheet: str | None) -> tuple[list[list[str]], str, list[Assumption]]:
    calamine = extra("python_calamine", "excel")
    if origin.magic == ZIP:
        with readable(origin.title, origin.packing):
            _refuse_huge(origin)
    assumed: list[Assumption] = []
    try:
        with readable(origin.title):
            book = calamine.CalamineWorkbook.from_path(str(origin.path))
            names = list(book.sheet_names)
            if sheet is not None and sheet not in names:
                some = nearest(sheet, names) or f": it has {', '.join(names[:8])}"
                raise DataError(f"{origin.title} has no sheet {sheet!r}{some}")
            if sheet is None and len(names) > 1:
                told = f"sheet {names[0]!r}, the first of {len(names)}"
                assumed.append(Assumption(told, "sheet"))
            chosen = names[0] if sheet is None else sheet
            found = book.get_sheet_by_name(chosen)
            above = 0 if found.start is None else found.start[0]
            cells = found.to_python(skip_empty_area=True)
    except BaseException as error:
        # What calamine says about a damaged workbook; a panic of it is no Exception.
        if isinstance(error, DataError | KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise DataError(
            f"{origin.title} is a damaged or locked spreadsheet: {first_line(error)}"
        ) from None
    title = f"{origin.title}, sheet {chosen}" if len(names) > 1 else origin.title
    return _text(cells, above), title, assumed


def _refuse_huge(origin: SourceFile) -> None:
    """DataError for a workbook that would not fit in memory: two cells far apart are enough."""
    with zipfile.ZipFile(origin.path) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > MAX_WORKBOOK_BYTES:
            raise DataError(f"{origin.title} unpacks to more than 1 GiB: save the sheet as CSV")
        for entry in entries:
            if entry.filename.startswith("xl/worksheets/") and entry.filename.endswith(".xml"):
                with archive.open(entry) as sheet:
                    rows, columns = _extent(sheet)
                if rows * columns > MAX_CELLS:
                    raise DataError(
                        f"{origin.title} has a sheet of {rows:,} rows and {columns:,} columns: "
                        "save the part that you need as CSV"
                    )


def _extent(sheet: IO[bytes]) -> tuple[int, int]:
    """The last row and the last column that cells of a worksheet name."""
    rows, columns, rest = 0, 0, b""
    while data := sheet.read(1 << 20):
        data = rest + data
        for letters, row in set(CELL_REFERENCE.findall(data)):
            rows = max(rows, int(row))
            columns = max(columns, functools.reduce(lambda n, c: 26 * n + c - 64, letters, 0))
        rest = data[-32:]
    return rows, columns


def _text(cells: Sequence[Sequence[object]], above: int) -> list[list[str]]:
    """Cells as text, without columns at the right that are empty."""
    rows = [[_cell(value) for value in row] for row in cells]
    width = max((j + 1 for row in rows for j, cell in enumerate(row) if cell), default=0)
    return [[] for _ in range(above)] + [row[:width] for row in rows]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
