"""Open a table from what was named: one file or several, a folder, a pattern, in any format."""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from urllib.parse import unquote

from keyhole.problem import DataError, ProblemError, nearest, whole_number
from keyhole.problem.display import counted
from keyhole.problem.optional_imports import extra
from keyhole.streams.cell_formats import (
    CENSORED,
    DatedTable,
    checked_date_parts,
    date_columns,
    date_parts_in,
)
from keyhole.streams.columns import kind_of
from keyhole.streams.csv_dialect import SNIFFED_BYTES, sniff
from keyhole.streams.csv_table import CsvTable
from keyhole.streams.read_options import Assumption, ReadArguments
from keyhole.streams.source_file import (
    ARROW_FILE,
    ARROW_STREAM,
    JSON_SUFFIXES,
    PARQUET,
    SourceFile,
    addresses_of,
    is_address,
    is_json,
    name_of,
    read_fully,
    readable,
    refuse_other_formats,
)
from keyhole.streams.sparse_files import SVMLIGHT_SUFFIXES, SvmlightTable, is_svmlight
from keyhole.streams.tables import (
    ArrowTable,
    BatchQuery,
    FrameTable,
    ParquetTable,
    Table,
    TableBatch,
)

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows that have no value
PartitionCell = float | str | None
TABLE_SUFFIXES = (
    *(".csv", ".tsv", ".parquet", ".arrow", ".feather", ".xlsx", ".xls", ".ods"),
    *JSON_SUFFIXES,
    *SVMLIGHT_SUFFIXES,
)
COMPRESSION_SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst", ".zip")


class PartitionValue(NamedTuple):
    """A column with the same value in all rows of a file; None if there is none."""

    name: str
    value: PartitionCell
    number: bool  # whether it is a column of numbers, in all files


@dataclass(frozen=True)
class PartitionFile:
    """A file, and what the folders that it lies in say about all its rows."""

    path: str
    values: tuple[PartitionValue, ...] = ()

    @property
    def address(self) -> str:
        """Where the file is, for everybody."""
        return self.path if is_address(self.path) else os.path.abspath(self.path)


def partition_files(root: str, paths: Sequence[str]) -> list[PartitionFile]:
    """Files below a folder with the values of the folders between; numbers where all are.

    >>> paths = ["flats/city=Bonn/year=2024/a.csv", "flats/city=Ulm/year=25/a.csv"]
    >>> found = partition_files("flats", paths)
    >>> for constant in found[1].values:
    ...     print(constant)
    PartitionValue(name='city', value='Ulm', number=False)
    PartitionValue(name='year', value=25.0, number=True)
    """
    said = [_folder_values(root, path) for path in paths]
    keys = dict.fromkeys(key for one in said for key in one)
    for path, one in zip(paths, said, strict=True):
        for key in keys:
            if key not in one:
                raise DataError(
                    f"{path} is not in a folder {key}=..., but others are: files that are read "
                    "together must be in folders with the same names"
                )
    plain = {key for key in keys if all(_is_number(one[key]) for one in said)}
    return [
        PartitionFile(
            path, tuple(PartitionValue(k, _value(one[k], k in plain), k in plain) for k in keys)
        )
        for path, one in zip(paths, said, strict=True)
    ]


def _folder_values(root: str, path: str) -> dict[str, str]:
    """What the folders between a root and a file say; `root` is the beginning of `path`."""
    below = path.split(root, 1)[1] if root and root in path else path
    parts = [part.partition("=") for part in PurePath(below).parts[:-1]]
    return {unquote(key): unquote(value) for key, equals, value in parts if key and equals}


def _is_number(text: str) -> bool:
    try:
        return text == HIVE_NULL or (math.isfinite(float(text)) and text.strip() == text)
    except ValueError:
        return False


def _value(text: str, number: bool) -> PartitionCell:
    if text == HIVE_NULL:
        return None
    return float(text) if number else text


class PartitionedTable:
    """A table with further columns that have the same value in all rows."""

    def __init__(self, table: Table, constants: Sequence[PartitionValue]) -> None:
        self.title, self.decimal, self.syntax = table.title, table.decimal, table.syntax
        self._table = table
        own = [constant for constant in constants if constant.name not in table.names]
        self._values = {constant.name: constant.value for constant in own}
        self.names = (*table.names, *self._values)
        arrow = extra("pyarrow", "files")
        self._own = {
            constant.name: arrow.float64() if constant.number else arrow.string()
            for constant in own
        }
        self.types = {**table.types, **self._own} if table.types else {}

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """All rows of some columns."""
        arrow = extra("pyarrow", "files")
        inner = [n for n in query.columns if n not in self._values] or [self._table.names[0]]
        known = {name: kind for name, kind in query.types.items() if name not in self._values}
        for batch in self._table.batches(query._replace(columns=inner, types=known)):
            n = batch.rows.num_rows
            cells = [
                self._cells(name, query.types.get(name, self._own[name]), n)
                if name in self._values
                else batch.rows.column(name)
                for name in query.columns
            ]
            yield TableBatch(arrow.table(cells, names=list(query.columns)), batch.place)

    def _cells(self, name: str, kind: Any, rows: int) -> Any:
        arrow, value = extra("pyarrow", "files"), self._values[name]
        if arrow.types.is_string(kind) and isinstance(value, float):
            value = f"{value:g}"  # taken for levels
        return arrow.chunked_array([arrow.repeat(arrow.scalar(value, kind), rows)])


