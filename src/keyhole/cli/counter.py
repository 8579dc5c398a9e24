"""What the commands of the counter share: the store, who asks, tickets in words, spans of time."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from keyhole.counter.store import Store, StoredTicket

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

Address = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="KEYHOLE_STORE",
        metavar="FILE",
        help="The store: a file, or postgresql://...",
    ),
]
Name = Annotated[str, typer.Argument(metavar="LEARNER", help="Name of the learner in the store.")]


@dataclasses.dataclass(frozen=True)
class CounterOptions:
    """Which store, who, and under which key."""

    store: Address = "keyhole.db"
    who: Annotated[
        str | None,
        typer.Option(
            "--who",
            metavar="TEXT",
            help="Who did it, for the log.",
            show_default="the name you logged in as",
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="TEXT",
            help="Idempotency key: a repeated call with the same key gets the first reply.",
        ),
    ] = None

    def name(self) -> str:
        """Who does it."""
        import getpass

        from keyhole.errors import printable

        if self.who is not None:
            return self.who
        with contextlib.suppress(KeyError, OSError, ImportError):  # nobody logged in
            return printable(getpass.getuser())[:200]
        return ""


@contextlib.contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[Store]:
    """The store, closed at the end."""
    from keyhole.counter.store import Store

    with Store(url, create=create) as store:
        yield store


def span(text: str) -> float:
    """A span of time in seconds, as it is typed.

    >>> span("7d"), span("90s"), span("1.5h")
    (604800.0, 90.0, 5400.0)
    """
    from keyhole.errors import DataError

    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if not found:
        raise DataError(f"a span of time is a number and s, m, h, d or w, such as 7d; got {text!r}")
    return float(found[1]) * SECONDS[found[2]]


def ago(then: datetime | None) -> str:
    """How long ago that was, for people."""
    if then is None:
        return "never"
    seconds = max(0.0, (datetime.now(UTC) - then).total_seconds())
    for unit, size in reversed(SECONDS.items()):
        if seconds >= size and unit != "w":
            return f"{seconds / size:.0f} {unit}"
    return "now"


def unit_of(ticket: StoredTicket, name: str) -> str:
    """A feature with its unit, if it has one."""
    return f"{name} ({ticket.units[name]})" if name in ticket.units else name


def order_lines(ticket: StoredTicket, priced: bool) -> list[str]:
    """What to buy for a ticket, in words."""
    from keyhole.analysis.advice.choosing import amount
    from keyhole.cli.output import columns

    head = f"Ticket {ticket.id}, round {ticket.round} of {ticket.learner}"
    if not ticket.names:
        return [f"{head}: nothing to buy; tell its label when it is known."]
    in_hand = ticket.ticket.known
    if not priced:
        wanted = ", ".join(unit_of(ticket, name) for name in ticket.names)
        return [f"{head}: get {wanted}"]
    rows = [
        (item, amount(price) if price else "free")
        for item, price in zip(ticket.items, ticket.item_prices, strict=True)
    ]
    numbers = ticket.ticket.features.tolist()
    values = [
        unit_of(ticket, name)
        for name, j in zip(ticket.names, numbers, strict=True)
        if j not in in_hand
    ]
    return [
        f"{head}: {amount(ticket.cost)} to pay",
        *columns(rows, "<>"),
        f"  values to fill in: {', '.join(values)}",
    ]


def told_words(ticket: StoredTicket) -> str:
    """What became of a ticket that was told or dropped."""
    if ticket.state == "dropped":
        return f"Ticket {ticket.id} is dropped: {ticket.learner} does not wait for its label."
    return (
        f"Ticket {ticket.id} is told: {ticket.learner} predicted {ticket.prediction:.6g}, "
        f"it was {ticket.label:.6g}."
    )
