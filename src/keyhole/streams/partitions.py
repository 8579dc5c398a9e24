"""Folders whose names are values, year=2024/month=1: the files below have them as columns."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import unquote

from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra
from keyhole.streams.remote import is_address
from keyhole.streams.tables import Batch, Left, Table

NOTHING = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows that have no value
Value = float | str | None


class Constant(NamedTuple):
    """A column with the same value in all rows of a file; None if there is none."""

    name: str
    value: Value
    number: bool  # whether it is a column of numbers, in all files


@dataclass(frozen=True)
class Place:
    """A file, and what the folders that it lies in say about all its rows."""

    path: str
    values: tuple[Constant, ...] = ()

    @property
    def address(self) -> str:
        """Where the file is, for everybody."""
        return self.path if is_address(self.path) else os.path.abspath(self.path)


def places(root: str, paths: Sequence[str]) -> list[Place]:
    """Files below a folder with the values of the folders between; numbers where all are.

    >>> found = places("flats", ["flats/city=Bonn/year=2024/a.csv", "flats/city=Ulm/year=25/a.csv"])
    >>> for constant in found[1].values:
    ...     print(constant)
    Constant(name='city', value='Ulm', number=False)
    Constant(name='year', value=25.0, number=True)
    """
    said = [_said(root, path) for path in paths]
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
        Place(path, tuple(Constant(k, _value(one[k], k in plain), k in plain) for k in keys))
        for path, one in zip(paths, said, strict=True)
    ]


def _said(root: str, path: str) -> dict[str, str]:
    """What the folders between a root and a file say; `root` is the beginning of `path`."""
    below = path.split(root, 1)[1] if root and root in path else path
    parts = [part.partition("=") for part in PurePath(below).parts[:-1]]
    return {unquote(key): unquote(value) for key, equals, value in parts if key and equals}


def _is_number(text: str) -> bool:
    try:
        return text == NOTHING or (math.isfinite(float(text)) and text.strip() == text)
    except ValueError:
        return False


def _value(text: str, number: bool) -> Value:
    if text == NOTHING:
        return None
    return float(text) if number else text


class PartitionedTable:
    """A table with further columns that have the same value in all rows."""

    def __init__(self, table: Table, constants: Sequence[Constant]) -> None:
        self.title, self.decimal, self.words = table.title, table.decimal, table.words
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

    def batches(
        self,
        columns: Sequence[str],
        types: Mapping[str, Any],
        rows: int,
        left: Left | None = None,
    ) -> Iterator[Batch]:
        """All rows of some columns."""
        arrow = extra("pyarrow", "files")
        inner = [name for name in columns if name not in self._values] or [self._table.names[0]]
        known = {name: kind for name, kind in types.items() if name not in self._values}
        for batch in self._table.batches(inner, known, rows, left):
            n = batch.rows.num_rows
            cells = [
                self._cells(name, types.get(name, self._own[name]), n)
                if name in self._values
                else batch.rows.column(name)
                for name in columns
            ]
            yield Batch(arrow.table(cells, names=list(columns)), batch.place)

    def _cells(self, name: str, kind: Any, rows: int) -> Any:
        arrow, value = extra("pyarrow", "files"), self._values[name]
        if arrow.types.is_string(kind) and isinstance(value, float):
            value = f"{value:g}"  # taken for levels
        return arrow.chunked_array([arrow.repeat(arrow.scalar(value, kind), rows)])
