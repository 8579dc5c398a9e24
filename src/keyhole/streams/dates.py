"""Columns of dates as numbers: the day, the month, the weekday, the hour, when asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from keyhole.problem import DataError, ProblemError, nearest
from keyhole.problem.optional_imports import extra
from keyhole.streams.columns import as_text
from keyhole.streams.request import Assumption
from keyhole.streams.tables import Batch, Left, Table

PARTS = ("ordinal", "month", "weekday", "hour")
ISO, DOTS, SLASHES = "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"
DAY_FIRST = "%d/%m/%Y"
TIME = r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?([zZ]|[+-][0-9]{2}:?[0-9]{2})?"
SHAPES = {
    ISO: re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{TIME}"),
    DOTS: re.compile(rf"[0-9]{{1,2}}\.[0-9]{{1,2}}\.[0-9]{{4}}{TIME}"),
    SLASHES: re.compile(rf"[0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{4}}{TIME}"),
}
LOOKED_AT = 1000  # rows


def checked_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """The parts of dates that were asked for, or a ProblemError."""
    for part in parts:
        if part not in PARTS:
            raise ProblemError(
                f"dates can be {', '.join(PARTS)}, got {part!r}{nearest(part, PARTS)}"
            )
    return tuple(part for part in PARTS if part in parts)


def looks_like_a_date(cell: str) -> bool:
    """Whether a cell is written like a date.

    >>> looks_like_a_date("31.1.2024"), looks_like_a_date("1/31/2024 10:00"), looks_like_a_date("3")
    (True, True, False)
    """
    return any(shape.fullmatch(cell.strip()) for shape in SHAPES.values())


def parts_in(features: Sequence[str], columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By column, the parts of its dates that are among features, such as when:month.

    >>> parts_in(["age", "when:month", "when:hour", "a:b"], ["age", "when", "a"])
    {'when': ('month', 'hour')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for feature in features:
        column, _, part = feature.partition("=")[0].rpartition(":")
        if part in PARTS and column in columns and feature not in columns:
            found[column] = (*(p for p in found.get(column, ()) if p != part), part)
    return found


def date_columns(table: Table, skip: Sequence[str]) -> list[str]:
    """The columns that hold dates: by their types, or in text by what its first rows hold."""
    names = [name for name in dict.fromkeys(table.names) if name not in skip and name]
    if table.types:
        types = extra("pyarrow", "files").types
        return [
            n for n in names if types.is_date(table.types[n]) or types.is_timestamp(table.types[n])
        ]
    return [name for name, cells in _first(table, names).items() if _shape(cells) is not None]


class DatedTable:
    """A table whose columns of dates are replaced by numbers: `when:ordinal`, `when:month`, ...

    The ordinal is in days since 1970-01-01, hours and minutes being fractions; months are from 1 to
    12, weekdays from 1, a Monday, to 7, hours from 0 to 23.
    """

    def __init__(self, table: Table, parts: Mapping[str, Sequence[str]]) -> None:
        self.title, self.decimal, self.words = table.title, table.decimal, table.words
        self._table = table
        self.parents = {f"{name}:{part}": name for name in parts for part in parts[name]}
        self._parts = {f"{name}:{part}": part for name in parts for part in parts[name]}
        self.names = tuple(
            new
            for name in table.names
            for new in ([f"{name}:{p}" for p in parts[name]] if name in parts else [name])
        )
        for name in self.parents:
            if name in table.names:
                raise DataError(f"{self.title} has a column {name!r} already: rename it")
        arrow = extra("pyarrow", "files")
        self.types = {n: t for n, t in table.types.items() if n not in parts}
        if table.types:
            self.types.update({n: self._type(arrow, n) for n in self.parents})
        self._formats: dict[str, str] = {}
        if not table.types:
            for name, cells in _first(table, list(parts)).items():
                self._formats[name] = self._format(name, cells)
        self.assumed = [
            Assumption(f"the {first} first in {name!r}", "ignore")
            for name, kind in self._formats.items()
            for first in ({SLASHES: "month", DAY_FIRST: "day"}.get(kind),)
            if first
        ]

    def batches(
        self,
        columns: Sequence[str],
        types: Mapping[str, Any],
        rows: int,
        left: Left | None = None,
    ) -> Iterator[Batch]:
        """All rows of some columns, dates as numbers."""
        arrow = extra("pyarrow", "files")
        inner = list(dict.fromkeys(self.parents.get(name, name) for name in columns))
        known = {n: t for n, t in types.items() if n not in self.parents}
        if not self._table.types:
            known.update({n: arrow.string() for n in inner if n in self.parents.values()})
        for batch in self._table.batches(inner, known, rows, left):
            times = {n: self._times(batch, n) for n in inner if n in self.parents.values()}
            cells = [
                _part(times[self.parents[name]], self._parts[name]).cast(self._type(arrow, name))
                if name in self.parents
                else batch.rows.column(name)
                for name in columns
            ]
            yield Batch(arrow.table(cells, names=list(columns)), batch.place)

    def _type(self, arrow: Any, name: str) -> Any:
        return arrow.float64() if self._parts[name] == "ordinal" else arrow.int64()

    def _format(self, name: str, cells: Sequence[str]) -> str:
        found = _shape(cells)
        if found is None:
            some = f", such as {cells[0]!r}" if cells else ""
            raise DataError(f"{self.title}: column {name!r} holds no dates that are known{some}")
        if found != SLASHES:
            return found
        first, second = (max(int(re.split(r"\D", c)[i]) for c in cells) for i in (0, 1))
        if (first > 12) is (second > 12):
            raise DataError(
                f"{self.title}: column {name!r} holds dates such as {cells[0]!r}, and it is not "
                "clear which number is the month: write them as 2024-01-31"
            )
        return DAY_FIRST if first > 12 else SLASHES

    def _times(self, batch: Batch, name: str) -> Any:
        """The cells of a column as Arrow timestamps without a zone."""
        arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
        cells = batch.rows.column(name)
        if not arrow.types.is_string(cells.type):
            if arrow.types.is_timestamp(cells.type):
                return _without_zone(cells).cast(arrow.timestamp("us"), safe=False)
            return cells.cast(arrow.timestamp("us"), safe=False)
        kind = self._formats.get(name, ISO)
        text = compute.utf8_trim_whitespace(as_text(cells))
        fine = compute.fill_null(
            compute.match_substring_regex(text, f"^{SHAPES[_family(kind)].pattern}$"), True
        )
        try:
            if compute.all(fine).as_py() is not False:
                return _parsed(text, kind)
        except arrow.ArrowInvalid:
            pass
        self._refuse(batch, name, text, kind)
        raise AssertionError

    def _refuse(self, batch: Batch, name: str, text: Any, kind: str) -> None:
        """DataError that names the first cell that is no date."""
        arrow = extra("pyarrow", "files")
        for i, cell in enumerate(text):
            try:
                if cell.is_valid:
                    if not SHAPES[_family(kind)].fullmatch(cell.as_py()):
                        raise arrow.ArrowInvalid
                    _parsed(arrow.chunked_array([[cell.as_py()]]), kind)
            except arrow.ArrowInvalid:
                raise DataError(
                    f"{self.title}, {batch.place(i)}: column {name!r} must be dates like the "
                    f"first ones, got {cell.as_py()!r}: correct it, or say "
                    f"{self.words.say('missing', cell.as_py())}"
                ) from None
        raise DataError(f"{self.title}: column {name!r} must be dates")


def _first(table: Table, names: Sequence[str]) -> dict[str, list[str]]:
    """The first cells of some columns, as they stand in the file."""
    if not names:
        return {}
    string = extra("pyarrow", "files").string()
    wanted = _countdown(LOOKED_AT)
    found: dict[str, list[str]] = {name: [] for name in names}
    for batch in table.batches(names, dict.fromkeys(names, string), LOOKED_AT, wanted.left):
        for name in names:
            cells = as_text(batch.rows.column(name)).to_pylist()
            found[name] += [cell.strip() for cell in cells if cell is not None]
        wanted.count(batch.rows.num_rows)
        if wanted.left() <= 0:
            break
    return found


class _countdown:
    def __init__(self, rows: int) -> None:
        self._rows = rows

    def left(self) -> int:
        return self._rows

    def count(self, rows: int) -> None:
        self._rows -= rows


def _shape(cells: Sequence[str]) -> str | None:
    """How all of these are written, None if they are no dates."""
    fitting = (kind for kind, shape in SHAPES.items() if all(shape.fullmatch(c) for c in cells))
    return next(fitting, None) if cells else None


def _family(kind: str) -> str:
    return SLASHES if kind == DAY_FIRST else kind


def _parsed(text: Any, kind: str) -> Any:
    """Text as timestamps; ArrowInvalid if a cell is none, such as the 31st of February."""
    arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    zone = compute.replace_substring_regex(text, r"([zZ]|[+-][0-9]{2}:?[0-9]{2})$", "")
    if kind == ISO:
        # The zone of 2024-01-31 looks like that of a time; only after a time it is one.
        timed = compute.match_substring(text, ":")
        text = compute.if_else(timed, zone, text)
    else:
        day = compute.replace_substring_regex(zone, r"[ T].*$", "")
        first, second = ("d", "m") if kind != SLASHES else ("m", "d")
        mark = r"\." if kind == DOTS else "/"
        day = compute.replace_substring_regex(
            day,
            rf"^(?P<{first}>[0-9]+){mark}(?P<{second}>[0-9]+){mark}(?P<y>[0-9]{{4}})$",
            r"\3-0\2-0\1" if kind != SLASHES else r"\3-0\1-0\2",
        )
        day = compute.replace_substring_regex(day, r"-0([0-9]{2})", r"-\1")
        rest = compute.replace_substring_regex(zone, r"^[^ T]*", "")
        text = compute.binary_join_element_wise(day, rest, "")
    # Hours of one digit: 9:30 is 09:30.
    text = compute.replace_substring_regex(text, r"[ T]([0-9]):", r" 0\1:")
    return text.cast(arrow.timestamp("us"))


def _without_zone(cells: Any) -> Any:
    """What the clock showed there."""
    if cells.type.tz is None:
        return cells
    return extra("pyarrow.compute", "files").local_timestamp(cells)


def _part(times: Any, part: str) -> Any:
    """Part of every date, as numbers."""
    arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    if part == "ordinal":
        micros = times.cast(arrow.int64()).cast(arrow.float64())
        return compute.divide(micros, 86_400e6)
    if part == "weekday":
        return compute.day_of_week(times, count_from_zero=False)
    parts: dict[str, Callable[[Any], Any]] = {"month": compute.month, "hour": compute.hour}
    return parts[part](times)
