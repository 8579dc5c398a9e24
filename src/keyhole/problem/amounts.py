"""Amounts of money as people write them: `€ 12.50`, `$12`, `12,50`, `1.250,00 EUR`."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

from keyhole.errors import shortened

# Of an amount: the number between a sign and another; which number is checked below.
SIGNED = re.compile(r"([^\d\s.,+-]*)\s*(.*?)\s*([^\d\s.,]*)", re.DOTALL)
PLAIN = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
POINTS = re.compile(r"[0-9]{1,3}((,[0-9]{3})+\.[0-9]+|(,[0-9]{3}){2,})")  # 1,250.50
COMMAS = re.compile(r"[0-9]{1,3}((\.[0-9]{3})+,[0-9]+|(\.[0-9]{3}){2,})")  # 1.250,50
COMMA = re.compile(r"[0-9]+,[0-9]+")
UNCLEAR = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")  # a thousand, or three decimals


class Amounts:
    """Reads the amounts of one list: in one currency, with one sign before the decimals.

    A ValueError says what is wrong, as the end of a sentence: 'must be ..., got ...'.

    >>> amounts = Amounts()
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
        found = SIGNED.fullmatch(text.replace("−", "-"))
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
    if PLAIN.fullmatch(number):
        return Decimal(number), "a decimal point" if "." in number else ""
    if POINTS.fullmatch(number):
        return Decimal(number.replace(",", "")), "a decimal point"
    if UNCLEAR.fullmatch(number):
        whole, point = number.replace(",", ""), number.replace(",", ".")
        raise ValueError(f"can be {whole} or {point}, got {text!r}: write the one that is meant")
    if COMMAS.fullmatch(number) or COMMA.fullmatch(number):
        return Decimal(number.replace(".", "").replace(",", ".")), "a decimal comma"
    raise ValueError(f"must be an amount such as 12.50, 0 if it is free, got {shortened(text)}")
