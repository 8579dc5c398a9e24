"""The schema of a table, from a first pass: what its columns hold, and the levels of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from keyhole.errors import shortened
from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra
from keyhole.streams.cell_formats import (
    BOUND,
    BOUND_MARK,
    MISSING_WORDS,
    looks_like_a_date,
    without_mark,
)
from keyhole.streams.columns import (
    MAX_TARGET_VALUES,
    Answers,
    ColumnKind,
    answers_of_numbers,
    answers_of_text,
    as_text,
    folded,
    is_category,
    kind_of,
    numbers,
    spellings,
)
from keyhole.streams.csv_dialect import number_pattern
from keyhole.streams.read_options import AUTO, ReadArguments
from keyhole.streams.tables import BatchQuery, Table, TableBatch, wanted_batches

SCANNED_ROWS = 1 << 14  # at a time; a table of text has blocks of its own
USABLE_KINDS = (ColumnKind.EMPTY, ColumnKind.NUMBER, ColumnKind.FLAG, ColumnKind.TEXT)


class TextInNumbersError(DataError):
    """A cell of text in a column of numbers; `text` is what it holds."""

    text = ""


class ColumnRole(Enum):
    """What a column is for: whatever it holds, levels by order, numbers by order, the target."""

    FREE, LEVELS, NUMBERS, TARGET = range(4)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """What a first pass found: levels by column (None: numbers), Arrow types, rows, no target.

    And what the two values of the target mean, None for a target of numbers. `spellings` are by
    column the texts that are another one in other letters, `empty` the cells without a value where
    all of them were looked at.
    """

    levels: dict[str, tuple[str, ...] | None]
    types: dict[str, Any]
    rows: int
    without_target: int
    answers: Answers | None = None
    spellings: dict[str, dict[str, str]] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)


class ColumnScans:
    """What was seen of the columns of a table, or of several: `include` adds another one's."""

    def __init__(
        self, table: Table, roles: Mapping[str, ColumnRole], most_levels: int | None
    ) -> None:
        self.title, self.roles, self.rows = table.title, roles, 0
        self.seen = {
            name: _ColumnScan(table, name, role, most_levels) for name, role in roles.items()
        }
        self._types = dict(table.types)

    @property
    def without_target(self) -> int:
        """Rows that have no target."""
        return sum(s.absent for s in self.seen.values())

    def call_it(self, title: str) -> None:
        """Name what was seen so in messages from now on."""
        self.title = title
        for scan in self.seen.values():
            scan.title = title

    def include(self, other: ColumnScans) -> None:
        """Add what was seen of a table with the same columns, in the same roles."""
        self.rows += other.rows
        for name, scan in self.seen.items():
            scan.include(other.seen[name])

    def settled(self, request: ReadArguments) -> TableSchema:
        """What it comes to; a DataError for a column of which no sense can be made."""
        roles, seen = self.roles, self.seen
        if self.rows == 0:
            raise DataError(f"{self.title} has columns but no rows")
        for scan in seen.values():
            scan.settle()
        answers = [
            s.answers(request) for name, s in seen.items() if roles[name] is ColumnRole.TARGET
        ]
        without = self.without_target
        if without == self.rows:
            target = next(name for name, role in roles.items() if role is ColumnRole.TARGET)
            raise DataError(f"{self.title}: the target {target!r} is missing in every row")
        return TableSchema(
            levels={
                n: s.sorted_levels for n, s in seen.items() if roles[n] is not ColumnRole.TARGET
            },
            types=self._types or {name: s.text_type for name, s in seen.items()},
            rows=self.rows,
            without_target=without,
            answers=answers[0] if answers else None,
            spellings={n: s.spellings for n, s in seen.items() if s.spellings},
            empty={} if self._types else {n: s.empty for n, s in seen.items()},
        )


