"""Middleware of the HTTP service: checks host, key, rate and size of requests; counts them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from keyhole.counter.service.access_control import (
    BODY_IN_SCOPE,
    WHO_IN_SCOPE,
    AccessControl,
    Principal,
    RateLimit,
    redacted,
)
from keyhole.counter.service.errors import (
    HostError,
    NoKeyError,
    NotReadyError,
    TooLargeError,
    TooSlowError,
)
from keyhole.counter.service.logs import REQUEST_FIELDS
from keyhole.counter.service.routes import for_caller, is_public, refusal
from keyhole.counter.service.settings import ServiceSettings, bare_host
from keyhole.counter.store import Store
from keyhole.errors import KeyholeError, printable

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

Say = Callable[[str], None]
LOG = logging.getLogger("keyhole.counter.service")
MAX_PUBLIC_BODY_BYTES = 10_000  # of a body sent by somebody who has shown no key
UNREAD_IN_SCOPE = "keyhole.unread"  # whether more of the body is to come
MAX_DISCARDED_BYTES = 100_000_000  # of a body that is refused
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (b"cache-control", b"no-store"),
)


class RequestCounts:
    """Requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._refused: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    def count(self, method: str, route: str, status: int, seconds: float, key: str = "") -> None:
        """Count a request; `key` is the id of its key, empty without a valid one."""
        with self._lock:
            if status >= 400:
                self._refused[key, status] += 1
            self._requests[method, route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def refused(self) -> dict[str, dict[int, int]]:
        """Requests that were refused, by the id of their key and by status, most first."""
        with self._lock:
            counts = self._refused.most_common()
        found: dict[str, dict[int, int]] = {}
        for (key, status), count in counts:
            found.setdefault(key, {})[status] = count
        return dict(sorted(found.items(), key=lambda pair: -sum(pair[1].values())))

    def so_far(self) -> tuple[dict[tuple[str, str, int], int], dict[str, float]]:
        """Requests by method, route and status, and seconds by route."""
        with self._lock:
            return dict(self._requests), dict(self._seconds)


class LearnerLoader:
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


class AdmissionMiddleware:
    """Host, key, rate, readiness and size, in this order; then the application.

    Nothing behind it is reached without a key when keys are on, but for `routes.PUBLIC_PATHS`: no
    page, no file, not even the news that an address does not exist.
    """

    def __init__(
        self,
        app: App,
        access: AccessControl,
        settings: ServiceSettings,
        counts: RequestCounts,
        ready: Callable[[], bool],
    ) -> None:
        self._app, self._access, self._settings = app, access, settings
        self._counts, self._ready = counts, ready
        self._hosts, self._rate = settings.names(), RateLimit(settings.rate)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no web sockets: uvicorn refuses what is not accepted
        begun, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                extra = [pair for pair in SECURITY_HEADERS if pair[0] not in given]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        try:
            admitted = await self._admit(scope, receive)
        except KeyholeError as error:
            await self._refuse(scope, receive, sending, error)
        else:
            await self._app(scope, admitted, sending)
        finally:
            self._note(scope, status, time.perf_counter() - begun)

    async def _admit(self, scope: MutableMapping[str, Any], receive: Receive) -> Receive:
        request = HTTPConnection(scope)
        if bare_host(request.headers.get("host", "")) not in self._hosts:
            raise HostError(
                "this service does not answer to the host of the request; "
                "`keyhole serve --allow-host NAME` adds one"
            )
        if is_public(scope["path"]):
            return await self._body(request, receive, MAX_PUBLIC_BODY_BYTES)
        who = await self._identify(request)
        scope[WHO_IN_SCOPE] = who
        if who.key is not None:
            self._rate.take(who.id)
        if not self._ready():
            raise NotReadyError("learners are being loaded: /ready says when that is done")
        return await self._body(request, receive, self._settings.body_bytes)

    async def _identify(self, request: HTTPConnection) -> Principal:
        if self._access.keys.fresh:
            return self._access.authenticate(request)
        return await run_in_threadpool(self._access.authenticate, request)

    async def _body(self, request: HTTPConnection, receive: Receive, most: int) -> Receive:
        """Read the whole body, so that nobody who works on it waits for a slow client."""
        length = request.headers.get("content-length", "0")
        if length.isdigit() and len(length) < 20 and int(length) > most:
            raise _too_large(most)
        chunks, size, more = [], 0, True
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        break
                    chunks.append(message.get("body", b""))
                    size, more = size + len(chunks[-1]), message.get("more_body", False)
                    request.scope[UNREAD_IN_SCOPE] = more
                    if size > most:
                        raise _too_large(most)
        except TimeoutError:
            raise TooSlowError(
                f"the request did not arrive within {self._settings.body_seconds:g} seconds"
            ) from None
        request.scope[BODY_IN_SCOPE] = b"".join(chunks)
        whole: Message | None = {"type": "http.request", "body": request.scope[BODY_IN_SCOPE]}

        async def again() -> Message:
            nonlocal whole
            if whole is None:
                return await receive()
            message, whole = whole, None
            return message

        return again

    async def _refuse(
        self, scope: MutableMapping[str, Any], receive: Receive, send: Send, error: KeyholeError
    ) -> None:
        request = HTTPConnection(scope)
        status, headers, body = refusal(for_caller(request, error))
        if isinstance(error, NoKeyError) and _wants_page(request):
            status, body = 303, b""
            headers = {"location": f"/login?next={quote(scope['path'])}"}
        sent = request.headers
        has_body = "transfer-encoding" in sent or sent.get("content-length", "0") != "0"
        unread = scope.get(UNREAD_IN_SCOPE, has_body)
        if unread:
            headers["connection"] = "close"
        headers["content-length"] = str(len(body))
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body, "more_body": unread})
        if unread:
            if not isinstance(error, TooSlowError):
                await self._discard(receive)
            await send({"type": "http.response.body", "body": b""})

    async def _discard(self, receive: Receive) -> None:
        """Take what a client goes on to send: it reads no reply before it has sent its body."""
        size = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.body_seconds):
                while size <= MAX_DISCARDED_BYTES:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if message["type"] == "http.disconnect" or not message.get("more_body", False):
                        return

    def _note(self, scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"
        who: Principal | None = scope.get(WHO_IN_SCOPE)
        id = "" if who is None else who.id
        self._counts.count(method, route, status, seconds, id)
        if self._settings.access_log:
            path = redacted(printable(scope["path"]))
            found = (id or "-", method, path, status, round(1e3 * seconds, 1))
            fields = dict(zip(REQUEST_FIELDS, found, strict=True))
            LOG.info("%s %s %s %d %.1f ms", *found, extra=fields)


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def _too_large(most: int) -> TooLargeError:
    return TooLargeError(f"a request may have at most {most:,} bytes: send less at a time")


def _wants_page(request: HTTPConnection) -> bool:
    """Whether a person at a browser asks for a page, and should be shown the way to the login."""
    if request.scope["path"].startswith("/api/"):
        return False
    return request.scope["method"] == "GET" and "text/html" in request.headers.get("accept", "")
