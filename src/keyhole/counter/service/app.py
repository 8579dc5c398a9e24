"""The application: a store behind the door, with its API and, if they are there, its pages."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import threading
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Annotated, Any, cast

import anyio.to_thread
from fastapi import FastAPI, Form, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Depends
from starlette.exceptions import HTTPException

from keyhole.counter.service import api_learners, api_tickets
from keyhole.counter.service.door import Door
from keyhole.counter.service.guard import Guard
from keyhole.counter.service.keys import KeyRing
from keyhole.counter.service.limits import OpenTickets
from keyhole.counter.service.metrics import CONTENT_TYPE, Metrics
from keyhole.counter.service.quick import Quick
from keyhole.counter.service.refusals import UNEXPECTED, NoKeyError, invalid, refused, written
from keyhole.counter.service.replies import json_reply
from keyhole.counter.service.routes import authorise
from keyhole.counter.service.sessions import COOKIE, SECONDS
from keyhole.counter.service.settings import Settings
from keyhole.counter.store import Store
from keyhole.counter.store.async_store import AsyncStore
from keyhole.errors import KeyholeError
from keyhole.version import __version__

LOG = logging.getLogger("keyhole.counter.service")
Say = Callable[[str], None]


class Loading:
    """Loads all learners when the service starts, beside requests that need none."""

    def __init__(self, store: Store, say: Say) -> None:
        self._store, self._say = store, say
        self._done = threading.Event()
        self.stopping = threading.Event()

    def ready(self) -> bool:
        """Whether requests are taken."""
        return self._done.is_set() and not self.stopping.is_set()

    def begin(self) -> None:
        """Load all learners, in a thread of its own."""
        threading.Thread(target=self._all, name="keyhole loading", daemon=True).start()

    def _all(self) -> None:
        names = self._names()
        for number, name in enumerate(names, start=1):
            if self.stopping.is_set():
                return
            self._say(f"loading {name} ({number} of {len(names)})")
            self._one(name)
        self._done.set()
        if not self.stopping.is_set():
            self._say("ready")

    def _names(self) -> tuple[str, ...]:
        """The learners there are, as soon as the store says so."""
        while not self.stopping.is_set():
            try:
                return self._store.names()
            except KeyholeError as error:
                self._say(f"the store cannot be read, trying again: {error}")
                self.stopping.wait(2.0)
        return ()

    def _one(self, name: str) -> None:
        """Load a learner; one that cannot be served is said, and the others are served."""
        try:
            self._store.load(name)
        except KeyholeError as error:
            self._say(f"{name} is not served: {error}")
        except Exception as error:
            LOG.exception("loading")
            self._say(f"{name} could not be loaded: {type(error).__name__}: {error}")


def create_app(
    store: Store,
    settings: Settings | None = None,
    *,
    keys: KeyRing | None = None,
    say: Say = LOG.info,
    demo: Any = None,
    quick: bool = True,
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
        password needs them given: `KeyRing(url)`.
    say
        Told how loading goes.
    demo
        Knows what a simulated patient's values are: see `keyhole.counter.service.demo`.
    quick
        Whether the routes that are called all the time are served past FastAPI, with the same
        replies.
    """
    chosen = settings or Settings()
    ring = KeyRing(store.url) if keys is None else keys
    guard, metrics, loading = Guard(ring, chosen), Metrics(), Loading(store, say)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = chosen.threads
        loading.begin()
        yield
        loading.stopping.set()
        app.state.writing.close()
        ring.close()

    app = FastAPI(
        title="keyhole",
        version=__version__,
        description="Learners that buy features, asked and told by ticket.",
        lifespan=lifespan,
        dependencies=[Depends(authorise)],
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.store, app.state.settings, app.state.guard = store, chosen, guard
    app.state.metrics, app.state.demo, app.state.refused = metrics, demo, metrics.refused
    app.state.open_tickets = OpenTickets(store, chosen.open_tickets)
    app.state.ready, app.state.stopping = loading.ready, loading.stopping
    app.state.writing = AsyncStore(store)
    app.include_router(api_tickets.quick)
    app.include_router(api_tickets.router)
    app.include_router(api_learners.router)
    _add_the_rest(app, loading)
    _add_pages(app)
    _add_refusals(app)
    if quick:
        app.add_middleware(cast(Any, Quick), routes=api_tickets.quick.routes)
    app.add_middleware(
        cast(Any, Door), guard=guard, settings=chosen, metrics=metrics, ready=loading.ready
    )
    return app


def _add_the_rest(app: FastAPI, loading: Loading) -> None:
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
        return Response(state.metrics.text(state.store), media_type=CONTENT_TYPE)

    @app.post("/login", tags=["service"], include_in_schema=False)
    def log_in(
        request: Request, key: Annotated[str, Form()] = "", next: Annotated[str, Form()] = "/"
    ) -> Response:
        """Exchange a key for a cookie, for browsers."""
        goal = next if _is_path(next) else "/"
        try:
            cookie = request.app.state.guard.log_in(key)
        except NoKeyError:
            return Response(status_code=303, headers={"location": "/login?wrong=1"})
        reply = Response(status_code=303, headers={"location": goal})
        reply.set_cookie(
            COOKIE,
            cookie,
            max_age=int(SECONDS),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return reply

    @app.post("/logout", tags=["service"], include_in_schema=False)
    def log_out(request: Request) -> Response:
        """Forget the cookie."""
        request.app.state.guard.sessions.end(request.cookies.get(COOKIE, ""))
        reply = Response(status_code=303, headers={"location": "/login"})
        reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return reply


def _add_pages(app: FastAPI) -> None:
    if importlib.util.find_spec("keyhole.counter.service.pages") is not None:
        app.include_router(importlib.import_module("keyhole.counter.service.pages").pages_router)


def _add_refusals(app: FastAPI) -> None:
    @app.exception_handler(KeyholeError)
    async def known(request: Request, error: KeyholeError) -> Response:
        return refused(error)

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
        return Response(written(content), UNEXPECTED, media_type="application/json")


def _is_path(text: str) -> bool:
    """Whether this is an address within this site, and nothing a browser takes for another one."""
    plain = text.startswith("/") and not text.startswith(("//", "/\\"))
    return plain and text.isascii() and text.isprintable() and "\\" not in text
