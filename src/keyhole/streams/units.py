"""Numbers as people write them: with a unit, a currency or groups of thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from keyhole.problem.optional_imports import extra
from keyhole.streams.columns import as_text

SPACES = " \u00a0\u202f\u2009"  # plain, no-break, narrow no-break, thin
BEFORE = ("€", "$", "£", "¥", "₹", "US$", "EUR", "USD", "GBP", "CHF", "JPY")
SIGNS = ("%", "‰", "€", "$", "£", "¥", "₹", "°", "°C", "°F", "²")
# Of one letter only after a space: 12A is the number of a house.
WORDS = (
    *("EUR", "USD", "GBP", "CHF", "JPY", "percent", "mm", "cm", "dm", "km", "m", "m2", "m²", "m3"),
    *("m³", "qm", "sqm", "sqft", "ft", "inch", "mi", "mg", "kg", "g", "t", "lb", "lbs", "oz", "ml"),
    *("l", "L", "ms", "s", "sec", "min", "h", "hrs", "hours", "days", "years", "W", "kW", "MW"),
    *("Wh", "kWh", "MWh", "V", "A", "Hz", "kHz", "MHz", "GHz", "Pa", "hPa", "bar", "mbar", "km/h"),
    *("mph", "m/s", "bpm", "mmHg", "mg/dl", "mg/dL", "mmol/l", "mmol/L", "g/dl", "g/dL", "K"),
)
AFTER = {*SIGNS, *WORDS}
PLAIN = re.compile(r"[+-]?[0-9.]+")  # as most cells are
LONGEST = 60  # characters of a number with its unit; the search takes their cube


def grouped_pattern(thousands: str, decimal: str) -> str:
    """The regular expression of digits in groups of three, at least two groups."""
    mark, point = f"[{SPACES}]" if thousands == " " else re.escape(thousands), re.escape(decimal)
    return rf"[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({point}[0-9]*)?"


def unit_of(cell: str) -> tuple[str, str]:
    """The unit beside a number and the number without it; the unit is empty if there is none.

    >>> unit_of("€ 100"), unit_of("-12,5 %"), unit_of("80 m2"), unit_of("5kg"), unit_of("12A")
    (('€', '100'), ('%', '-12,5'), ('m2', '80'), ('kg', '5'), ('', '12A'))
    """
    if PLAIN.fullmatch(cell) or len(cell) > LONGEST:
        return "", cell
    found = re.fullmatch(rf"\s*([+-]?)(\D*?)([{SPACES}]?)([+-]?[0-9][0-9.,' {SPACES}]*)", cell)
    if found and found[2] and found[2].strip() in BEFORE and not (found[1] and found[4][0] in "+-"):
        return found[2].strip(), found[1] + found[4].strip()
    found = re.fullmatch(
        rf"\s*([+-]?[0-9.,][0-9.,' {SPACES}]*?)([{SPACES}]*)([^0-9.,'\s].*?)\s*", cell
    )
    if found and found[3] in AFTER and (found[2] or found[3] in SIGNS or len(found[3]) > 1):
        return found[3], found[1]
    return "", cell


class Rewrite:
    """Cells of text of one column as numbers: without their unit and without marks of thousands."""

    def __init__(self, unit: str, thousands: str, decimal: str) -> None:
        self.unit, self.thousands, self.decimal = unit, thousands, decimal
        point = re.escape(decimal)
        number = rf"[+-]?([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?"
        if thousands:
            number = rf"({grouped_pattern(thousands, decimal)}|{number})"
        spaces, mark = rf"[\s{SPACES}]*", re.escape(unit)
        shapes = [number]
        if unit:
            shapes = [f"{mark}{spaces}{number}", f"{number}{spaces}{mark}"]
            shapes.append(f"[+-]{mark}{spaces}{number}")
        self.pattern = f"^{spaces}({'|'.join(shapes)}){spaces}$"

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
