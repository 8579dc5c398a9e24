"""All pages as one router, with the files they need and the way in."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse

from keyhole.counter.service.pages import admin, counter, dashboard, learner
from keyhole.counter.service.pages.access import WORDS, PageRoute
from keyhole.counter.service.pages.rendering import STATIC, error_page, login_page

FILES = {str(file.relative_to(STATIC)): file for file in STATIC.rglob("*") if file.is_file()}
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
KEPT = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}

_way_in = APIRouter(route_class=PageRoute, include_in_schema=False)


@_way_in.get("/static/{path:path}")
def file(request: Request, path: str) -> Response:
    """A script, a style sheet or a picture; nothing else can be named."""
    found = FILES.get(path)
    if found is None:
        return error_page(request, 404, "there is no such file", WORDS[404])
    return FileResponse(found, media_type=TYPES.get(found.suffix, "text/plain"), headers=KEPT)


@_way_in.get("/login")
def login(request: Request, wrong: int = 0, next: str = "/") -> Response:
    """Where a key is typed; the service takes it from there."""
    error = "This key is not known, has expired or was revoked." if wrong else ""
    return login_page(request, error, next, 401 if wrong else 200)


pages_router = APIRouter(include_in_schema=False)
for room in (dashboard.router, counter.router, learner.router, admin.router, _way_in):
    pages_router.include_router(room)


def add_pages(app: FastAPI) -> None:
    """Put the pages into a service.

    `app.state.store` is the store they are about. If there are, they use `app.state.guard` (who may
    do what, and its keys), `app.state.demo` (values to fill in), `app.state.open_tickets` and
    `app.state.ready` (whether all learners are loaded).
    """
    app.include_router(pages_router)
