"""Data sets in shards: files, and groups of rows of Parquet files, that can be read elsewhere.

Three steps, of which the first and the last can be taken by other processes: `scan_file` goes
through a file once, `plan_shards` puts together what was found in all of them, `ShardPlan.stream`
reads a part. What travels between processes is small: addresses, levels of text columns, counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from keyhole.problem import DataError, StateError
from keyhole.problem.optional_imports import extra
from keyhole.streams.cell_formats import NumberFormat
from keyhole.streams.columns import Answers, Column
from keyhole.streams.csv_table import until_formats_hold
from keyhole.streams.files import FileStream, columns_of, roles_of
from keyhole.streams.open_table import (
    OpenedTable,
    PartitionFile,
    first_value,
    open_partition,
    refuse_other_columns,
    source_files,
)
from keyhole.streams.read_options import ReadArguments
from keyhole.streams.schema import ColumnScans, TableSchema, restored_scans, scan_columns
from keyhole.streams.source_file import SourceFile

SHARD_CELLS = 1 << 26  # of a shard: rows times columns; a second or more of work


@dataclass(frozen=True)
class FileScan:
    """What a first pass over a file found: everything that the other files need to know of it."""

    place: PartitionFile
    version: str
    names: tuple[str, ...]
    scans: ColumnScans
    group_rows: tuple[int, ...] = ()  # of a Parquet file
    number_formats: dict[str, NumberFormat] = field(default_factory=dict)  # of a text file

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return self.scans.rows


def data_files(source: object, request: ReadArguments) -> list[PartitionFile]:
    """The files of a data set, in their order."""
    found = source_files(source)
    if found is None:
        raise DataError(f"source must be a path or an address, got a {type(source).__name__}")
    if request.order_by is not None:
        found = sorted(found, key=lambda place: first_value(place, request))
    return found


def version_of(place: PartitionFile) -> str:
    """What tells this version of a file from others."""
    return SourceFile(place.path).version


def scan_file(place: PartitionFile, request: ReadArguments) -> FileScan:
    """Go through a file once: what its columns hold, levels of text, how many rows there are."""
    opened = open_partition(place, request)
    table = opened.table
    roles, _ = roles_of(table, request)
    most = request.most_levels if request.features is None else None
    scans = until_formats_hold(lambda: scan_columns(table, roles, most))
    groups = () if opened.parquet is None else tuple(opened.parquet.group_rows)
    formats = {name: one for text in opened.texts for name, one in text.number_formats.items()}
    return FileScan(place, version_of(place), table.names, scans, groups, formats)


@dataclass(frozen=True)
class Shard:
    """A part of a data set: a file, or some row groups of one."""

    place: PartitionFile
    version: str
    rows: int
    groups: tuple[int, int] | None = None  # the first, and the one after the last
    number_formats: dict[str, NumberFormat] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What to call it in front of a person."""
        if self.groups is None:
            return self.place.path
        return f"{self.place.path}, row groups {self.groups[0]} to {self.groups[1] - 1}"


@dataclass(frozen=True)
class ShardPlan:
    """How all shards of a data set are read alike: features, levels, types, meaning of the target.

    `left_out` is how many rows have no target.
    """

    request: ReadArguments
    names: tuple[str, ...]
    spread: dict[str, tuple[str, ...] | None]
    text_types: dict[str, str]
    answers: Answers | None
    left_out: int
    shards: tuple[Shard, ...]

    def key(self, shard: Shard, **settings: Any) -> str:
        """A name for what is computed from a shard: the same only if it is bound to be the same."""
        other = ("syntax", "positive", "yes_no", "known", "order_by", "most_levels")
        options = [name for name in self.request.__dataclass_fields__ if name not in other]
        said = {
            "address": shard.place.address,
            "values": shard.place.values,
            "version": shard.version,
            "groups": shard.groups,
            "request": {name: _plain(getattr(self.request, name)) for name in options},
            "spread": self.spread,
            "types": self.text_types,
            "answers": None if self.answers is None else str(self.answers),
            "settings": settings,
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]

    def stream(self, shard: Shard, features: slice | None = None) -> FileStream:
        """The rows of a shard; of all features, or of some of them that follow one another."""
        opened = open_partition(shard.place, self.request)
        table = opened.table
        if version_of(shard.place) != shard.version:
            raise DataError(f"{table.title} was changed while it was in use: start again")
        for text in opened.texts:
            text.number_formats = dict(shard.number_formats)
        if opened.parquet is not None and shard.groups is not None:
            opened.parquet.row_groups = range(*shard.groups)
        columns, names = columns_of(table, self.spread, replace(self.request, features=self.names))
        if features is not None:
            columns, names = _some(columns, names, features)
        found = TableSchema(self.spread, self._types(opened), shard.rows, 0, self.answers)
        stream = FileStream(table, columns, names, self.request.target, found)
        stream.order = "F"
        return stream

    def _types(self, opened: OpenedTable) -> dict[str, Any]:
        if opened.table.types:
            return dict(opened.table.types)
        arrow = extra("pyarrow", "files")
        kinds = {"string": arrow.string(), "bool": arrow.bool_(), "double": arrow.float64()}
        return {name: kinds[kind] for name, kind in self.text_types.items()}


