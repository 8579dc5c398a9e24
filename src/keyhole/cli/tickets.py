"""keyhole tickets and keyhole status: what is open, and how the learners are doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options
from keyhole.cli.counter import Address, ago, opened, span

if TYPE_CHECKING:
    from keyhole.counter.store import LearnerInfo


def tickets(
    learner: Annotated[
        str | None,
        typer.Argument(
            metavar="LEARNER", help="Name of the learner in the store.", show_default="all"
        ),
    ] = None,
    state: Annotated[
        str,
        typer.Option(
            "--state",
            "-s",
            metavar="STATE",
            help="asked, filled, told, dropped; open: asked, filled; closed: told, dropped; all.",
        ),
    ] = "open",
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="TIME",
            help="Only tickets asked longer ago than this, as in 7d or 12h.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option("--limit", min=1, metavar="N", help="Show at most this many, oldest first."),
    ] = 100,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="TICKET", help="Continue the list after this ticket."),
    ] = None,
    store: Address = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """List tickets, oldest first; by default the open ones.

    \b
    Examples:
      keyhole tickets clinic
      keyhole tickets clinic --state filled --older-than 14d
      keyhole tickets --state all --limit 1000 --json
    """
    from datetime import UTC, datetime

    from keyhole.analysis.advice.choosing import amount
    from keyhole.cli.output import columns, emit, say

    with opened(store) as counter:
        found = counter.tickets(
            learner,
            state=None if state == "all" else state,
            older_than=None if older_than is None else span(older_than),
            limit=limit + 1,
            after=after,
        )
    shown = found[:limit]
    if as_json:
        emit({"tickets": [ticket.as_dict() for ticket in shown], "more": len(found) > limit})
        return
    if not shown:
        say("no such tickets" if state == "all" or older_than else f"no tickets are {state}")
        return
    rows = [("ticket", "learner", "round", "state", "age", "cost", "who", "")]
    for ticket in shown:
        late = (
            ticket.open and ticket.expires_at is not None and ticket.expires_at < datetime.now(UTC)
        )
        about = (ticket.id, ticket.learner, str(ticket.round), ticket.state, ago(ticket.asked_at))
        rows.append((*about, amount(ticket.cost), ticket.who, "expired" if late else ""))
    say(*columns(rows, "<<><>><<", indent=0))
    if len(found) > limit:
        say(f"and more: --after {shown[-1].id}")


def status(
    learner: Annotated[
        str | None,
        typer.Argument(
            metavar="LEARNER", help="Name of the learner in the store.", show_default="all"
        ),
    ] = None,
    store: Address = "keyhole.db",
    as_json: options.Json = False,
) -> None:
    """Show how the learners in the store are doing.

    \b
    Example:
      keyhole status
    """
    from keyhole.cli.output import columns, emit, say

    with opened(store) as counter:
        infos = counter.learners() if learner is None else [counter.info(learner)]
        url = counter.url
    if as_json:
        emit({"store": url, "learners": [info.as_dict() for info in infos]})
        return
    if not infos:
        say(f"{url}: no learners yet; `keyhole create` makes one")
        return
    head = ("learner", "kind", "rounds", "open", "told", "dropped", "spent", "mean squared error")
    rows = [(*head, "last asked", "last told"), *(_row(info) for info in infos)]
    say(*columns(rows, "<<>>>>>>>>", indent=0))


def _row(info: LearnerInfo) -> tuple[str, ...]:
    from keyhole.cli.output import number

    counts = (info.rounds, info.open, info.told, info.dropped)
    loss = "-" if info.mean_loss is None else number(info.mean_loss)
    return (
        *(info.name, info.kind, *(f"{count:,}" for count in counts)),
        *(number(info.spent), loss, ago(info.asked_at), ago(info.told_at)),
    )
