"""Replies, written as JSON at once: what is sent was typed when it was made."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from keyhole.counter.service.guard import Who, known
from keyhole.counter.service.limits import OpenTickets
from keyhole.counter.service.models import Refusal
from keyhole.counter.service.refusals import written
from keyhole.counter.store import Store, StoredTicket
from keyhole.counter.store.arguments import checked_name
from keyhole.errors import ProblemError, UnknownLearnerError, shortened

# What every route may answer besides; for the schema.
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": words}
    for status, words in (
        (400, "Not for this host, or not JSON."),
        (401, "No valid key."),
        (403, "The key may not do this."),
        (404, "There is no such learner or ticket."),
        (408, "The request took too long to arrive."),
        (409, "It does not go with what happened before."),
        (413, "The request is too large."),
        (422, "Something in the request cannot be used."),
        (429, "Too many requests, or too many open tickets."),
        (503, "Not ready, or the store cannot be written: try again."),
    )
}


class Caller:
    """Who calls, and what they may: what every route that does something needs."""

    def __init__(self, request: Request, idempotency_key: str | None) -> None:
        self.store: Store = request.app.state.store
        self.open_tickets: OpenTickets = request.app.state.open_tickets
        self.answer = request.app.state.writing.answer  # for coroutines: see AsyncStore
        self.who = known(request) or Who()
        self._key = idempotency_key

    @property
    def key(self) -> str | None:
        """The idempotency key, of this caller only."""
        return self.who.scoped(self._key)

    async def room(self, count: int) -> None:
        """A TooManyError if they may not have so many more tickets open."""
        if self.open_tickets.must_count(self.who.id, count):
            await run_in_threadpool(self.open_tickets.room, self.who.id, count)
        else:
            self.open_tickets.room(self.who.id, count)

    def told(self, tickets: list[StoredTicket], *, whole: bool = False) -> list[dict[str, Any]]:
        """Tickets as they are sent; that they are open, or no longer, is noted."""
        self.open_tickets.note(tickets)
        return [ticket_reply(ticket, whole=whole) for ticket in tickets]


async def caller_of(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(description="Repeat a request with the same key to get the first reply."),
    ] = None,
) -> Caller:
    """The caller of a request. Async, as `learner_name` is: in a thread it would cost far more."""
    return Caller(request, idempotency_key)


Calling = Annotated[Caller, Depends(caller_of)]


def json_reply(content: Any, status: int = 200) -> Response:
    """A reply."""
    return Response(written(content), status, media_type="application/json")


def ticket_reply(ticket: StoredTicket, *, whole: bool = False) -> dict[str, Any]:
    """A ticket as it is sent."""
    reply = ticket.as_dict()
    if whole:
        reply["ticket"] = json.loads(ticket.ticket.to_json())
    return reply


async def learner_name(name: str) -> str:
    """The name of a learner in a path; UnknownLearnerError if it cannot be one."""
    try:
        return checked_name(name)
    except ProblemError:
        raise UnknownLearnerError(f"there is no learner {shortened(name)} in the store") from None


LearnerName = Annotated[str, Depends(learner_name)]
