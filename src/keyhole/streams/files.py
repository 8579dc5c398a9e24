"""Files and dataframes as streams: `read`, and rows that are read lazily, block by block."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from keyhole.errors import LARGEST, shortened
from keyhole.problem import BlockStream, DataError, Floats, nearest, whole_number
from keyhole.streams.arrays import LabelledRows, StreamBase, block_rows
from keyhole.streams.cell_formats import MISSING_WORDS, CodeCounter
from keyhole.streams.columns import (
    Answers,
    Column,
    LevelsByColumn,
    Positive,
    numbers,
    readings,
    resolve,
)
from keyhole.streams.csv_table import WrongNumberFormat
from keyhole.streams.open_table import OpenedTable, open_table
from keyhole.streams.read_options import Assumption, ReadArguments, assumptions_line
from keyhole.streams.schema import ColumnRole, TableSchema, TextInNumbersError, scan_columns
from keyhole.streams.source_file import SourceFile
from keyhole.streams.sparse_files import SparseFileStream, pair_columns
from keyhole.streams.tables import BatchQuery, Table, TableBatch, empty_cells, wanted_batches

NEARLY_ALL = 0.99  # of the rows
# Exact in float32.
FLOAT32_TYPES = ("float", "halffloat", "int8", "uint8", "int16", "uint16", "bool")


class ReadStream(BlockStream, Protocol):
    """What `read` returns: a `FileStream`, or a `SparseFileStream` of sparse rows."""

    target: str | None  # its name
    left_out: int  # how many rows have no target
    assumed: tuple[Assumption, ...]  # what nobody said and the file shows
    answers: Answers | None  # what the two values of the target mean
    codes: dict[str, dict[float, int]]  # by feature, the numbers that stand for no value
    unknown: dict[str, int]  # by column, how many cells of the last pass held an unknown level

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """By column, the features that it becomes."""


class FileStream(StreamBase):
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
    assumed
        What nobody said and the file shows: each with the argument that says otherwise.
    codes
        By feature, and for the target, the numbers that stand for no value and how often they do;
        with `missing="auto"` only.
    unknown
        By column, how many cells of the last pass held a level that is not known: possible only
        where the features are those of another stream.
    answers
        What the two values of the target mean, `yes` and `no`; None for a target of numbers.
    ignored
        The columns that were to be left out.
    nearly_empty
        The columns that have a value in at most one row of a hundred, by how many rows have none.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[Column],
        names: Sequence[str],
        target: str | None,
        found: TableSchema,
        assumed: Sequence[Assumption] = (),
        most: int | None = None,
    ) -> None:
        self.names: tuple[str, ...] = tuple(names)
        self.target = target
        self.d = len(self.names)
        self.rounds = found.rows - found.without_target
        self.left_out = found.without_target
        self.columns = tuple(columns)
        self.assumed = tuple(assumed)
        self.codes: dict[str, dict[float, int]] = {}
        self.unknown: dict[str, int] = {}
        self.ignored: tuple[str, ...] = ()
        self._coded: list[tuple[int, Floats]] = []
        self._unlabelled: Floats = np.empty(0)  # numbers of the target that stand for no value
        self._most = most
        self.answers = found.answers
        # Of blocks: rows side by side, as learners take them; "F" for columns, which sums are made
        # of faster.
        self.order: Literal["C", "F"] = "C"
        self._table = table
        self._found = found
        self._types = found.types
        kinds = {str(found.types[c.name]) for c in columns if c.levels is None}
        single = kinds <= set(FLOAT32_TYPES) and bool(kinds & {"float", "halffloat"})
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
        parents: Mapping[str, str] = getattr(self._table, "parents", {})  # when of when:month
        found: dict[str, tuple[str, ...]] = {}
        for c in self.columns:
            name = parents.get(c.name, c.name)
            found[name] = (*found.get(name, ()), *(self.names[j] for j in c.places))
        return found

    @functools.cached_property
    def nearly_empty(self) -> dict[str, int]:
        """The columns without a value in nearly all rows, and how many rows have none of each."""
        rows, used = self._found.rows, [column.name for column in self.columns]
        empty = self._found.empty or empty_cells(self._table, used)
        return {n: empty[n] for n in used if empty[n] >= NEARLY_ALL * rows and empty[n]}

    @property
    def sources(self) -> tuple[str, ...]:
        """What is read: the address and the version of every file; of a dataframe nothing."""
        return tuple(f"{origin.address} {origin.version}" for origin in _origins(self._table))

    def blocks(self, rows: int | None = None) -> Iterator[LabelledRows]:
        """The rows as (X, y) blocks, float32 if the columns are, each read when it is asked for."""
        most = block_rows(self.d) if rows is None else whole_number("rows", rows, 1)
        size = max(most, block_rows(self.d))  # few rows at a time would be slow to encode
        used = [column.name for column in self.columns]
        wanted = used if self.target is None else [*used, self.target]
        played, most_rows, self.unknown = 0, self._most, {}
        left = None if most_rows is None else lambda: most_rows - played
        query = BatchQuery(wanted, self._types, size, left)
        for batch in wanted_batches(self._table, query):
            for start in range(0, batch.rows.num_rows, size):
                X, y = self._encode(batch, start, size)
                played += len(y)
                if len(self._unlabelled):
                    here = ~np.isin(y, self._unlabelled)
                    X, y = X[here], y[here]
                for i in range(0, len(y), most):
                    yield X[i : i + most], y[i : i + most]

    def without_codes(self, progress: Callable[[int], None] | None = None) -> FileStream:
        """The same stream, numbers that stand for no value left out; one pass finds them.

        A row whose target is such a number is left out, as one without a target is. Yes and no are
        no codes.
        """
        counter, rows = CodeCounter(self.d + 1), 0
        numeric = self.target is not None and self.answers is None  # else labels cannot be codes
        for X, y in self.blocks():
            counter.add(np.column_stack([X, y if numeric else np.full(len(y), np.nan)]))
            rows += len(y)
            if progress is not None:
                progress(rows)
        found = counter.codes()
        label = found.pop(self.d, {})
        self.codes = {self.names[j]: codes for j, codes in found.items()}
        self._coded = [(j, np.array(sorted(codes))) for j, codes in found.items()]
        if label and self.target is not None:
            self.codes[self.target], self._unlabelled = label, np.array(sorted(label))
            self.left_out += sum(label.values())
            self.rounds = (self.rounds or 0) - sum(label.values())
        self.assumed += tuple(
            Assumption(f"{_listed(codes)} in {name!r} no value", "missing")
            for name, codes in self.codes.items()
        )
        return self

    def _encode(self, batch: TableBatch, start: int, size: int) -> LabelledRows:
        part = batch.rows.slice(start, size)
        X = np.empty((part.num_rows, self.d), self.dtype, order=self.order)
        for column in self.columns:
            unknown = column.encode(part.column(column.name), X)
            if unknown:
                self.unknown[column.name] = self.unknown.get(column.name, 0) + unknown
        for j, codes in self._coded:
            X[np.isin(X[:, j], codes), j] = np.nan
        y = np.full(len(X), np.nan)
        if self.target is not None:
            y = self._labels(part.column(self.target))
        here = np.full(len(y), self.target is None) | ~np.isnan(y)
        # Most blocks are without gaps and fine: two passes that allocate nothing tell.
        if not (X.size and X.min() >= -self._largest and X.max() <= self._largest):
            # Rows without a target are not played: whatever they hold is not refused.
            for row, feature in np.argwhere((np.abs(X) > self._largest) & here[:, None])[:1]:
                name = next(c.name for c in self.columns if feature in c.places)
                self._refuse(batch, start + int(row), f"column {name!r}", float(X[row, feature]))
        for row in np.flatnonzero(np.abs(y) > LARGEST)[:1]:
            self._refuse(batch, start + int(row), f"the target {self.target!r}", float(y[row]))
        return (X, y) if here.all() else (X[here], y[here])

    def _labels(self, cells: Any) -> Floats:
        if self.answers is not None:
            return self.answers.encode(cells)
        return numbers(cells).astype(np.float64, copy=False)

    def _refuse(self, batch: TableBatch, row: int, what: str, value: float) -> None:
        size = "infinite" if np.isinf(value) else f"{value:g}, beyond {LARGEST:g} in size"
        raise DataError(
            f"{self._table.title}, {batch.place(row)}: {what} is {size}; "
            "correct it, or leave the cell empty if it is not known"
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
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    comment: str | None = None,
    quote: str | None = None,
    missing: str | Sequence[str] = (),
    dates: str | Sequence[str] = (),
    sheet: str | None = None,
    positive: Positive | Answers | None = None,
    yes_no: bool | None = None,
    zero_based: bool | None = None,
    n_features: int | None = None,
    absent: str = "zero",
    partitions: bool | None = None,
    order_by: str | None = None,
    skip_rows: int | None = None,
    censored: str | None = None,
) -> ReadStream:
    """A file, several of them or a dataframe as a stream of examples.

    Numbers are features as they are, true and false are 1 and 0, and a column of text becomes one
    indicator per level, `colour=red`, in alphabetical order; Yes, YES and yes are one level. The
    levels are those of the whole file: a first pass finds them (and, in CSV, what each column
    holds), so every pass has the same. A missing cell is absent when bought; of a categorical
    column, all its indicators are. Rows without a target are left out and counted in `left_out`.

    A svmlight file, and a table with lists of `indices` and `values`, become sparse rows.

    Parameters
    ----------
    source
        The path of a CSV or a file of JSON lines (also compressed), of a Parquet or Arrow IPC
        (Feather) file or of a spreadsheet, told apart by the first bytes, or of a svmlight file,
        whose columns are label, indices and values; "-" for standard input, which like any pipe is
        copied to a temporary file so that it can be read again; a folder or a pattern such as
        `parts/*.csv`, or a list of paths: files with the same columns, one after the other; an
        address that fsspec knows, such as `s3://bucket/flats/` or `https://example.org/flats.csv`
        (pip install 'keyhole[cluster]'); or a dataframe that narwhals knows (pandas, polars,
        pyarrow, ...).
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
    separator, decimal, thousands, encoding, header, comment, quote
        How a CSV is written: what is between cells, the decimal point, what groups digits, the
        encoding, whether the first row has names (if not, they are c1, c2, ...), what comment lines
        begin with, the quotation mark. None: found out from the first rows where these are clear,
        and told in `assumed`; otherwise "," (a tab in .tsv), ".", "", UTF-8, True, "" and '"'.
    missing
        Further texts that mean no value in a CSV, besides an empty cell, NA, NaN, null, None, ? and
        the like. "auto" among them: codes such as 9999, -1 and - are found and left out too, and
        with them the rows whose target is one.
    dates
        What columns of dates become: "ordinal" (days since 1970), "month", "weekday", "hour", or
        several of these. Without it they are refused.
    sheet
        Sheet of a spreadsheet; None for the first one.
    positive
        The value of the target that means yes: it becomes 1, and any other 0. A target of exactly
        two texts needs none: yes, true or positive is 1, or else the later in the alphabet. The
        `answers` of an earlier stream, to have them again.
    yes_no
        Whether the target is about yes and no. None: a target of two texts, of true and false, or
        of 0 and 1 is, and other numbers are not. True: any two numbers are, and the larger is
        yes. False: true and false, and 0 and 1, are numbers. `answers` says what was decided.
    zero_based
        Of sparse rows: whether the first feature has the index 0, or 1. None: 0 in lists; in
        svmlight files 0 if that index occurs, and otherwise 1, told in `assumed`.
    n_features
        Of sparse rows: how many features there are. None: as many as occur. Say it for a second
        file, so that it has the features of the first.
    absent
        Of sparse rows: what a feature is that a row has no pair for, "zero" or "unknown".
    partitions
        Whether folders such as `year=2024` below a folder that is read become columns (`year`).
        None: they do, and `assumed` says so. False: the files are read, the names left out.
    order_by
        The column by whose value in its first row files are sorted; it may be one of `ignore`.
        None: alphabetically by path, or as listed.
    skip_rows
        How many lines stand before the header of a CSV, or of a sheet: titles and the like. None:
        those that cannot be anything else, told in `assumed`.
    censored
        What cells such as `<5`, `>= 100` and `≤ 0.3` are in a CSV column of numbers: their "bound",
        "absent", or a mistake, which is refused ("refuse"). None: their bound, told in `assumed`.

    Guarantee
    ---------
    Memory is for one block of rows, however long the file; a spreadsheet is held in memory once.
    What cannot be used is a DataError of one line that names file, line or row (counted from 1),
    column and remedy. Checked in the first pass: names, kinds, levels, the shape of CSV; in every
    pass: that values are finite, that the file has not changed. What was assumed is in `assumed`.

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
    return read_with(
        source,
        ReadArguments(
            target,
            ignore,
            categorical,
            features,
            most_levels,
            separator,
            decimal,
            thousands,
            encoding,
            header,
            comment,
            quote,
            (missing,) if isinstance(missing, str) else tuple(missing),
            (dates,) if isinstance(dates, str) else tuple(dates),
            sheet,
            positive=positive,
            yes_no=yes_no,
            zero_based=zero_based,
            n_features=n_features,
            absent=absent,
            partitions=partitions,
            order_by=order_by,
            skip_rows=skip_rows,
            censored=censored,
        ),
    )


