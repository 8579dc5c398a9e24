"""The ASGI application of the HTTP service: `create_app` joins store, API and pages."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any, cast

import anyio.to_thread
from fastapi import FastAPI, Form, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Depends
from starlette.exceptions import HTTPException

from keyhole.counter.service import api_learners, api_tickets
from keyhole.counter.service.access_control import (
    COOKIE,
    SESSION_SECONDS,
    AccessControl,
    ApiKeys,
    OpenTickets,
)
from keyhole.counter.service.errors import UNEXPECTED_STATUS, NoKeyError
from keyhole.counter.service.examples import with_examples
from keyhole.counter.service.metrics import CONTENT_TYPE, prometheus_text
from keyhole.counter.service.middleware import (
    LOG,
    AdmissionMiddleware,
    LearnerLoader,
    RequestCounts,
    Say,
)
from keyhole.counter.service.pages import pages_router
from keyhole.counter.service.routes import (
    authorize_request,
    for_caller,
    invalid,
    json_reply,
    refused,
)
from keyhole.counter.service.settings import ServiceSettings
from keyhole.counter.store import Store
from keyhole.counter.store.writer import AsyncStore
from keyhole.errors import KeyholeError
from keyhole.version import __version__


class Service(FastAPI):
    """FastAPI whose schema has examples."""

    def openapi(self) -> dict[str, Any]:
        """The schema."""
        return with_examples(super().openapi())


def create_app(
    store: Store,
    settings: ServiceSettings | None = None,
    *,
    keys: ApiKeys | None = None,
    say: Say = LOG.info,
    demo: Any = None,
) -> FastAPI:
    """The service as an ASGI application.

    Parameters
    ----------
    store
        What it serves. It is closed by whoever opened it.
    settings
        How.
    keys
        The keys; those in the store's database unless given. A store in PostgreSQL that needs a
        password needs them given: `ApiKeys(url)`.
    say
        Told how loading goes.
    demo
        Knows what a simulated patient's values are: see `keyhole.counter.service.demo`.
    """
    chosen = settings or ServiceSettings()
    api_keys = ApiKeys(store.url) if keys is None else keys
    access, counts = AccessControl(api_keys, chosen), RequestCounts()
    loading = LearnerLoader(store, say)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = chosen.threads
        loading.begin()
        yield
        loading.stopping.set()
        app.state.writing.close()
        api_keys.close()

    app = Service(
        title="keyhole",
        version=__version__,
        description="Learners that buy features, asked and told by ticket.",
        lifespan=lifespan,
        dependencies=[Depends(authorize_request)],
        docs_url=None,  # it would load scripts from elsewhere: pages/api.py has our own
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.store, app.state.settings, app.state.access = store, chosen, access
    app.state.counts, app.state.demo, app.state.refused = counts, demo, counts.refused
    app.state.open_tickets = OpenTickets(store, chosen.open_tickets)
    app.state.ready, app.state.stopping = loading.ready, loading.stopping
    app.state.writing = AsyncStore(store)
    app.include_router(api_tickets.direct)
    app.include_router(api_tickets.router)
    app.include_router(api_learners.router)
    _add_the_rest(app, loading)
    app.include_router(pages_router)
    _add_refusals(app)
    app.add_middleware(
        cast(Any, AdmissionMiddleware),
        access=access,
        settings=chosen,
        counts=counts,
        ready=loading.ready,
    )
    return app


def _add_the_rest(app: FastAPI, loading: LearnerLoader) -> None:
    @app.get("/health", tags=["service"])
    async def health() -> dict[str, bool]:
        """Whether the process lives."""
        return {"alive": True}

    @app.get("/ready", tags=["service"], responses={503: {}})
    async def ready() -> Response:
        """Whether it takes requests: 503 while learners are loaded, and while it stops."""
        return json_reply({"ready": loading.ready()}, 200 if loading.ready() else 503)

    @app.get("/metrics", tags=["service"], response_class=Response)
    def metrics(request: Request) -> Response:
        """Figures for Prometheus."""
        state = request.app.state
        return Response(prometheus_text(state.counts, state.store), media_type=CONTENT_TYPE)

    @app.post("/login", tags=["service"], include_in_schema=False)
    def log_in(
        request: Request, key: Annotated[str, Form()] = "", next: Annotated[str, Form()] = "/"
    ) -> Response:
        """Exchange a key for a cookie, for browsers."""
        goal = next if _is_path(next) else "/"
        try:
            cookie = request.app.state.access.log_in(key)
        except NoKeyError:
            return Response(status_code=303, headers={"location": "/login?wrong=1"})
        reply = Response(status_code=303, headers={"location": goal})
        reply.set_cookie(
            COOKIE,
            cookie,
            max_age=int(SESSION_SECONDS),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return reply

    @app.post("/logout", tags=["service"], include_in_schema=False)
    def log_out(request: Request) -> Response:
        """Forget the cookie."""
        request.app.state.access.sessions.end(request.cookies.get(COOKIE, ""))
        reply = Response(status_code=303, headers={"location": "/login"})
        reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return reply


def _add_refusals(app: FastAPI) -> None:
    @app.exception_handler(KeyholeError)
    async def known(request: Request, error: KeyholeError) -> Response:
        return refused(for_caller(request, error))

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()[0]
        return refused(invalid(found["loc"], found["msg"]))

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        words = {404: "there is nothing under this address", 405: "this address takes no such verb"}
        said = words.get(error.status_code, str(error.detail))
        kind = HTTPStatus(error.status_code).phrase.replace(" ", "")
        reply = json_reply({"error": said, "kind": kind}, error.status_code)
        reply.headers.update(error.headers or {})
        return reply

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> Response:
        content = {"error": "something went wrong here; it was logged", "kind": "Bug"}
        return json_reply(content, UNEXPECTED_STATUS)


def _is_path(text: str) -> bool:
    """Whether this is an address within this site, and nothing a browser takes for another one."""
    plain = text.startswith("/") and not text.startswith(("//", "/\\"))
    return plain and text.isascii() and text.isprintable() and "\\" not in text
