"""Options of the commands for a store, and tickets and times in words."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from keyhole.cli.options import option

if TYPE_CHECKING:
    from keyhole.counter.store import Store, StoredTicket


SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

StoreAddress = Annotated[
    str, option("--store FILE", "The store: a file, or postgresql://...", envvar="KEYHOLE_STORE")
]
LearnerName = Annotated[
    str, typer.Argument(metavar="LEARNER", help="Name of the learner in the store.")
]
OneOrAll = Annotated[
    str | None,
    typer.Argument(metavar="LEARNER", help="Name of the learner in the store.", show_default="all"),
]


Confirm = Annotated[
    bool,
    typer.Option(
        "--confirm", help="What is far beyond all that was seen is right; do not ask about it."
    ),
]
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class StoreOptions:
    """Which store, who uses it, and under which idempotency key."""

    store: StoreAddress = "keyhole.db"
    who: Annotated[
        str | None,
        option("--who TEXT", "Who did it, for the log.", show_default="the name you logged in as"),
    ] = None
    key: Annotated[
        str | None,
        option(
            "--key TEXT", "Idempotency key: a repeated call with the same key gets the first reply."
        ),
    ] = None

    def caller(self) -> dict[str, Any]:
        """Who does it, and the key, as calls of a store take them."""
        import getpass

        from keyhole.errors import printable

        who = self.who or ""
        if self.who is None:
            with contextlib.suppress(KeyError, OSError, ImportError):  # nobody logged in
                who = printable(getpass.getuser())[:200]
        return {"who": who, "key": self.key}


def open_store(url: str, *, create: bool = False) -> Store:
    """The store, for a with statement."""
    from keyhole.counter.store import Store

    return Store(url, create=create)


def in_doubt(confirm: bool, call: Callable[[bool], T]) -> T:
    """What a call gives that is told whether doubts are confirmed; at a terminal, asked for."""
    from keyhole.errors import DataError, DoubtError, printable

    try:
        return call(confirm)
    except DoubtError as error:
        if not sys.stdin.isatty():
            words = str(error).replace("confirm=True", "--confirm")
            raise DoubtError(words, error.by_ticket) from None
        for id, doubts in error.by_ticket.items():
            for doubt in doubts:
                typer.echo(printable(f"{id}: {doubt}"), err=True)
        if not typer.confirm("Keep it as it is?", err=True):
            raise DataError("nothing was kept: give what is right") from None
    return call(True)


def served_lines(ticket: StoredTicket) -> list[str]:
    """What is predicted for a ticket, and its interval."""
    from keyhole.cli.output import number

    if ticket.probability is not None:
        share = f"{100.0 * ticket.probability:.3g} %"
        return [f"Ticket {ticket.id}: {ticket.learner} gives yes (1) a probability of {share}"]
    lines = [f"Ticket {ticket.id}: {ticket.learner} predicts {number(ticket.prediction or 0.0)}"]
    if ticket.low is not None and ticket.high is not None:
        ends = f"{number(ticket.low)} to {number(ticket.high)}"
        share = f"{100 * (ticket.coverage or 0.0):g} %"
        lines.append(f"  {share} of labels lie within such intervals: {ends}")
    return lines


def corrected_lines(ticket: StoredTicket) -> list[str]:
    """What to say of a ticket that was corrected."""
    if ticket.open:
        return [f"Ticket {ticket.id} is corrected.", *served_lines(ticket)]
    return [f"Ticket {ticket.id} is corrected, and {ticket.learner} has learnt it anew."]


def parse_duration(text: str) -> float:
    """A span of time in seconds, as it is typed.

    >>> parse_duration("7d"), parse_duration("90s"), parse_duration("1.5h")
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


def order_lines(ticket: StoredTicket, priced: bool) -> list[str]:
    """What to buy for a ticket, in words."""
    from keyhole.cli.output import columns
    from keyhole.cli.ticket_files import form_names
    from keyhole.problem.display import money_text

    head = f"Ticket {ticket.id}, round {ticket.round} of {ticket.learner}"
    if not ticket.names:
        return [f"{head}: nothing to buy; tell its label when it is known."]
    units = ticket.units
    wanted = {
        name: f"{name} ({units[name]})" if name in units else name for name in form_names(ticket)
    }
    if not priced or set(ticket.item_prices) == {1.0}:  # columns, counted
        return [f"{head}: get {', '.join(wanted.values())}"]
    rows = [
        (item, money_text(price) if price else "free")
        for item, price in zip(ticket.items, ticket.item_prices, strict=True)
    ]
    known = {
        ticket.names[i] for i, j in enumerate(ticket.ticket.features) if j in ticket.ticket.known
    }
    missing = ", ".join(words for name, words in wanted.items() if name not in known)
    to_pay = f"{head}: {money_text(ticket.cost)} to pay"
    return [to_pay, *columns(rows, "<>"), f"  values to fill in: {missing}"]


def step_lines(ticket: StoredTicket, priced: bool) -> list[str]:
    """What to buy next for a ticket, in words, and why."""
    from keyhole.cli.output import columns
    from keyhole.problem.display import money_text

    step = ticket.step
    if not step:
        why = step.reason if step is not None else ""
        return [
            f"Ticket {ticket.id}: buy nothing more.",
            f"  {why}",
            f"  keyhole tell {ticket.id} LABEL",
        ]
    head = f"Ticket {ticket.id}: get {', '.join(step.features)}"
    if priced:
        prices = map(money_text, step.item_prices)
        head = f"Ticket {ticket.id}: {money_text(step.cost)} more to pay"
        return [
            head,
            *columns([*zip(step.items, prices, strict=True)], "<>"),
            f"  values to fill in: {', '.join(step.features)}",
            f"  {step.reason}",
        ]
    return [head, f"  {step.reason}"]


def closed_words(ticket: StoredTicket) -> str:
    """What became of a ticket that was told or dropped."""
    if ticket.state == "dropped":
        return f"Ticket {ticket.id} is dropped: {ticket.learner} does not wait for its label."
    return (
        f"Ticket {ticket.id} is told: {ticket.learner} predicted {ticket.prediction:.6g}, "
        f"it was {ticket.label:.6g}."
    )
