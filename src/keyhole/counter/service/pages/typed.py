"""Numbers as people type them: with a point or a comma, or not numbers at all.

`static/keyhole.js` has the same rules, to say the same while somebody types; a test compares them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from keyhole.errors import LARGEST, shortened

EXPONENT = r"([eE][+-]?[0-9]{1,4})?"
POINT = re.compile(rf"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+){EXPONENT}")
COMMA = re.compile(rf"[+-]?[0-9]*,[0-9]+{EXPONENT}")
UNCLEAR = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")  # a thousand, or three decimals
GROUPED = re.compile(r"[+-]?[0-9]{1,3}([, '][0-9]{3})+(\.[0-9]+)?")
GROUPED_BY_POINTS = re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+,[0-9]+")
WITH_SIGN_OR_UNIT = re.compile(r"[<>~]?\s*([+-]?[0-9]+([.,][0-9]+)?)(?=$|[\sa-zA-Zµ°%])")


@dataclass(frozen=True, slots=True)
class Typed:
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


def read_number(text: str) -> Typed:
    """The number that was typed. A decimal comma is read as one where that is clear.

    >>> read_number(" 12,5 ").value, read_number("−3").value, read_number("").value
    (12.5, -3.0, None)
    >>> read_number("1,250")
    Typed(text='1,250', value=None, error='can be 1.250 or 1250: type one of them',
          offers=('1.250', '1250'))
    >>> read_number("<0,5 mg").offers
    ('0.5',)
    """
    given = text.strip().replace("−", "-").replace("\u00a0", " ").replace("\u202f", " ")
    if not given:
        return Typed(text)
    if UNCLEAR.fullmatch(given):
        offers = given.replace(",", "."), given.replace(",", "")
        return Typed(text, None, f"can be {offers[0]} or {offers[1]}: type one of them", offers)
    if POINT.fullmatch(given) or COMMA.fullmatch(given):
        value = float(given.replace(",", "."))
        if abs(value) > LARGEST:
            return Typed(text, None, f"is too large: values are at most {LARGEST:g} in size")
        return Typed(text, value)
    return _offered(text, given)


def _offered(text: str, given: str) -> Typed:
    """What is no number, with what may be meant by it."""
    if GROUPED.fullmatch(given):
        offer = re.sub("[, ']", "", given)
    elif GROUPED_BY_POINTS.fullmatch(given):
        offer = given.replace(".", "").replace(",", ".")
    elif found := WITH_SIGN_OR_UNIT.match(given):
        offer = found[1].replace(",", ".")
    else:
        return Typed(text, None, f"must be a number such as 12.5, got {shortened(given)}")
    return Typed(text, None, f"must be a plain number: do you mean {offer}?", (offer,))
