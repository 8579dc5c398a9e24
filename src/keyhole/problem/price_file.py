"""Price files: price lists from CSV with the columns feature, price, panel and needs."""

from __future__ import annotations

import csv
import io
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NoReturn

from keyhole.errors import DataError, ProblemError, nearest, real_number, shortened
from keyhole.problem.prices import Money, PriceTable, going_round, money

COLUMNS = ("feature", "price", "panel", "needs", "low", "high")
LIMITS = ("low", "high")
_EXAMPLE_HEADER = "feature,price,panel"
_MAGIC_BYTES = {  # first bytes of what is often taken for a CSV file
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\x1f\x8b": "compressed by gzip",
}


def read_prices(path: str | os.PathLike[str]) -> PriceTable:
    """The price list of a CSV file: columns feature, price, panel; if you like needs, low, high.

    A feature may be in several panels, separated by `;`; then its price is paid beside their fees,
    and an empty one is 0. A row whose feature is the name of a panel has the fee of that panel.
    `needs` has the features that it is computed from, separated by `;`. `low` and `high` are the
    least and the largest value that a feature can have, empty where there is no such end.

    Cells are separated by commas, semicolons or tabs; lines that begin with # are comments.
    Amounts may have the sign of a currency (one in the whole file) and a decimal comma where that
    is clear.

    Guarantee
    ---------
    What cannot be used is a DataError of one line that names the file, the line and the remedy.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "prices.csv"
    ...     _ = file.write_text("feature,price,panel\\nage,0,\\nblood,4,\\ncrp,2.50,blood\\n")
    ...     read_prices(file)
    PriceTable(prices={'age': Decimal('0'), 'crp': Decimal('2.50')},
               panels={'blood': (Decimal('4'), ('crp',))}, derived={})
    """
    text, title = _text(path)
    rows = list(_rows(title, text))
    if not rows:
        raise DataError(f"{title} has columns but no rows: add one for every feature")
    return _table(title, rows)


@dataclass(frozen=True, slots=True)
class _PriceRow:
    line: int
    feature: str
    price: Decimal | None
    panels: tuple[str, ...]
    needs: tuple[str, ...]
    limits: tuple[float | None, float | None]


def _refuse(title: str, line: int, what: str) -> NoReturn:
    raise DataError(f"{title}, line {line}: {what}")