def files_of(source: str | os.PathLike[str]) -> list[PartitionFile]:
    """The files that a path or an address names: itself, those of a folder or of a pattern.

    Of folders below, those named key=value are looked into, and no others.
    """
    path = os.fspath(source)
    if not isinstance(path, str):
        path = os.fsdecode(path)
    if is_address(path):
        return _remote(path)
    if "\0" in path or path == "-" or os.path.isfile(path):
        return [PartitionFile(path)]
    if os.path.isdir(path):
        found = sorted(map(str, _below(Path(path))))
        if not found:
            raise DataError(
                f"{path} is a folder without any CSV, Parquet, Arrow file or spreadsheet"
            )
        return partition_files(path, found)
    if glob.has_magic(path) and not os.path.exists(path):
        found = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not found:
            raise DataError(f"no file fits the pattern {path}")
        return partition_files("", found)
    return [PartitionFile(path)]


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and _is_partition(path.name):
            yield from _below(path)
        elif path.is_file() and _is_table(path.name):
            yield path


def _remote(address: str) -> list[PartitionFile]:
    folder, found = addresses_of(address)
    if found == [address]:
        return [PartitionFile(address)]
    if not any(mark in address for mark in "*?["):
        found = [
            one
            for one in found
            if _is_table(name_of(one))
            and all(_is_partition(part) for part in _between(folder, one))
        ]
    if not found:
        raise DataError(f"{address} has no CSV, Parquet, Arrow file or spreadsheet")
    return partition_files(folder, found)


def _between(folder: str, address: str) -> list[str]:
    return address.split(folder, 1)[-1].strip("/").split("/")[:-1]


def _is_partition(name: str) -> bool:
    return "=" in name.strip("=") and not name.startswith((".", "_"))


def _is_table(name: str) -> bool:
    endings = tuple(suffix + packed for suffix in TABLE_SUFFIXES for packed in COMPRESSION_SUFFIXES)
    return not name.startswith((".", "~$")) and name.lower().endswith(endings)


class ConcatenatedTable:
    """Tables with the same columns, one after the other."""

    def __init__(self, tables: Sequence[Table]) -> None:
        first = tables[0]
        self.title = f"{len(tables)} files"
        self.names, self.decimal, self.syntax = first.names, first.decimal, first.syntax
        self.tables = tuple(tables)
        for table in tables[1:]:
            self._check(first, table)
        self.types = {name: self._type(name) for name in first.types}

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """The rows of one table after those of the other."""
        for table in self.tables:
            if query.left is not None and query.left() <= 0:
                return
            for batch in table.batches(query):
                yield TableBatch(batch.rows, partial(_place_in_file, table.title, batch.place))

    def _check(self, first: Table, other: Table) -> None:
        if bool(first.types) is not bool(other.types):
            raise DataError(f"{first.title} and {other.title} are not of one format")
        refuse_other_columns(first.title, first.names, other.title, other.names)
        if len(other.names) != len(first.names):
            raise DataError(f"{first.title} and {other.title} do not have the same columns")

    def _type(self, name: str) -> Any:
        """The type of a column in all files; numbers of different types are float64."""
        types = [table.types[name] for table in self.tables]
        if all(one == types[0] for one in types):
            return types[0]
        kinds = {kind_of(one) for one in types}
        if len(kinds) > 1:
            told = " and ".join(sorted(kind.value for kind in kinds))
            raise DataError(f"{self.title}: column {name!r} holds {told}, file by file")
        numeric = extra("pyarrow", "files").types
        if any(numeric.is_integer(one) or numeric.is_floating(one) for one in types):
            return extra("pyarrow", "files").float64()
        return types[0]


def _place_in_file(title: str, place: Any, i: int) -> str:
    return f"{title}, {place(i)}"


