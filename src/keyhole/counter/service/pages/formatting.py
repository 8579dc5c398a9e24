"""Formatting of numbers, money and times on pages, and parsing of numbers that people type."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from keyhole.errors import LARGEST, printable, shortened
from keyhole.problem.display import counted

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MAX_SHOWN_LENGTH = 120  # characters of a name that are shown; the whole name is in the tooltip
HOUR, DAY = 3600, 86400  # seconds
SPANS = (("day", DAY), ("hour", HOUR), ("minute", 60), ("second", 1))


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: few digits, thousands apart, a true minus.

    >>> number(14569.2), number(-0.01234567), number(1e9), number(2.5e21), number(None)
    ('14,569', '−0.01235', '1,000,000,000', '2.5 × 10²¹', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        text, _, power = f"{value:.{digits - 1}e}".partition("e")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return f"{text.replace('-', '−')} × 10{str(int(power)).translate(SUPERSCRIPTS)}"
    text = f"{value:,.0f}" if size >= 10 ** (digits - 1) else f"{value:.{digits}g}"
    return text.replace("-", "−")


def signed(value: float) -> str:
    """A number with its sign.

    >>> signed(1.5), signed(-2.0), signed(0.0)
    ('+1.5', '−2', '0')
    """
    return f"+{number(value)}" if value > 0 else number(value + 0.0)


def fixed(value: float, decimals: int | None, sign: bool = False) -> str:
    """A number with so many decimals, so that a column of them can be added; None: as it comes.

    >>> fixed(0.4488, 2, sign=True), fixed(-0.001, 2, sign=True), fixed(1234.5, 1)
    ('+0.45', '0.00', '1,234.5')
    """
    if decimals is None or not math.isfinite(value):
        return signed(value) if sign else number(value)
    rounded = round(value, decimals) + 0.0
    text = f"{rounded:+,.{decimals}f}" if sign and rounded else f"{rounded:,.{decimals}f}"
    return text.replace("-", "−")


def decimals_for(largest: float) -> int | None:
    """Decimals that show four digits of the largest number; None if it is too large or too small.

    >>> decimals_for(15.21), decimals_for(0.012), decimals_for(98765.0), decimals_for(1e30)
    (2, 5, 0, None)
    """
    if not 1e-4 <= largest < 1e12:
        return None
    return max(0, 3 - math.floor(math.log10(largest)))


def plain(value: float) -> str:
    """A number as a person types it, so that it can be read back.

    >>> plain(61.0), plain(0.30000000000000004), plain(1e20)
    ('61', '0.3', '1e+20')
    """
    return f"{value:.12g}"


def money(value: float, cents: bool = False) -> str:
    """An amount of money: two decimals unless it is whole, more where it has more.

    >>> money(30.0), money(4.6), money(1234.5), money(0.125), money(5.0, cents=True)
    ('30', '4.60', '1,234.50', '0.125', '5.00')
    """
    if value == round(value) and not cents:
        text = f"{value:,.0f}"
    elif abs(value - round(value, 2)) < 1e-9 * max(1.0, abs(value)):
        text = f"{value:,.2f}"
    else:
        text = f"{value:,.9f}".rstrip("0")
    return text.replace("-", "−")


def percent(share: float | None) -> str:
    """A share as a percentage.

    >>> percent(0.763), percent(0.004), percent(None)
    ('76 %', '0.4 %', '–')
    """
    if share is None or not math.isfinite(share):
        return "–"
    text = f"{100 * share:.1f}" if 0 < abs(share) < 0.01 else f"{100 * share:.0f}"
    return f"{text.replace('-', '−')} %"


def probability(share: float | None) -> str:
    """A probability as a percentage, never 0 and never 100.

    >>> probability(0.234), probability(0.0042), probability(1e-9), probability(0.9999)
    ('23 %', '0.4 %', 'under 0.1 %', 'over 99.9 %')
    """
    if share is None or not math.isfinite(share):
        return "–"
    if not 0.001 <= share <= 0.999:
        return "under 0.1 %" if share < 0.5 else "over 99.9 %"
    return f"{100 * share:.1f} %" if not 0.01 <= share <= 0.99 else f"{100 * share:.0f} %"


def lasting(seconds: float | None) -> str:
    """A length of time, in its largest unit.

    >>> lasting(0.2), lasting(90), lasting(3 * 86400.0), lasting(None)
    ('less than a second', '1 minute', '3 days', '–')
    """
    if seconds is None:
        return "–"
    for unit, length in SPANS:
        if seconds >= length:
            return counted(int(seconds // length), unit)
    return "less than a second"


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """How long ago something happened.

    >>> ago(None), ago(datetime.now(UTC))
    ('never', 'just now')
    """
    if moment is None:
        return "never"
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    return "just now" if seconds < 5 else f"{lasting(seconds)} ago"


def clock(moment: datetime) -> str:
    """A moment, to the minute.

    >>> clock(datetime(2026, 3, 1, 9, 5, tzinfo=UTC))
    '2026-03-01 09:05 UTC'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def shown(name: object) -> str:
    r"""A name as it can be shown: no control characters, no change of direction, not too long.

    >>> shown("tsh\u202e"), len(shown("x" * 5000))
    ('tsh\\u202e', 120)
    """
    text = printable(str(name)).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_SHOWN_LENGTH else text[: MAX_SHOWN_LENGTH - 1] + "…"


