"""Targets of two values: which of them means yes, and how cells become 0 and 1."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.errors import shortened
from keyhole.problem import DataError, Floats, nearest
from keyhole.problem.optional_imports import extra
from keyhole.streams.columns import as_text, numbers

MOST = 1000  # different values of a target: of more, none is worth a yes
MEAN_YES = ("yes", "true", "1", "positive", "y", "t", "ja", "oui", "si", "sí")
Positive = str | float | bool


@dataclass(frozen=True, slots=True)
class Answers:
    """What the values of a target mean: `yes` is 1, and `no`, or anything else if None, is 0.

    `number` is the value that means yes in a column of numbers, None in one of text.
    """

    yes: str
    no: str | None
    number: float | None = None

    def encode(self, cells: Any) -> Floats:
        """1 for yes, 0 for no, NaN where there is no value."""
        if self.number is not None:
            y = numbers(cells).astype(np.float64, copy=False)
            return np.where(np.isnan(y), np.nan, (y == self.number).astype(np.float64))
        compute = extra("pyarrow.compute", "files")
        text = as_text(cells)
        found = compute.equal(text, self.yes).cast("float64")
        result: Floats = found.to_numpy(zero_copy_only=False).astype(np.float64)
        return result

    def __str__(self) -> str:
        return f"{self.yes!r} is 1 (yes), {'all else' if self.no is None else repr(self.no)} is 0"


def of_text(
    what: str, texts: Collection[str], number: re.Pattern[str], positive: Positive | None
) -> Answers | None:
    """What the texts of a target mean; None if they are not answers but numbers gone wrong.

    Two texts are yes and no: yes is the one of `MEAN_YES`, or else the later in the alphabet.
    """
    known = sorted(texts)
    if positive is not None:
        return _chosen(what, known, str(positive))
    numerals = [text for text in known if number.match(text)]
    if numerals and known != ["0", "1"]:
        return None
    if len(known) != 2:
        raise DataError(f"{what} {_listed(known)}")
    meaning = [text for text in known if text.strip().lower() in MEAN_YES]
    yes = meaning[0] if len(meaning) == 1 else known[1]
    return Answers(yes, known[0] if yes == known[1] else known[1])


def of_numbers(
    what: str,
    values: Collection[float],
    *,
    flags: bool,
    positive: Positive | None,
    yes_no: bool | None,
) -> Answers | None:
    """What the numbers of a target mean, which are `values`; None if they are just numbers.

    0 and 1, and true and false, are answers by themselves; other two numbers if `yes_no` says so,
    and then the larger means yes.
    """
    known, shown = sorted(values), {False: _plain, True: _flag}[flags]
    if positive is not None:
        value = _as_number(positive)
        if value is None or value not in known:
            options = ", ".join(map(shown, known[:8])) + (", ..." if len(known) > 8 else "")
            raise DataError(f"{what} is never {positive!r}: it has {options} (positive)")
        rest = [v for v in known if v != value]
        return Answers(shown(value), shown(rest[0]) if len(rest) == 1 else None, value)
    if flags or known == [0.0, 1.0]:
        return None if yes_no is False else Answers(shown(1.0), shown(0.0), 1.0)
    if not yes_no:
        return None
    if len(known) != 2:
        raise DataError(
            f"{what} has {len(known):,} different numbers, yes or no needs two: say which of them "
            "means yes, the others are then no (positive, or --positive)"
        )
    return Answers(shown(known[1]), shown(known[0]), known[1])


def _chosen(what: str, known: list[str], yes: str) -> Answers:
    if yes not in known:
        close = nearest(yes, known) or f": it has {shortened(', '.join(known))}"
        raise DataError(f"{what} is never {yes!r}{close} (positive)")
    rest = [text for text in known if text != yes]
    return Answers(yes, rest[0] if len(rest) == 1 else None)


def _listed(known: list[str]) -> str:
    if len(known) == 1:
        return f"is {known[0]!r} in every row: there is nothing to learn"
    some = ", ".join(repr(text) for text in known[:4]) + (", ..." if len(known) > 4 else "")
    return (
        f"has {len(known)} different texts, {some}; yes or no needs two: say which of them means "
        f"yes, the others are then no (positive={known[-1]!r}, or --positive)"
    )


def _as_number(positive: Positive) -> float | None:
    words = {"true": 1.0, "false": 0.0}
    if isinstance(positive, str) and positive.strip().lower() in words:
        return words[positive.strip().lower()]
    try:
        return float(positive)
    except ValueError:
        return None


def _plain(value: float) -> str:
    return f"{value:g}"


def _flag(value: float) -> str:
    return "true" if value else "false"