def _text(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of a file, and what to call it."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"a price list is read from the path of a file, got {shortened(path)}")
    file = Path(path)
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        beside = sorted(os.listdir(file.parent)) if file.parent.is_dir() else []
        raise DataError(f"there is no file {file}{nearest(file.name, beside)}") from None
    except IsADirectoryError:
        raise DataError(f"{file} is a directory: name one file") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{file} cannot be read: {why}") from None
    for magic, what in _MAGIC_BYTES.items():
        if data.startswith(magic):
            raise DataError(f"{file.name} is {what}: save it as CSV in UTF-8")
    try:
        return data.decode("utf-8-sig"), file.name
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse(file.name, line, "not UTF-8: save the file as CSV in UTF-8")


def _rows(title: str, text: str) -> Iterator[_PriceRow]:
    lines = [
        "\n" if line.lstrip().startswith("#") else line for line in io.StringIO(text, newline=None)
    ]
    head = next((line for line in lines if line.strip(" \t\n,;")), None)
    if head is None:
        raise DataError(f"{title} is empty: its first line names the columns, {_EXAMPLE_HEADER}")
    separator = max(",;\t", key=lambda sign: len({*_header(head, sign)} & {*COLUMNS}))
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    columns: list[str] = []
    amounts = AmountParser()
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if not any(cells):
                continue
            if not columns:
                columns = _columns(title, reader.line_num, cells)
            else:
                yield _row(title, reader.line_num, columns, cells, amounts)
    except csv.Error as error:
        _refuse(title, reader.line_num, f"not CSV ({error}): are all quotes closed?")


def _header(line: str, separator: str) -> list[str]:
    return [cell.strip(' \t\n"').lower() for cell in line.split(separator)]


def _columns(title: str, line: int, cells: list[str]) -> list[str]:
    """The columns in their order, or a DataError."""
    columns = [cell.lower() for cell in cells]
    while not columns[-1]:
        columns.pop()
    for i, column in enumerate(columns):
        if column not in COLUMNS:
            hint = nearest(column, COLUMNS)
            what = f"a price list has no column {cells[i]!r}{hint}: its columns are"
            _refuse(title, line, f"{what} {', '.join(COLUMNS)}")
        if column in columns[:i]:
            _refuse(title, line, f"the column {column!r} comes twice: leave one out")
    for column in ("feature", "price"):
        if column not in columns:
            _refuse(
                title, line, f"there is no column {column!r}: the first line is {_EXAMPLE_HEADER}"
            )
    return columns


def _row(
    title: str, line: int, columns: list[str], cells: list[str], amounts: AmountParser
) -> _PriceRow:
    while not cells[-1]:
        cells.pop()
    if len(cells) > len(columns):
        _refuse(
            *(title, line),
            f"{len(cells)} cells where the header has {len(columns)}: put quotes around a cell "
            "that holds the separator",
        )
    if any("\n" in cell for cell in cells):
        _refuse(title, line, "a cell runs over several lines: is a quote not closed?")
    row = dict(zip(columns, cells, strict=False))
    feature, price = row.get("feature", ""), row.get("price", "")
    if not feature:
        _refuse(title, line, f"{shortened(cells)} has no feature: name what it is the price of")
    try:
        amount = amounts.read(price, line) if price else None
    except ValueError as error:
        _refuse(title, line, f"the price of {feature!r} {error}")
    try:
        money(f"the price of {feature!r}", amount or 0)
    except ProblemError as error:
        _refuse(title, line, str(error))
    panels, needs = (_listed(row.get(column, "")) for column in ("panel", "needs"))
    low, high = (_end(title, line, feature, column, row.get(column, "")) for column in LIMITS)
    if low is not None and high is not None and low > high:
        _refuse(
            title, line, f"the limits of {feature!r} must be the least first: {low:g} > {high:g}"
        )
    return _PriceRow(line, feature, amount, panels, needs, (low, high))


def _end(title: str, line: int, feature: str, column: str, cell: str) -> float | None:
    """A limit of a feature; None for an empty cell."""
    if not cell:
        return None
    try:
        return real_number(column, float(cell))
    except ValueError:
        what = f"{column} of {feature!r} must be a number such as 0.5, or empty"
        _refuse(title, line, f"{what}, got {shortened(cell)}")


def _listed(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in cell.split(";") if name.strip()))


def _table(title: str, rows: Sequence[_PriceRow]) -> PriceTable:
    lines: dict[str, int] = {}
    for row in rows:
        if row.feature in lines:
            what = f"{row.feature!r} is on line {lines[row.feature]} already"
            _refuse(title, row.line, f"{what}: leave one of the two out")
        lines[row.feature] = row.line
    members: dict[str, list[str]] = {}
    for row in rows:
        for panel in row.panels:
            members.setdefault(panel, []).append(row.feature)
            if panel not in lines:
                what = f"panel {panel!r} has no fee{nearest(panel, [*lines])}"
                _refuse(title, row.line, f"{what}: add a row {panel!r} with what it costs")
    prices: dict[str, Money] = {}
    fees: dict[str, Money] = {}
    for row in rows:
        _check(title, row, members)
        if row.price is not None:
            (fees if row.feature in members else prices)[row.feature] = row.price
    panels = {name: (fees[name], tuple(listed)) for name, listed in members.items()}
    derived = {row.feature: row.needs for row in rows if row.needs}
    try:
        TopologicalSorter(derived).prepare()
    except CycleError as error:
        circle = error.args[1]
        _refuse(title, lines[circle[-1]], going_round(circle))
    limits = {row.feature: row.limits for row in rows if row.limits != (None, None)}
    return PriceTable(prices, panels, derived, title, lines, limits)


