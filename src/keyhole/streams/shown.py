"""How streams are shown: one line for `repr`, a small table for notebooks."""

from __future__ import annotations

from typing import Protocol

from keyhole.problem.display import Cell, few, html_table


class Shaped(Protocol):
    """What is known of a stream before it is read."""

    @property
    def d(self) -> int:
        """Features of a row."""

    @property
    def rounds(self) -> int | None:
        """Rows, None if that is not known."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features, or None."""


def shown_stream(stream: Shaped) -> str:
    """What it is and how large.

    >>> import keyhole as kh
    >>> kh.streams.clinic()[0]
    <GeneratedStream: 4,000 rows of 42 features, age_years, bmi, waist_cm and 39 more>
    """
    names = "" if stream.names is None else f", {few(stream.names, 3)}"
    return f"<{type(stream).__name__}: {_rows(stream)} of {stream.d:,} features{names}>"


def stream_table(stream: Shaped) -> str:
    """Rows, features, and their names."""
    rows: list[tuple[str, Cell]] = [("rows", _rows(stream)), ("features", stream.d)]
    if stream.names is not None:
        rows.append(("names", few(stream.names)))
    return html_table(type(stream).__name__, rows)


def _rows(stream: Shaped) -> str:
    return "rows" if stream.rounds is None else f"{stream.rounds:,} rows"
