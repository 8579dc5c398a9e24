"""Routes of the HTTP API: who may call each, and the arguments and replies that they share."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_type_hints

from fastapi import Depends, Header
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from keyhole.counter.service.access_control import (
    ANY_ROLE,
    BODY_IN_SCOPE,
    AccessControl,
    OpenTickets,
    Principal,
    authenticated_as,
)
from keyhole.counter.service.errors import RETRY_AFTER, status_of
from keyhole.counter.service.schemas import Refusal
from keyhole.counter.store import Store, StoredTicket
from keyhole.counter.store.records import checked_name, read_id
from keyhole.errors import (
    DataError,
    DoubtError,
    KeyholeError,
    ProblemError,
    UnknownLearnerError,
    UnknownTicketError,
    shortened,
)

API_PATH = "/api/v1"
LEARNER_PATH = f"{API_PATH}/learners/{{name}}"
TICKET_PATH = f"{API_PATH}/tickets/{{id}}"


@dataclass(frozen=True, slots=True)
class Permission:
    """Who may call a route: those who have one of these roles; "admin" is always one of them.

    `where` says for which learners they need it: that of the path ("learner"), that of the ticket
    in the path ("ticket"), all, or some at least, where the route then shows only theirs.
    """

    roles: tuple[str, ...]
    where: Literal["learner", "ticket", "all", "some"]


ANY_KEY = Permission(ANY_ROLE, "some")
ROUTES: Mapping[tuple[str, str], Permission] = {
    ("GET", f"{API_PATH}/learners"): ANY_KEY,
    ("POST", f"{API_PATH}/learners"): Permission(("admin",), "all"),
    ("POST", f"{API_PATH}/import"): Permission(("admin",), "all"),
    ("GET", LEARNER_PATH): Permission(ANY_ROLE, "learner"),
    ("DELETE", LEARNER_PATH): Permission(("admin",), "learner"),
    ("GET", f"{LEARNER_PATH}/report"): Permission(("read",), "learner"),
    ("GET", f"{LEARNER_PATH}/problem"): Permission(ANY_ROLE, "learner"),
    ("GET", f"{LEARNER_PATH}/model"): Permission(("read",), "learner"),
    ("GET", f"{LEARNER_PATH}/explanation"): Permission(("read",), "learner"),
    ("GET", f"{LEARNER_PATH}/state"): Permission(("read",), "learner"),
    ("GET", f"{LEARNER_PATH}/export"): Permission(("read",), "learner"),
    ("GET", f"{LEARNER_PATH}/events"): Permission(("read",), "learner"),
    ("GET", f"{LEARNER_PATH}/tickets"): Permission(("read",), "learner"),
    ("GET", f"{LEARNER_PATH}/rounds/{{round}}"): Permission(ANY_ROLE, "learner"),
    ("POST", f"{LEARNER_PATH}/tickets"): Permission(("ask",), "learner"),
    ("POST", f"{LEARNER_PATH}/values"): Permission(("ask",), "learner"),
    ("POST", f"{LEARNER_PATH}/labels"): Permission(("tell",), "learner"),
    ("POST", f"{LEARNER_PATH}/predictions"): Permission(("read", "ask"), "learner"),
    ("POST", f"{LEARNER_PATH}/intervals"): Permission(("ask",), "learner"),
    ("GET", TICKET_PATH): Permission(ANY_ROLE, "ticket"),
    ("POST", f"{TICKET_PATH}/values"): Permission(("ask",), "ticket"),
    ("POST", f"{TICKET_PATH}/next"): Permission(("ask",), "ticket"),
    ("POST", f"{TICKET_PATH}/label"): Permission(("tell",), "ticket"),
    ("POST", f"{TICKET_PATH}/drop"): Permission(("ask", "tell"), "ticket"),
    ("POST", f"{TICKET_PATH}/correction"): Permission(("ask", "tell"), "ticket"),
    ("GET", f"{TICKET_PATH}/events"): Permission(ANY_ROLE, "ticket"),
    ("GET", "/metrics"): Permission(("read",), "all"),
    ("GET", "/openapi.json"): ANY_KEY,
}
# Without a key: what says nothing about anything, and the way in.
PUBLIC_PATHS = ("/health", "/ready", "/login", "/logout")
PUBLIC_FOLDERS = ("/static/",)  # what pages look like


def is_public(path: str) -> bool:
    """Whether everybody may see this.

    >>> is_public("/health"), is_public("/static/site.css"), is_public("/static/../api")
    (True, True, False)
    """
    return path in PUBLIC_PATHS or (path.startswith(PUBLIC_FOLDERS) and ".." not in path)


async def authorize_request(request: Request) -> None:
    """Refuse whoever may not call the route of this request; a dependency of all of them.

    Routes that are not in the table are pages: they check the role they need themselves.
    """
    access: AccessControl = request.app.state.access
    if is_public(request.scope["path"]):
        access.refuse_cross_site(request, Principal())
        return
    rule = ROUTES.get((request.method, request.scope["route"].path), ANY_KEY)
    if rule.where == "all":
        access.authorize(request, rule.roles, all_learners=True)
    elif rule.where == "learner":
        access.authorize(request, rule.roles, request.path_params["name"])
    else:
        who = access.authorize(request, rule.roles)
        if rule.where == "ticket" and who.key is not None and who.key.learners is not None:
            await _refuse_other_tickets(request, who, rule)


async def _refuse_other_tickets(request: Request, who: Principal, rule: Permission) -> None:
    """To a key for some learners, tickets of others are as unknown as those that never were."""
    store: Store = request.app.state.store
    id = request.path_params["id"]
    if not who.may(rule.roles, await run_in_threadpool(store.owner_of, id)):
        raise UnknownTicketError(f"there is no ticket {read_id(id)} in the store")


class Caller:
    """Who calls, and what they may: what every route that does something needs."""

    def __init__(self, request: Request, idempotency_key: str | None) -> None:
        self.store: Store = request.app.state.store
        self.open_tickets: OpenTickets = request.app.state.open_tickets
        self.answer = request.app.state.writing.answer  # for coroutines: see AsyncStore
        self.who = authenticated_as(request) or Principal()
        self._key = idempotency_key

    @property
    def key(self) -> str | None:
        """The idempotency key, of this caller only."""
        return self.who.scoped(self._key)

    @contextlib.asynccontextmanager
    async def places(self, count: int) -> AsyncIterator[Callable[[int], None]]:
        """Places for so many more open tickets: see `OpenTickets.places`."""
        if self.open_tickets.must_recount(self.who.id, count):
            await run_in_threadpool(self.open_tickets.recount, self.who.id, count)
        with self.open_tickets.places(self.who.id) as keep:
            yield keep

    def replies(self, tickets: list[StoredTicket], *, whole: bool = False) -> list[dict[str, Any]]:
        """Tickets as they are sent; that they are open, or no longer, is noted."""
        self.open_tickets.update(tickets)
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


async def learner_name(name: str) -> str:
    """The name of a learner in a path; UnknownLearnerError if it cannot be one."""
    try:
        return checked_name(name)
    except ProblemError:
        raise UnknownLearnerError(f"there is no learner {shortened(name)} in the store") from None


LearnerInPath = Annotated[str, Depends(learner_name)]


Read = Callable[[Request], Awaitable[Any]]
BOOLEAN = TypeAdapter(bool)


class DirectRoute(APIRoute):
    """A route that is called all the time: its few parameters are read here.

    FastAPI routes it and has its schema; resolving its parameters took FastAPI longer than
    everything the service itself does for one request. The endpoint is a coroutine and takes some
    of `name, id, body, caller, whole`.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What reads the arguments, calls the endpoint and gives its reply."""
        endpoint = self.endpoint
        known: dict[str, Read] = {"name": _name, "id": _id, "caller": _caller, "whole": _whole}
        names, hints = inspect.signature(endpoint).parameters, get_type_hints(endpoint)
        if not inspect.iscoroutinefunction(endpoint) or not {*names} <= {*known, "body"}:
            raise TypeError(f"{self.path} cannot be a direct route")
        readers = {name: known[name] if name in known else _body(hints[name]) for name in names}

        async def handle(request: Request) -> Response:
            await authorize_request(request)
            reply: Response = await endpoint(
                **{name: await read(request) for name, read in readers.items()}
            )
            return reply

        return handle


def _body(kind: Any) -> Read:
    adapter = TypeAdapter(kind)
    optional = type(None) in getattr(kind, "__args__", ())

    async def read(request: Request) -> Any:
        data = request.scope[BODY_IN_SCOPE]
        if optional and not data:
            return None
        content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content != "application/json" and not content.endswith("+json"):
            raise DataError("body: send JSON, and say so: `Content-Type: application/json`")
        try:
            return adapter.validate_json(data)
        except ValidationError as error:
            raise _invalid("body", error) from None

    return read


async def _name(request: Request) -> str:
    return await learner_name(request.path_params["name"])


async def _id(request: Request) -> str:
    return str(request.path_params["id"])


async def _caller(request: Request) -> Caller:
    return await caller_of(request, request.headers.get("idempotency-key"))


async def _whole(request: Request) -> bool:
    if not request.scope["query_string"]:
        return False
    try:
        return BOOLEAN.validate_python(request.query_params.get("whole", False))
    except ValidationError as error:
        raise _invalid("query.whole", error) from None


def _invalid(where: str, error: ValidationError) -> DataError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return invalid((where, *first["loc"]), first["msg"])


def written(content: Any) -> bytes:
    """JSON in ASCII, which can always be sent, whatever names hold."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def invalid(where: Iterable[Any], words: str) -> DataError:
    """What to say of a part of a request that is not as the schema has it."""
    place = ".".join(str(part) for part in where)
    return DataError(f"{shortened(place)[1:-1]}: {words}")


