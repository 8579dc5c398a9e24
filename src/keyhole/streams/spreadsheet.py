"""Spreadsheets of Excel and OpenDocument: one sheet, copied to CSV and read like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

from keyhole.problem import DataError, nearest
from keyhole.problem.optional_imports import extra
from keyhole.streams.read_options import Assumption
from keyhole.streams.sheet_process import MAX_SECONDS
from keyhole.streams.source_file import SourceFile

PROCESS = "keyhole.streams.sheet_process"


def sheet_of(origin: SourceFile, sheet: str | None) -> tuple[SourceFile, list[Assumption]]:
    """A sheet as a file of text, and what was assumed about it; lines are the sheet's rows."""
    extra("python_calamine", "excel")
    if sheet == "":
        raise DataError(f"{origin.title} has no sheet '': leave the name out for the first one")
    descriptor, name = tempfile.mkstemp(prefix="keyhole-", suffix=".csv")
    os.close(descriptor)
    try:
        said = _parsed(origin, sheet or "", name)
        title, assumed = _checked(origin.title, sheet, said)
        made = SourceFile(name)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    weakref.finalize(made, Path(name).unlink, missing_ok=True)
    made.title = title
    return made, assumed


def _parsed(origin: SourceFile, sheet: str, goal: str) -> dict[str, Any]:
    """What the process says that parses the workbook; DataError if it does not end in peace."""
    path = os.pathsep.join(filter(None, sys.path))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", PROCESS, str(origin.path), sheet, goal],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=MAX_SECONDS,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"},
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise DataError(
            f"{origin.title} could not be read within {MAX_SECONDS} seconds: save the sheet as CSV"
        ) from None
    except (subprocess.CalledProcessError, OSError):
        raise DataError(
            f"{origin.title} could not be read, it is damaged or too large: save the sheet as CSV"
        ) from None
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def _checked(file: str, sheet: str | None, said: dict[str, Any]) -> tuple[str, list[Assumption]]:
    """What to call the sheet and what was assumed about it, or a DataError."""
    if "refused" in said:
        raise DataError(f"{file} {said['refused']}")
    names, chosen = said["names"], said["chosen"]
    if chosen is None:
        some = nearest(sheet or "", names) or f": it has {', '.join(names[:8])}"
        raise DataError(f"{file} has no sheet {sheet!r}{some}")
    title = f"{file}, sheet {chosen}" if len(names) > 1 else file
    if said["empty"]:
        raise DataError(f"{title} is empty")
    if sheet is None and len(names) > 1:
        return title, [Assumption(f"sheet {chosen!r}, the first of {len(names)}", "sheet")]
    return title, []
