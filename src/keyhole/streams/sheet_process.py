"""The process that parses a spreadsheet: measured first, with limits of memory and time.

A parser in compiled code may abort and take its process with it: this one is started anew for every
sheet, and whoever asked goes on. `python -m keyhole.streams.sheet_process WORKBOOK SHEET GOAL`
writes the sheet as CSV and says the rest as JSON. An empty SHEET is the first one.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import functools
import importlib
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

MAX_CELLS = 20_000_000  # of one sheet, and of the box around them: the parser makes that
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # of any sheet, as Excel has them
MAX_WORKBOOK_BYTES = 1 << 30  # that a workbook may unpack to: it is held in memory once
MAX_MEMORY_BYTES = 4 << 30  # of this process, where the system can limit it
MAX_SECONDS = 300
CELL = re.compile(
    rb"""<(?:\w+:)?c(?:\s[^<>]{0,256}?\br\s*=\s*["']([A-Za-z]+)([0-9]+)["']|[\s/>])"""
)
LONGEST_TAG = 512  # bytes of a tag that may reach over the end of a block


class RefusedError(Exception):
    """A workbook that is not read; the message goes on after its name."""


def main(workbook: str, sheet: str, goal: str) -> None:
    """Write a sheet as CSV; what is said of it, or against it, goes to standard output."""
    _limit_process()
    try:
        if zipfile.is_zipfile(workbook):
            _refuse_huge(workbook)
        said = _write_sheet(workbook, sheet, goal)
    except RefusedError as error:
        said = {"refused": str(error)}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the parser is no Exception
        if isinstance(error, MemoryError):
            raise
        words = (str(error).strip().splitlines() or [type(error).__name__])[0]
        said = {"refused": f"is a damaged or locked spreadsheet: {words}"}
    sys.stdout.write(json.dumps(said))


def _limit_process() -> None:
    """Memory and time that the parser may take; not every system has these limits."""
    with contextlib.suppress(ImportError):
        resource: Any = importlib.import_module("resource")
        for name, most in (("AS", MAX_MEMORY_BYTES), ("CPU", MAX_SECONDS), ("CORE", 0)):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                kind = getattr(resource, f"RLIMIT_{name}")
                hard = resource.getrlimit(kind)[1]
                most = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(kind, (most, hard))


def _refuse_huge(workbook: str) -> None:
    """RefusedError for a workbook that would not fit in memory: two cells far apart are enough."""
    with zipfile.ZipFile(workbook) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > MAX_WORKBOOK_BYTES:
            raise RefusedError("unpacks to more than 1 GiB: save the sheet as CSV")
        if any(entry.filename.startswith("xl/") for entry in entries):
            for entry in entries:
                # Sheets may have any name; texts that cells share look like none.
                if not entry.filename.endswith((".bin", ".rels")):
                    with archive.open(entry) as sheet:
                        _refuse_wide(sheet)


def _refuse_wide(sheet: IO[bytes]) -> None:
    """RefusedError for a sheet with too many cells, or cells too far from each other."""
    cells, rows, columns = 0, 0, 0
    for data in _blocks(sheet):
        found = CELL.findall(data)
        cells += len(found)
        for letters, number in found:
            if not letters:
                continue  # it stands right of the one before
            row = int(number) if len(number) < 10 else 10**9
            rows, columns = max(rows, row), max(columns, _column(letters))
            if rows > MAX_ROWS or columns > MAX_COLUMNS:
                raise RefusedError(
                    f"has a cell {(letters + number)[:24].decode()}, and a sheet has at most "
                    f"{MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns: it is damaged"
                )
        if rows * columns > MAX_CELLS:
            raise RefusedError(
                f"has a sheet of {rows:,} rows and {columns:,} columns: save the part that you "
                "need as CSV"
            )
        if cells > MAX_CELLS:
            raise RefusedError(f"has a sheet of more than {MAX_CELLS:,} cells: save it as CSV")


def _blocks(sheet: IO[bytes]) -> Iterator[bytes]:
    """A file in blocks that end between tags."""
    rest = b""
    while data := sheet.read(1 << 20):
        whole, bracket, rest = (rest + data).rpartition(b">")
        yield whole + bracket
        rest = rest[-LONGEST_TAG:]
    yield rest


def _column(letters: bytes) -> int:
    """The number of a column, from 1."""
    if len(letters) > 3:
        return MAX_COLUMNS + 1
    return functools.reduce(lambda number, letter: 26 * number + letter - 64, letters.upper(), 0)


def _write_sheet(workbook: str, sheet: str, goal: str) -> dict[str, Any]:
    calamine: Any = importlib.import_module("python_calamine")
    book = calamine.CalamineWorkbook.from_path(workbook)
    names = list(book.sheet_names)
    chosen = sheet or next(iter(names), "")
    if chosen not in names:
        return {"names": names, "chosen": None}
    found = book.get_sheet_by_name(chosen)
    above = 0 if found.start is None else found.start[0]
    cells = found.to_python(skip_empty_area=True)
    width = max((_width(row) for row in cells), default=0)
    if width:
        with open(goal, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            file.write("\n" * above)
            for row in cells:
                written = [_text(value) for value in row[:width]]
                writer.writerow(written if any(written) else ())
    return {"names": names, "chosen": chosen, "empty": not width}


def _width(row: Sequence[object]) -> int:
    """How many cells there are up to the last one that is not empty."""
    return next((j + 1 for j in range(len(row) - 1, -1, -1) if _text(row[j])), 0)


def _text(value: object) -> str:
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


if __name__ == "__main__":
    main(*sys.argv[1:])
