"""Every route, and who may call it: one table, which is enforced before a route runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request

from keyhole.counter.service.guard import Guard, Who
from keyhole.counter.store import Store
from keyhole.errors import UnknownTicketError

API = "/api/v1"
LEARNER = f"{API}/learners/{{name}}"
TICKET = f"{API}/tickets/{{id}}"


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may call a route: those who have one of these roles; "admin" is always one of them.

    `where` says for which learners they need it: that of the path ("learner"), that of the ticket
    in the path ("ticket"), all, or some at least, where the route then shows only theirs.
    """

    roles: tuple[str, ...]
    where: Literal["learner", "ticket", "all", "some"]


ANYBODY_WITH_A_KEY = Rule(("read", "ask", "tell"), "some")
ROUTES: Mapping[tuple[str, str], Rule] = {
    ("GET", f"{API}/learners"): ANYBODY_WITH_A_KEY,
    ("POST", f"{API}/learners"): Rule(("admin",), "all"),
    ("POST", f"{API}/import"): Rule(("admin",), "all"),
    ("GET", LEARNER): Rule(("read", "ask", "tell"), "learner"),
    ("DELETE", LEARNER): Rule(("admin",), "learner"),
    ("GET", f"{LEARNER}/report"): Rule(("read",), "learner"),
    ("GET", f"{LEARNER}/problem"): Rule(("read", "ask", "tell"), "learner"),
    ("GET", f"{LEARNER}/model"): Rule(("read",), "learner"),
    ("GET", f"{LEARNER}/explanation"): Rule(("read",), "learner"),
    ("GET", f"{LEARNER}/state"): Rule(("read",), "learner"),
    ("GET", f"{LEARNER}/export"): Rule(("read",), "learner"),
    ("GET", f"{LEARNER}/events"): Rule(("read",), "learner"),
    ("GET", f"{LEARNER}/tickets"): Rule(("read",), "learner"),
    ("GET", f"{LEARNER}/rounds/{{round}}"): Rule(("read", "ask", "tell"), "learner"),
    ("POST", f"{LEARNER}/tickets"): Rule(("ask",), "learner"),
    ("POST", f"{LEARNER}/values"): Rule(("ask",), "learner"),
    ("POST", f"{LEARNER}/labels"): Rule(("tell",), "learner"),
    ("POST", f"{LEARNER}/predictions"): Rule(("read", "ask"), "learner"),
    ("POST", f"{LEARNER}/intervals"): Rule(("ask",), "learner"),
    ("GET", TICKET): Rule(("read", "ask", "tell"), "ticket"),
    ("POST", f"{TICKET}/values"): Rule(("ask",), "ticket"),
    ("POST", f"{TICKET}/label"): Rule(("tell",), "ticket"),
    ("POST", f"{TICKET}/drop"): Rule(("ask", "tell"), "ticket"),
    ("GET", "/metrics"): Rule(("read",), "all"),
    ("GET", "/openapi.json"): ANYBODY_WITH_A_KEY,
}
# Without a key: what says nothing about anything, and the way in.
OPEN = ("/health", "/ready", "/login", "/logout")
OPEN_FOLDERS = ("/static/",)  # what pages look like


def is_open(path: str) -> bool:
    """Whether everybody may see this.

    >>> is_open("/health"), is_open("/static/site.css"), is_open("/static/../api"), is_open("/")
    (True, True, False, False)
    """
    return path in OPEN or (path.startswith(OPEN_FOLDERS) and ".." not in path)


def wants_page(request: HTTPConnection) -> bool:
    """Whether a person at a browser asks for a page, and should be shown the way to the login."""
    if request.scope["path"].startswith("/api/"):
        return False
    return request.scope["method"] == "GET" and "text/html" in request.headers.get("accept", "")


async def authorise(request: Request) -> None:
    """Refuse whoever may not call the route of this request; a dependency of all of them.

    Routes that are not in the table are pages: they ask the guard for the role they need.
    """
    guard: Guard = request.app.state.guard
    if is_open(request.scope["path"]):
        guard.refuse_cross_site(request, Who())
        return
    rule = ROUTES.get((request.method, request.scope["route"].path), ANYBODY_WITH_A_KEY)
    if rule.where == "all":
        guard.allow_all(request, rule.roles)
    elif rule.where == "learner":
        guard.allow(request, rule.roles, request.path_params["name"])
    else:
        who = guard.allow(request, rule.roles)
        if rule.where == "ticket" and who.key is not None and who.key.learners is not None:
            await _refuse_other_tickets(request, who, rule)


async def _refuse_other_tickets(request: Request, who: Who, rule: Rule) -> None:
    """To a key for some learners, tickets of others are as unknown as those that never were."""
    store: Store = request.app.state.store
    ticket = await run_in_threadpool(store.ticket, request.path_params["id"])
    if not who.may(rule.roles, ticket.learner):
        raise UnknownTicketError(f"there is no ticket {ticket.id} in the store")
