"""Tables of indices and values as sparse streams: svmlight files, lists in Parquet or frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import LARGEST
from keyhole.problem import DataError, Floats, Indices, whole_number
from keyhole.problem.optional_imports import extra
from keyhole.streams.answers import Answers
from keyhole.streams.arrays import Block, rows_of
from keyhole.streams.columns import numbers
from keyhole.streams.opening import Opened
from keyhole.streams.request import Assumption, Request
from keyhole.streams.several import SeveralTables
from keyhole.streams.sparse import ROWS, fill_of, written_out
from keyhole.streams.sparse_rows import SparseRows
from keyhole.streams.survey import Role, Wanted, survey
from keyhole.streams.svmlight import INDICES, LABEL, VALUES, SvmlightTable
from keyhole.streams.tables import Batch, Table, wanted_rows

LAST = 2**31 - 2  # the largest index: they are kept in 32 bits


Lists = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.floating]]  # bounds and pairs


class Pairs(NamedTuple):
    """The columns of a table that hold the pairs."""

    indices: str
    values: str


def pair_columns(table: Table, target: str | None, ignore: tuple[str, ...]) -> Pairs | None:
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
    if {INDICES, VALUES} <= inner.keys():
        found = Pairs(INDICES, VALUES)
    elif len(inner) == 2 and len(whole) == 1:
        found = Pairs(whole[0], next(name for name in inner if name != whole[0]))
    else:
        raise DataError(
            f"{table.title}: which of {', '.join(inner)} are the indices and values of sparse "
            f"rows? Call them {INDICES!r} and {VALUES!r}, or leave the others out "
            f"({table.words.say('ignore', next(iter(inner)))})"
        )
    for name in table.names:
        if name not in {*found, *ignore, target} and not (target is None and name == LABEL):
            raise DataError(
                f"{table.title}: column {name!r} is not part of the sparse rows "
                f"({found.indices}, {found.values}): leave it out "
                f"({table.words.say('ignore', name)}), or give it an index of its own"
            )
    return found


class SparseFileStream:
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

    def __init__(self, table: Table, pairs: Pairs, request: Request) -> None:
        self.target, self.absent = request.target, request.absent
        self._fill = fill_of(request.absent)
        self._table, self._pairs, self._most = table, pairs, request.rounds
        self.answers: Answers | None = None
        self.left_out = 0
        self.codes: dict[str, dict[float, int]] = {}
        self.unknown: dict[str, int] = {}
        if self.target is not None:
            given = request.positive
            known = given if isinstance(given, Answers) else None
            wanted = Wanted(None if isinstance(given, Answers) else given, request.yes_no, known)
            roles = {self.target: Role.TARGET}
            found = survey(table, roles, None, request.rounds, wanted)
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

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return rows_of(self.blocks())

    def blocks(self, rows: int | None = None) -> Iterator[Block]:
        """The rows as (X, y), written out: few at a time where d is large."""
        size = written_out(self.d) if rows is None else rows
        return ((np.asarray(X), y) for X, y in self.lazy_blocks(size))

    def lazy_blocks(self, rows: int | None = None) -> Iterator[tuple[SparseRows, Floats]]:
        """The rows as they are, each block read when it is asked for."""
        size = ROWS if rows is None else whole_number("rows", rows, 1)
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

    def _batches(self) -> Iterator[Batch]:
        """Batches of what is needed, up to the last row that is wanted."""
        played = 0

        def left() -> int:
            return (self._most or 0) - played

        limit = None if self._most is None else left
        columns = [*self._pairs, *([] if self.target is None else [self.target])]
        for batch in self._table.batches(columns, self._table.types, ROWS, limit):
            for part in wanted_rows(batch, limit):
                yield part
                played += len(part.rows) if self.target is None else self._labelled(part)
            if limit is not None and limit() <= 0:
                return

    def _labelled(self, batch: Batch) -> int:
        return len(batch.rows) - int(np.isnan(self._labels(batch)).sum())

    def _labels(self, batch: Batch) -> Floats:
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
        rows, lowest, highest = 0, LAST, -1
        for batch in self._batches():
            _, indices = _flat(batch.rows.column(self._pairs.indices))
            rows += len(batch.rows) if self.target is None else self._labelled(batch)
            if len(indices):
                lowest = min(lowest, int(indices.min()))
                highest = max(highest, int(indices.max()))
            for at in np.flatnonzero((indices < 0) | (indices > LAST))[:1].tolist():
                bounds, _ = _flat(batch.rows.column(self._pairs.indices))
                row = int(np.searchsorted(bounds, at, side="right")) - 1
                self._refuse(batch, row, f"index {int(indices[at])} is not between 0 and {LAST:,}")
        return rows, lowest, highest

    def _first(self, request: Request, lowest: int) -> tuple[bool, tuple[Assumption, ...]]:
        """Whether indices begin with 0, and whether that was assumed."""
        asked = request.zero_based
        if asked is not None:
            if not asked and lowest == 0:
                raise DataError(
                    f"{self._table.title} has the index 0: its indices do not begin with 1; leave "
                    f"out {request.words.say('zero_based', False)}"
                )
            return asked, ()
        if lowest == 0 or not _is_svmlight(self._table):
            return True, ()
        return False, (Assumption("indices that begin with 1", "zero_based"),)

    def _features(self, request: Request, seen: int) -> int:
        name = request.words.name("n_features")
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

    def _checked(self, batch: Batch) -> Lists:
        """The pairs of a batch, ascending in every row, or a DataError."""
        bounds, indices = _flat(batch.rows.column(self._pairs.indices))
        others, values = _flat(batch.rows.column(self._pairs.values))
        for row in np.flatnonzero(np.diff(bounds) != np.diff(others))[:1].tolist():
            self._refuse(
                batch,
                row,
                f"{bounds[row + 1] - bounds[row]} {self._pairs.indices} and "
                f"{others[row + 1] - others[row]} {self._pairs.values}",
            )
        values = values if values.dtype == np.float32 else values.astype(np.float64, copy=False)
        owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
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

    def _refuse(self, batch: Batch, row: int, what: str) -> None:
        raise DataError(f"{self._table.title}, {batch.place(row)}: {what}")


def _is_svmlight(table: Table) -> bool:
    parts = table.tables if isinstance(table, SeveralTables) else [table]
    return all(isinstance(part, SvmlightTable) for part in parts)


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


def sparse_stream(opened: Opened, pairs: Pairs, request: Request) -> SparseFileStream:
    """The stream of a table of pairs; a ProblemError for what cannot be asked of one."""
    said: Mapping[str, object] = {
        "categorical": request.categorical,
        "dates": request.dates,
    }
    for option, value in said.items():
        if value:
            raise DataError(
                f"{opened.table.title} has sparse rows, whose features are numbers: leave out "
                f"{request.words.name(option)}"
            )
    return SparseFileStream(opened.table, pairs, request)
