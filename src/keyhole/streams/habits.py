"""How a text file is written: its encoding, separators, numbers, header and comments."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

from keyhole.problem import DataError, ProblemError
from keyhole.streams.packing import Readable

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?")
UTF8 = "utf-8"
NOT_FOR_FILES = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs")


@dataclass(frozen=True, slots=True)
class Habits:
    """How a text file is written.

    `thousands` is empty if digits are not grouped, `comment` if there are no comments, `units` has
    by column what stands beside every number of it. `missing` is what counts as no value beside
    `MISSING`.
    """

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    quote: str = '"'
    comment: str = ""
    encoding: str = UTF8
    header: bool = True
    missing: tuple[str, ...] = ()
    units: dict[str, str] = field(default_factory=dict)
    grouped: frozenset[str] = frozenset()  # columns whose digits are grouped


def number_pattern(decimal: str) -> str:
    """The regular expression of a cell that is a number, the same for Arrow, re2 and Python."""
    point = re.escape(decimal)
    digits = rf"([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?"
    return rf"^\s*-?({digits}|[iI][nN][fF]([iI][nN][iI][tT][yY])?)\s*$"


def checked_encoding(name: str) -> str:
    """The usual name of an encoding of text, or a ProblemError."""
    try:
        found = codecs.lookup(name)
        if found.name in NOT_FOR_FILES:
            raise LookupError
        "1,a".encode(found.name)
    except (LookupError, UnicodeError, ValueError):
        raise ProblemError(
            f"encoding {name!r} is not known: utf-8, utf-16, latin-1 and cp1252 are"
        ) from None
    return found.name


class Decoded:
    """An open file in another encoding, read as UTF-8."""

    def __init__(self, raw: Readable, encoding: str, title: str) -> None:
        self._raw, self._title, self._encoding = raw, title, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready, self._line, self._ended = b"", 1, False

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        while not self._ready and not self._ended:
            data = self._raw.read(size)
            self._ended = not data
            try:
                text = self._decoder.decode(data, self._ended)
            except UnicodeError:
                raise DataError(
                    f"{self._title}, after line {self._line:,}: not {self._encoding}: is it "
                    "another encoding?"
                ) from None
            self._line += text.count("\n")
            self._ready = text.encode("utf-8", "replace")
        data, self._ready = self._ready[:size], self._ready[size:]
        return data


class Uncommented:
    """An open file whose comment lines are blank: lines are counted as before."""

    def __init__(self, raw: Readable, comment: str, quote: str) -> None:
        self._raw, self._mark, self._quote = raw, comment.encode(), quote.encode()
        self._ready, self._rest, self._quoted, self._ended = b"", b"", False, False

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        while not self._ready and not self._ended:
            data = self._raw.read(size)
            self._ended = not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            kept = [self._line(line) + b"\n" for line in lines]
            if self._ended:
                kept.append(self._line(self._rest))
            self._ready = b"".join(kept)
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _line(self, line: bytes) -> bytes:
        if not self._quoted and line.removeprefix(codecs.BOM_UTF8).startswith(self._mark):
            return b""
        self._quoted ^= bool(line.count(self._quote) % 2)  # the next line goes on with this row
        return line
