"""Files of tickets: names of features, orders to fill in, values and labels that come back."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from keyhole.cli.options import CsvOptions
from keyhole.counter.store import StoredTicket
from keyhole.counter.store.records import read_id
from keyhole.errors import DataError, KeyholeError, UnknownTicketError, shortened

MISSING_VALUES = ("", "na", "nan", "null", "none", "-")
TICKET, TO_ORDER, TO_PAY = "ticket", "to_order", "to_pay"
TicketValue = float | str | None  # text is a level, such as the north of ward=north
NOT_ASKED = "-"  # in a cell of an order: not to be filled in


@dataclass(frozen=True)
class TicketTable:
    """A CSV file: its name, its header, and its rows with the numbers of their lines."""

    title: str
    header: list[str]
    rows: list[tuple[int, list[str]]]

    def refuse(self, line: int, what: str) -> DataError:
        """The error about a line."""
        return DataError(f"{self.title}, line {line}: {what}")


def read_table(path: str, separator: str | None = None) -> TicketTable:
    """A CSV file with a header, or standard input."""
    title = "standard input" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {title}: {reason}") from None
    first = text.lstrip("\n\r").partition("\n")[0]
    mark = separator or max(",;\t", key=first.count)
    if len(mark) != 1:
        raise DataError(f"--separator must be one character, got {separator!r}")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise DataError(f"{title}: {error}") from None
    rows = [(line, row) for line, row in rows if any(row)]
    if not rows:
        raise DataError(f"{title} is empty")
    (_, header), body = rows[0], rows[1:]
    for line, row in body:
        if len(row) != len(header):
            raise DataError(f"{title}, line {line}: {len(row)} cells, the header has {len(header)}")
    return TicketTable(title, header, body)


@dataclass(frozen=True)
class FeatureList:
    """Names of features, and units by name; `rows` if they are the header of a table with rows."""

    names: tuple[str, ...]
    units: Mapping[str, str]
    rows: bool = False


def read_features(path: str, target: str | None, separator: str | None = None) -> FeatureList:
    """The features of a file: one name per line, or a table with the columns feature and unit.

    Or any CSV with a header, whose columns are the features, but for the target.
    """
    try:
        table = read_table(path, separator)
    except DataError as error:
        raise DataError(f"--features: {error}") from None
    lower = [name.lower() for name in table.header]
    units, rows = dict[str, str](), False
    if "feature" in lower:
        at = lower.index("feature")
        names = [row[at] for _, row in table.rows]
        if "unit" in lower:
            unit = lower.index("unit")
            units = {row[at]: row[unit] for _, row in table.rows if row[unit]}
    elif len(table.header) == 1 and not _all_numbers([row[0] for _, row in table.rows]):
        names = [table.header[0], *(row[0] for _, row in table.rows)]
    else:
        names, rows = list(table.header), bool(table.rows)
    return FeatureList(tuple(name for name in names if name != target), units, rows)


def _all_numbers(cells: Sequence[str]) -> bool:
    try:
        return bool(cells) and all(float(cell) is not None for cell in cells if cell)
    except ValueError:
        return False


def form_names(ticket: StoredTicket) -> list[str]:
    """What a form asks for: the features that were bought, a column of levels once."""
    before = Counter(name.partition("=")[0] for name in ticket.names if "=" in name)
    free = [column for column, levels in before.items() if levels > 1]
    columns = {item for item in (*ticket.items, *free) if item not in ticket.names}
    found = (next((c for c in columns if name.startswith(f"{c}=")), name) for name in ticket.names)
    return list(dict.fromkeys(found))


def order_table(tickets: Sequence[StoredTicket]) -> str:
    """Tickets as a table to be filled in: a column for every feature that one of them asks for."""
    features = list(dict.fromkeys(name for ticket in tickets for name in form_names(ticket)))
    if TICKET in features:
        raise DataError(f"a feature is called {TICKET!r}, as the column of the ids: use --json")
    more = [name for name in (TO_ORDER, TO_PAY) if name not in features]
    text = io.StringIO(newline="")
    out = csv.writer(text, lineterminator="\n")
    out.writerow([TICKET, *more, *features])
    for ticket in tickets:
        known = {int(j): value for j, value in ticket.ticket.known.items()}
        in_hand = dict(zip(ticket.names, ticket.ticket.features.tolist(), strict=True))
        about = {TO_ORDER: "; ".join(ticket.items), TO_PAY: f"{ticket.cost:.15g}"}
        asked = form_names(ticket)
        cells = [
            _cell(known.get(in_hand.get(name, -1))) if name in asked else NOT_ASKED
            for name in features
        ]
        out.writerow([ticket.id, *(about[name] for name in more), *cells])
    return text.getvalue()


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)


@dataclass(frozen=True)
class TicketValues:
    """What a file says about tickets: by id, and in which line; and how many lines say nothing."""

    title: str
    values: Mapping[str, Mapping[str, TicketValue]]
    lines: Mapping[str, int]
    empty: int

    def explain(self, error: KeyholeError) -> KeyholeError:
        """The error with the line of the ticket that it is about."""
        for id, line in self.lines.items():
            if id in str(error):
                return DataError(f"{self.title}, line {line}: {error}; nothing was taken")
        return error


def read_form(path: str, given: CsvOptions) -> TicketValues:
    """Values or labels by ticket. Lines without any value are left alone."""
    table = read_table(path, given.separator)
    lower = [name.lower() for name in table.header]
    if TICKET not in lower:
        raise DataError(f"{table.title} has no column {TICKET!r}: it has {', '.join(table.header)}")
    at = lower.index(TICKET)
    missing = {*MISSING_VALUES, *(text.lower() for text in given.missing or ())}
    values: dict[str, dict[str, TicketValue]] = {}
    lines: dict[str, int] = {}
    empty = 0
    for line, row in table.rows:
        try:
            id = read_id(row[at])
        except UnknownTicketError as error:
            raise table.refuse(line, str(error)) from None
        if id in lines:
            raise table.refuse(line, f"ticket {id} stands in line {lines[id]} already")
        cells = {
            name: row[i]
            for i, name in enumerate(table.header)
            if i != at and name not in (TO_ORDER, TO_PAY)
        }
        lines[id] = line
        if all(cell in ("", NOT_ASKED) for cell in cells.values()):
            empty += 1
            continue
        decimal, where = given.decimal or ".", f"{table.title}, line {line}"
        values[id] = {
            name: parse_value(cell, decimal, f"{where}, {name}", missing)
            for name, cell in cells.items()
            if cell != NOT_ASKED
        }
    return TicketValues(table.title, values, lines, empty)


def parse_value(
    text: str,
    decimal: str,
    where: str,
    missing: set[str] | frozenset[str] = frozenset(MISSING_VALUES),
) -> TicketValue:
    """A number, or the level of a column, as it is typed: the ticket knows which it must be."""
    try:
        return parse_number(text, decimal, where, missing)
    except DataError:
        if any(letter.isalpha() for letter in text):
            return text.strip()
        raise


def parse_number(
    text: str,
    decimal: str,
    where: str,
    missing: set[str] | frozenset[str] = frozenset(MISSING_VALUES),
) -> float | None:
    """A number as it is typed, None for what is missing."""
    if text.strip().lower() in missing:
        return None
    plain = text.strip()
    if decimal != ".":  # a point is then no decimal point, and nobody says what it is
        plain = plain.replace(".", "?").replace(decimal, ".")
    try:
        return float(plain.replace("_", "?"))  # Python takes 1_000, nobody else does
    except ValueError:
        raise DataError(f"{where}: {shortened(text)} is not a number") from None