# `static/keyhole.js` has the same rules for what is typed, to say the same while somebody types;
# a test compares them.
EXPONENT = r"([eE][+-]?[0-9]{1,4})?"
POINT = re.compile(rf"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+){EXPONENT}")
COMMA = re.compile(rf"[+-]?[0-9]*,[0-9]+{EXPONENT}")
UNCLEAR = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")  # a thousand, or three decimals
GROUPED = re.compile(r"[+-]?[0-9]{1,3}([, '][0-9]{3})+(\.[0-9]+)?")
GROUPED_BY_POINTS = re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+,[0-9]+")
WITH_SIGN_OR_UNIT = re.compile(r"[<>~]?\s*([+-]?[0-9]+([.,][0-9]+)?)(?=$|[\sa-zA-Zµ°%])")


@dataclass(frozen=True, slots=True)
class TypedNumber:
    """What was typed into a field.

    Parameters
    ----------
    text
        As it was typed.
    value
        The number; None if the field is empty or what is in it is none.
    error
        What is wrong with it; empty if nothing is.
    offers
        Numbers that may be meant.
    """

    text: str
    value: float | None = None
    error: str = ""
    offers: tuple[str, ...] = ()


def read_number(text: str) -> TypedNumber:
    """The number that was typed. A decimal comma is read as one where that is clear.

    >>> read_number(" 12,5 ").value, read_number("−3").value, read_number("").value
    (12.5, -3.0, None)
    >>> read_number("1,250")
    TypedNumber(text='1,250', value=None, error='can be 1.250 or 1250: type one of them',
          offers=('1.250', '1250'))
    >>> read_number("<0,5 mg").offers
    ('0.5',)
    """
    given = text.strip().replace("−", "-").replace("\u00a0", " ").replace("\u202f", " ")
    if not given:
        return TypedNumber(text)
    if UNCLEAR.fullmatch(given):
        offers = given.replace(",", "."), given.replace(",", "")
        return TypedNumber(
            text, None, f"can be {offers[0]} or {offers[1]}: type one of them", offers
        )
    if POINT.fullmatch(given) or COMMA.fullmatch(given):
        value = float(given.replace(",", "."))
        if abs(value) > LARGEST:
            return TypedNumber(text, None, f"is too large: values are at most {LARGEST:g} in size")
        return TypedNumber(text, value)
    return _offered(text, given)


def _offered(text: str, given: str) -> TypedNumber:
    """What is no number, with what may be meant by it."""
    if GROUPED.fullmatch(given):
        offer = re.sub("[, ']", "", given)
    elif GROUPED_BY_POINTS.fullmatch(given):
        offer = given.replace(".", "").replace(",", ".")
    elif found := WITH_SIGN_OR_UNIT.match(given):
        offer = found[1].replace(",", ".")
    else:
        return TypedNumber(text, None, f"must be a number such as 12.5, got {shortened(given)}")
    return TypedNumber(text, None, f"must be a plain number: do you mean {offer}?", (offer,))
