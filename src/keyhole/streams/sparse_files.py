"""Sparse rows in files: svmlight (libsvm) text, lists of indices and values in Parquet or frames.

    1.5 3:0.2 17:1 # a comment
    -1 qid:4 1:0.5

Of svmlight, Arrow reads a block of lines at once; Python names the line that went wrong. The pairs,
16 bytes each, are kept: text is not taken apart once more in every pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import LARGEST, shortened
from keyhole.problem import DataError, Floats, Indices, whole_number
from keyhole.problem.optional_imports import extra
from keyhole.streams.columns import Answers, numbers
from keyhole.streams.read_options import PYTHON_SYNTAX, Assumption, OptionSyntax, ReadArguments
from keyhole.streams.schema import ColumnRole, scan_columns
from keyhole.streams.source_file import SourceFile, readable
from keyhole.streams.sparse import SPARSE_BLOCK_ROWS, SparseRows, SparseStreamBase, fill_value
from keyhole.streams.tables import BatchQuery, Table, TableBatch, wanted_batches

LABEL_COLUMN, INDICES_COLUMN, VALUES_COLUMN = "label", "indices", "values"
SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")
NEVER_SVMLIGHT = (".csv", ".tsv")  # never taken for svmlight, whatever they look like
NUMBER_PATTERN = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SVMLIGHT_LINE = re.compile(
    rf"{NUMBER_PATTERN}(?:\s+qid:\d+)?(?:\s+\d+:(?:{NUMBER_PATTERN}|nan))*\s*(?:#.*)?"
)
SNIFFED_LINES = 20  # lines that must look like it
SVMLIGHT_BLOCK_BYTES = 4 << 20  # bytes read at a time


def is_svmlight(origin: SourceFile, head: bytes) -> bool:
    """Whether a file is named like one, or its first lines look like one and its name allows it."""
    suffixes = [suffix.lower() for suffix in origin.path.suffixes[-2:]]
    if any(suffix in SVMLIGHT_SUFFIXES for suffix in suffixes):
        return True
    if any(suffix in NEVER_SVMLIGHT for suffix in suffixes):
        return False
    return looks_like_svmlight(head.decode("utf-8", errors="replace"))


def looks_like_svmlight(head: str) -> bool:
    """Whether the first lines of a text are labels and pairs; the last may be cut off.

    >>> looks_like_svmlight("# words\\n1 3:1 9:0.5\\n-1 qid:2 4:1\\n0 1:")
    True
    >>> looks_like_svmlight("departure arrival\\n12:30 14:10\\n")
    False
    """
    lines = head.split("\n")
    whole = [line.strip() for line in (lines[:-1] or lines)]
    told = [line for line in whole if line and not line.startswith("#")][:SNIFFED_LINES]
    return any(":" in line for line in told) and all(SVMLIGHT_LINE.fullmatch(line) for line in told)


class SvmlightTable:
    """A svmlight file as a table that Arrow batches are read from.

    Parameters
    ----------
    origin
        The file.
    syntax
        How options are written in messages.
    most
        Lines with labels beyond this number are not looked at.
    """

    decimal = "."
    names = (LABEL_COLUMN, INDICES_COLUMN, VALUES_COLUMN)

    def __init__(
        self, origin: SourceFile, syntax: OptionSyntax = PYTHON_SYNTAX, most: int | None = None
    ) -> None:
        self.title, self.syntax = origin.title, syntax
        arrow = extra("pyarrow", "files")
        self.types: Mapping[str, Any] = {
            LABEL_COLUMN: arrow.float64(),
            INDICES_COLUMN: arrow.list_(arrow.int64()),
            VALUES_COLUMN: arrow.list_(arrow.float64()),
        }
        self._parts: list[tuple[Any, Any]] = []  # record batches; the line of each of their rows
        rows = 0
        for first, lines in self._lines(origin):
            rest = None if most is None else most - rows
            batch, numbers = self._parsed(first, lines, rest)
            self._parts.append((batch, numbers))
            rows += batch.num_rows
            if most is not None and rows >= most:
                break
        if not rows:
            raise DataError(f"{self.title} has no line with a label")

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """All rows of some columns, at most `rows` at a time."""
        for batch, lines in self._parts:
            for start in range(0, batch.num_rows, query.rows):
                place = partial(_line, lines[start : start + query.rows])
                part = batch.slice(start, query.rows).select(list(query.columns))
                yield TableBatch(part, place)

    def _lines(self, origin: SourceFile) -> Iterator[tuple[int, list[str]]]:
        """Blocks of whole lines, each with the number of its first."""
        first, rest = 1, b""
        with origin.open() as handle, readable(origin.title, origin.packing):
            while data := handle.read(SVMLIGHT_BLOCK_BYTES):
                whole, cut, rest = (rest + data).rpartition(b"\n")
                if cut:
                    lines = _text(whole).split("\n")
                    yield first, lines
                    first += len(lines)
        if rest:
            yield first, [_text(rest)]

    def _parsed(self, first: int, lines: list[str], most: int | None) -> tuple[Any, Any]:
        """A record batch of lines, and the number of the line of each row."""
        arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
        texts = arrow.array(lines, arrow.string())
        if any("#" in line for line in lines):
            texts = compute.replace_substring_regex(texts, "#.*", "")
        texts = compute.utf8_trim_whitespace(texts)
        full = np.flatnonzero(compute.binary_length(texts).to_numpy(zero_copy_only=False))[:most]
        numbers = full + first
        words = compute.utf8_split_whitespace(texts.take(arrow.array(full)))
        try:
            return self._batch(words), numbers
        except (arrow.ArrowInvalid, _NotPairs):
            for number, line in zip(numbers.tolist(), words.to_pylist(), strict=True):
                self._refuse_line(number, line)
            raise DataError(
                f"{self.title}, lines {first} to {first + len(lines) - 1}: these are not labels "
                "and index:value pairs"
            ) from None

    def _batch(self, words: Any) -> Any:
        """Rows of words as numbers; ArrowInvalid or _NotPairs if some are no numbers."""
        arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
        flat, bounds = words.flatten(), words.offsets.to_numpy().astype(np.int64)
        bounds = bounds - (bounds[0] if len(bounds) else 0)
        is_label = np.zeros(len(flat), dtype=bool)
        is_label[bounds[:-1]] = True
        kept = ~is_label & ~compute.starts_with(flat, "qid:").to_numpy(zero_copy_only=False)
        labels = _numbers(flat.filter(arrow.array(is_label)))
        pairs = compute.split_pattern(flat.filter(arrow.array(kept)), ":")
        halves = compute.list_value_length(pairs).to_numpy(zero_copy_only=False)
        if (halves != 2).any():
            raise _NotPairs
        both = pairs.flatten()
        even = np.arange(0, len(both), 2)
        indices = both.take(arrow.array(even)).cast(arrow.int64())
        values = _numbers(both.take(arrow.array(even + 1)))
        counts = np.concatenate([[0], np.cumsum(kept)])[bounds]
        ends = arrow.array(counts.astype(np.int32))
        lists = [arrow.ListArray.from_arrays(ends, part) for part in (indices, values)]
        return arrow.RecordBatch.from_arrays([labels, *lists], names=list(self.names))

    def _refuse_line(self, number: int, words: list[str]) -> None:
        """DataError if this is the line that went wrong."""
        label, *pairs = words
        if not _is_number(label):
            more = ": one label per line, not several" if "," in label else ""
            raise DataError(
                f"{self.title}, line {number:,}: the label must be a number, got "
                f"{shortened(label)}{more}"
            )
        for pair in pairs:
            index, _, value = pair.partition(":")
            if not pair.startswith("qid:") and not (
                re.fullmatch(r"-?\d{1,18}", index) and _is_number(value)
            ):
                raise DataError(
                    f"{self.title}, line {number:,}: expected index:value, got {shortened(pair)}"
                )


class _NotPairs(Exception):
    """Some words of a block are no pairs."""


def _line(numbers: Any, i: int) -> str:
    """Where row i of a batch is."""
    return f"line {int(numbers[i]):,}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _numbers(words: Any) -> Any:
    """Words as numbers: Arrow knows no leading plus."""
    compute = extra("pyarrow.compute", "files")
    plain = compute.replace_substring_regex(words, r"^\+(\d|\.)", r"\1")
    return plain.cast(extra("pyarrow", "files").float64())


def _is_number(word: str) -> bool:
    return (
        re.fullmatch(rf"{NUMBER_PATTERN}|[+-]?(?:nan|inf|infinity)", word, re.IGNORECASE)
        is not None
    )


MAX_INDEX = 2**31 - 2  # the largest index: they are kept in 32 bits


Lists = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.floating]]  # bounds and pairs


class PairColumns(NamedTuple):
    """The columns of a table that hold the pairs."""

    indices: str
    values: str


def pair_columns(table: Table, target: str | None, ignore: tuple[str, ...]) -> PairColumns | None:
    """The two columns of lists that rows are made of, None if this is no table of pairs.

    They are `indices` and `values`, or the only list of whole numbers and the only other list.
    """
    types = extra("pyarrow", "files").types
    inner = {
        name: kind.value_type
        for name, kind in table.types.items()
        if (types.is_list(kind) or types.is_large_list(kind)) and name not in ignore
    }
    if len(inner) < 2:
        return None
    if not all(types.is_integer(kind) or types.is_floating(kind) for kind in inner.values()):
        return None
    whole = [name for name, kind in inner.items() if types.is_integer(kind)]
    if {INDICES_COLUMN, VALUES_COLUMN} <= inner.keys():
        found = PairColumns(INDICES_COLUMN, VALUES_COLUMN)
    elif len(inner) == 2 and len(whole) == 1:
        found = PairColumns(whole[0], next(name for name in inner if name != whole[0]))
    else:
        raise DataError(
            f"{table.title}: which of {', '.join(inner)} are the indices and values of sparse "
            f"rows? Call them {INDICES_COLUMN!r} and {VALUES_COLUMN!r}, or leave the others out "
            f"({table.syntax.write('ignore', next(iter(inner)))})"
        )
    for name in table.names:
        if name not in {*found, *ignore, target} and not (target is None and name == LABEL_COLUMN):
            raise DataError(
                f"{table.title}: column {name!r} is not part of the sparse rows "
                f"({found.indices}, {found.values}): leave it out "
                f"({table.syntax.write('ignore', name)}), or give it an index of its own"
            )
    return found


class SparseFileStream(SparseStreamBase):
    """Sparse rows of a file or a dataframe as a stream: what `read` returns for them.

    Parquet and Arrow are read anew in every pass, a block at a time; the pairs of svmlight files
    are kept in memory. Rows without a target are left out.

    Attributes
    ----------
    target, rounds, left_out, assumed, answers
        As of `FileStream`.
    names
        None: features are numbers, from 0. Those that were asked for are called x17 and so on.
    absent
        What a feature without a pair is: "zero" or "unknown".
    zero_based
        Whether the first feature is called 0 in the file; if not, it is called 1.
    """

    names: tuple[str, ...] | None = None

    def __init__(self, table: Table, pairs: PairColumns, request: ReadArguments) -> None:
        for option in ("categorical", "dates"):
            if getattr(request, option):
                raise DataError(
                    f"{table.title} has sparse rows, whose features are numbers: leave out "
                    f"{request.syntax.name(option)}"
                )
        self.target, self.absent = request.target, request.absent
        self._fill = fill_value(request.absent)
        self._table, self._pairs, self._most = table, pairs, request.rounds
        self.answers: Answers | None = None
        self.left_out = 0
        self.codes: dict[str, dict[float, int]] = {}
        self.unknown: dict[str, int] = {}
        if self.target is not None:
            roles = {self.target: ColumnRole.TARGET}
            found = scan_columns(table, roles, None, request.rounds).settled(request)
            self.answers, self.left_out = found.answers, found.without_target
        rows, lowest, highest = self._extent()
        self.rounds: int | None = rows
        self.zero_based, self.assumed = self._first(request, lowest)
        self.d = self._features(request, highest + (1 if self.zero_based else 0))
        self._chosen: Indices | None = None  # features of the file that are those of the stream
        if request.features is not None:
            self.names = tuple(request.features)
            self._chosen = _by_name(self.names, table.title)
            self.d = len(self.names)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """No column becomes several features."""
        return {}

    def lazy_blocks(self, rows: int | None = None) -> Iterator[tuple[SparseRows, Floats]]:
        """The rows as they are, each block read when it is asked for."""
        size = SPARSE_BLOCK_ROWS if rows is None else whole_number("rows", rows, 1)
        for batch in self._batches():
            bounds, indices, values = self._checked(batch)
            if self._chosen is not None:
                bounds, indices, values = _selected((bounds, indices, values), self._chosen)
            y = self._labels(batch)
            found = SparseRows(bounds, indices, values, self.d, self._fill)
            here = np.flatnonzero(~np.isnan(y)) if self.target is not None else np.arange(len(y))
            for start, stop in _runs(here):
                for i in range(start, stop, size):
                    part = slice(i, min(i + size, stop))
                    yield found[part], y[part]

    def _batches(self) -> Iterator[TableBatch]:
        """Batches of what is needed, up to the last row that is wanted."""
        played, most = 0, self._most
        left = None if most is None else lambda: most - played
        columns = [*self._pairs, *([] if self.target is None else [self.target])]
        query = BatchQuery(columns, self._table.types, SPARSE_BLOCK_ROWS, left)
        for batch in wanted_batches(self._table, query):
            yield batch
            played += len(batch.rows) if self.target is None else self._labelled(batch)

    def _labelled(self, batch: TableBatch) -> int:
        return len(batch.rows) - int(np.isnan(self._labels(batch)).sum())

    def _labels(self, batch: TableBatch) -> Floats:
        if self.target is None:
            return np.full(len(batch.rows), np.nan)
        cells = batch.rows.column(self.target)
        if self.answers is not None:
            return self.answers.encode(cells)
        y = numbers(cells).astype(np.float64, copy=False)
        for i in np.flatnonzero(np.abs(y) > LARGEST)[:1].tolist():
            self._refuse(batch, i, f"the target {self.target!r} is {y[i]:g}, too large")
        return y

    def _extent(self) -> tuple[int, int, int]:
        """How many rows there are, and the lowest and the highest index as written."""
        rows, lowest, highest = 0, MAX_INDEX, -1
        for batch in self._batches():
            _, indices = _flat(batch.rows.column(self._pairs.indices))
            rows += len(batch.rows) if self.target is None else self._labelled(batch)
            if len(indices):
                lowest = min(lowest, int(indices.min()))
                highest = max(highest, int(indices.max()))
            for at in np.flatnonzero((indices < 0) | (indices > MAX_INDEX))[:1].tolist():
                bounds, _ = _flat(batch.rows.column(self._pairs.indices))
                row = int(np.searchsorted(bounds, at, side="right")) - 1
                self._refuse(
                    batch, row, f"index {int(indices[at])} is not between 0 and {MAX_INDEX:,}"
                )
        return rows, lowest, highest

    def _first(self, request: ReadArguments, lowest: int) -> tuple[bool, tuple[Assumption, ...]]:
        """Whether indices begin with 0, and whether that was assumed."""
        asked = request.zero_based
        if asked is not None:
            if not asked and lowest == 0:
                raise DataError(
                    f"{self._table.title} has the index 0: its indices do not begin with 1; leave "
                    f"out {request.syntax.write('zero_based', False)}"
                )
            return asked, ()
        parts = getattr(self._table, "tables", [self._table])  # of several files
        if lowest == 0 or not all(isinstance(part, SvmlightTable) for part in parts):
            return True, ()
        return False, (Assumption("indices that begin with 1", "zero_based"),)

    def _features(self, request: ReadArguments, seen: int) -> int:
        name = request.syntax.name("n_features")
        if request.n_features is None:
            if seen < 1:
                raise DataError(
                    f"{self._table.title} has no pair in any row: say how many features there are, "
                    f"{name}"
                )
            return seen
        d = whole_number(name, request.n_features, 1)
        if seen > d:
            raise DataError(f"{self._table.title} has {seen:,} features or more, {name} is {d:,}")
        return d

    def _checked(self, batch: TableBatch) -> Lists:
        """The pairs of a batch, ascending in every row, or a DataError."""
        bounds, indices = _flat(batch.rows.column(self._pairs.indices))
        others, values = _flat(batch.rows.column(self._pairs.values))
        lengths, its = np.diff(bounds), np.diff(others)
        for row in np.flatnonzero(lengths != its)[:1].tolist():
            what = f"{lengths[row]} {self._pairs.indices} and {its[row]} {self._pairs.values}"
            self._refuse(batch, row, what)
        values = values if values.dtype == np.float32 else values.astype(np.float64, copy=False)
        owner = np.repeat(np.arange(len(lengths)), lengths)
        largest = np.float32(np.finfo(np.float32).max) if values.dtype == np.float32 else LARGEST
        for at in np.flatnonzero(np.abs(values) > largest)[:1].tolist():
            what = f"the value of feature {int(indices[at])} is {values[at]:g}, too large"
            self._refuse(batch, int(owner[at]), what)
        alike = owner[1:] == owner[:-1]
        if (alike & (indices[1:] <= indices[:-1])).any():
            order = np.lexsort((indices, owner))
            indices, values = indices[order], values[order]
            for at in np.flatnonzero(alike & (indices[1:] == indices[:-1]))[:1].tolist():
                self._refuse(batch, int(owner[at]), f"feature {int(indices[at])} comes twice")
        shift = 0 if self.zero_based else 1
        return bounds, (indices - shift).astype(np.int32), values

    def _refuse(self, batch: TableBatch, row: int, what: str) -> None:
        raise DataError(f"{self._table.title}, {batch.place(row)}: {what}")


def _flat(cells: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """A column of lists as bounds that begin with 0, and all their numbers; no list is empty."""
    arrow = extra("pyarrow", "files")
    if isinstance(cells, arrow.ChunkedArray):
        cells = cells.combine_chunks()
    lengths = extra("pyarrow.compute", "files").list_value_length(cells)
    counts = lengths.fill_null(0).to_numpy(zero_copy_only=False)
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    inside = cells.flatten()  # without what null lists hide
    if arrow.types.is_integer(inside.type) and inside.null_count == 0:
        return bounds, inside.to_numpy(zero_copy_only=False).astype(np.int64)
    return bounds, numbers(inside)


def _by_name(names: Sequence[str], title: str) -> Indices:
    """The features of sparse rows that models call x17 or feature 17."""
    found = []
    for name in names:
        match = re.fullmatch(r"(?:x|feature )(\d+)", name)
        if match is None:
            raise DataError(
                f"{title} has sparse rows, whose features are x0, x1, ...: there is no {name!r}"
            )
        found.append(int(match[1]))
    return np.array(found, dtype=np.int64)


def _selected(lists: Lists, chosen: Indices) -> Lists:
    """The pairs of some features, which get the numbers of their places among those.

    >>> lists = (np.array([0, 2, 3]), np.array([1, 5, 5], np.int32), np.array([1.0, 2.0, 3.0]))
    >>> _selected(lists, np.array([5, 9, 1]))
    (array([0, 2, 3]), array([0, 2, 0], dtype=int32), array([2., 1., 3.]))
    """
    bounds, indices, values = lists
    order = np.argsort(chosen)
    at = np.searchsorted(chosen[order], indices).clip(max=len(chosen) - 1)
    here = chosen[order][at] == indices
    owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))[here]
    places, kept = order[at[here]], values[here]
    sort = np.lexsort((places, owner))
    new = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(bounds) - 1))])
    return new.astype(np.int64), places[sort].astype(np.int32), kept[sort]


def _runs(places: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ascending places as runs (start, stop).

    >>> list(_runs(np.array([0, 1, 4, 5, 6])))
    [(0, 2), (4, 7)]
    """
    if not len(places):
        return
    cuts = np.flatnonzero(np.diff(places) > 1) + 1
    for run in np.split(places, cuts):
        yield int(run[0]), int(run[-1]) + 1
