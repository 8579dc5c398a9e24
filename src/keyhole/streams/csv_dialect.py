"""CSV dialects: encoding, separators, numbers, header and comments, as given or sniffed.

What was said is taken as it is. What plain reading (commas, points, UTF-8, a header) makes sense of
stays so: anything else is assumed only where the file cannot be meant otherwise.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from keyhole.problem import DataError, ProblemError
from keyhole.streams.cell_formats import (
    REFUSE,
    SNIFFED_ROWS,
    SPACES,
    NumberFormat,
    grouped_pattern,
    unit_of,
    without_mark,
)
from keyhole.streams.columns import readings
from keyhole.streams.read_options import Assumption, ReadArguments
from keyhole.streams.source_file import Readable

DEFAULT_MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?")
UTF8 = "utf-8"
NOT_FOR_FILES = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs")
SNIFFED_BYTES = 1 << 18  # bytes that are looked at
SEPARATORS = (",", ";", "\t", "|")
BOMS = {
    codecs.BOM_UTF8: UTF8,
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
DECIMAL_PATTERN = r"\s*[+-]?[0-9]+{}[0-9]*([eE][+-]?[0-9]+)?\s*"
CsvRows = list[list[str]]


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a text file is written.

    `thousands` is empty if digits are not grouped, `comment` if there are no comments, `units` has
    by column what stands beside every number of it. `missing` is what counts as no value beside
    `DEFAULT_MISSING`.
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
    skip_rows: int = 0  # lines before the header, or before the first row if there is none
    censored: str | None = None  # what cells such as <5 are; None: their bound, and that is told


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


class Untitled:
    """An open file whose first lines are blank: lines are counted as before."""

    def __init__(self, raw: Readable, lines: int) -> None:
        self._raw, self._left = raw, lines

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        while self._left:
            data = self._raw.read(size)
            if not data:
                return b""
            *gone, rest = data.split(b"\n", self._left)
            self._left -= len(gone)
            kept = b"\n" * len(gone) + (b"" if self._left else rest)
            if kept:
                return kept
        return self._raw.read(size)


class Sniffed(NamedTuple):
    """How a file is written, and what of that nobody said."""

    dialect: CsvDialect
    assumed: list[Assumption]


def sniff(head: bytes, request: ReadArguments, separator: str) -> Sniffed:
    """The dialect of a file that begins so; `separator` is what its name says."""
    assumed: list[Assumption] = []

    def settle(option: str, given: str | None, found: str | None, plain: str) -> str:
        """What was given, or found, or else is usual; what is found and unusual is noted."""
        if given is not None:
            return given
        if found is None or found == plain:
            return plain
        assumed.append(Assumption(f"{option} {found!r}", option))
        return found

    given = None if request.encoding is None else checked_encoding(request.encoding)
    encoding = settle("encoding", given, _encoding(head), UTF8)
    text = head.decode(encoding, "replace").removeprefix("\ufeff")
    skip_rows = request.skip_rows
    if skip_rows is None:
        skip_rows, title = _title_rows(text, request, separator)
        if skip_rows:
            many = "a row of titles" if skip_rows == 1 else f"{skip_rows} rows of titles"
            assumed.append(Assumption(f"{many} ({title!r})", "skip_rows"))
    lines = _lines("\n".join(text.split("\n")[skip_rows:]), len(head) < SNIFFED_BYTES)
    comment = settle("comment", request.comment, _comment(lines, separator), "")
    if comment:
        lines = [line for line in lines if not line.startswith(comment)]
    quote = settle("quote", request.quote, _quote(lines, separator, request), '"')
    cut = settle("separator", request.separator, _separator(lines, separator, quote), separator)
    rows = _rows(lines, cut, quote)
    header = request.header
    if header is None:
        header = not _headless(rows, request)
        if not header:
            called = f"no header, columns called c1 to c{len(rows[0])}"
            assumed.append(Assumption(called, "header"))
    names, body = _names(rows, header), rows[1:] if header else rows
    cells = _columns(names, body, request)
    decimal = settle("decimal", request.decimal, _decimal(cells), ".")
    sure = request.decimal is not None or decimal == ","
    thousands = settle("thousands", request.thousands, _thousands(cells, decimal, cut, sure), "")
    if thousands and thousands == decimal:
        raise ProblemError(f"thousands and decimal must differ, both are {decimal!r}")
    units = _units(cells, thousands, decimal)
    for name, unit in units.items():
        assumed.append(Assumption(f"{unit!r} a unit in {name!r}", "categorical"))
    missing, grouped = request.missing_words, _grouped(cells, thousands, decimal)
    how = (cut, decimal, thousands, quote, comment, encoding, header, missing, units, grouped)
    dialect = CsvDialect(*how, skip_rows, request.censored)
    return Sniffed(dialect, assumed)


def _encoding(head: bytes) -> str | None:
    """The encoding if it is clear, None for UTF-8 and for what is not known."""
    for bom, name in BOMS.items():
        if head.startswith(bom):
            return name
    if len(head) >= 4:
        even, odd = head[: len(head) & ~1 : 2], head[1::2]
        for name, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
            if zeros.count(0) > 0.7 * len(zeros) and not others.count(0):
                return name
    try:
        head.decode(UTF8)
        return None
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 3 and len(head) >= SNIFFED_BYTES:
            return None  # a character that the end of the head cuts
    # Words of other alphabets are runs of such bytes; control characters are no text.
    strange = re.search(
        rb"[\x80-\xff]{3}|[\x00-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d\xfe\xff]", head
    )
    return None if strange else "cp1252"


def _lines(text: str, whole: bool) -> list[str]:
    if not whole:  # without the row that the end of the head cuts
        data = text.encode("utf-8", "replace")
        text = data[: last_row_end(data) or len(data)].decode("utf-8", "replace")
    return [f"{line}\n" for line in text.split("\n") if line.strip()]


MAX_TITLE_ROWS = 20  # lines before the header, blank ones among them


def _title_rows(text: str, request: ReadArguments, plain: str) -> tuple[int, str]:
    """How many lines before the header are titles, and the first of them; 0 if that is not clear.

    Titles have fewer cells than the header, at most half as many unless names are known that must
    be in it. It is all text, and has as many cells as the rows below it.
    """
    lines, quote, given = text.split("\n"), request.quote or '"', request.separator
    if request.header is False or any(line.count(quote) % 2 for line in lines[:MAX_TITLE_ROWS]):
        return 0, ""
    for cut in dict.fromkeys((plain, *SEPARATORS)) if given is None else (given,):
        first = [_rows([line], cut, quote) for line in lines[: MAX_TITLE_ROWS + 1]]
        rows = [_filled(found[0]) if found else [] for found in first]
        body = _rows(_lines("\n".join(lines[MAX_TITLE_ROWS:]), False), cut, quote)
        wide = max([len(row) for row in body or rows], default=0)
        fewer = wide - 1 if request.target or request.features else wide // 2
        at = next((i for i, row in enumerate(rows) if len([c for c in row if c]) > fewer), 0)
        if wide > 1 and {len(found[0]) for found in first if found} == {wide} and not at:
            return 0, ""  # as plain as can be
        if at and _is_header(rows, at, wide, request):
            return at, next(row[0] or row[-1] for row in rows[:at] if row)
    return 0, ""


def _filled(cells: Sequence[str]) -> list[str]:
    """The cells of a line up to the last one with something in it."""
    found = [cell.strip() for cell in cells]
    while found and not found[-1]:
        found.pop()
    return found


def _is_header(rows: CsvRows, at: int, wide: int, request: ReadArguments) -> bool:
    """Whether a row names as many columns as there are, and the rows before it are titles."""
    header, below = rows[at], [row for row in rows[at + 1 :] if row]
    number = re.compile(r"[+-]?[0-9.,][0-9.,' ]*([eE][+-]?[0-9]+)?$")
    return (
        wide >= 2
        and len(header) == wide
        and len({*header}) == wide
        and bool(below)
        and max(map(len, below)) <= wide
        and not any(number.match(cell) for cell in header)
        and {*request.named} <= {*header}
        and all(readings(name, header) for name in request.features or ())
        and any(rows[:at])
        and not any(row[0].startswith("#") for row in rows[:at] if row)  # a comment
    )


def _comment(lines: Sequence[str], separator: str) -> str | None:
    """'#' if lines that begin so cannot be rows: they have another number of cells."""
    marked = [line for line in lines if line.startswith("#")]
    others = [line for line in lines if not line.startswith("#")]
    if not marked or len(others) < 2:
        return None
    for cut in (separator, *SEPARATORS):
        counts = {len(row) for row in _rows(others, cut, '"')}
        if len(counts) == 1 and counts != {1}:
            # A header may begin with '#', and names come in as many cells as rows do.
            return None if any(line.count(cut) + 1 in counts for line in marked) else "#"
    return None


def _quote(lines: Sequence[str], separator: str, request: ReadArguments) -> str | None:
    if not lines or '"' in "".join(lines):
        return None
    for cut in (separator, *SEPARATORS):
        plain = lines[0].strip().split(cut)
        if {*request.named} & {*plain}:
            return None
        if len(plain) > 1 and all(re.fullmatch(r"'[^']+'", name.strip()) for name in plain):
            counts = {len(row) for row in _rows(lines, cut, "'")}
            return "'" if counts == {len(plain)} else None
    return None


def _separator(lines: Sequence[str], plain: str, quote: str) -> str | None:
    """The separator that cuts every row into as many cells, if the plain one does not."""
    if _cells(lines, plain, quote) > 1:
        return None
    fitting = [s for s in SEPARATORS if s != plain and _cells(lines, s, quote) > 1]
    return fitting[0] if len(fitting) == 1 else None


def _cells(lines: Sequence[str], separator: str, quote: str) -> int:
    """How many cells every row has, 0 if not all have as many."""
    counts = {len(row) for row in _rows(lines, separator, quote)}
    return counts.pop() if len(counts) == 1 else 0


def _rows(lines: Sequence[str], separator: str, quote: str) -> CsvRows:
    text = io.StringIO("".join(lines), newline="")
    try:
        reader = csv.reader(text, delimiter=separator, quotechar=quote)
        return [row for row in islice(reader, SNIFFED_ROWS) if row]
    except (csv.Error, TypeError, ValueError):  # marks that csv knows no way with
        return []


def _headless(rows: CsvRows, request: ReadArguments) -> bool:
    """Whether the first row is one of many: numbers where the others are, no name that is asked."""
    if len(rows) < 3 or len(rows[0]) < 2:
        return False
    first, others = [cell.strip() for cell in rows[0]], rows[1:]
    known = any(readings(name, {*first}) for name in request.features or ())
    if known or {*request.named} & {*first}:
        return False
    number = re.compile(number_pattern("."))
    comma = re.compile(number_pattern(","))

    def is_number(cell: str) -> bool:
        return bool(number.match(cell) or comma.match(cell))

    numeric = 0
    for j, cell in enumerate(first):
        column = [row[j].strip() for row in others if j < len(row)]
        column = [c for c in column if c not in DEFAULT_MISSING]
        if column and all(is_number(c) for c in column):
            if not is_number(cell) and cell not in DEFAULT_MISSING:
                return False
            numeric += is_number(cell)
    return numeric > 0


def _names(rows: CsvRows, header: bool) -> list[str]:
    if not rows:
        return []
    return [n.strip() for n in rows[0]] if header else [f"c{i + 1}" for i in range(len(rows[0]))]


def _columns(names: Sequence[str], rows: CsvRows, request: ReadArguments) -> dict[str, list[str]]:
    """By name, the cells of columns that may be numbers, without those that hold no value."""
    absent = {*DEFAULT_MISSING, *request.missing_words}
    levels = {*request.ignore, *request.categorical}
    return {
        name: [
            cell if request.censored == REFUSE else without_mark(cell)
            for cell in (row[j] for row in rows if j < len(row))
            if cell.strip() not in absent
        ]
        for j, name in enumerate(names)
        if name not in levels
    }


def _numeric(cells: dict[str, list[str]]) -> list[list[str]]:
    """Columns whose cells are all digits, points, commas and spaces, units left off."""
    bare = ([unit_of(cell)[1].strip() for cell in column] for column in cells.values() if column)
    shape = re.compile(rf"[+-]?[0-9.,][0-9.,'{SPACES}]*([eE][+-]?[0-9]+)?")
    return [column for column in bare if all(shape.fullmatch(cell) for cell in column)]


def _decimal(cells: dict[str, list[str]]) -> str | None:
    """',' if a cell can be read in no other way, and none has a decimal point."""
    numeric = _numeric(cells)

    def shown(point: str, other: str) -> bool:
        # 1,5 and 0,125 and 1.250,5 show a decimal comma; 1,250 may be a group of thousands.
        grouped = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}({re.escape(point)}[0-9]{{3}})+")
        plain = re.compile(DECIMAL_PATTERN.format(re.escape(point)))
        marks = (other, "'", " ")
        mixed = re.compile("|".join(f"({grouped_pattern(mark, point)})" for mark in marks))
        return any(
            (plain.fullmatch(cell) and not grouped.fullmatch(cell))
            or (mixed.fullmatch(cell) and point in cell)
            for column in numeric
            for cell in column
        )

    return "," if shown(",", ".") and not shown(".", ",") else None


def _thousands(cells: dict[str, list[str]], decimal: str, separator: str, sure: bool) -> str | None:
    """What groups digits, if cells show it: a single 1,250 does only if the comma is no decimal."""
    numeric = _numeric(cells)
    plain = re.compile(rf"[+-]?[0-9]{{1,3}}({re.escape(decimal)}[0-9]*)?")
    for mark in (".", ",", "'", " "):
        if mark == decimal:
            continue
        pattern = re.compile(rf"(?![+-]?0){grouped_pattern(mark, decimal)}")
        found = [
            [cell for cell in column if pattern.fullmatch(cell)]
            for column in numeric
            if all(pattern.fullmatch(cell) or plain.fullmatch(cell) for cell in column)
        ]
        clear = sure or mark not in ".," or mark == separator
        if any(clear or decimal in c or _marks(c, mark) > 1 for some in found for c in some):
            return mark
    return None


def _marks(cell: str, mark: str) -> int:
    return sum(cell.count(space) for space in SPACES) if mark == " " else cell.count(mark)


def _units(cells: dict[str, list[str]], thousands: str, decimal: str) -> dict[str, str]:
    """By column, the one unit that stands beside all of its numbers."""
    found = {}
    for name, column in cells.items():
        units = {unit_of(cell)[0] for cell in column}
        unit = units.pop() if len(units) == 1 else ""
        if unit and NumberFormat(unit, thousands, decimal).fits(column):
            found[name] = unit
    return found


def _grouped(cells: dict[str, list[str]], thousands: str, decimal: str) -> frozenset[str]:
    """The columns of numbers some of which are grouped."""
    if not thousands:
        return frozenset()
    pattern = re.compile(grouped_pattern(thousands, decimal))
    format_ = NumberFormat("", thousands, decimal)
    return frozenset(
        name
        for name, column in cells.items()
        if any(pattern.fullmatch(c.strip()) for c in column) and format_.fits(column)
    )


def first_row_end(data: bytes, start: int, quote: bytes = b'"') -> int:
    """Where the row that begins at `start` ends: after a newline outside quotes."""
    end = start
    while True:
        end = data.find(b"\n", end) + 1
        if end == 0:
            return len(data)
        if data.count(quote, start, end) % 2 == 0:
            return end


def last_row_end(data: bytes, quote: bytes = b'"') -> int:
    """Where the last complete row ends, 0 if none does. `data` begins with a row.

    A newline ends a row if the quotes before it are even in number. Going back past the last quote
    leaves one fewer, so each step counts only the bytes it gives up.
    """
    end = data.rfind(b"\n") + 1
    quotes = data.count(quote, 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, data.rfind(quote, 0, end)) + 1
        quotes -= data.count(quote, before, end)
        end = before
    return end
