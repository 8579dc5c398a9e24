"""Result file: lines of JSON, one for each result, in a file that only grows.

A line is a cell: what was asked, under the name `id` that a digest of the question gives it, and
the answer. What is there is not asked again, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Row = dict[str, Any]  # one result: plain values that JSON can hold


def cell_id(content: Mapping[str, Any]) -> str:
    """The name of a cell: a digest of all that its answer hangs on."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


class ResultFile:
    """The rows of a file, the last of each cell, and a way to add more.

    A line that cannot be read, such as the last of a run that was killed, is left out; `broken`
    counts them. Several processes may add to the same file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        self.broken = 0
        for line in path.read_text().splitlines() if path.exists() else ():
            self._read(line)

    def _read(self, line: str) -> None:
        if not line.strip():
            return
        try:
            row = json.loads(line)
            self.rows[row["id"]] = row
        except (ValueError, TypeError, KeyError):
            self.broken += 1

    def done(self, cell: str) -> bool:
        """Whether a cell was answered; errors are tried again."""
        return cell in self.rows and "error" not in self.rows[cell]

    def add(self, row: Row) -> None:
        """Write a row, so that it survives whatever comes next."""
        line = json.dumps(row) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b", buffering=0) as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else "\n" + line  # after a torn line
            file.write(line.encode())  # one call, at the end of the file: lines do not mix
        self.rows[row["id"]] = row