def read_with(source: object, request: ReadArguments) -> ReadStream:
    """The same as `read`, with its arguments in a record."""
    limit = whole_number(request.syntax.name("most_levels"), request.most_levels, 1)
    _check_features(request.features)
    opened = open_table(source, request)
    try:
        return _stream(opened, request, limit)
    except DataError as error:
        line = assumptions_line(opened.assumed, request.syntax)
        if not line:
            raise
        raise DataError(f"{error} ({line})") from None


def _stream(opened: OpenedTable, request: ReadArguments, limit: int) -> ReadStream:
    table, features = opened.table, request.features
    _check_names(table, request.named)
    pairs = pair_columns(table, request.target, tuple(request.ignore))
    if pairs is not None:
        return SparseFileStream(table, pairs, request)
    roles, spread = roles_of(table, request)
    found, codes = _scanned_schema(opened, roles, limit if features is None else None, request)
    if spread is None:
        spread = found.levels
    assumed = [*opened.still_assumed(), *codes, *_one_level(found, request)]
    columns, names = columns_of(table, spread, request)
    stream = FileStream(table, columns, names, request.target, found, assumed, request.rounds)
    stream.ignored = tuple(request.ignore)
    return stream.without_codes(request.progress) if request.codes else stream


def roles_of(
    table: Table, request: ReadArguments
) -> tuple[dict[str, ColumnRole], LevelsByColumn | None]:
    """What the columns of a table are for, and the levels of each if the features are known."""
    target, ignore, categorical = request.target, request.ignore, request.categorical
    label = () if target is None else (target,)
    _check_names(table, request.named)
    spread: LevelsByColumn | None = None
    if request.features is None:
        used = [name for name in table.names if name not in {*label, *ignore}]
        roles = {
            name: ColumnRole.LEVELS if name in categorical else ColumnRole.FREE for name in used
        }
    else:
        spread = _resolve(table, request.features, ignore)
        roles = {
            n: ColumnRole.NUMBERS if levels is None else ColumnRole.LEVELS
            for n, levels in spread.items()
        }
    if not roles:
        raise DataError(f"{table.title} has no column left to be a feature")
    if target in {*roles, *ignore, *categorical}:
        raise DataError(f"{target!r} is the target: it cannot be anything else as well")
    return roles | dict.fromkeys(label, ColumnRole.TARGET), spread


