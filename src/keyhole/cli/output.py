"""Output of commands: JSON, text in columns, and files of rows."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole import streams
from keyhole.errors import CONTROL, printable
from keyhole.problem import BlockStream, DataError, Interval

LEFT, RIGHT = "<", ">"


def emit(answer: Mapping[str, object]) -> None:
    """One JSON object on standard output; a number that is not finite is null."""
    text = json.dumps(plain(answer), indent=2, ensure_ascii=False, allow_nan=False)
    # What JSON lets stand and a terminal obeys; only strings can hold it, so it can be escaped.
    text = re.sub(f"(?!\n)[{CONTROL}]", lambda found: f"\\u{ord(found[0]):04x}", text)
    sys.stdout.write(f"{text}\n")


def plain(value: object) -> Any:
    """A value as JSON knows them.

    >>> plain({"a": np.array([1.5, math.inf]), "b": Interval(0.0, 2.0, "search")})
    {'a': [1.5, None], 'b': {'low': 0.0, 'high': 2.0, 'how': 'search'}}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def say(*lines: str) -> None:
    """Lines of text on standard output; what a terminal would obey is escaped."""
    for line in lines:
        sys.stdout.write(f"{printable(line.rstrip())}\n")


def answer(as_json: bool, said: Mapping[str, object], *lines: str) -> None:
    """What a command answers: one JSON object, or lines of text."""
    if as_json:
        emit(said)
    else:
        say(*lines)


def heading(text: str) -> None:
    """A line that stands out, in bold on a terminal unless NO_COLOR is set."""
    from rich.console import Console

    say("")
    Console(highlight=False, soft_wrap=True).print(
        printable(text), style="bold", markup=False, emoji=False
    )


def columns(rows: Sequence[Sequence[str]], align: str, indent: int = 2) -> list[str]:
    """Rows as lines whose cells stand below each other.

    >>> columns([("tsh", "1.25"), ("iron", "-3")], "<>")
    ['  tsh   1.25', '  iron    -3']
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        " " * indent
        + "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def number(value: float) -> str:
    """A number for people: four digits that count.

    >>> number(1234567.8), number(0.012345), number(math.nan), number(12.0), number(2.589e12)
    ('1,234,568', '0.01235', '-', '12', '2.589e+12')
    """
    if not math.isfinite(value):
        return "-" if math.isnan(value) else f"{value}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def span(interval: Interval) -> str:
    """An interval for people; one number where its ends look the same.

    >>> span(Interval(1.0, 1.0, "")), span(Interval(-2.0, 30.5, ""))
    ('1', 'between -2 and 30.5')
    """
    low, high = number(interval.low), number(interval.high)
    return low if low == high else f"between {low} and {high}"


def write_rows(
    source: BlockStream | Mapping[str, ArrayLike], out: str, *, target: str = "y"
) -> None:
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


def refuse_json_and_rows(out: str | None, as_json: bool) -> None:
    """Rows and JSON cannot both go to standard output."""
    if out == "-" and as_json:
        raise DataError("--json needs standard output for itself: name a file with --out")
