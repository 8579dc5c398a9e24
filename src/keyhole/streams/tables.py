"""Tables that come in Arrow batches: Parquet, Arrow IPC, dataframes; CSV is in csv_table.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra
from keyhole.streams.read_options import PYTHON_SYNTAX, OptionSyntax
from keyhole.streams.source_file import ARROW_STREAM, SourceFile, readable

# Less than this is read without threads: Arrow's, if the process ends while they are starting
# (an error in the first rows), abort it on the way out.
MIN_THREADED_BYTES = 1 << 20


EMPTY_CELLS_ROWS = 1 << 16  # at a time, to count cells without a value


RowsLeft = Callable[[], int]  # how many rows are wanted still


class TableBatch(NamedTuple):
    """Some rows of a table, and how to tell a person where row i of them is."""

    rows: Any  # a pyarrow RecordBatch or Table
    place: Callable[[int], str]


class BatchQuery(NamedTuple):
    """What is wanted of a table: all rows of some columns, `rows` at a time.

    `types` says how cells of text are to be read; tables that have types ignore it. `left` is
    asked before rows are touched that could be refused for what they hold.
    """

    columns: Sequence[str]
    types: Mapping[str, Any]
    rows: int
    left: RowsLeft | None = None


class Table(Protocol):
    """Named columns that can be gone through again and again, a batch of rows at a time."""

    @property
    def title(self) -> str:
        """What to call the table in front of a person."""

    @property
    def syntax(self) -> OptionSyntax:
        """How options are written in messages."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, as they come; possibly one twice."""

    @property
    def types(self) -> Mapping[str, Any]:
        """The Arrow type of every column; empty if they are not known until all rows are read."""

    @property
    def decimal(self) -> str:
        """The decimal point of numbers in text."""

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """The rows, as many at a time as is asked unless the table has blocks of its own."""


class ParquetTable:
    """A Parquet file, read page by page: memory is for a batch, and a page and a dictionary of each
    column, however long its row groups are.
    """

    decimal = "."

    def __init__(self, origin: SourceFile, syntax: OptionSyntax = PYTHON_SYNTAX) -> None:
        self.title, self.syntax = origin.title, syntax
        self._origin = origin
        self.row_groups: Sequence[int] | None = None  # those that are read; None: all
        with readable(self.title), self._open() as file:
            schema = file.schema_arrow
            groups = range(file.metadata.num_row_groups)
            self.group_rows = [file.metadata.row_group(i).num_rows for i in groups]
        self.names = tuple(schema.names)
        self.types = dict(zip(schema.names, schema.types, strict=True))

    def _open(self) -> Any:
        self._origin.check()
        open_file = extra("pyarrow.parquet", "files").ParquetFile
        if self._origin.remote is not None:  # a row group in few requests, not a page in each
            return open_file(self._origin.remote.open_for_ranges(), pre_buffer=True)
        # Without a buffer, or with pre_buffer, a whole row group is held in memory.
        return open_file(self._origin.path, buffer_size=1 << 16, pre_buffer=False)

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """All rows of some columns, `rows` at a time."""
        with readable(self.title), self._open() as file:
            many, groups = self._origin.size >= MIN_THREADED_BYTES, self.row_groups
            found = file.iter_batches(query.rows, groups, list(query.columns), use_threads=many)
            yield from _placed(found, sum(self.group_rows[: groups[0]]) if groups else 0)

    def empty_cells(self, columns: Sequence[str]) -> dict[str, int] | None:
        """By column, how many cells have no value; None if the file does not say so."""
        found = dict.fromkeys(columns, 0)
        with readable(self.title), self._open() as file:
            for i in self.row_groups or range(len(self.group_rows)):
                group = file.metadata.row_group(i)
                for j in range(group.num_columns):
                    chunk = group.column(j)
                    if chunk.path_in_schema in found:
                        if chunk.statistics is None or not chunk.statistics.has_null_count:
                            return None
                        found[chunk.path_in_schema] += chunk.statistics.null_count
        return found


