"""Files that commands write: whole or not at all, or CSV on standard output."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from keyhole import streams
from keyhole.problem import BlockStream, DataError


def write(source: BlockStream | Mapping[str, ArrayLike], out: str, *, target: str = "y") -> None:
    """Write a stream, or columns by name, to a file or as CSV to standard output ("-")."""
    if out != "-":
        streams.write(source, out, target=target)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        streams.write(source, path, target=target)
        sys.stdout.flush()
        with path.open("rb") as rows:
            shutil.copyfileobj(rows, sys.stdout.buffer)


def refuse_two(out: str, as_json: bool) -> None:
    """Rows and JSON cannot both go to standard output."""
    if out == "-" and as_json:
        raise DataError("--json needs standard output for itself: name a file with --out")
