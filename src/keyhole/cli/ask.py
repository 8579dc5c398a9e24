"""keyhole ask: what to buy for the next example."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO

import typer

from keyhole.cli import options
from keyhole.cli.counter import CounterOptions, Name, opened, order_lines, span


@options.flat
def ask(
    *,
    learner: Name,
    many: Annotated[
        int,
        typer.Option(
            "--many", "-n", min=1, metavar="N", help="Number of tickets to issue at once."
        ),
    ] = 1,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.csv",
            help="Write the tickets as a table to fill in; - for standard output.",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires",
            metavar="TIME",
            help="Mark the tickets as expired after this time, as in 14d. Late labels still count.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="FEATURE",
            help="Feature that is not available this time; repeat for more.",
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known", metavar="FEATURE=VALUE", help="Value that is known already; repeat for more."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", "-b", metavar="N", help="Budget for this example only."),
    ] = None,
    counter: CounterOptions,
    as_json: options.Json = False,
) -> None:
    """Ask a learner what to buy for the next example, or for many.

    Each example gets a ticket; write its id on the form. Give the values that come back to
    `keyhole fill`, which answers with the prediction, and the label, whenever it is known, to
    `keyhole tell`. --without, --known and --budget apply to this call only; not every learner
    supports them.

    \b
    Examples:
      keyhole ask clinic
      keyhole ask clinic --known age=61 --without mri
      keyhole ask clinic --many 500 --out orders.csv
    """
    import sys

    from keyhole.cli.forms import orders
    from keyhole.cli.output import emit, say
    from keyhole.errors import DataError

    if out == "-" and as_json:
        raise DataError("--json needs standard output for itself: name a file with --out")
    terms: dict[str, Any] = {"without": without, "known": _known(known), "budget": budget}
    with opened(counter.store) as store, _written(out) as file:
        tickets = store.ask(
            learner,
            many,
            who=counter.name(),
            key=counter.key,
            expires_in=None if expires is None else span(expires),
            terms={name: value for name, value in terms.items() if value},
        )
        priced = store.info(learner).priced
        if file is not None:
            file.write(orders(tickets).encode())
    if out == "-":
        sys.stdout.write(orders(tickets))
    if as_json:
        emit({"tickets": [ticket.as_dict() for ticket in tickets]})
    elif out is None:
        for ticket in tickets:
            say(*order_lines(ticket, priced))
        if len(tickets) == 1 and tickets[0].names:
            say(f"  keyhole fill {tickets[0].id} {_pair(tickets[0].names[0])} ...")
    elif out != "-":
        say(
            f"{out}: {len(tickets):,} tickets; fill the table in, then",
            f"  keyhole fill {learner} {out}",
        )


@contextlib.contextmanager
def _written(out: str | None) -> Iterator[BinaryIO | None]:
    """The file to write, opened before anything is asked for, so that a bad path is refused."""
    from pathlib import Path

    from keyhole.errors import DataError
    from keyhole.problem.atomic_file import whole_file

    if out is None or out == "-":
        yield None
        return
    with whole_file(Path(out), DataError) as file:
        yield file


def _known(pairs: list[str] | None) -> dict[str, float] | None:
    from keyhole.cli.fill import values_of

    if not pairs:
        return None
    return {name: value for name, value in values_of(pairs, "--known").items() if value is not None}


def _pair(name: str) -> str:
    import shlex

    return shlex.quote(f"{name}=VALUE")