class ArrowTable:
    """An Arrow IPC (Feather) file or stream, mapped into memory and gone through in slices.

    A compressed one takes the memory of one of its record batches, which whoever wrote it chose.
    """

    decimal = "."

    def __init__(self, origin: SourceFile, syntax: OptionSyntax = PYTHON_SYNTAX) -> None:
        self.title, self.syntax = origin.title, syntax
        self._origin = origin
        with readable(self.title), self._map() as source:
            schema = self._open(source).schema
        self.names = tuple(schema.names)
        self.types = dict(zip(schema.names, schema.types, strict=True))

    def _map(self) -> Any:
        self._origin.check()
        return extra("pyarrow", "files").memory_map(str(self._origin.path))

    def _open(self, source: Any) -> Any:
        # Not with included_fields: that copies a record batch, however long, out of the map.
        ipc = extra("pyarrow.ipc", "files")
        return (ipc.open_stream if self._origin.magic == ARROW_STREAM else ipc.open_file)(source)

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """All rows of some columns, at most `rows` at a time."""
        with readable(self.title), self._map() as source:
            yield from _placed(
                batch.slice(start, query.rows).select(list(query.columns))
                for batch in self._record_batches(self._open(source))
                for start in range(0, batch.num_rows, query.rows)
            )

    @staticmethod
    def _record_batches(reader: Any) -> Iterator[Any]:
        if hasattr(reader, "num_record_batches"):
            return (reader.get_batch(i) for i in range(reader.num_record_batches))
        return iter(reader)


class FrameTable:
    """A dataframe of any library that narwhals knows, taken over into Arrow at once.

    Most numbers are not copied by that; a lazy frame is collected.
    """

    title = "the dataframe"
    decimal = "."

    def __init__(self, frame: object, syntax: OptionSyntax = PYTHON_SYNTAX) -> None:
        self.syntax = syntax
        narwhals = extra("narwhals", "files")
        try:
            known = narwhals.from_native(frame, pass_through=True)
            if isinstance(known, narwhals.LazyFrame):
                known = known.collect()
        except ValueError as error:  # the same name twice
            raise DataError(f"{self.title}: {' '.join(str(error).split())}") from None
        if not isinstance(known, narwhals.DataFrame):
            raise DataError(
                f"source must be a path, '-' for standard input, or a dataframe, got a "
                f"{type(frame).__name__}"
            )
        odd = next((name for name in known.columns if not isinstance(name, str)), None)
        if odd is not None:
            raise DataError(f"columns of a dataframe must be named by strings, got {odd!r}")
        with readable(self.title):
            self._table = known.to_arrow()
        self.names = tuple(known.columns)
        self.types = dict(zip(self._table.schema.names, self._table.schema.types, strict=True))

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """All rows of some columns, at most `rows` at a time."""
        yield from _placed(
            self._table.select(list(query.columns)).to_batches(max_chunksize=query.rows)
        )


def empty_cells(table: Table, columns: Sequence[str]) -> dict[str, int]:
    """By column, how many of its cells have no value; of Parquet files their statistics tell."""
    told = table.empty_cells(columns) if isinstance(table, ParquetTable) else None
    if told is not None:
        return told
    found = dict.fromkeys(columns, 0)
    for batch in table.batches(BatchQuery(columns, {}, EMPTY_CELLS_ROWS)):
        for name in columns:
            found[name] += int(batch.rows.column(name).null_count)
    return found


def _placed(batches: Iterator[Any], skipped: int = 0) -> Iterator[TableBatch]:
    """Batches with places that count rows from 1, as people and spreadsheets do."""
    before = 1 + skipped
    for batch in batches:
        yield TableBatch(batch, partial(_row, before))
        before += batch.num_rows


def _row(before: int, i: int) -> str:
    return f"row {before + i:,}"


def wanted_batches(table: Table, query: BatchQuery) -> Iterator[TableBatch]:
    """The batches of a table, cut off where no more rows are wanted."""
    for batch in table.batches(query):
        if query.left is None:
            yield batch
            continue
        start, end = 0, batch.rows.num_rows
        while start < end and (wanted := query.left()) > 0:
            yield TableBatch(batch.rows.slice(start, wanted), partial(_further, batch.place, start))
            start += wanted
        if query.left() <= 0:
            return


def _further(place: Callable[[int], str], start: int, i: int) -> str:
    return place(start + i)