def columns_of(
    table: Table, spread: LevelsByColumn, request: ReadArguments
) -> tuple[list[Column], Sequence[str]]:
    """How columns of these levels become features, and what those are called."""
    names = request.features
    if names is None:
        names = [name for item in spread.items() for name in _feature_names(*item)]
    place = {name: i for i, name in enumerate(names)}
    if len(place) < len(names):
        twice = next(name for i, name in enumerate(names) if place[name] != i)
        raise DataError(f"{table.title}: two features would be called {twice!r}: rename a column")
    columns = [
        Column(
            name,
            levels,
            np.array([place[n] for n in _feature_names(name, levels)], dtype=np.int64),
            frozenset(n[len(name) + 1 :] for n in request.known if n.startswith(f"{name}=")),
        )
        for name, levels in spread.items()
    ]
    written = sorted(int(j) for column in columns for j in column.places)
    if written != list(range(len(names))):  # memory that nobody writes is never handed out
        raise DataError(f"{table.title}: not every feature comes from exactly one column")
    return columns, names


def _scanned_schema(
    opened: OpenedTable,
    roles: dict[str, ColumnRole],
    most_levels: int | None,
    request: ReadArguments,
) -> tuple[TableSchema, list[Assumption]]:
    """What a first pass finds: once more where it shows that something was assumed too soon."""
    codes: list[Assumption] = []
    while True:
        try:
            scans = scan_columns(opened.table, roles, most_levels, request.rounds, request.progress)
            return scans.settled(request), codes
        except WrongNumberFormat:
            continue
        except TextInNumbersError as odd:
            text = odd.text.strip()
            assumed = Assumption(f"{text!r} means no value", "missing")
            if (
                assumed in codes
                or not request.codes
                or text not in MISSING_WORDS
                or not opened.texts
            ):
                raise DataError(str(odd)) from None
            codes.append(assumed)
            for table in opened.texts:
                table.also_missing(odd.text)


