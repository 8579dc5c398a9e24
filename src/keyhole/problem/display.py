"""Display of objects: one line for `repr`, a small table for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape

from keyhole.errors import printable

MAX_NAMES_SHOWN = 6  # names in one line
MAX_HTML_ROWS = 40  # rows in one table

HtmlCell = str | int | float


def few(names: Sequence[str], most: int = MAX_NAMES_SHOWN) -> str:
    """The first names, and how many more there are.

    >>> few(["age", "bmi", "crp"], most=2)
    'age, bmi and 1 more'
    >>> few([])
    'nothing'
    """
    if not names:
        return "nothing"
    shown = ", ".join(printable(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(4000, "row")
    ('1 row', '4,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def money_text(value: float) -> str:
    """An amount of money for people.

    >>> money_text(40.0), money_text(12.5), money_text(1234567.0)
    ('40', '12.5', '1,234,567')
    """
    return f"{Decimal(str(value)).normalize():,f}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: all columns but the last aligned to the right.

    >>> aligned([["a", " what"], ["100", " this"]])
    ['  a what', '100 this']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    lines = ["  ".join(map(str.rjust, row, widths)) + row[-1] for row in rows]
    return [line.rstrip() for line in lines]


def html_table(title: str, rows: Iterable[Sequence[HtmlCell]], head: Sequence[str] = ()) -> str:
    """A table for notebooks; everything in it is text, never markup. Long ones are cut off.

    >>> html_table("<b>", [("age", 0.25)])
    '<table><caption>&lt;b&gt;</caption><tbody>...age</td><td ...>0.25</td></tr></tbody></table>'
    """
    known = [list(row) for row in rows]
    body = [_row([_cell(value) for value in row]) for row in known[:MAX_HTML_ROWS]]
    if len(known) > MAX_HTML_ROWS:
        body.append(
            _row([f'<td colspan="{len(known[0])}">and {len(known) - MAX_HTML_ROWS:,} more</td>'])
        )
    titles = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    return (
        f"<table><caption>{escape(printable(title))}</caption>"
        f"{f'<thead>{_row([titles])}</thead>' if head else ''}"
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def _row(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _cell(value: HtmlCell) -> str:
    if isinstance(value, str):
        return f'<td style="text-align: left">{escape(printable(value))}</td>'
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return f'<td style="text-align: right">{text}</td>'
