"""JSON lines: one object per line, copied to CSV and read like any other file of text."""

from __future__ import annotations

import csv
import json
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyhole.errors import shortened
from keyhole.problem import DataError
from keyhole.streams.read_options import ReadArguments
from keyhole.streams.source_file import BOM, SourceFile, read_fully, readable

BLOCK_BYTES = 1 << 20  # read at a time
MAX_LINE_BYTES = 64 << 20  # of one object
# The copy has one line more than the file, its header.
LINES_AHEAD = 1


def json_as_csv(origin: SourceFile) -> SourceFile:
    """The same rows as a temporary CSV file: a column for every key of any object.

    What is inside an object becomes `outer.inner`; a list stays text. A key that an object does not
    have, and null, are empty cells. Row i of the copy is on line i + 1, blank lines included.
    """
    descriptor, path = tempfile.mkstemp(prefix="keyhole-", suffix=".csv")
    os.close(descriptor)
    try:
        _, first = next(_objects(origin), (0, {}))
        names = _write(origin, first, path)
        if len(names) > len(first):  # later objects have further keys
            names = _write(origin, names, path)
        if not names:
            raise DataError(f"{origin.title} has no object with a key in it")
        made = SourceFile(path)
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    weakref.finalize(made, Path(path).unlink, missing_ok=True)
    made.title, made.address, made.version = origin.title, origin.address, origin.version
    return made


def _write(origin: SourceFile, names: Iterable[str], path: str) -> list[str]:
    """Write the rows with these columns; the names of all columns that there are."""
    columns, found = list(names), dict.fromkeys(names)
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as file:
        out, written = csv.writer(file, lineterminator="\n"), 0
        out.writerow(columns)
        for line, row in _objects(origin):
            if row.keys() != found.keys():
                found.update(dict.fromkeys(row))
            file.write("\n" * (line - written - 1))
            out.writerow([_cell(row.get(name)) for name in columns])
            written = line
    return list(found)


def as_copied(request: ReadArguments) -> ReadArguments:
    """What was asked for, about the copy: how that is written is known."""
    return replace(
        request,
        separator=",",
        decimal=".",
        thousands=None,
        encoding="utf-8",
        header=True,
        comment="",
        quote='"',
        skip_rows=0,
    )


def _objects(origin: SourceFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects, each with the number of its line; blank lines are left out."""
    for line, data in enumerate(_lines(origin), start=1):
        if data.strip():
            yield line, _object(data, f"{origin.title}, line {line:,}")


def _lines(origin: SourceFile) -> Iterator[bytes]:
    with origin.open() as handle:
        rest, first = b"", True
        while True:
            with readable(origin.title, origin.packing):
                data = read_fully(handle, BLOCK_BYTES)
            if first:
                data, first = data.removeprefix(BOM), False
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            yield from lines
            if len(rest) > MAX_LINE_BYTES:
                raise DataError(
                    f"{origin.title}: an object is longer than {MAX_LINE_BYTES:,} bytes"
                )
        if rest:
            yield rest


def _object(data: bytes, where: str) -> dict[str, Any]:
    """The object of a line, with the objects in it spread out."""
    try:
        # Numbers stay as they are written: CSV will read them.
        found = json.loads(
            data.decode("utf-8"), parse_float=str, parse_int=str, object_pairs_hook=_once
        )
    except UnicodeDecodeError:
        raise DataError(f"{where}: not UTF-8, as JSON has to be") from None
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        if data.lstrip().startswith(b"["):
            why = "this is an array"
        raise DataError(
            f"{where}: not an object on one line ({why}): write one object per line, as "
            "`jq -c '.[]' FILE` does of an array, or `jq -c .` of objects over several lines"
        ) from None
    if not isinstance(found, dict):
        raise DataError(
            f"{where}: {shortened(found)} is not an object: write one object per line, as "
            "`jq -c '.[]' FILE` does of an array"
        )
    return _spread(found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, each of its keys once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _spread(found: dict[str, Any], before: str = "") -> dict[str, Any]:
    """What is in an object, by names such as `outer.inner`.

    >>> _spread({"age": "31", "lab": {"crp": "4.2", "ph": None}})
    {'age': '31', 'lab.crp': '4.2', 'lab.ph': None}
    """
    spread: dict[str, Any] = {}
    for key, value in found.items():
        name = f"{before}{key.strip()}"
        spread.update(_spread(value, f"{name}.") if isinstance(value, dict) else {name: value})
    return spread


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, list) else str(value)