def refuse_other_columns(
    title: str, names: Sequence[str], other_title: str, other_names: Sequence[str]
) -> None:
    """DataError with the first column that one of two files has and the other has not."""
    here, there = set(names), set(other_names)
    for name in [*names, *other_names]:
        if name not in here or name not in there:
            has, lacks = (title, other_title) if name in here else (other_title, title)
            raise DataError(
                f"{lacks} has no column {name!r}, {has} has one: files that are read together must "
                "have the same columns"
            )


@dataclass(frozen=True)
class OpenedTable:
    """A table, those parts of it that are text, and what was assumed about them.

    `parquet` is the Parquet file that it is, or is made from, if that is one.
    """

    table: Table
    texts: Sequence[CsvTable]
    assumed: Sequence[Assumption]
    parquet: ParquetTable | None = None

    def still_assumed(self) -> list[Assumption]:
        """The assumptions, without those that the first pass has shown to be wrong.

        And with those that only all rows can show.
        """
        units = {(n, r.unit) for t in self.texts for n, r in t.number_formats.items() if r.unit}
        gone = {
            f"{unit!r} a unit in {name!r}"
            for t in self.texts
            for name, unit in t.dialect.units.items()
            if (name, unit) not in units
        }
        kept = [one for one in self.assumed if one.what not in gone]
        return kept + bounds_assumed([t.bounds for t in self.texts if t.dialect.censored is None])


def bounds_assumed(found: Sequence[Mapping[str, tuple[int, str]]]) -> list[Assumption]:
    """What was assumed about cells such as <5, from how many each file has by column.

    >>> bounds_assumed([{"crp": (11, "<5")}, {"crp": (2, "<4")}])
    [Assumption(what="13 cells such as '<5' in 'crp' their bound", option='censored')]
    """
    names = dict.fromkeys(name for one in found for name in one)
    told = []
    for name in names:
        here = [one[name] for one in found if name in one]
        many = counted(sum(times for times, _ in here), "cell")
        told.append(
            Assumption(f"{many} such as {here[0][1]!r} in {name!r} their bound", "censored")
        )
    return told


def open_table(source: object, request: ReadArguments) -> OpenedTable:
    """The table that was named, dates made numbers where that is asked for."""
    _check_marks(request)
    return _with_dates(_open(source, request), request)


def _with_dates(opened: OpenedTable, request: ReadArguments) -> OpenedTable:
    parts = _date_parts(opened.table, request)
    if not parts:
        return opened
    dated = DatedTable(opened.table, parts)
    return replace(opened, table=dated, assumed=[*opened.assumed, *dated.assumed])


def _check_marks(request: ReadArguments) -> None:
    """ProblemError unless what was said about a CSV can be."""
    name = request.syntax.name
    for option in ("separator", "decimal", "quote", "thousands"):
        mark = getattr(request, option)
        if mark is None or (mark == "" and option == "thousands"):
            continue
        one = isinstance(mark, str) and len(mark) == 1
        if not one or mark in "\r\n" or (mark == '"' and option != "quote"):
            raise ProblemError(f"{name(option)} must be one character, got {mark!r}")
        if option in ("separator", "decimal", "quote") and not mark.isascii():
            raise ProblemError(f"{name(option)} must be one character of ASCII, got {mark!r}")
    if request.skip_rows is not None:
        whole_number(name("skip_rows"), request.skip_rows, 0)
    if request.censored is not None and request.censored not in CENSORED:
        raise ProblemError(
            f"{name('censored')} can be {', '.join(CENSORED)}, got {request.censored!r}"
            f"{nearest(str(request.censored), CENSORED)}"
        )
    if request.absent not in ("zero", "unknown"):
        raise ProblemError(f'{name("absent")} must be "zero" or "unknown", got {request.absent!r}')
    comment = request.comment
    if comment is not None and (not isinstance(comment, str) or {*comment} & {"\r", "\n"}):
        raise ProblemError(f"{name('comment')} must be what lines begin with, got {comment!r}")
    pairs = (("separator", "decimal"), ("separator", "quote"), ("thousands", "decimal"))
    for one_option, other in pairs:
        mark = getattr(request, one_option)
        if mark and mark == getattr(request, other):
            raise ProblemError(
                f"{name(one_option)} and {name(other)} must differ, both are {mark!r}"
            )


def _open(source: object, request: ReadArguments) -> OpenedTable:
    found = source_files(source)
    if found is None:
        return OpenedTable(FrameTable(source, request.syntax), (), ())
    opened = [_open_partition(place, request) for place in _sorted_files(found, request)]
    if len(opened) == 1:
        return opened[0]
    assumed = dict.fromkeys(one for each in opened for one in each.assumed)
    texts = [text for each in opened for text in each.texts]
    return OpenedTable(ConcatenatedTable([each.table for each in opened]), texts, list(assumed))


