"""What events mean for the rows of learners and tickets, which can be made again from the log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from keyhole.counter.store.log import Tally, TicketRow
from keyhole.counter.store.records import Event
from keyhole.errors import StoreDamagedError


def project(
    row: Tally, ticket: TicketRow | None, event: Event, body: Mapping[str, Any] | None = None
) -> TicketRow:
    """Take an event into the row of its learner and of its ticket, which is new if it is asked.

    `body` is what the event says, for those who know it without reading it.
    """
    body = json.loads(event.body) if body is None else body
    row.seq, row.digest = event.seq, event.digest
    if event.kind == "asked":
        row.waiting, row.spent, row.asked_at = row.waiting + 1, row.spent + body["cost"], event.at
        number, cost = int(body["round"]), float(body["cost"])
        expires_at = body.get("expires_at")
        id = cast(str, event.ticket)
        return TicketRow(id, row.id, number, "asked", cost, event.seq, event.at, expires_at)
    if ticket is None:
        raise StoreDamagedError(f"event {event.seq} is about a ticket that was never asked for")
    if event.kind == "seen":
        row.waiting, row.filled = row.waiting - 1, row.filled + 1
        ticket.state, ticket.prediction = "filled", body["prediction"]
        ticket.filled_seq, ticket.filled_at = event.seq, event.at
        return ticket
    if ticket.state == "asked":
        row.waiting -= 1
    else:
        row.filled -= 1
    if event.kind == "told":
        error = body["y"] - cast(float, ticket.prediction)
        row.told, row.loss, row.told_at = row.told + 1, row.loss + error * error, event.at
    else:
        row.dropped += 1
    ticket.state, ticket.closed_seq, ticket.closed_at = event.kind, event.seq, event.at
    return ticket


class Projection:
    """The rows that a log makes, event by event."""

    def __init__(self, row: Tally) -> None:
        self.row = row
        self.tickets: dict[str, TicketRow] = {}

    def take(self, event: Event) -> None:
        """Take the next event in."""
        if event.ticket is None:
            self.row.seq, self.row.digest = event.seq, event.digest
        else:
            ticket = self.tickets.get(event.ticket)
            self.tickets[event.ticket] = project(self.row, ticket, event)
