"""Arguments of the store's calls, checked."""

from __future__ import annotations

import re
from datetime import timedelta

from keyhole.errors import CONTROL, ProblemError, real_number, shortened

LONGEST = 200  # characters


def is_name(name: object) -> bool:
    """Whether a learner could be called that."""
    return isinstance(name, str) and re.fullmatch(r"[^\W_][\w.-]{0,99}", name) is not None


def checked_name(name: str) -> str:
    """The name of a learner, or a ProblemError."""
    if not is_name(name):
        raise ProblemError(
            "name must be at most 100 letters, digits, '.', '-' and '_', the first a letter or a "
            f"digit, got {shortened(name)}"
        )
    return name


def checked_who(who: object) -> str:
    """Who did it: a line of text, or a ProblemError."""
    return _line("who", who)


def checked_key(key: object) -> str | None:
    """An idempotency key, or a ProblemError."""
    if key is None or _line("key", key):
        return None if key is None else str(key)
    raise ProblemError("key must not be empty: leave it out if there is none")


def seconds(name: str, value: timedelta | float | None) -> float | None:
    """A span of time in seconds, or a ProblemError."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return None if value is None else real_number(name, value, least=0.0, most=1e10)


def _line(name: str, text: object) -> str:
    if not isinstance(text, str) or len(text) > LONGEST or re.search(f"[{CONTROL}]", text):
        raise ProblemError(
            f"{name} must be text of at most {LONGEST} characters in one line, "
            f"got {shortened(text)}"
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ProblemError(f"{name} is not text that can be written: {shortened(text)}") from None
    return text
