"""CSV files as tables: Arrow reads blocks of whole rows; Python names the line that went wrong.

A file is cut into blocks after the last row that is complete, so that memory is for one block, line
numbers are exact, and every block can be read, or explained, by itself.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NoReturn, TypeVar

from keyhole.errors import shortened
from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra
from keyhole.streams.cell_formats import BOUND_MARK, REFUSE, NumberFormat
from keyhole.streams.columns import as_text
from keyhole.streams.csv_dialect import (
    DEFAULT_MISSING,
    SEPARATORS,
    UTF8,
    CsvDialect,
    Decoded,
    Uncommented,
    Untitled,
    first_row_end,
    last_row_end,
    number_pattern,
)
from keyhole.streams.read_options import PYTHON_SYNTAX, OptionSyntax
from keyhole.streams.source_file import BOM, Readable, SourceFile, read_fully, readable
from keyhole.streams.tables import MIN_THREADED_BYTES, BatchQuery, RowsLeft, TableBatch

MAX_ROW_BYTES = 64 << 20  # bytes of one row: more means a quote that was never closed
TRUE_WORDS, FALSE_WORDS = ("true", "True", "TRUE"), ("false", "False", "FALSE")


T = TypeVar("T")


class WrongNumberFormat(Exception):
    """Columns are not what their first cells made us assume: go through the table once more."""


def until_formats_hold(call: Callable[[], T]) -> T:
    """What a call returns, made again where a column is not what its first cells look like."""
    while True:
        try:
            return call()
        except WrongNumberFormat:
            continue


class CsvTable:
    """A CSV file, compressed or not, in the dialect given.

    Parameters
    ----------
    origin
        The file.
    dialect
        How it is written.
    syntax
        How options are written in messages.
    ahead
        Of a copy, by how many its numbers of lines are ahead of those of the file.

    Attributes
    ----------
    bounds
        By column, how many cells of the last pass such as <5 were read as their bound, and one.
    number_formats
        Columns of numbers with units or groups of thousands, and how they are read. One of them
        that holds something else further down is left out, once `WrongNumberFormat` was raised.
    """

    block_bytes = 4 << 20  # read at a time

    def __init__(
        self,
        origin: SourceFile,
        dialect: CsvDialect,
        syntax: OptionSyntax = PYTHON_SYNTAX,
        ahead: int = 0,
    ) -> None:
        self.title, self.syntax = origin.title, syntax
        self.decimal = dialect.decimal
        self.types: Mapping[str, Any] = {}
        self.dialect = dialect
        self._origin = origin
        self._separator = dialect.separator
        self._quote = dialect.quote.encode()
        self._missing = [*DEFAULT_MISSING, *dialect.missing]
        self._skip, self._first_line, self.names = self._header()
        self._first_line -= ahead
        self.bounds: dict[str, tuple[int, str]] = {}
        self.number_formats = {
            name: self._format(dialect.units.get(name, ""))
            for name in {*dialect.units, *dialect.grouped}
        }
        self._never: set[str] = set()  # rewritten columns that were withdrawn
        # Columns that were numbers in some block, and those that were bounds and nothing else.
        self._numeric: set[str] = set()
        self._bounds_alone: set[str] = set()

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """All rows of some columns, a block of the file at a time; types not given are inferred."""
        self.bounds = {}
        for data, line in self._blocks(query.left):
            table = self._parse(data, line, query.columns, query.types)
            if table.num_rows:
                yield TableBatch(table, partial(self._place, data, line))

    def also_missing(self, word: str) -> None:
        """Take cells that hold just this word for missing."""
        self._missing.append(word)
        self._never.clear()  # what a column was withdrawn for may have been this word

    def rows(self, data: bytes, line: int) -> Iterator[tuple[int, list[str]]]:
        """The rows of a block with the line each begins on; slow, for messages."""
        text = io.StringIO(data.decode("utf-8", "replace"), newline="")
        reader = csv.reader(text, delimiter=self._separator, quotechar=self.dialect.quote)
        begins = line
        try:
            for cells in reader:
                if cells:
                    yield begins, cells
                begins = line + reader.line_num
        except csv.Error as error:  # a cell of more than 131,072 characters, for one
            raise DataError(f"{self.title}, line {begins:,}: {error}") from None

    def _place(self, data: bytes, line: int, i: int) -> str:
        """Where row i of a block is."""
        begins, _ = next(islice(self.rows(data, line), i, None))
        return f"line {begins:,}"

    def _header(self) -> tuple[int, int, tuple[str, ...]]:
        """Bytes and lines up to the first row, and the names."""
        with self._opened() as handle:
            data = self._read(handle)
        at = len(BOM) if data.startswith(BOM) else 0
        line, record = 1, b""
        while at < len(data) and not record.strip():
            end = first_row_end(data, at, self._quote)
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
        if not self.dialect.header:
            names = tuple(f"c{i}" for i in range(1, len(cells) + 1))
            return at - len(record), line - record.count(b"\n"), names
        names = tuple(name.strip() for name in cells)
        self._right_separator(names)
        return at, line, names

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Readable]:
        """The file from its beginning, in UTF-8, without comments."""
        with self._origin.open() as handle:
            if self.dialect.encoding != UTF8:
                handle = Decoded(handle, self.dialect.encoding, self.title)
            if self.dialect.skip_rows:
                handle = Untitled(handle, self.dialect.skip_rows)
            if self.dialect.comment:
                handle = Uncommented(handle, self.dialect.comment, self.dialect.quote)
            yield handle

    def _right_separator(self, names: tuple[str, ...]) -> None:
        others = [c for c in SEPARATORS if c != self._separator and c in names[0]]
        if len(names) == 1 and others:
            raise DataError(
                f"{self.title} has one column, {names[0]!r}: is its separator {others[0]!r}? Say "
                f"{self.syntax.write('separator', others[0])}"
            )

    def _blocks(self, left: RowsLeft | None = None) -> Iterator[tuple[bytes, int]]:
        """Whole rows, about `block_bytes` at a time, and the line they begin on.

        With `left`, no row is touched beyond as many as it says are wanted still.
        """
        with self._opened() as handle:
            self._read(handle, self._skip)
            line, rest = self._first_line, b""
            while chunk := self._read(handle):
                data = rest + chunk
                end = last_row_end(data, self._quote)
                if end == 0 and len(data) > MAX_ROW_BYTES:
                    raise DataError(
                        f"{self.title}: the row of line {line} does not end; is a quote "
                        f"({self.dialect.quote}) open?"
                    )
                for start, stop in self._pieces(data, end, left):
                    yield data[start:stop], line
                    line += data.count(b"\n", start, stop)
                if left is not None and left() <= 0:
                    return
                rest = data[end:]
            if rest.strip():
                yield rest, line

    def _pieces(self, data: bytes, end: int, left: RowsLeft | None) -> Iterator[tuple[int, int]]:
        """Where rows up to `end` begin and end: all of them, or as many at a time as are wanted."""
        if left is None:
            if end:
                yield 0, end
            return
        start = 0
        while start < end and (wanted := left()) > 0:
            stop = start
            for _ in range(wanted):
                stop = first_row_end(data, stop, self._quote)
                if stop >= end:
                    break
            yield start, min(stop, end)
            start = stop

    def _read(self, handle: Readable, size: int | None = None) -> bytes:
        """As many bytes as that; fewer only at the end."""
        with readable(self.title, self._origin.packing):
            return read_fully(handle, self.block_bytes if size is None else size)

    def _parse(
        self, data: bytes, line: int, columns: Sequence[str], types: Mapping[str, Any]
    ) -> Any:
        arrow, arrow_csv = extra("pyarrow", "files"), extra("pyarrow.csv", "files")
        string = arrow.string()
        rewritten = [n for n in columns if n in self.number_formats and types.get(n) != string]
        try:
            table = arrow_csv.read_csv(
                arrow.BufferReader(data),
                read_options=arrow_csv.ReadOptions(
                    column_names=list(self.names),
                    block_size=len(data) + 1,
                    use_threads=len(data) >= MIN_THREADED_BYTES,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._separator,
                    quote_char=self.dialect.quote,
                    newlines_in_values=self._quote in data,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=list(columns),
                    column_types={**types, **dict.fromkeys(rewritten, string)},
                    null_values=self._missing,
                    true_values=TRUE_WORDS,
                    false_values=FALSE_WORDS,
                    strings_can_be_null=True,
                    decimal_point=self.decimal,
                ),
            )
        except arrow.ArrowInvalid as error:
            self._explain(data, line, types, error)
        if any(arrow.types.is_binary(field.type) for field in table.schema):
            self._decodable(data, line)
        rewritten += self._late(table, types)
        return self._rewritten(table, rewritten)

    def _format(self, unit: str) -> NumberFormat:
        how = self.dialect
        return NumberFormat(unit, how.thousands, how.decimal, how.censored)

    def _late(self, table: Any, types: Mapping[str, Any]) -> list[str]:
        """Columns that are text in this block and may be numbers: in groups of thousands, or some
        of them bounds.
        """
        if not self.dialect.thousands and self.dialect.censored == REFUSE:
            return []
        arrow_types, format_ = extra("pyarrow", "files").types, self._format("")
        late, numeric = list[str](), set[str]()
        for field in table.schema:
            name, cells = field.name, table.column(field.name)
            if name in {*types, *self.number_formats, *self._never}:
                continue
            if arrow_types.is_floating(field.type) or arrow_types.is_integer(field.type):
                numeric.add(name)
            elif arrow_types.is_string(field.type) and format_.numbers(cells) is not None:
                # Bounds alone, such as <65 and >=65, are levels, unless there are numbers too.
                if bounds_in(cells)[0] < _known(cells) or name in self._numeric:
                    late.append(name)
                else:
                    self._bounds_alone.add(name)
        self._numeric |= {*numeric, *late}
        self.number_formats.update(dict.fromkeys(late, format_))
        if self._numeric & self._bounds_alone:
            self.number_formats.update(dict.fromkeys(self._numeric & self._bounds_alone, format_))
            self._bounds_alone -= self._numeric
            raise WrongNumberFormat
        return late

    def _rewritten(self, table: Any, names: Sequence[str]) -> Any:
        """The same rows, these columns as numbers."""
        wrong = []
        for name in names:
            numbers = self.number_formats[name].numbers(table.column(name))
            if numbers is None:
                wrong.append(name)
            else:
                self._count_bounds(name, table.column(name))
                table = table.set_column(table.schema.get_field_index(name), name, numbers)
        if wrong:
            self._never.update(wrong)
            for name in wrong:
                del self.number_formats[name]
            raise WrongNumberFormat
        return table

    def _count_bounds(self, name: str, cells: Any) -> None:
        many, first = bounds_in(cells)
        if many:
            before, first = self.bounds.get(name, (0, first))
            self.bounds[name] = before + many, first

    def _explain(
        self, data: bytes, line: int, types: Mapping[str, Any], error: Exception
    ) -> NoReturn:
        """Say what is wrong with a block that Arrow refused, and on which line."""
        is_floating = extra("pyarrow", "files").types.is_floating
        number = re.compile(number_pattern(self.decimal))
        plain = {n for n, t in types.items() if is_floating(t)} - {*self.number_formats}
        numeric = [i for i, n in enumerate(self.names) if n in plain]
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
                        f"(column {self.names[i]!r}): correct it, or say "
                        f"{self.syntax.write('missing', cells[i])}"
                    )
        what = str(error).splitlines()[0]
        raise DataError(f"{self.title}, somewhere from line {line:,} on: {what}") from None

    def _decodable(self, data: bytes, line: int) -> None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            at = line + data.count(b"\n", 0, error.start)
            raise DataError(
                f"{self.title}, line {at:,}: not UTF-8: say which encoding it is, such as "
                f"{self.syntax.write('encoding', 'cp1252')}"
            ) from None


def bounds_in(cells: Any) -> tuple[int, str]:
    """How many cells are such as <5, and the first of them."""
    compute = extra("pyarrow.compute", "files")
    text = as_text(cells)
    marked = compute.fill_null(compute.match_substring_regex(text, BOUND_MARK), False)
    many = int(compute.sum(marked).as_py() or 0)
    return many, text.filter(marked)[0].as_py().strip() if many else ""


def _known(cells: Any) -> int:
    return len(cells) - int(cells.null_count)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
