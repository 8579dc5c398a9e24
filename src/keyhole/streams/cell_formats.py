"""Formats of cells: numbers with units or thousands, codes for missing values, dates as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import DataError, ProblemError, nearest
from keyhole.problem.optional_imports import extra
from keyhole.streams.columns import as_text
from keyhole.streams.read_options import Assumption
from keyhole.streams.tables import BatchQuery, Table, TableBatch, wanted_batches

SPACES = " \u00a0\u202f\u2009"  # plain, no-break, narrow no-break, thin
UNITS_BEFORE = ("€", "$", "£", "¥", "₹", "US$", "EUR", "USD", "GBP", "CHF", "JPY")
UNIT_SIGNS = ("%", "‰", "€", "$", "£", "¥", "₹", "°", "°C", "°F", "²")
# Of one letter only after a space: 12A is the number of a house.
UNIT_WORDS = (
    *("EUR", "USD", "GBP", "CHF", "JPY", "percent", "mm", "cm", "dm", "km", "m", "m2", "m²", "m3"),
    *("m³", "qm", "sqm", "sqft", "ft", "inch", "mi", "mg", "kg", "g", "t", "lb", "lbs", "oz", "ml"),
    *("l", "L", "ms", "s", "sec", "min", "h", "hrs", "hours", "days", "years", "W", "kW", "MW"),
    *("Wh", "kWh", "MWh", "V", "A", "Hz", "kHz", "MHz", "GHz", "Pa", "hPa", "bar", "mbar", "km/h"),
    *("mph", "m/s", "bpm", "mmHg", "mg/dl", "mg/dL", "mmol/l", "mmol/L", "g/dl", "g/dL", "K"),
    *("mg/l", "mg/L", "ng/ml", "ng/mL", "U/l", "U/L", "IU/l", "IU/L"),
)
UNITS_AFTER = {*UNIT_SIGNS, *UNIT_WORDS}
PLAIN_NUMBER = re.compile(r"[+-]?[0-9.]+")  # as most cells are
MAX_NUMBER_LENGTH = 60  # characters of a number with its unit; the search takes their cube


def grouped_pattern(thousands: str, decimal: str) -> str:
    """The regular expression of digits in groups of three, at least two groups."""
    mark, point = f"[{SPACES}]" if thousands == " " else re.escape(thousands), re.escape(decimal)
    return rf"[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({point}[0-9]*)?"


def unit_of(cell: str) -> tuple[str, str]:
    """The unit beside a number and the number without it; the unit is empty if there is none.

    >>> unit_of("€ 100"), unit_of("-12,5 %"), unit_of("80 m2"), unit_of("5kg"), unit_of("12A")
    (('€', '100'), ('%', '-12,5'), ('m2', '80'), ('kg', '5'), ('', '12A'))
    """
    if PLAIN_NUMBER.fullmatch(cell) or len(cell) > MAX_NUMBER_LENGTH:
        return "", cell
    found = re.fullmatch(rf"\s*([+-]?)(\D*?)([{SPACES}]?)([+-]?[0-9][0-9.,' {SPACES}]*)", cell)
    if found and found[2].strip() in UNITS_BEFORE and not (found[1] and found[4][0] in "+-"):
        return found[2].strip(), found[1] + found[4].strip()
    found = re.fullmatch(
        rf"\s*([+-]?[0-9.,][0-9.,' {SPACES}]*?)([{SPACES}]*)([^0-9.,'\s].*?)\s*", cell
    )
    if (
        found
        and found[3] in UNITS_AFTER
        and (found[2] or found[3] in UNIT_SIGNS or len(found[3]) > 1)
    ):
        return found[3], found[1]
    return "", cell


# Of cells such as <5 or >= 100, which say only that a value lies beyond a bound: what they are.
CENSORED = BOUND, ABSENT, REFUSE = "bound", "absent", "refuse"
BOUND_MARK = r"^\s*[<>≤≥]\s*=?\s*"


def without_mark(cell: str) -> str:
    """The bound of a cell that says that a value lies beyond it; any other cell as it is.

    >>> without_mark("<5"), without_mark(">= 0,3"), without_mark("≥7 mg"), without_mark("7")
    ('5', '0,3', '7 mg', '7')
    """
    found = re.match(rf"{BOUND_MARK}(?=[0-9.,+-])", cell)
    return cell[found.end() :] if found else cell


class NumberFormat:
    """Cells of text of one column as numbers: without their unit and without marks of thousands.

    `censored` says what cells such as <5 are: their bound, absent, or no number.
    """

    def __init__(
        self, unit: str, thousands: str, decimal: str, censored: str | None = REFUSE
    ) -> None:
        self.unit, self.thousands, self.decimal = unit, thousands, decimal
        self.censored = censored
        point = re.escape(decimal)
        number = rf"[+-]?([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?"
        if thousands:
            number = rf"({grouped_pattern(thousands, decimal)}|{number})"
        spaces, mark = rf"[\s{SPACES}]*", re.escape(unit)
        shapes = [number]
        if unit:
            shapes = [f"{mark}{spaces}{number}", f"{number}{spaces}{mark}"]
            shapes.append(f"[+-]{mark}{spaces}{number}")
        mark = "" if censored == REFUSE else f"({BOUND_MARK[1:]})?"
        self.pattern = f"^{spaces}{mark}({'|'.join(shapes)}){spaces}$"

    def fits(self, cells: Iterable[str]) -> bool:
        """Whether all cells are numbers written so."""
        pattern = re.compile(self.pattern)
        return all(pattern.match(cell) for cell in cells)

    def numbers(self, cells: Any) -> Any | None:
        """The cells as Arrow numbers, None if one of them is none."""
        arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
        text = as_text(cells)
        fine = compute.match_substring_regex(text, self.pattern)
        if not compute.all(compute.fill_null(fine, True)).as_py() and text.null_count < len(text):
            return None
        if self.censored == ABSENT:
            text = compute.if_else(
                compute.match_substring_regex(text, BOUND_MARK), arrow.scalar(None, text.type), text
            )
        elif self.censored != REFUSE:
            text = compute.replace_substring_regex(text, BOUND_MARK, "")
        if self.unit:
            text = compute.replace_substring(text, self.unit, "")
        text = compute.replace_substring_regex(text, rf"[\s{SPACES}+]", "")
        if self.thousands.strip():
            text = compute.replace_substring(text, self.thousands, "")
        if self.decimal != ".":
            text = compute.replace_substring(text, self.decimal, ".")
        try:
            return text.cast(arrow.float64())
        except arrow.ArrowInvalid:
            return None


# What people type where a number is not known.
COMMON_CODES = sorted(
    {sign * float(digit * many) for sign in (1, -1) for digit in "789" for many in range(2, 7)}
    | {-1.0, -9.0, -1000.0, -10000.0}
)
MISSING_WORDS = (
    *("-", "--", "---", ".", "..", "...", "*", "n.a.", "N.A.", "n.a", "na", "n/k", "nd"),
    *("ND", "N.D.", "k.A.", "k. A.", "missing", "Missing", "MISSING", "unknown", "Unknown", "none"),
    *("UNKNOWN", "NONE", "nil", "not available", "not known", "#VALUE!", "#DIV/0!", "#REF!"),
    *("(null)", "#NULL!", "#NUM!", "#NAME?", "<NA>", "-nan", "N/D", "n/d", "tbd", "TBD", "–", "—"),
    "\\N",
)
MIN_CODE_SIZE = 77.0  # in size, of the codes beside -1 and -9
MIN_CODE_COUNT = 3  # times that a code occurs
MIN_GAP = 1.0  # widths of all other values between them and a code
MIN_GAP_MINUS_ONE = 0.25  # the same for -1 and -9 beside values that are never negative


class CodeCounter:
    """Counts the usual codes in every column, and keeps the range of everything else.

    Examples
    --------
    >>> counter = CodeCounter(2)
    >>> ages = [31.0, 54.0, 999.0, 47.0, 999.0, 62.0, 999.0, 20.0]
    >>> counter.add(np.column_stack([ages, np.arange(95.0, 103.0)]))
    >>> counter.codes()
    {0: {999.0: 3}}
    """

    def __init__(self, d: int) -> None:
        self._counts = np.zeros((len(COMMON_CODES), d), dtype=np.int64)
        self._low, self._high = np.full(d, np.inf), np.full(d, -np.inf)
        self._others = np.zeros(d, dtype=np.int64)

    def add(self, X: NDArray[np.floating]) -> None:
        """Count some rows; NaN is no value."""
        other = ~np.isnan(X)
        # Few cells can be codes at all; only these are looked up.
        rows, columns = np.nonzero((np.abs(X) >= MIN_CODE_SIZE) | (X == -1.0) | (X == -9.0))
        values = X[rows, columns]
        place = np.minimum(np.searchsorted(COMMON_CODES, values), len(COMMON_CODES) - 1)
        hit = np.array(COMMON_CODES)[place] == values
        np.add.at(self._counts, (place[hit], columns[hit]), 1)
        other[rows[hit], columns[hit]] = False
        self._others += other.sum(axis=0)
        low = np.where(other, X, np.inf).min(axis=0, initial=np.inf)
        high = np.where(other, X, -np.inf).max(axis=0, initial=-np.inf)
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)

    def codes(self) -> dict[int, dict[float, int]]:
        """By column, the codes that were found and how often each of them was."""
        found: dict[int, dict[float, int]] = {}
        for j in np.flatnonzero(self._counts.any(axis=0) & (self._others >= 2)).tolist():
            low, high = float(self._low[j]), float(self._high[j])
            times = {
                code: int(self._counts[i, j])
                for i, code in enumerate(COMMON_CODES)
                if self._counts[i, j] >= MIN_CODE_COUNT
            }
            # Usual codes that are no codes here are values like others, and widen the range.
            while inside := [c for c in times if not _is_far(c, low, high)]:
                for code in inside:
                    low, high = min(low, code), max(high, code)
                    del times[code]
            rare = [
                c for i, c in enumerate(COMMON_CODES) if 0 < self._counts[i, j] < MIN_CODE_COUNT
            ]
            low, high = min([low, *rare]), max([high, *rare])
            times = {code: n for code, n in times.items() if _is_far(code, low, high)}
            if times:
                found[j] = times
        return found


def _is_far(code: float, low: float, high: float) -> bool:
    """Whether a code lies far outside of a range."""
    if low >= high:
        return False
    apart = max(low - code, code - high)
    if code in (-1.0, -9.0):
        return low >= 0 and apart >= MIN_GAP_MINUS_ONE * (high - low) and apart > 1.0
    return apart >= MIN_GAP * (high - low) and apart > 10.0


DATE_PARTS = ("ordinal", "month", "weekday", "hour")
ISO_DATE, DOTTED_DATE, MONTH_FIRST = "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"
DAY_FIRST = "%d/%m/%Y"
TIME_PATTERN = r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?([zZ]|[+-][0-9]{2}:?[0-9]{2})?"
DATE_PATTERNS = {
    ISO_DATE: re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{TIME_PATTERN}"),
    DOTTED_DATE: re.compile(rf"[0-9]{{1,2}}\.[0-9]{{1,2}}\.[0-9]{{4}}{TIME_PATTERN}"),
    MONTH_FIRST: re.compile(rf"[0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{4}}{TIME_PATTERN}"),
}
SNIFFED_ROWS = 1000  # rows


def checked_date_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """The parts of dates that were asked for, or a ProblemError."""
    for part in parts:
        if part not in DATE_PARTS:
            raise ProblemError(
                f"dates can be {', '.join(DATE_PARTS)}, got {part!r}{nearest(part, DATE_PARTS)}"
            )
    return tuple(part for part in DATE_PARTS if part in parts)


def looks_like_a_date(cell: str) -> bool:
    """Whether a cell is written like a date.

    >>> looks_like_a_date("31.1.2024"), looks_like_a_date("1/31/2024 10:00"), looks_like_a_date("3")
    (True, True, False)
    """
    return any(shape.fullmatch(cell.strip()) for shape in DATE_PATTERNS.values())


def date_parts_in(features: Sequence[str], columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By column, the parts of its dates that are among features, such as when:month.

    >>> date_parts_in(["age", "when:month", "when:hour", "a:b"], ["age", "when", "a"])
    {'when': ('month', 'hour')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for feature in features:
        column, _, part = feature.partition("=")[0].rpartition(":")
        if part in DATE_PARTS and column in columns and feature not in columns:
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
    return [
        name
        for name, cells in _first_cells(table, names).items()
        if _date_format(cells) is not None
    ]


class DatedTable:
    """A table whose columns of dates are replaced by numbers: `when:ordinal`, `when:month`, ...

    The ordinal is in days since 1970-01-01, hours and minutes being fractions; months are from 1 to
    12, weekdays from 1, a Monday, to 7, hours from 0 to 23.
    """

    def __init__(self, table: Table, parts: Mapping[str, Sequence[str]]) -> None:
        self.title, self.decimal, self.syntax = table.title, table.decimal, table.syntax
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
        first = {} if table.types else _first_cells(table, list(parts))
        self._formats = {name: self._format(name, cells) for name, cells in first.items()}
        self.assumed = [
            Assumption(f"the {first} first in {name!r}", "ignore")
            for name, kind in self._formats.items()
            for first in ({MONTH_FIRST: "month", DAY_FIRST: "day"}.get(kind),)
            if first
        ]

    def batches(self, query: BatchQuery) -> Iterator[TableBatch]:
        """All rows of some columns, dates as numbers."""
        arrow = extra("pyarrow", "files")
        inner = list(dict.fromkeys(self.parents.get(name, name) for name in query.columns))
        known = {n: t for n, t in query.types.items() if n not in self.parents}
        if not self._table.types:
            known.update({n: arrow.string() for n in inner if n in self.parents.values()})
        for batch in self._table.batches(query._replace(columns=inner, types=known)):
            times = {n: self._times(batch, n) for n in inner if n in self.parents.values()}
            cells = [
                _date_part(times[self.parents[name]], self._parts[name]).cast(
                    self._type(arrow, name)
                )
                if name in self.parents
                else batch.rows.column(name)
                for name in query.columns
            ]
            yield TableBatch(arrow.table(cells, names=list(query.columns)), batch.place)

    def _type(self, arrow: Any, name: str) -> Any:
        return arrow.float64() if self._parts[name] == "ordinal" else arrow.int64()

    def _format(self, name: str, cells: Sequence[str]) -> str:
        found = _date_format(cells)
        if found is None:
            some = f", such as {cells[0]!r}" if cells else ""
            raise DataError(f"{self.title}: column {name!r} holds no dates that are known{some}")
        if found != MONTH_FIRST:
            return found
        first, second = (max(int(re.split(r"\D", c)[i]) for c in cells) for i in (0, 1))
        if (first > 12) is (second > 12):
            raise DataError(
                f"{self.title}: column {name!r} holds dates such as {cells[0]!r}, and it is not "
                "clear which number is the month: write them as 2024-01-31"
            )
        return DAY_FIRST if first > 12 else MONTH_FIRST

    def _times(self, batch: TableBatch, name: str) -> Any:
        """The cells of a column as Arrow timestamps without a zone."""
        arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
        cells = batch.rows.column(name)
        if not arrow.types.is_string(cells.type):
            if arrow.types.is_timestamp(cells.type) and cells.type.tz is not None:
                cells = compute.local_timestamp(cells)  # what the clock showed there
            return cells.cast(arrow.timestamp("us"), safe=False)
        kind = self._formats.get(name, ISO_DATE)
        text = compute.utf8_trim_whitespace(as_text(cells))
        fine = compute.fill_null(
            compute.match_substring_regex(text, f"^{DATE_PATTERNS[_family(kind)].pattern}$"), True
        )
        try:
            if compute.all(fine).as_py() is not False:
                return _parsed_dates(text, kind)
        except arrow.ArrowInvalid:
            pass
        self._refuse(batch, name, text, kind)
        raise AssertionError

    def _refuse(self, batch: TableBatch, name: str, text: Any, kind: str) -> None:
        """DataError that names the first cell that is no date."""
        arrow = extra("pyarrow", "files")
        for i, cell in enumerate(text):
            try:
                if cell.is_valid:
                    if not DATE_PATTERNS[_family(kind)].fullmatch(cell.as_py()):
                        raise arrow.ArrowInvalid
                    _parsed_dates(arrow.chunked_array([[cell.as_py()]]), kind)
            except arrow.ArrowInvalid:
                raise DataError(
                    f"{self.title}, {batch.place(i)}: column {name!r} must be dates like the "
                    f"first ones, got {cell.as_py()!r}: correct it, or say "
                    f"{self.syntax.write('missing', cell.as_py())}"
                ) from None
        raise DataError(f"{self.title}: column {name!r} must be dates")


def _first_cells(table: Table, names: Sequence[str]) -> dict[str, list[str]]:
    """The first cells of some columns, as they stand in the file."""
    if not names:
        return {}
    text = dict.fromkeys(names, extra("pyarrow", "files").string())
    found: dict[str, list[str]] = {name: [] for name in names}
    seen = 0
    query = BatchQuery(names, text, SNIFFED_ROWS, lambda: SNIFFED_ROWS - seen)
    for batch in wanted_batches(table, query):
        for name in names:
            cells = as_text(batch.rows.column(name)).to_pylist()
            found[name] += [cell.strip() for cell in cells if cell is not None]
        seen += batch.rows.num_rows
    return found


def _date_format(cells: Sequence[str]) -> str | None:
    """How all of these are written, None if they are no dates."""
    fitting = (
        kind for kind, shape in DATE_PATTERNS.items() if all(shape.fullmatch(c) for c in cells)
    )
    return next(fitting, None) if cells else None


def _family(kind: str) -> str:
    return MONTH_FIRST if kind == DAY_FIRST else kind


def _parsed_dates(text: Any, kind: str) -> Any:
    """Text as timestamps; ArrowInvalid if a cell is none, such as the 31st of February."""
    arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    zone = compute.replace_substring_regex(text, r"([zZ]|[+-][0-9]{2}:?[0-9]{2})$", "")
    if kind == ISO_DATE:
        # The zone of 2024-01-31 looks like that of a time; only after a time it is one.
        timed = compute.match_substring(text, ":")
        text = compute.if_else(timed, zone, text)
    else:
        day = compute.replace_substring_regex(zone, r"[ T].*$", "")
        first, second = ("d", "m") if kind != MONTH_FIRST else ("m", "d")
        mark = r"\." if kind == DOTTED_DATE else "/"
        day = compute.replace_substring_regex(
            day,
            rf"^(?P<{first}>[0-9]+){mark}(?P<{second}>[0-9]+){mark}(?P<y>[0-9]{{4}})$",
            r"\3-0\2-0\1" if kind != MONTH_FIRST else r"\3-0\1-0\2",
        )
        day = compute.replace_substring_regex(day, r"-0([0-9]{2})", r"-\1")
        rest = compute.replace_substring_regex(zone, r"^[^ T]*", "")
        text = compute.binary_join_element_wise(day, rest, "")
    # Hours of one digit: 9:30 is 09:30.
    text = compute.replace_substring_regex(text, r"[ T]([0-9]):", r" 0\1:")
    return text.cast(arrow.timestamp("us"))


def _date_part(times: Any, part: str) -> Any:
    """Part of every date, as numbers."""
    arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
    if part == "ordinal":
        micros = times.cast(arrow.int64()).cast(arrow.float64())
        return compute.divide(micros, 86_400e6)
    if part == "weekday":
        return compute.day_of_week(times, count_from_zero=False)
    return compute.month(times) if part == "month" else compute.hour(times)