def plan_shards(scans: Sequence[FileScan], request: ReadArguments) -> ShardPlan:
    """What was found in all files of a data set, in their order, put together.

    `scans` are used up: what was seen in the others is added to the first.
    """
    first = scans[0]
    for other in scans[1:]:
        refuse_other_columns(first.place.path, first.names, other.place.path, other.names)
    whole = first.scans
    if len(scans) > 1:
        whole.call_it(f"{len(scans)} files")
    rows = [one.rows for one in scans]
    for other in scans[1:]:
        whole.include(other.scans)
    found = whole.settled(request)
    opened = open_partition(first.place, request)
    _, spread = roles_of(opened.table, request)
    levels = dict(found.levels if spread is None else spread)
    _, names = columns_of(opened.table, levels, request)
    text_types = {} if opened.table.types else {n: str(t) for n, t in found.types.items()}
    shards = tuple(
        shard
        for one, n in zip(scans, rows, strict=True)
        for shard in cut_shards(one, n, len(first.names))
    )
    answers, left_out = found.answers, found.without_target
    return ShardPlan(request, tuple(names), levels, text_types, answers, left_out, shards)


def cut_shards(found: FileScan, rows: int, columns: int) -> list[Shard]:
    """The shards of a file: of Parquet, as many row groups each as make a second of work.

    The rule knows nothing of how many workers there are: results must not depend on that.
    """
    place, version = found.place, found.version
    if len(found.group_rows) < 2 or rows * columns <= SHARD_CELLS:
        return [Shard(place, version, rows, None, found.number_formats)]
    shards, start, size = list[Shard](), 0, 0
    for i, group in enumerate(found.group_rows):
        size += group
        if size * columns >= SHARD_CELLS or i + 1 == len(found.group_rows):
            shards.append(Shard(place, version, size, (start, i + 1)))
            start, size = i + 1, 0
    return shards


def _some(
    columns: Sequence[Column], names: Sequence[str], part: slice
) -> tuple[list[Column], Sequence[str]]:
    """Only some features: the columns that they come from, and of their levels only these."""
    start, stop, found = part.start, part.stop, []
    for column in columns:
        here = (column.places >= start) & (column.places < stop)
        if here.any():
            levels = column.levels
            if levels is not None:
                levels = tuple(level for level, one in zip(levels, here, strict=True) if one)
            found.append(replace(column, levels=levels, places=column.places[here] - start))
    return found, names[part]


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def scan_as_json(found: FileScan) -> dict[str, Any]:
    """A scan as plain values, to be kept in a file."""
    seen = {name: scan.as_json() for name, scan in found.scans.seen.items()}
    number_formats = {
        n: [r.unit, r.thousands, r.decimal, r.censored] for n, r in found.number_formats.items()
    }
    return {
        "version": found.version,
        "names": list(found.names),
        "rows": found.rows,
        "seen": seen,
        "group_rows": list(found.group_rows),
        "rewrites": number_formats,
    }


def scan_from_json(place: PartitionFile, request: ReadArguments, kept: dict[str, Any]) -> FileScan:
    """The scan that was kept, for a file that has not changed since."""
    try:
        opened = open_partition(place, request)
        roles, _ = roles_of(opened.table, request)
        most = request.most_levels if request.features is None else None
        scans = restored_scans(opened.table, roles, most, kept["rows"], kept["seen"])
        number_formats = {name: NumberFormat(*said) for name, said in kept["rewrites"].items()}
        names, groups = tuple(kept["names"]), tuple(kept["group_rows"])
        return FileScan(place, kept["version"], names, scans, groups, number_formats)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"what was kept of {place.path} cannot be used: {error}") from None
