"""Templates, and the responses that are made of them: escaped, never cached, locked in by a CSP."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from keyhole.counter.service.pages import words
from keyhole.problem.display import counted
from keyhole.version import __version__

HERE = Path(__file__).parent
STATIC = HERE / "static"
# Nothing inline and nothing from elsewhere: a name that slipped through could not do anything.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
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
    made.filters.update({name: getattr(words, name) for name in (*filters, "shown")})
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
            signed_in=getattr(request.app.state, "guard", None) is not None,
            now=datetime.now(UTC),
            **values,
        )
    )
    # Half a surrogate pair may stand in a name.
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status, headers=HEADERS)


def go(request: Request, path: str) -> RedirectResponse:
    """On to another page, so that a reload does not send a form again."""
    root = str(request.scope.get("root_path", ""))
    return RedirectResponse(root + path, status_code=303, headers=HEADERS)


def login_page(
    request: Request, error: str = "", onward: str = "/", status: int = 200
) -> HTMLResponse:
    """The page where a key is typed: it posts `key`, and `next`, to `/login`."""
    return render(request, "login.html", status=status, error=error, onward=onward)


def error_page(request: Request, status: int, message: str, remedy: str = "") -> HTMLResponse:
    """An error as a page: what happened, and what to do."""
    return render(request, "error.html", status=status, code=status, message=message, remedy=remedy)
