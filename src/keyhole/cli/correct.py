"""Command `keyhole correct`: values and labels of the store that were wrong."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from keyhole.cli import options
from keyhole.cli.options import option
from keyhole.cli.store_options import Confirm, StoreOptions, corrected_lines, in_doubt, open_store


@options.with_flat_options
def correct(
    *,
    ticket: Annotated[str, typer.Argument(metavar="TICKET", help="Ticket id.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FEATURE=VALUE...",
            show_default=False,
            help="The right values; nothing behind = for one that never arrived.",
        ),
    ] = None,
    label: Annotated[str | None, option("--label -y LABEL", "The right label.")] = None,
    why: Annotated[str, option("--why TEXT", "Why, for the log.", show_default="nothing")] = "",
    decimal: Annotated[str | None, option("--decimal MARK", "Decimal mark: . or ,")] = None,
    confirm: Confirm = False,
    counter: StoreOptions,
    as_json: options.Json = False,
) -> None:
    """Correct values or the label of a ticket that were wrong.

    Give what was wrong; the rest stays. Before the label is told, another prediction is made. Later
    the learner has to take back what it learnt: `auto` can, for the last 2,048 examples. What it
    was, who corrected it and why stays in the log.

    \b
    Examples:
      keyhole correct K7QM-2XRT-9ABC crp=4.2 --why "a decimal point"
      keyhole correct K7QM-2XRT-9ABC --label 7.5 --why "of another patient"
    """
    from keyhole.cli.output import answer
    from keyhole.cli.ticket_files import parse_number
    from keyhole.cli.tickets import values_of
    from keyhole.errors import DataError

    mark = decimal or "."
    right: dict[str, Any] = {"values": values_of(values or [], ticket, mark), "why": why}
    if label is not None:
        right["y"] = parse_number(label, mark, f"the label of {ticket}")
        if right["y"] is None:
            raise DataError(f"the label of {ticket} is missing: give the right one")
    with open_store(counter.store) as store:
        done = in_doubt(
            confirm,
            lambda sure: store.correct(ticket, **right, **counter.caller(), confirm=sure),
        )
    answer(as_json, done.as_dict(), *corrected_lines(done))
