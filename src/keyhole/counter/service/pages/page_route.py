"""Route class of pages: who may open one, templates, and errors that are shown as pages."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Coroutine, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException

from keyhole.counter.service.access_control import AccessControl, OpenTickets, Principal
from keyhole.counter.service.errors import RETRY_AFTER, NotAllowedError, status_of
from keyhole.counter.service.middleware import LOG
from keyhole.counter.service.pages import formatting
from keyhole.counter.service.routes import for_caller
from keyhole.counter.store import Store, StoredTicket
from keyhole.errors import KeyholeError
from keyhole.problem.display import counted
from keyhole.version import __version__

HERE = Path(__file__).parent
STATIC = HERE / "static"
# Nothing inline and nothing from elsewhere: a name that slipped through could not do anything.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # Also keeps "Back" from showing a form whose key was used.
    "Cache-Control": "no-store",
}


@cache
def environment() -> Environment:
    """The templates, with the words they use."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = ("number", "signed", "fixed", "plain", "money", "percent", "lasting", "ago", "clock")
    more = ("shown", "probability")
    made.filters.update({name: getattr(formatting, name) for name in (*filters, *more)})
    made.filters["is_finite"] = math.isfinite
    made.filters["path"] = lambda text: quote(str(text), safe="")
    made.globals.update(many=counted, version=__version__)
    return made


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page."""
    root = str(request.scope.get("root_path", ""))
    text = (
        environment()
        .get_template(template)
        .render(
            root=root,
            here=request.url.path.removeprefix(root),
            who=getattr(request.state, "who", ""),
            admin=getattr(request.state, "admin", True),
            signed_in=getattr(request.app.state, "access", None) is not None,
            can=lambda roles, learner: may(request, roles, learner),
            now=datetime.now(UTC),
            **values,
        )
    )
    # Half a surrogate pair may stand in a name.
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status, headers=PAGE_HEADERS)


def go(request: Request, path: str) -> RedirectResponse:
    """On to another page, so that a reload does not send a form again."""
    root = str(request.scope.get("root_path", ""))
    return RedirectResponse(root + path, status_code=303, headers=PAGE_HEADERS)


def login_page(
    request: Request, error: str = "", onward: str = "/", status: int = 200
) -> HTMLResponse:
    """The page where a key is typed: it posts `key`, and `next`, to `/login`."""
    return render(request, "login.html", status=status, error=error, onward=onward)


def error_page(
    request: Request, status: int, message: str, remedy: str | None = None
) -> HTMLResponse:
    """An error as a page: what happened, and what to do; None: what goes with its status."""
    if remedy is None:
        remedy = REMEDY_BY_STATUS.get(status, "")
    return render(request, "error.html", status=status, code=status, message=message, remedy=remedy)


# What to do about an error, by its kind and else by its status.
REMEDY_BY_KIND = {
    "UnknownLearnerError": "Choose a learner from the list at the counter.",
    "UnknownTicketError": "Compare the number with the one on the form, letter by letter.",
    "StoreDamagedError": "Tell whoever runs this service; other learners are served meanwhile.",
}
REMEDY_BY_STATUS = {
    400: "Open the page again and send the form from there.",
    403: "Ask whoever runs this service for a key that may do this.",
    404: "Check the address, or start again from the dashboard.",
    409: "Look at the example as it is now, and go on from there.",
    413: "Send a smaller file.",
    422: "Go back, change what is named above, and try again.",
    429: "Wait a minute, then try again.",
    503: "Wait a minute and reload this page: what was confirmed before is safe.",
}


@contextlib.contextmanager
def places(request: Request, who: Principal) -> Iterator[Callable[[int], None] | None]:
    """A place for another open ticket: see `OpenTickets.places`."""
    tickets: OpenTickets | None = getattr(request.app.state, "open_tickets", None)
    if tickets is None:
        yield None
    else:
        tickets.recount(who.id, 1)
        with tickets.places(who.id) as keep:
            yield keep


def update_open_tickets(request: Request, ticket: StoredTicket) -> None:
    """Tell whoever counts the open tickets that this one has changed."""
    tickets: OpenTickets | None = getattr(request.app.state, "open_tickets", None)
    if tickets is not None:
        tickets.update([ticket])


def store_of(request: Request) -> Store:
    """The store that is served."""
    store: Store = request.app.state.store
    return store


def authorize(
    request: Request,
    roles: Collection[str] | str,
    learner: str | None = None,
    *,
    all_learners: bool = False,
) -> Principal:
    """Who asks, if they have one of the roles for a learner; without one, for some or for all."""
    access: AccessControl | None = getattr(request.app.state, "access", None)
    if access is None:
        return Principal()
    who = access.authorize(request, roles, learner, all_learners=all_learners)
    request.state.who, request.state.admin = who.name, who.may(("admin",), None)
    return who


def may(
    request: Request,
    roles: Collection[str] | str,
    learner: str | None = None,
    *,
    all_learners: bool = False,
) -> bool:
    """Whether they may: to leave out what they could not open."""
    try:
        authorize(request, roles, learner, all_learners=all_learners)
    except KeyholeError:
        return False
    return True


def has_api(request: Request) -> bool:
    """Whether the API is there too: pages can be a part of other applications, without it."""
    return getattr(request.app.state, "writing", None) is not None


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
                return error_page(request, error.status_code, said)
            except RequestValidationError:
                return error_page(request, 404, "there is no such page")
            except KeyholeError as error:
                return failed(request, for_caller(request, error))
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
    response = error_page(request, status, str(error), REMEDY_BY_KIND.get(kind))
    if status in RETRY_AFTER:
        response.headers["Retry-After"] = RETRY_AFTER[status]
    return response
