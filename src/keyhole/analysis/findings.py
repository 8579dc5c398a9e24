"""Findings: what is unusual about data, and what to do about it; lists and paragraphs in words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

PAGE_WIDTH = 96
Severity = Literal["serious", "worth mending", "good to know"]
COPED_WITH: Severity = "good to know"  # by AutoLearner, without any help


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about the data: what it is, what to do about it, which features it is about.

    `severity` says how much it harms AutoLearner, which centres and scales by itself.
    """

    what: str
    do: str
    features: tuple[int, ...] = ()
    severity: Severity = "good to know"

    def words(self, *, typed: bool) -> str:
        """What to do and why; for somebody at a terminal without how to say it in Python.

        >>> Finding("It is.", "Leave it out (--ignore id, or ignore=['id']).").words(typed=True)
        'Leave it out (--ignore id). It is.'
        """
        text = f"{self.do} {self.what}"
        return re.sub(r", or \w+=\S+?(?=\))", "", text) if typed else text


def paragraph(text: str, indent: int = 0) -> list[str]:
    """Lines of a paragraph, all but the first indented."""
    return textwrap.wrap(text, PAGE_WIDTH, subsequent_indent=" " * indent, break_long_words=False)


def listed(names: Sequence[str] | Iterable[str], most: int = 5) -> str:
    """A few names and how many more there are.

    >>> listed("abcdefg", most=2)
    'a, b and 5 more'
    """
    names = list(names)
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
