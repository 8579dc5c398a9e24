"""Options of `read`: what was asked for, and how to write an option in Python or a shell."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keyhole.streams.columns import Answers, Positive

AUTO = "auto"  # of `missing`: codes for missing are found by their shape


@dataclass(frozen=True, slots=True)
class OptionSyntax:
    """How an option is written in messages: as in Python, or as on a command line.

    Examples
    --------
    >>> PYTHON_SYNTAX.write("missing", "n/k"), COMMAND_SYNTAX.write("missing", "n/k")
    ("missing=['n/k']", '--missing n/k')
    >>> PYTHON_SYNTAX.write("most_levels", 200), COMMAND_SYNTAX.write("most_levels", 200)
    ('most_levels=200', '--most-levels 200')
    >>> PYTHON_SYNTAX.write("header", False), COMMAND_SYNTAX.write("header", False)
    ('header=False', '--no-header')
    """

    typed: bool  # on a command line

    def write(self, option: str, value: str | int | bool) -> str:
        """An option with a value, as one writes it here."""
        if not self.typed:
            listed = option in ("ignore", "categorical", "missing", "dates")
            return f"{option}=[{value!r}]" if listed else f"{option}={value!r}"
        if isinstance(value, bool):
            return f"--{'' if value else 'no-'}{option}"
        text = str(value)
        if text == "\t":
            return f"{self.name(option)} $'\\t'"
        return f"{self.name(option)} {shlex.quote(text)}"

    def name(self, option: str) -> str:
        """An option without a value."""
        return f"--{option.replace('_', '-')}" if self.typed else option


PYTHON_SYNTAX, COMMAND_SYNTAX = OptionSyntax(typed=False), OptionSyntax(typed=True)


@dataclass(frozen=True, slots=True)
class ReadArguments:
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
    skip_rows: int | None = None
    censored: str | None = None
    rounds: int | None = None
    known: Sequence[str] = ()  # further names of features: their levels are not unknown
    syntax: OptionSyntax = PYTHON_SYNTAX
    progress: Callable[[int], None] | None = None  # is told how many rows a pass has read

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that must be there: the target, if there is one, and those asked about."""
        label = () if self.target is None else (self.target,)
        return (*label, *self.ignore, *self.categorical)

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


def assumptions_line(assumed: Sequence[Assumption], syntax: OptionSyntax = PYTHON_SYNTAX) -> str:
    """Assumptions in one line, empty if there are none.

    >>> assumptions_line([Assumption("separator ';'", "separator")])
    "assumed separator ';'; to say otherwise: separator"
    """
    if not assumed:
        return ""
    what = list(dict.fromkeys(one.what for one in assumed))
    shown = what if len(what) <= 8 else [*what[:7], f"and {len(what) - 7} more"]
    options = dict.fromkeys(syntax.name(one.option) for one in assumed)
    return f"assumed {', '.join(shown)}; to say otherwise: {', '.join(options)}"