def _one_level(found: TableSchema, request: ReadArguments) -> list[Assumption]:
    """Which texts were taken for others that are written in other letters."""
    by_meaning = {
        name: {text: [t for t, meant in ways.items() if meant == text] for text in ways.values()}
        for name, ways in found.spellings.items()
    }
    return [
        Assumption(
            f"{' and '.join(map(repr, others))} in {name!r} the same as {text!r}",
            "positive" if name == request.target else "categorical",
        )
        for name, meanings in by_meaning.items()
        for text, others in meanings.items()
    ]


def _check_features(features: Sequence[str] | None) -> None:
    if features is None:
        return
    listed = isinstance(features, Iterable) and not isinstance(features, str)
    if not (listed and all(isinstance(name, str) for name in list(features))):
        raise DataError(f"features must be a list of names, got {shortened(features)}")


def _origins(table: object) -> list[SourceFile]:
    """The files that a table is read from."""
    origin, inner = getattr(table, "_origin", None), getattr(table, "_table", None)
    if isinstance(origin, SourceFile):
        return [origin]
    parts = getattr(table, "tables", [] if inner is None else [inner])
    return [one for part in parts for one in _origins(part)]


def _listed(codes: Mapping[float, int]) -> str:
    return " and ".join(f"{code:g} ({times:,} times)" for code, times in codes.items())


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
            f"{table.title}: column {first['']} has no name; name it, or leave it out: "
            f"{table.syntax.write('ignore', '')}"
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


def _feature_names(name: str, levels: Sequence[str] | None) -> list[str]:
    """What the features of a column are called."""
    return [name] if levels is None else [f"{name}={level}" for level in levels]


def _resolve(table: Table, features: Sequence[str], ignore: Sequence[str]) -> LevelsByColumn:
    """The columns behind the names of an earlier stream, and the levels it had of each."""
    columns = [name for name in table.names if name not in ignore]
    for feature in features:
        if not readings(feature, columns):
            raise DataError(
                f"{table.title} has no column for the feature {feature!r}"
                f"{_hint(feature.partition('=')[0], columns)}"
            )
    return resolve(features, columns, table.title)
