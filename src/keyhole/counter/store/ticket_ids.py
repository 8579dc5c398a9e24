"""Ids of tickets: short enough for a form, hard to mistype, never mistaken for another."""

from __future__ import annotations

import secrets

from keyhole.errors import UnknownTicketError, shortened

# Crockford's base 32: no I, L, O, U. The first three are taken for 1, 1 and 0 when they are typed.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
VALUE = {letter: value for value, letter in enumerate(ALPHABET)} | {"I": 1, "L": 1, "O": 0}
DRAWN = 11  # characters, 55 random bits: a million tickets share an id with probability 1e-5
LENGTH = DRAWN + 1


def new_id() -> str:
    """A new id: 11 random characters and one to check them, in groups of four.

    >>> len(new_id()), read_id(new_id().lower()) == ""
    (14, False)
    """
    bits = secrets.randbits(5 * DRAWN)
    drawn = [bits >> 5 * place & 31 for place in range(DRAWN)]
    return _written([*drawn, _check(drawn)])


def read_id(text: object) -> str:
    """The id that was typed, as `new_id` writes it; UnknownTicketError if it cannot be one.

    >>> read_id("0123 4567-89am")
    '0123-4567-89AM'
    >>> read_id("0123-4567-98AM")
    Traceback (most recent call last):
    keyhole.errors.UnknownTicketError: '0123-4567-98AM' is not a ticket: its check character is
    wrong, so something in it was mistyped
    """
    if not isinstance(text, str):
        raise UnknownTicketError(f"a ticket's id is text such as 0123-4567-89AM, got {text!r}")
    letters = [letter for letter in text.upper() if letter not in "- \t\n"]
    if len(letters) != LENGTH or not all(letter in VALUE for letter in letters):
        raise UnknownTicketError(
            f"{shortened(text)} is not a ticket: an id has {LENGTH} letters and digits, such as "
            "0123-4567-89AM, and no U"
        )
    values = [VALUE[letter] for letter in letters]
    if _check(values[:-1]) != values[-1]:
        raise UnknownTicketError(
            f"{shortened(text)} is not a ticket: its check character is wrong, so something in "
            "it was mistyped"
        )
    return _written(values)


def looks_like_id(text: str) -> bool:
    """Whether this is meant as an id, mistyped or not."""
    letters = [letter for letter in text.upper() if letter not in "- "]
    return len(letters) == LENGTH and all(letter in VALUE for letter in letters)


def _written(values: list[int]) -> str:
    letters = "".join(ALPHABET[value] for value in values)
    return "-".join(letters[first : first + 4] for first in range(0, LENGTH, 4))


def _check(values: list[int]) -> int:
    """The sum of a^i x_i over the field of 32 elements, whose powers of a differ for i < 31.

    So one wrong character changes it, and so do two that have changed places, wherever they stand.
    """
    total = 0
    for value in values:
        total = _times_a(total ^ value)
    return total


def _times_a(x: int) -> int:
    x <<= 1
    return x ^ 0b100101 if x & 32 else x  # a^5 = a^2 + 1
