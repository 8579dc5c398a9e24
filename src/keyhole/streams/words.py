"""How options of the reader are spelt: as arguments in Python, as --options on the command line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """The door that somebody came through: a remedy is told in the words of that door.

    Examples
    --------
    >>> PYTHON.say("missing", "n/k"), COMMAND.say("missing", "n/k")
    ("missing=['n/k']", '--missing n/k')
    >>> PYTHON.say("most_levels", 200), COMMAND.say("most_levels", 200)
    ('most_levels=200', '--most-levels 200')
    >>> PYTHON.say("header", False), COMMAND.say("header", False)
    ('header=False', '--no-header')
    """

    typed: bool  # on a command line

    def say(self, option: str, value: str | int | bool) -> str:
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


PYTHON, COMMAND = Words(typed=False), Words(typed=True)
