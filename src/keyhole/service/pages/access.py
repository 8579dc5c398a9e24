"""Who may open a page, and what happens when something goes wrong on the way to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from keyhole.errors import KeyholeError
from keyhole.service.pages.rendering import error_page, go
from keyhole.service.refusals import RETRY_AFTER, status_of
from keyhole.store.counter import Store

Role = Literal["read", "ask", "tell", "admin"]
log = logging.getLogger("keyhole.pages")

# What to do about an error, by its kind and else by its status.
REMEDIES = {
    "UnknownLearnerError": "Choose a learner from the list at the counter.",
    "UnknownTicketError": "Compare the id with the one on the form, letter by letter.",
    "StoreDamagedError": "Tell whoever runs this service; other learners are served meanwhile.",
}
WORDS = {
    403: "Ask whoever runs this service for a key that may do this.",
    404: "Check the address, or start again from the dashboard.",
    409: "Look at the example as it is now, and go on from there.",
    413: "Send a smaller file.",
    422: "Go back, change what is named above, and try again.",
    429: "Wait a minute, then try again.",
    503: "Wait a minute and reload this page: what was confirmed before is safe.",
}


def store_of(request: Request) -> Store:
    """The store that is served."""
    store: Store = request.app.state.store
    return store


def allow(request: Request, role: Role, learner: str | None = None) -> str:
    """Who asks, if they may; else what the guard raises."""
    guard = getattr(request.app.state, "guard", None)
    if guard is None:
        return ""
    who = guard.allow(request, role, learner)
    name = str(getattr(who, "name", who) or "")
    request.state.who = name
    return name


def may(request: Request, role: Role, learner: str | None = None) -> bool:
    """Whether they may: to leave out what they could not open."""
    try:
        allow(request, role, learner)
    except (HTTPException, KeyholeError):
        return False
    return True


def refuse_foreign(request: Request) -> None:
    """Refuse a form that another site sends: the browser says where it comes from."""
    if request.method in ("GET", "HEAD"):
        return
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    host = request.headers.get("host", "")
    if site not in ("same-origin", "none") or (
        origin is not None and urlsplit(origin).netloc.lower() != host.lower()
    ):
        raise HTTPException(403, "this form was sent from another site: nothing was done")


class PageRoute(APIRoute):
    """A route whose errors are pages, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                refuse_foreign(request)
                return await handler(request)
            except HTTPException as error:
                return _refused(request, error)
            except RequestValidationError:
                return error_page(request, 404, "there is no such page", WORDS[404])
            except KeyholeError as error:
                return failed(request, error)
            except Exception:
                log.exception("%s %s failed", request.method, request.url.path)
                return error_page(
                    *(request, 500, "something went wrong here, and was written to the log"),
                    "Reload the page. What was confirmed before is safe.",
                )

        return answer


def failed(request: Request, error: KeyholeError) -> Response:
    """What keyhole refused to do, as a page; without a key, the page where one is typed."""
    status, kind = status_of(error)
    if status == 401:
        return _sign_in(request)
    remedy = REMEDIES.get(kind) or WORDS.get(status, "")
    response = error_page(request, status, str(error), remedy)
    if status in RETRY_AFTER:
        response.headers["Retry-After"] = RETRY_AFTER[status]
    return response


def _refused(request: Request, error: HTTPException) -> Response:
    status = error.status_code
    if status == 401:
        return _sign_in(request)
    message = error.detail if isinstance(error.detail, str) else "this was refused"
    return error_page(request, status, message, WORDS.get(status, ""))


def _sign_in(request: Request) -> Response:
    path = request.url.path if request.method == "GET" else "/"
    return go(request, f"/login?next={quote(path)}")
