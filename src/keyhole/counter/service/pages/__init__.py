"""HTML pages of the HTTP service: the counter, the dashboard, learners, administration."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse

from keyhole.counter.service.pages import admin, api, corrections, counter, dashboard
from keyhole.counter.service.pages.page_route import STATIC, PageRoute, error_page, login_page

__all__ = ["add_pages", "error_page", "login_page", "pages_router"]

STATIC_FILES = {str(file.relative_to(STATIC)): file for file in STATIC.rglob("*") if file.is_file()}
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
STATIC_HEADERS = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}

_public = APIRouter(route_class=PageRoute, include_in_schema=False)


@_public.get("/static/{path:path}")
def file(request: Request, path: str) -> Response:
    """A script, a style sheet or a picture; nothing else can be named."""
    found = STATIC_FILES.get(path)
    if found is None:
        return error_page(request, 404, "there is no such file")
    return FileResponse(
        found, media_type=MEDIA_TYPES.get(found.suffix, "text/plain"), headers=STATIC_HEADERS
    )


@_public.get("/login")
def login(request: Request, wrong: int = 0, next: str = "/") -> Response:
    """Where a key is typed; the service takes it from there."""
    error = "This key is not known, has expired or was revoked." if wrong else ""
    return login_page(request, error, next, 401 if wrong else 200)


pages_router = APIRouter(include_in_schema=False)
_parts = (dashboard, counter, corrections, admin, api)
for router in (*(part.router for part in _parts), _public):
    pages_router.include_router(router)


def add_pages(app: FastAPI) -> None:
    """Put the pages into a service.

    `app.state.store` is the store they are about. If there are, they use `app.state.access` (who
    may do what, and its keys), `app.state.demo` (values to fill in), `app.state.open_tickets` and
    `app.state.ready` (whether all learners are loaded).
    """
    app.include_router(pages_router)
