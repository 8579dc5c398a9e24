"""What is asked of the reader, in one record: what is None is found out from the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keyhole.streams.answers import Answers, Positive
from keyhole.streams.words import PYTHON, Words

AUTO = "auto"  # of `missing`: codes for missing are found by their shape


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `read`; `rounds`: rows after so many with a target are never looked at."""

    target: str | None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    features: Sequence[str] | None = None
    most_levels: int = 50
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header: bool | None = None
    comment: str | None = None
    quote: str | None = None
    missing: Sequence[str] = ()
    dates: Sequence[str] = ()
    sheet: str | None = None
    positive: Positive | Answers | None = None
    yes_no: bool | None = None
    zero_based: bool | None = None
    n_features: int | None = None
    absent: str = "zero"
    partitions: bool | None = None
    order_by: str | None = None
    rounds: int | None = None
    known: Sequence[str] = ()  # further names of features: their levels are not unknown
    words: Words = PYTHON
    progress: Callable[[int], None] | None = None  # is told how many rows a pass has read

    @property
    def codes(self) -> bool:
        """Whether codes for missing are looked for."""
        return AUTO in self.missing

    @property
    def missing_words(self) -> tuple[str, ...]:
        """The cells that were said to hold no value."""
        return tuple(word for word in self.missing if word != AUTO)


class Assumption(NamedTuple):
    """Something that nobody said and the file shows: what, and the option that says otherwise."""

    what: str
    option: str


def told(assumed: Sequence[Assumption], words: Words = PYTHON) -> str:
    """Assumptions in one line, empty if there are none.

    >>> told([Assumption("separator ';'", "separator"), Assumption("decimal ','", "decimal")])
    "assumed separator ';', decimal ','; to say otherwise: separator, decimal"
    """
    if not assumed:
        return ""
    what = list(dict.fromkeys(one.what for one in assumed))
    shown = what if len(what) <= 8 else [*what[:7], f"and {len(what) - 7} more"]
    options = dict.fromkeys(words.name(one.option) for one in assumed)
    return f"assumed {', '.join(shown)}; to say otherwise: {', '.join(options)}"
