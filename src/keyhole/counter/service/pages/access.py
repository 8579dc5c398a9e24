"""Who may open a page, and what happens when something goes wrong on the way to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from keyhole.counter.service.pages.rendering import error_page, go
from keyhole.counter.service.refusals import RETRY_AFTER, NotAllowedError, status_of
from keyhole.counter.store import Store, StoredTicket
from keyhole.errors import KeyholeError

LOG = logging.getLogger("keyhole.counter.service")
ANY = ("read", "ask", "tell")  # whoever may do something with a learner may see its counter
# What to do about an error, by its kind and else by its status.
REMEDIES = {
    "UnknownLearnerError": "Choose a learner from the list at the counter.",
    "UnknownTicketError": "Compare the number with the one on the form, letter by letter.",
    "StoreDamagedError": "Tell whoever runs this service; other learners are served meanwhile.",
}
WORDS = {
    400: "Open the page again and send the form from there.",
    403: "Ask whoever runs this service for a key that may do this.",
    404: "Check the address, or start again from the dashboard.",
    409: "Look at the example as it is now, and go on from there.",
    413: "Send a smaller file.",
    422: "Go back, change what is named above, and try again.",
    429: "Wait a minute, then try again.",
    503: "Wait a minute and reload this page: what was confirmed before is safe.",
}


@dataclass(frozen=True, slots=True)
class Person:
    """Who opens a page: what the guard knows about them, nothing where there is no guard."""

    name: str = ""
    who: Any = None

    def scoped(self, key: str) -> str:
        """An idempotency key of their own."""
        return key if self.who is None else str(self.who.scoped(key))

    def room(self, request: Request) -> None:
        """TooManyError if they may not have another ticket open."""
        tickets = getattr(request.app.state, "open_tickets", None)
        if tickets is not None:
            tickets.room("" if self.who is None else self.who.id, 1)


def note(request: Request, ticket: StoredTicket) -> StoredTicket:
    """A ticket that has changed; whoever counts the open ones is told."""
    tickets = getattr(request.app.state, "open_tickets", None)
    if tickets is not None:
        tickets.note([ticket])
    return ticket


def store_of(request: Request) -> Store:
    """The store that is served."""
    store: Store = request.app.state.store
    return store


def allow(request: Request, roles: Sequence[str] | str, learner: str | None = None) -> Person:
    """Who asks, if they have one of the roles for a learner; without one, for some learner."""
    guard = getattr(request.app.state, "guard", None)
    if guard is None:
        return Person()
    return _person(request, guard.allow(request, roles, learner))


def allow_all(request: Request, role: str) -> Person:
    """The same for what concerns all learners."""
    guard = getattr(request.app.state, "guard", None)
    if guard is None:
        return Person()
    return _person(request, guard.allow_all(request, role))


def _person(request: Request, who: Any) -> Person:
    request.state.who, request.state.admin = who.name, who.may(("admin",), None)
    return Person(who.name, who)


def may(request: Request, roles: Sequence[str] | str, learner: str | None = None) -> bool:
    """Whether they may: to leave out what they could not open."""
    try:
        allow(request, roles, learner)
    except KeyholeError:
        return False
    return True


def has_api(request: Request) -> bool:
    """Whether the API is there too: pages can be a part of other applications, without it."""
    return getattr(request.app.state, "writing", None) is not None


def may_all(request: Request, role: str) -> bool:
    """The same for what concerns all learners."""
    try:
        allow_all(request, role)
    except KeyholeError:
        return False
    return True


def refuse_foreign(request: Request) -> None:
    """Refuse a form that another site sends: the browser says where it comes from."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if request.method in ("GET", "HEAD"):
        return
    if site is not None:
        ours = site in ("same-origin", "none")
    else:
        ours = origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
    if not ours:
        raise NotAllowedError("this form was sent from another site: nothing was done")


class PageRoute(APIRoute):
    """A route whose errors are pages, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route, and what is shown when it fails."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                refuse_foreign(request)
                return await handler(request)
            except HTTPException as error:
                said = error.detail if isinstance(error.detail, str) else "this was refused"
                return error_page(
                    request, error.status_code, said, WORDS.get(error.status_code, "")
                )
            except RequestValidationError:
                return error_page(request, 404, "there is no such page", WORDS[404])
            except KeyholeError as error:
                return failed(request, error)
            except Exception:
                LOG.exception("%s failed", request.method)
                return error_page(
                    *(request, 500, "something went wrong here; it was logged"),
                    "Reload the page. What was confirmed before is safe.",
                )

        return answer


def failed(request: Request, error: KeyholeError) -> Response:
    """What keyhole refused to do, as a page; without a key, the page where one is typed."""
    status, kind = status_of(error)
    if status == 401:
        path = request.url.path if request.method == "GET" else "/"
        return go(request, f"/login?next={quote(path)}")
    remedy = REMEDIES.get(kind) or WORDS.get(status, "")
    response = error_page(request, status, str(error), remedy)
    if status in RETRY_AFTER:
        response.headers["Retry-After"] = RETRY_AFTER[status]
    return response
