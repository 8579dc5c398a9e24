"""CSV, in blocks of whole rows: Arrow reads each block; Python names the line that went wrong.

A file is cut into blocks after the last row that is complete, so that memory is for one block, line
numbers are exact, and every block can be read, or explained, by itself.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn

from keyhole.errors import shortened
from keyhole.optional_imports import extra
from keyhole.problem import DataError, ProblemError
from keyhole.streams.origin import Origin, Readable, readable
from keyhole.streams.tables import MANY_BYTES, Batch

LONGEST = 64 << 20  # bytes of one row: more means a quote that was never closed
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?")
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
BOM = b"\xef\xbb\xbf"


def number_pattern(decimal: str) -> str:
    """The regular expression of a cell that is a number, the same for Arrow, re2 and Python."""
    point = re.escape(decimal)
    digits = rf"([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?"
    return rf"^\s*-?({digits}|[iI][nN][fF]([iI][nN][iI][tT][yY])?)\s*$"


class TextTable:
    """A CSV file in UTF-8 with a header, gzipped or not.

    Parameters
    ----------
    origin
        The file.
    separator, decimal
        What stands between cells, and between the whole and the fraction of a number.
    missing
        Cells that count as no value, after those that always do (`MISSING`).
    """

    block_bytes = 4 << 20  # read at a time

    def __init__(
        self, origin: Origin, separator: str, decimal: str, missing: Sequence[str] = ()
    ) -> None:
        for name, value in (("separator", separator), ("decimal", decimal)):
            if len(value.encode()) != 1 or value in '"\r\n':
                raise ProblemError(f"{name} must be one character, got {value!r}")
        if separator == decimal:
            raise ProblemError(f"separator and decimal must differ, both are {decimal!r}")
        self.title = origin.title
        self.decimal = decimal
        self.types: Mapping[str, Any] = {}
        self._origin = origin
        self._separator = separator
        self._missing = [*MISSING, *missing]
        self._skip, self._first_line, self.names = self._header()

    def batches(
        self, columns: Sequence[str], types: Mapping[str, Any], rows: int
    ) -> Iterator[Batch]:
        """All rows of some columns, a block of the file at a time; types not given are inferred."""
        for data, line in self._blocks():
            table = self._parse(data, line, columns, types)
            if table.num_rows:
                yield Batch(table, _Place(self, data, line))

    def rows(self, data: bytes, line: int) -> Iterator[tuple[int, list[str]]]:
        """The rows of a block with the line each begins on; slow, for messages."""
        text = io.StringIO(data.decode("utf-8", "replace"), newline="")
        reader = csv.reader(text, delimiter=self._separator)
        begins = line
        try:
            for cells in reader:
                if cells:
                    yield begins, cells
                begins = line + reader.line_num
        except csv.Error as error:  # a cell of more than 131,072 characters, for one
            raise DataError(f"{self.title}, line {begins:,}: {error}") from None

    def _header(self) -> tuple[int, int, tuple[str, ...]]:
        """Bytes and lines up to the first row, and the names."""
        with self._origin.open() as handle:
            data = self._read(handle)
        at = len(BOM) if data.startswith(BOM) else 0
        line, record = 1, b""
        while at < len(data) and not record.strip():
            end = _first_row_end(data, at)
            record = data[at:end]
            line += record.count(b"\n")
            at = end
        if not record.strip():
            raise DataError(f"{self.title} is empty")
        self._decodable(record, 1)
        if b"\r" in record.rstrip(b"\r\n"):
            raise DataError(
                f"{self.title} has lines that end in a bare carriage return: convert it"
            )
        cells = next(self.rows(record, 1))[1]
        names = tuple(name.strip() for name in cells)
        self._right_separator(names)
        return at, line, names

    def _right_separator(self, names: tuple[str, ...]) -> None:
        others = [c for c in (",", ";", "\t", "|") if c != self._separator and c in names[0]]
        if len(names) == 1 and others:
            raise DataError(
                f"{self.title} has one column, {names[0]!r}: is its separator {others[0]!r}?"
            )

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Whole rows, about `block_bytes` at a time, and the line they begin on."""
        with self._origin.open() as handle:
            self._read(handle, self._skip)
            line, rest = self._first_line, b""
            while chunk := self._read(handle):
                data = rest + chunk
                end = _last_row_end(data)
                if end == 0 and len(data) > LONGEST:
                    raise DataError(
                        f'{self.title}: the row of line {line} does not end; is a quote (") open?'
                    )
                if end:
                    yield data[:end], line
                line += data.count(b"\n", 0, end)
                rest = data[end:]
            if rest.strip():
                yield rest, line

    def _read(self, handle: Readable, size: int | None = None) -> bytes:
        with readable(self.title):
            return handle.read(self.block_bytes if size is None else size)

    def _parse(
        self, data: bytes, line: int, columns: Sequence[str], types: Mapping[str, Any]
    ) -> Any:
        arrow, arrow_csv = extra("pyarrow", "files"), extra("pyarrow.csv", "files")
        try:
            table = arrow_csv.read_csv(
                arrow.BufferReader(data),
                read_options=arrow_csv.ReadOptions(
                    column_names=list(self.names),
                    block_size=len(data) + 1,
                    use_threads=len(data) >= MANY_BYTES,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._separator, newlines_in_values=b'"' in data
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=list(columns),
                    column_types=dict(types),
                    null_values=self._missing,
                    true_values=TRUE,
                    false_values=FALSE,
                    strings_can_be_null=True,
                    decimal_point=self.decimal,
                ),
            )
        except arrow.ArrowInvalid as error:
            self._explain(data, line, types, error)
        if any(arrow.types.is_binary(field.type) for field in table.schema):
            self._decodable(data, line)
        return table

    def _explain(
        self, data: bytes, line: int, types: Mapping[str, Any], error: Exception
    ) -> NoReturn:
        """Say what is wrong with a block that Arrow refused, and on which line."""
        is_floating = extra("pyarrow", "files").types.is_floating
        number = re.compile(number_pattern(self.decimal))
        numeric = [i for i, n in enumerate(self.names) if n in types and is_floating(types[n])]
        self._decodable(data, line)
        for at, cells in self.rows(data, line):
            if len(cells) != len(self.names):
                raise DataError(
                    f"{self.title}, line {at:,}: {_cells(len(cells))} where the header has "
                    f"{len(self.names)}"
                )
            for i in numeric:
                if cells[i] not in self._missing and not number.match(cells[i]):
                    raise DataError(
                        f"{self.title}, line {at:,}: {shortened(cells[i])} is not a number "
                        f"(column {self.names[i]!r})"
                    )
        what = str(error).splitlines()[0]
        raise DataError(f"{self.title}, somewhere from line {line:,} on: {what}") from None

    def _decodable(self, data: bytes, line: int) -> None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            at = line + data.count(b"\n", 0, error.start)
            raise DataError(f"{self.title}, line {at:,}: not UTF-8, convert the file") from None


class _Place:
    """Where row i of a block is. Not a closure: it is kept, and called when something is wrong."""

    def __init__(self, table: TextTable, data: bytes, line: int) -> None:
        self._block = table, data, line

    def __call__(self, i: int) -> str:
        table, data, line = self._block
        begins, _ = next(islice(table.rows(data, line), i, None))
        return f"line {begins:,}"


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _first_row_end(data: bytes, start: int) -> int:
    """Where the row that begins at `start` ends: after a newline outside quotes."""
    end = start
    while True:
        end = data.find(b"\n", end) + 1
        if end == 0:
            return len(data)
        if data.count(b'"', start, end) % 2 == 0:
            return end


def _last_row_end(data: bytes) -> int:
    """Where the last complete row ends, 0 if none does. `data` begins with a row.

    A newline ends a row if the quotes before it are even in number. Going back past the last quote
    leaves one fewer, so each step counts only the bytes it gives up.
    """
    end = data.rfind(b"\n") + 1
    quotes = data.count(b'"', 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, data.rfind(b'"', 0, end)) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end
