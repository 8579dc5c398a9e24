"""Command `keyhole next`: what to buy next for a ticket of the store, or that enough is known."""

from __future__ import annotations

from typing import Annotated

import typer

from keyhole.cli import options
from keyhole.cli.options import option
from keyhole.cli.store_options import StoreOptions, open_store, step_lines


@options.with_flat_options
def next(
    *,
    ticket: Annotated[str, typer.Argument(metavar="TICKET", help="Ticket id.")],
    stop_at: Annotated[
        float | None,
        option(
            "--stop-at N",
            "Enough is known once the 90 % interval is at most so wide, or yes or no at least so "
            "probable.",
            show_default="as the learner sees fit",
        ),
    ] = None,
    counter: StoreOptions,
    as_json: options.Json = False,
) -> None:
    """Say what to buy next for a ticket, or that enough is known.

    For tickets of `keyhole ask --steps`, once values came back. Asked again before anything of it
    came, it says the same.

    \b
    Example:
      keyhole next K7QM-2XRT-9ABC
    """
    from keyhole.cli.output import answer

    with open_store(counter.store) as store:
        found = store.next(ticket, stop_at=stop_at, **counter.caller())
        priced = store.info(found.learner).priced
    answer(as_json, found.as_dict(), *step_lines(found, priced))
