"""Streams from files and dataframes: read lazily, block by block, as often as needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from keyhole.errors import LARGEST, shortened
from keyhole.problem import DataError, Floats, nearest, whole_number
from keyhole.streams.answers import Answers, Positive
from keyhole.streams.arrays import Block, block_rows, rows_of
from keyhole.streams.columns import Column, numbers
from keyhole.streams.csv_text import TextTable
from keyhole.streams.origin import ARROW_FILE, ARROW_STREAM, PARQUET, Origin
from keyhole.streams.resolve import Spread, readings, resolve
from keyhole.streams.survey import Role, Survey, Wanted, survey
from keyhole.streams.tables import ArrowTable, Batch, FrameTable, ParquetTable, Table

SINGLE = ("float", "halffloat", "int8", "uint8", "int16", "uint16", "bool")  # exact in float32


class FileStream:
    """A table on disk or in memory as a stream: what `read` returns.

    Rows are read anew in every pass, a block at a time. A missing cell is NaN: absent when bought.
    Rows without a target are left out.

    Attributes
    ----------
    names
        The features: names of columns, and `column=level` for indicators.
    target
        The name of the target, None if there is none; labels are then NaN, to predict only.
    rounds
        How many rows have a target.
    left_out
        How many have none.
    columns
        How every column that is used becomes features.
    groups
        By column that is used, the features that it becomes.
    answers
        What the two values of the target mean, `yes` and `no`; None for a target of numbers.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[Column],
        names: Sequence[str],
        target: str | None,
        found: Survey,
    ) -> None:
        self.names: tuple[str, ...] = tuple(names)
        self.target = target
        self.d = len(self.names)
        self.rounds: int | None = found.rows - found.without_target
        self.left_out = found.without_target
        self.columns = tuple(columns)
        self.answers = found.answers
        self._table = table
        self._types = found.types
        kinds = {str(found.types[c.name]) for c in columns if c.levels is None}
        single = kinds <= set(SINGLE) and bool(kinds & {"float", "halffloat"})
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._largest = np.finfo(np.float32).max if single else np.float64(LARGEST)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The features of every column: itself, or one for each of its levels.

        >>> import pyarrow
        >>> frame = pyarrow.table({"age": [31, 54], "sex": ["f", "m"], "bmi": [24.0, 22.0]})
        >>> read(frame, target="bmi").groups
        {'age': ('age',), 'sex': ('sex=f', 'sex=m')}
        """
        return {c.name: tuple(self.names[j] for j in c.places) for c in self.columns}

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return rows_of(self.blocks())

    def blocks(self, rows: int | None = None) -> Iterator[Block]:
        """The rows as (X, y) blocks, float32 if the columns are, each read when it is asked for."""
        most = block_rows(self.d) if rows is None else whole_number("rows", rows, 1)
        size = max(most, block_rows(self.d))  # few rows at a time would be slow to encode
        used = [column.name for column in self.columns]
        wanted = used if self.target is None else [*used, self.target]
        for batch in self._table.batches(wanted, self._types, size):
            for start in range(0, batch.rows.num_rows, size):
                X, y = self._encode(batch, start, size)
                for i in range(0, len(y), most):
                    yield X[i : i + most], y[i : i + most]

    def _encode(self, batch: Batch, start: int, size: int) -> Block:
        part = batch.rows.slice(start, size)
        X = np.empty((part.num_rows, self.d), self.dtype)
        for column in self.columns:
            column.encode(part.column(column.name), X)
        for row, feature in np.argwhere(np.abs(X) > self._largest)[:1]:
            name = next(c.name for c in self.columns if feature in c.places)
            self._refuse(batch, start + int(row), f"column {name!r}", float(X[row, feature]))
        if self.target is None:
            return X, np.full(len(X), np.nan)
        y = self._labels(part.column(self.target))
        for row in np.flatnonzero(np.abs(y) > LARGEST)[:1]:
            self._refuse(batch, start + int(row), f"the target {self.target!r}", float(y[row]))
        here = ~np.isnan(y)
        return (X, y) if here.all() else (X[here], y[here])

    def _labels(self, cells: Any) -> Floats:
        if self.answers is not None:
            return self.answers.encode(cells)
        return numbers(cells).astype(np.float64, copy=False)

    def _refuse(self, batch: Batch, row: int, what: str, value: float) -> None:
        size = "infinite" if np.isinf(value) else f"{value:g}, beyond {LARGEST:g} in size"
        raise DataError(
            f"{self._table.title}, {batch.place(row)}: {what} is {size}; "
            "mend it, or leave the cell empty if it is not known"
        )


def read(
    source: object,
    *,
    target: str | None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    features: Sequence[str] | None = None,
    most_levels: int = 50,
    separator: str | None = None,
    decimal: str = ".",
    missing: Sequence[str] = (),
    positive: Positive | Answers | None = None,
    yes_no: bool | None = None,
) -> FileStream:
    """A file or a dataframe as a stream of examples.

    Numbers are features as they are, true and false are 1 and 0, and a column of text becomes one
    indicator per level, `colour=red`, in alphabetical order. The levels are those of the whole
    file: a first pass finds them (and, in CSV, what each column holds), so every pass has the same.
    A missing cell is absent when bought; of a categorical column, all its indicators are. Rows
    without a target are left out and counted in `left_out`.

    Parameters
    ----------
    source
        The path of a CSV (also gzipped), Parquet or Arrow IPC file, told apart by the first bytes;
        "-" for standard input, which like any pipe is copied to a temporary file so that it can be
        read again; or a dataframe that narwhals knows (pandas, polars, pyarrow, ...).
    target
        The column to predict; None for rows without labels, whose y is NaN.
    ignore
        Columns to leave out.
    categorical
        Columns to take as levels though they hold numbers (codes), dates or few odd cells.
    features
        The `names` of an earlier stream, to get the same features from another file, in that order:
        columns it does not name are left out, and a level it does not name is 0 everywhere.
    most_levels
        A text column with more levels is refused: it is an identifier or free text.
    separator, decimal, missing
        Of CSV: between cells ("," by default, a tab in .tsv), the decimal point, and further texts
        that mean no value, besides an empty cell, NA, NaN, null, None, ? and the like.
    positive
        The value of the target that means yes: it becomes 1, and any other 0. A target of exactly
        two texts needs none: yes, true or positive is 1, or else the later in the alphabet. The
        `answers` of an earlier stream, to have them again.
    yes_no
        Whether the target is about yes and no. None: a target of two texts, of true and false, or
        of 0 and 1 is, and other numbers are not. True: any two numbers are, and the larger is
        yes. False: true and false, and 0 and 1, are numbers. `answers` says what was decided.

    Guarantee
    ---------
    Memory is for one block of rows, however long the file. What cannot be used is a DataError of
    one line that names file, line or row (counted from 1), column and remedy. Checked in the first
    pass: names, kinds, levels, the shape of CSV; in every pass: that values are finite, that the
    file has not changed.

    Examples
    --------
    >>> import pyarrow
    >>> people = {"age": [31, None, 54], "sex": ["f", "m", None], "bmi": [24.0, 31.0, 22.0]}
    >>> frame = pyarrow.table(people)  # or pandas, or polars, or the path of a file
    >>> stream = read(frame, target="bmi")
    >>> stream.names
    ('age', 'sex=f', 'sex=m')
    >>> for x, y in stream:
    ...     print(x, y)
    [31.  1.  0.] 24.0
    [nan  0.  1.] 31.0
    [54. nan nan] 22.0
    """
    limit = whole_number("most_levels", most_levels, 1)
    table = _open(source, separator, decimal, missing)
    label = () if target is None else (target,)
    _check_names(table, (*label, *ignore, *categorical))
    if features is None:
        used = [name for name in table.names if name not in {*label, *ignore}]
        roles = {name: Role.LEVELS if name in categorical else Role.FREE for name in used}
    else:
        spread = _resolve(table, features, ignore)
        roles = {n: Role.NUMBERS if levels is None else Role.LEVELS for n, levels in spread.items()}
    if not roles:
        raise DataError(f"{table.title} has no column left to be a feature")
    if target in {*roles, *ignore, *categorical}:
        raise DataError(f"{target!r} is the target: it cannot be anything else as well")
    roles |= dict.fromkeys(label, Role.TARGET)
    if isinstance(positive, Answers):
        wanted = Wanted(None, yes_no, positive)
    else:
        wanted = Wanted(positive, yes_no)
    found = survey(table, roles, limit if features is None else None, wanted)
    if features is None:
        spread = found.levels
        features = [name for item in spread.items() for name in _labels(*item)]
    return FileStream(table, _columns(table, spread, features), features, target, found)


def _open(source: object, separator: str | None, decimal: str, missing: Sequence[str]) -> Table:
    if not isinstance(source, str | os.PathLike):
        return FrameTable(source)
    origin = Origin(source)
    if origin.magic == PARQUET:
        return ParquetTable(origin)
    if origin.magic in (ARROW_FILE, ARROW_STREAM):
        return ArrowTable(origin)
    if separator is None:
        separator = "\t" if ".tsv" in origin.path.suffixes[-2:] else ","
    return TextTable(origin, separator, decimal, missing)


def _check_names(table: Table, asked: Sequence[str]) -> None:
    """DataError unless the table names each column once, and has those that were asked for."""
    first: dict[str, int] = {}
    for i, name in enumerate(table.names, start=1):
        if name in first:
            raise DataError(
                f"{table.title}: columns {first[name]} and {i} are both called {name!r}"
            )
        first[name] = i
    if "" in first and "" not in asked:
        raise DataError(
            f"{table.title}: column {first['']} has no name; name it, or leave it out: ignore=['']"
        )
    for name in asked:
        if name not in first:
            raise DataError(f"{table.title} has no column {name!r}{_hint(name, table.names)}")


def _hint(name: str, names: Sequence[str]) -> str:
    close = nearest(name, names)
    if close:
        return close
    some = ", ".join(names[:8])
    return f": it has {some}{', ...' if len(names) > 8 else ''}"


def _labels(name: str, levels: Sequence[str] | None) -> list[str]:
    """What the features of a column are called."""
    return [name] if levels is None else [f"{name}={level}" for level in levels]


def _columns(table: Table, spread: Spread, features: Sequence[str]) -> list[Column]:
    place = {name: i for i, name in enumerate(features)}
    if len(place) < len(features):
        twice = next(name for i, name in enumerate(features) if place[name] != i)
        raise DataError(f"{table.title}: two features would be called {twice!r}: rename a column")
    columns = [
        Column(name, levels, np.array([place[n] for n in _labels(name, levels)], dtype=np.int64))
        for name, levels in spread.items()
    ]
    written = sorted(int(j) for column in columns for j in column.places)
    if written != list(range(len(features))):  # memory that nobody writes is never handed out
        raise DataError(f"{table.title}: not every feature comes from exactly one column")
    return columns


def _resolve(table: Table, features: Sequence[str], ignore: Sequence[str]) -> Spread:
    """The columns behind the names of an earlier stream, and the levels it had of each."""
    listed = isinstance(features, Iterable) and not isinstance(features, str)
    if not listed or not all(isinstance(feature, str) for feature in features):
        raise DataError(f"features must be a list of names, got {shortened(features)}")
    columns = [name for name in table.names if name not in ignore]
    for feature in features:
        if not readings(feature, columns):
            raise DataError(
                f"{table.title} has no column for the feature {feature!r}"
                f"{_hint(feature.partition('=')[0], columns)}"
            )
    return resolve(features, columns, table.title)