def for_caller(request: HTTPConnection, error: KeyholeError) -> KeyholeError:
    """The error as the caller may read it: no learners of others, and where the store is for none
    but administrators."""
    who = authenticated_as(request)
    limited = who is not None and who.key is not None and who.key.learners is not None
    if limited and isinstance(error, UnknownLearnerError):
        return UnknownLearnerError("there is no such learner in the store")
    place = request.app.state.store.url
    if place in str(error) and (who is None or not who.may(("admin",), None)):
        return type(error)(str(error).replace(place, "the store"))
    return error


def refused(error: KeyholeError) -> Response:
    """The answer to a request that is refused."""
    status, headers, body = refusal(error)
    return Response(body, status, headers)


def refusal(error: KeyholeError) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer to a request that is refused."""
    status, kind = status_of(error)
    headers = {"content-type": "application/json"}
    if status in RETRY_AFTER:
        headers["retry-after"] = RETRY_AFTER[status]
    if status == 401:
        headers["www-authenticate"] = 'Bearer realm="keyhole"'
    body: dict[str, Any] = {"error": str(error), "kind": kind}
    if isinstance(error, DoubtError):
        body["doubts"] = [
            {"ticket": id, **doubt.as_dict()}
            for id, doubts in error.by_ticket.items()
            for doubt in doubts
        ]
    return status, headers, written(body)


# What every route may answer besides; for the schema.
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": words}
    for status, words in (
        (400, "Not for this host, or not JSON."),
        (401, "No valid key."),
        (403, "The key may not do this."),
        (404, "There is no such learner or ticket."),
        (408, "The request took too long to arrive."),
        (409, "It does not go with what happened before, or has to be confirmed."),
        (413, "The request is too large."),
        (422, "Something in the request cannot be used."),
        (429, "Too many requests, or too many open tickets."),
        (503, "Not ready, or the store cannot be written: try again."),
    )
}


def json_reply(content: Any, status: int = 200) -> Response:
    """A reply."""
    return Response(written(content), status, media_type="application/json")


def ticket_reply(ticket: StoredTicket, *, whole: bool = False) -> dict[str, Any]:
    """A ticket as it is sent."""
    reply = ticket.as_dict()
    if whole:
        reply["ticket"] = json.loads(ticket.ticket.to_json())
    return reply