def _check(title: str, row: _PriceRow, members: dict[str, list[str]]) -> None:
    """DataError unless a row has a price, if it needs one, and no panel is anything else too."""
    name = row.feature
    if name in members:
        if members[name] == [name]:
            what = f"panel {name!r} has no members: name it in the panel column of what it buys"
            _refuse(title, row.line, what)
        if row.panels or row.needs:
            what = f"{name!r} is a panel: it is in no other one and needs nothing"
            _refuse(title, row.line, f"{what}; leave its cells 'panel' and 'needs' empty")
        if row.limits != (None, None):
            _refuse(title, row.line, f"{name!r} is a panel, no feature: leave its limits empty")
        if row.price is None:
            _refuse(title, row.line, f"panel {name!r} has no fee: write it, 0 if there is none")
    elif row.price is None and not row.panels and not row.needs:
        _refuse(title, row.line, f"{name!r} has no price: write it, 0 if it is free")
    for source in row.needs:
        if source in members:
            what = f"{name!r} needs {source!r}, which is a panel: name it in the panel column"
            _refuse(title, row.line, what)


# Of an amount: the number between a sign and another; which number is checked below.
_AMOUNT = re.compile(r"([^\d\s.,+-]*)\s*(.*?)\s*([^\d\s.,]*)", re.DOTALL)
_PLAIN_NUMBER = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL_POINT = re.compile(r"[0-9]{1,3}((,[0-9]{3})+\.[0-9]+|(,[0-9]{3}){2,})")  # 1,250.50
_DECIMAL_COMMA = re.compile(r"[0-9]{1,3}((\.[0-9]{3})+,[0-9]+|(\.[0-9]{3}){2,})")  # 1.250,50
_ONE_COMMA = re.compile(r"[0-9]+,[0-9]+")
_AMBIGUOUS = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")  # a thousand, or three decimals


class AmountParser:
    """Reads the amounts of one list: in one currency, with one sign before the decimals.

    A ValueError says what is wrong, as the end of a sentence: 'must be ..., got ...'.

    >>> amounts = AmountParser()
    >>> amounts.read("€ 12,50", 2), amounts.read("1.250,00 €", 3)
    (Decimal('12.50'), Decimal('1250.00'))
    >>> amounts.read("$3", 4)
    Traceback (most recent call last):
    ValueError: is in $, that of line 2 in €: use one currency
    """

    def __init__(self) -> None:
        self._currency: tuple[str, int] | None = None
        self._style: tuple[str, int] | None = None

    def read(self, text: str, line: int) -> Decimal:
        """The amount on a line, or a ValueError."""
        found = _AMOUNT.fullmatch(text.replace("−", "-"))
        before, number, after = found.groups() if found else ("", "", "")
        if not number or (before and after) or not _is_currency(before or after):
            raise ValueError(f"must be an amount such as 12.50, 0 if it is free, got {text!r}")
        if number.startswith("-"):
            raise ValueError(f"is negative, got {text!r}: an amount is at least 0")
        value, style = _number(text, number)
        if sign := before or after:
            self._currency = self._same("in", "use one currency", self._currency, sign, line)
        if style:
            self._style = self._same("with", "use one of them", self._style, style, line)
        return value

    @staticmethod
    def _same(
        how: str, remedy: str, first: tuple[str, int] | None, now: str, line: int
    ) -> tuple[str, int]:
        if first is not None and first[0] != now:
            raise ValueError(f"is {how} {now}, that of line {first[1]} {how} {first[0]}: {remedy}")
        return first or (now, line)


def _is_currency(sign: str) -> bool:
    """No sign, the sign of a currency or a code of three capitals such as EUR."""
    signs = all(unicodedata.category(c) == "Sc" for c in sign)
    return (signs and len(sign) <= 1) or re.fullmatch("[A-Z]{3}", sign) is not None


def _number(text: str, number: str) -> tuple[Decimal, str]:
    """The number, and what stands before its decimals: in words, "" if that cannot be said."""
    if _PLAIN_NUMBER.fullmatch(number):
        return Decimal(number), "a decimal point" if "." in number else ""
    if _DECIMAL_POINT.fullmatch(number):
        return Decimal(number.replace(",", "")), "a decimal point"
    if _AMBIGUOUS.fullmatch(number):
        whole, point = number.replace(",", ""), number.replace(",", ".")
        raise ValueError(f"can be {whole} or {point}, got {text!r}: write the one that is meant")
    if _DECIMAL_COMMA.fullmatch(number) or _ONE_COMMA.fullmatch(number):
        return Decimal(number.replace(".", "").replace(",", ".")), "a decimal comma"
    raise ValueError(f"must be an amount such as 12.50, 0 if it is free, got {shortened(text)}")