def source_files(source: object) -> list[PartitionFile] | None:
    """The files of a path, an address or a list of them; None if it is something else."""
    listed = source if isinstance(source, list | tuple) and source else [source]
    paths = [one for one in listed if isinstance(one, str | os.PathLike)]
    if len(paths) < len(listed):
        return None
    return [place for path in paths for place in files_of(path)]


def _sorted_files(
    found: Sequence[PartitionFile], request: ReadArguments
) -> Sequence[PartitionFile]:
    """The files in alphabetical order or as listed, or by the first value of a column in each."""
    if request.order_by is None or len(found) < 2:
        return found
    return sorted(found, key=lambda place: first_value(place, request))


def first_value(place: PartitionFile, request: ReadArguments) -> tuple[Any, ...]:
    """What a file is sorted by: the value of a column in its first row; those without come last."""
    name, table = request.order_by or "", _open_partition(place, request).table
    if name not in table.names:
        raise DataError(
            f"{table.title} has no column {name!r} to sort files by "
            f"({request.syntax.name('order_by')})"
        )
    batch = next(table.batches(BatchQuery([name], {}, 1)), None)
    value = None if batch is None else batch.rows.column(name)[0].as_py()
    if value is None:
        return 2, 0.0, "", place.path
    if isinstance(value, int | float):
        return 0, value, "", place.path
    return 1, 0.0, str(value), place.path


def open_partition(place: PartitionFile, request: ReadArguments) -> OpenedTable:
    """The table of one file, dates made numbers where that is asked for."""
    _check_marks(request)
    return _with_dates(_open_partition(place, request), request)


def _open_partition(place: PartitionFile, request: ReadArguments) -> OpenedTable:
    """The table of a file, with the values of its folders as columns unless they are left out."""
    opened = _open_file(place.path, request)
    if not place.values or request.partitions is False:
        return opened
    table = PartitionedTable(opened.table, place.values)
    told = [
        Assumption(f"{constant.name!r}, the name of folders, a column", "partitions")
        for constant in place.values
        if request.partitions is None
    ]
    return replace(opened, table=table, assumed=[*opened.assumed, *told])


def _open_file(path: str, request: ReadArguments) -> OpenedTable:
    origin = SourceFile(path)
    assumed: list[Assumption] = []
    if origin.magic == PARQUET:
        parquet = ParquetTable(origin, request.syntax)
        return OpenedTable(parquet, (), (), parquet)
    if origin.magic in (ARROW_FILE, ARROW_STREAM):
        return OpenedTable(ArrowTable(origin, request.syntax), (), ())
    if origin.is_spreadsheet:
        from keyhole.streams.spreadsheet import sheet_of

        origin, assumed = sheet_of(origin, request.sheet)
    elif request.sheet is not None:
        raise DataError(
            f"{origin.title} is no spreadsheet: it has no sheet {request.sheet!r}; leave out "
            f"{request.syntax.name('sheet')}"
        )
    with origin.open() as handle, readable(origin.title, origin.packing):
        head = read_fully(handle, SNIFFED_BYTES)
    if origin.packing:
        refuse_other_formats(origin.title, head)
        if head.startswith((PARQUET, ARROW_FILE)):
            raise DataError(
                f"{origin.title} is a Parquet or Arrow file packed by {origin.packing}: unpack it "
                "first"
            )
    if not assumed and is_svmlight(origin, head):
        return OpenedTable(SvmlightTable(origin, request.syntax, request.rounds), (), ())
    if not assumed and is_json(origin, head):
        return _open_json(origin, request)
    plain = "\t" if ".tsv" in origin.path.suffixes[-2:] else ","
    found = sniff(head, request, plain)
    text = CsvTable(origin, found.dialect, request.syntax)
    return OpenedTable(text, (text,), [*assumed, *found.assumed])


def _open_json(origin: SourceFile, request: ReadArguments) -> OpenedTable:
    from keyhole.streams.json_lines import LINES_AHEAD, as_copied, json_as_csv

    copy = json_as_csv(origin)
    with copy.open() as handle, readable(copy.title):
        found = sniff(read_fully(handle, SNIFFED_BYTES), as_copied(request), ",")
    text = CsvTable(copy, found.dialect, request.syntax, LINES_AHEAD)
    return OpenedTable(text, (text,), found.assumed)


def _date_parts(table: Table, request: ReadArguments) -> dict[str, tuple[str, ...]]:
    """By column of dates, what is made of it."""
    asked = checked_date_parts(request.dates)
    if request.features is not None:
        return date_parts_in(request.features, table.names)
    if not asked:
        return {}
    found = date_columns(table, request.named)
    if not found:
        raise DataError(
            f"{table.title}: {request.syntax.write('dates', asked[0])}, and no column holds dates"
        )
    return dict.fromkeys(found, asked)