def scan_columns(
    table: Table,
    roles: Mapping[str, ColumnRole],
    most_levels: int | None,
    rounds: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> ColumnScans:
    """Go through a table once and take note of the columns that have roles.

    A table that has types is asked for its target and its text columns only. `most_levels` None
    collects no levels: they are known. Nothing is looked at beyond `rounds` rows with a target.
    `progress` is told how many rows have been seen.
    """
    found = ColumnScans(table, roles, most_levels)
    seen = found.seen
    for name, arrow_type in table.types.items():
        if name in seen:
            seen[name].declare(arrow_type)
    open_questions = [name for name, s in seen.items() if not table.types or s.needs_a_look]

    left = None if rounds is None else lambda: rounds - (found.rows - found.without_target)
    asked = open_questions or list(seen)[:1]
    query = BatchQuery(asked, _as_text(roles), SCANNED_ROWS, left)
    for batch in wanted_batches(table, query):
        found.rows += batch.rows.num_rows
        for name in open_questions:
            seen[name].note(batch)
        if progress is not None:
            progress(found.rows)
    return found


def restored_scans(
    table: Table,
    roles: Mapping[str, ColumnRole],
    most_levels: int | None,
    rows: int,
    kept: Mapping[str, Mapping[str, Any]],
) -> ColumnScans:
    """What was seen of a table, from what `as_json` of its columns has kept."""
    found = ColumnScans(table, roles, most_levels)
    found.rows = rows
    for name, scan in found.seen.items():
        scan.restore(kept[name])
    return found


def _as_text(roles: Mapping[str, ColumnRole]) -> dict[str, Any]:
    string = extra("pyarrow", "files").string()
    return {name: string for name, role in roles.items() if role is ColumnRole.LEVELS}


class _ColumnScan:
    """What was seen of one column so far: kinds, levels, the first cell that is no number."""

    def __init__(self, table: Table, name: str, role: ColumnRole, most_levels: int | None) -> None:
        self.absent = 0  # rows without a target
        self.empty = 0  # cells without a value
        self.title = table.title
        self._syntax = table.syntax
        self._decimal = table.decimal
        self._of_text = not table.types
        self._name = name
        self._numeric = role in (ColumnRole.NUMBERS, ColumnRole.TARGET)
        self._is_target = role is ColumnRole.TARGET
        # Whether we were told that it is categorical; a dictionary tells so itself.
        self._told = role is ColumnRole.LEVELS
        self._most_levels = most_levels
        self._number = number_pattern(table.decimal)
        self._kinds: set[ColumnKind] = set()
        self._levels: set[str] = set()
        self._odd: tuple[str, str] | None = None  # place and text of the first cell of text
        self._values: set[float] = set()  # of a target of numbers, until there are too many

    @property
    def needs_a_look(self) -> bool:
        """Whether the type does not say everything."""
        return self._is_target or self._is_categorical

    @property
    def sorted_levels(self) -> tuple[str, ...] | None:
        """The levels in alphabetical order, None for a column of numbers."""
        if not self._is_categorical:
            return None
        return tuple(sorted(self._levels - {*self.spellings}))

    @property
    def spellings(self) -> dict[str, str]:
        """By text that is another one in other letters, that one; none where levels are told."""
        return {} if self._told else spellings(self._levels)

    @property
    def text_type(self) -> Any:
        """The Arrow type to read cells of text as."""
        arrow = extra("pyarrow", "files")
        if self._is_categorical:
            return arrow.string()
        return arrow.bool_() if ColumnKind.FLAG in self._kinds else arrow.float64()

    @property
    def _is_categorical(self) -> bool:
        return self._told or ColumnKind.TEXT in self._kinds

    def declare(self, arrow_type: Any) -> None:
        """Take note of a type, and refuse those that are no use."""
        self._told = self._told or (is_category(arrow_type) and not self._numeric)
        kind = kind_of(arrow_type)
        self._kinds.add(kind)
        if kind not in USABLE_KINDS and not (kind is ColumnKind.DATE and self._told):
            self._refuse_kind(kind)

    def note(self, batch: TableBatch) -> None:
        """Take note of some rows."""
        cells = batch.rows.column(self._name)
        self.declare(cells.type)
        kind = kind_of(cells.type)
        self.empty += int(cells.null_count)
        if kind is ColumnKind.TEXT and not self._told:
            self._find_odd(batch, cells)
            if self._is_target:
                self.absent += cells.null_count
            elif self._numeric:
                self.settle()
        elif self._is_target:
            y = numbers(cells)
            here = ~np.isnan(y)
            self.absent += len(y) - int(here.sum())
            if len(self._values) <= MAX_TARGET_VALUES:
                self._values.update(np.unique(y[here]).tolist())
        if self._is_categorical and kind is not ColumnKind.EMPTY:
            self._collect(cells)

    def as_json(self) -> dict[str, Any]:
        """What was seen, as plain values."""
        return {
            "absent": self.absent,
            "empty": self.empty,
            "told": self._told,
            "kinds": sorted(kind.name for kind in self._kinds),
            "levels": sorted(self._levels),
            "odd": self._odd,
            "values": sorted(self._values),
        }

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Have seen what was kept."""
        self.absent, self._told = int(kept["absent"]), bool(kept["told"])
        self.empty = int(kept.get("empty", 0))
        self._kinds = {ColumnKind[name] for name in kept["kinds"]}
        self._levels, self._values = {*kept["levels"]}, {*map(float, kept["values"])}
        self._odd = None if kept["odd"] is None else (kept["odd"][0], kept["odd"][1])

    def include(self, other: _ColumnScan) -> None:
        """Take note of what was seen elsewhere, in rows that come after these."""
        self.absent += other.absent
        self.empty += other.empty
        self._told = self._told or other._told
        self._kinds |= other._kinds
        self._odd = self._odd or other._odd
        if len(self._values) <= MAX_TARGET_VALUES:
            self._values |= other._values
        if other._levels - self._levels:
            self._levels |= other._levels
            self._refuse_many_levels()

    def settle(self) -> None:
        """DataError where kinds are mixed in a way that is most likely a mistake."""
        if self._told:
            return
        if self._kinds >= {ColumnKind.NUMBER, ColumnKind.FLAG}:
            raise DataError(
                f"{self.title}: {self._what} holds numbers in some rows, true and false in others"
            )
        if self._is_target and self._kinds <= {ColumnKind.TEXT, ColumnKind.EMPTY}:
            return  # `answers` says what it is
        if ColumnKind.TEXT in self._kinds and (most := self._mostly()) and self._odd is not None:
            place, text = self._odd
            must = "must be" if self._numeric else "is mostly"
            error = TextInNumbersError(
                f"{self.title}, {place}: {self._what} {must} {most.value}, got {text!r}"
                f"{self._hint(text)}: {self._remedy(text)}"
            )
            error.text = text
            raise error
        if ColumnKind.TEXT in self._kinds and self._numeric:
            self._refuse_kind(ColumnKind.TEXT)

    def answers(self, request: ReadArguments) -> Answers | None:
        """What the values of the target mean; None if they are numbers. DataError if neither."""
        given = request.positive
        known, positive = (given, None) if isinstance(given, Answers) else (None, given)
        what = f"{self.title}: {self._what}"
        if ColumnKind.TEXT in self._kinds and self._levels:
            if known is not None:
                return self._as_before(known, self._levels)
            found = answers_of_text(what, self._levels, re.compile(self._number), positive)
            if found is None:
                self._refuse_text()
            return found
        if known is not None:
            return self._as_before(known, ())
        flags, yes_no = ColumnKind.FLAG in self._kinds, request.yes_no
        return answers_of_numbers(what, self._values, flags=flags, positive=positive, yes_no=yes_no)

    def _as_before(self, known: Answers, texts: Collection[str]) -> Answers:
        """The answers of an earlier stream, if this column can have them."""
        meant = {folded(text) for text in (known.yes, known.no or known.yes)}
        other = sorted(t for t in texts if folded(t) not in meant) if known.no else []
        if other or bool(texts) == (known.number is not None):
            got = f", got {other[0]!r}" if other else ""
            raise DataError(f"{self.title}: {self._what} must be as before: {known}{got}")
        return known

    @property
    def _one_way(self) -> set[str]:
        """The levels, those that are told apart only by how they are written counted once."""
        return self._levels if self._told else {folded(level) for level in self._levels}

    @property
    def _what(self) -> str:
        return f"the target {self._name!r}" if self._is_target else f"column {self._name!r}"

    def _hint(self, text: str) -> str:
        """A guess at what a cell is, as a question."""
        if looks_like_a_date(text):
            return f" (is it a date? Use {self._syntax.write('dates', 'ordinal')})"
        other = "," if self._decimal == "." else "."
        if re.fullmatch(rf"\s*[+-]?[0-9]+{re.escape(other)}[0-9]+\s*", text):
            return f" (is the decimal {other!r}? Say {self._syntax.write('decimal', other)})"
        if without_mark(text) != text and self._of_text:
            return f" (is it a bound? Say {self._syntax.write('censored', BOUND)})"
        return ""

    def _remedy(self, text: str) -> str:
        write = self._syntax.write
        auto = f" or {write('missing', AUTO)}" if text.strip() in MISSING_WORDS else ""
        missing = f"{write('missing', text)}{auto}"
        remedy = f"correct the cell, or say that it means a missing value ({missing})"
        if self._numeric:
            return remedy
        ignore, codes = write("ignore", self._name), write("categorical", self._name)
        return f"{remedy}, leave the column out ({ignore}) or take it for levels ({codes})"

    def _collect(self, cells: Any) -> None:
        most = MAX_TARGET_VALUES if self._is_target else self._most_levels
        if most is None:
            return
        found = extra("pyarrow.compute", "files").unique(as_text(cells)).to_pylist()
        self._levels.update(level for level in found if level is not None)
        self._refuse_many_levels()

    def _refuse_many_levels(self) -> None:
        most = MAX_TARGET_VALUES if self._is_target else self._most_levels
        if most is not None and len(self._levels) > most and len(self._one_way) > most:
            self.settle()
            if self._is_target:
                self._refuse_text()
            raise DataError(
                f"{self.title}: {self._what} has more than {most} different texts, such as "
                f"{shortened(min(self._levels))}{self._hint(min(self._levels))}: leave it out "
                f"({self._syntax.write('ignore', self._name)}) or allow more "
                f"({self._syntax.write('most_levels', 4 * most)})"
            )

    def _refuse_text(self) -> NoReturn:
        """Some cells of the target are numbers, and others are not."""
        if self._odd is None:
            self._refuse_kind(ColumnKind.TEXT)
        place, text = self._odd
        error = TextInNumbersError(
            f"{self.title}, {place}: {self._what} must be numbers, got {text!r}"
            f"{self._hint(text)}: {self._remedy(text)}, or say which value of a target of codes "
            f"means yes ({self._syntax.write('positive', text)})"
        )
        error.text = text
        raise error

    def _mostly(self) -> ColumnKind | None:
        """What most of a column of text is, if that is not text."""
        for kind in (ColumnKind.NUMBER, ColumnKind.FLAG):
            if kind in self._kinds:  # a whole block of them
                return kind
        number = re.compile(self._number)
        numerals = sum(bool(number.match(level)) for level in self._levels)
        return ColumnKind.NUMBER if self._numeric or 2 * numerals >= len(self._levels) else None

    def _find_odd(self, batch: TableBatch, cells: Any) -> None:
        if self._odd is not None:
            return
        compute = extra("pyarrow.compute", "files")
        text = as_text(cells)
        # What is no bound such as <5 either is odder than one.
        for pattern in (rf"{BOUND_MARK}{self._number[1:]}|{self._number}", self._number):
            plain = compute.fill_null(compute.match_substring_regex(text, pattern), True)
            odd = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
            if len(odd):
                self._odd = batch.place(int(odd[0])), text[int(odd[0])].as_py()
                return

    def _refuse_kind(self, kind: ColumnKind) -> NoReturn:
        remedy = f"leave it out ({self._syntax.write('ignore', self._name)})"
        if kind is ColumnKind.DATE:
            remedy += (
                f", or make numbers of it ({self._syntax.write('dates', 'ordinal')}; also month, "
                "weekday, hour)"
            )
        if self._is_target:
            remedy = "it must be numbers"
        raise DataError(f"{self.title}: {self._what} holds {kind.value}: {remedy}")
