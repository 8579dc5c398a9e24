"""Several files that are one table: those of a folder, of a pattern, of a list."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra
from keyhole.streams.columns import kind_of
from keyhole.streams.partitions import Place, places
from keyhole.streams.remote import addresses_of, is_address, name_of
from keyhole.streams.svmlight import SUFFIXES as SVMLIGHT
from keyhole.streams.tables import Batch, Left, Table

SPREADSHEETS = (".xlsx", ".xls", ".ods")
SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather", *SPREADSHEETS, *SVMLIGHT)
PACKED = ("", ".gz", ".bz2", ".xz", ".zst", ".zip")


def files_of(source: str | os.PathLike[str]) -> list[Place]:
    """The files that a path or an address names: itself, those of a folder or of a pattern.

    Of folders below, those named key=value are looked into, and no others.
    """
    path = os.fspath(source)
    if not isinstance(path, str):
        path = os.fsdecode(path)
    if is_address(path):
        return _remote(path)
    if "\0" in path or path == "-" or os.path.isfile(path):
        return [Place(path)]
    if os.path.isdir(path):
        found = sorted(map(str, _below(Path(path))))
        if not found:
            raise DataError(
                f"{path} is a folder without any CSV, Parquet, Arrow file or spreadsheet"
            )
        return places(path, found)
    if glob.has_magic(path) and not os.path.exists(path):
        found = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not found:
            raise DataError(f"no file fits the pattern {path}")
        return places("", found)
    return [Place(path)]


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and _is_partition(path.name):
            yield from _below(path)
        elif path.is_file() and _is_table(path.name):
            yield path


def _remote(address: str) -> list[Place]:
    folder, found = addresses_of(address)
    if found == [address]:
        return [Place(address)]
    if not any(mark in address for mark in "*?["):
        found = [
            one
            for one in found
            if _is_table(name_of(one))
            and all(_is_partition(part) for part in _between(folder, one))
        ]
    if not found:
        raise DataError(f"{address} has no CSV, Parquet, Arrow file or spreadsheet")
    return places(folder, found)


def _between(folder: str, address: str) -> list[str]:
    return address.split(folder, 1)[-1].strip("/").split("/")[:-1]


def _is_partition(name: str) -> bool:
    return "=" in name.strip("=") and not name.startswith((".", "_"))


def _is_table(name: str) -> bool:
    endings = tuple(suffix + packed for suffix in SUFFIXES for packed in PACKED)
    return not name.startswith((".", "~$")) and name.lower().endswith(endings)


class SeveralTables:
    """Tables with the same columns, one after the other."""

    def __init__(self, tables: Sequence[Table]) -> None:
        first = tables[0]
        self.title = f"{len(tables)} files"
        self.names, self.decimal, self.words = first.names, first.decimal, first.words
        self.tables = tuple(tables)
        for table in tables[1:]:
            self._check(first, table)
        self.types = {name: self._type(name) for name in first.types}

    def batches(
        self,
        columns: Sequence[str],
        types: Mapping[str, Any],
        rows: int,
        left: Left | None = None,
    ) -> Iterator[Batch]:
        """The rows of one table after those of the other."""
        for table in self.tables:
            if left is not None and left() <= 0:
                return
            for batch in table.batches(columns, types, rows, left):
                yield Batch(batch.rows, partial(_place, table.title, batch.place))

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


def _place(title: str, place: Any, i: int) -> str:
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
