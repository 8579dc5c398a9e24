"""All pages as one router, and the way to put them into a service."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.staticfiles import StaticFiles

from keyhole.service.pages import admin, counter, dashboard, learner
from keyhole.service.pages.rendering import STATIC

pages_router = APIRouter(include_in_schema=False)
for room in (dashboard, counter, learner, admin):
    pages_router.include_router(room.router)


def add_pages(app: FastAPI) -> None:
    """Put the pages, and the files they need, into a service.

    `app.state.store` is the store they are about. If there are, they use `app.state.guard` (who may
    do what), `app.state.keys`, `app.state.demo` (values to fill in) and `app.state.refused`.
    """
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.include_router(pages_router)
