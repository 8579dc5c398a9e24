"""The door: what every request passes before anything else sees it, as plain ASGI."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from keyhole.counter.service.guard import BODY, KNOWN, Guard, Who
from keyhole.counter.service.keys import scrubbed
from keyhole.counter.service.limits import Rate
from keyhole.counter.service.metrics import Metrics
from keyhole.counter.service.refusals import (
    HostError,
    NoKeyError,
    NotReadyError,
    TooLargeError,
    TooSlowError,
    refusal,
)
from keyhole.counter.service.routes import is_open, wants_page
from keyhole.counter.service.settings import Settings, bare_host
from keyhole.errors import KeyholeError, printable

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LOG = logging.getLogger("keyhole.counter.service")
LOGIN_BYTES = 10_000  # of a body sent by somebody who has shown no key
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (b"cache-control", b"no-store"),
)


class Door:
    """Host, key, rate, readiness and size, in this order; then the application.

    Nothing behind it is reached without a key when keys are on, but for what `routes.OPEN` lists:
    no page, no file, not even the news that an address does not exist.
    """

    def __init__(
        self,
        app: App,
        guard: Guard,
        settings: Settings,
        metrics: Metrics,
        ready: Callable[[], bool],
    ) -> None:
        self._app, self._guard, self._settings = app, guard, settings
        self._metrics, self._ready = metrics, ready
        self._hosts, self._rate = settings.names(), Rate(settings.rate)

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
                extra = [pair for pair in HEADERS if pair[0] not in given]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        try:
            receive = await self._admit(scope, receive)
        except KeyholeError as error:
            await _refuse(scope, sending, error)
        else:
            await self._app(scope, receive, sending)
        finally:
            self._note(scope, status, time.perf_counter() - begun)

    async def _admit(self, scope: MutableMapping[str, Any], receive: Receive) -> Receive:
        request = HTTPConnection(scope)
        self._check_host(request)
        path = scope["path"]
        most = self._settings.body_bytes
        if is_open(path):
            most = LOGIN_BYTES
        else:
            who = await self._identify(request)
            scope[KNOWN] = who
            if who.key is not None:
                self._rate.take(who.id)
            if not self._ready():
                raise NotReadyError("learners are being loaded: /ready says when that is done")
        return await self._body(request, receive, most)

    def _check_host(self, request: HTTPConnection) -> None:
        header = request.headers.get("host", "")
        if bare_host(header) not in self._hosts:
            raise HostError(
                "this service does not answer to the host of the request; "
                "`keyhole serve --allow-host NAME` adds one"
            )

    async def _identify(self, request: HTTPConnection) -> Who:
        if self._guard.ring.fresh:
            return self._guard.identify(request)
        return await run_in_threadpool(self._guard.identify, request)

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
                    if size > most:
                        raise _too_large(most)
        except TimeoutError:
            raise TooSlowError(
                f"the request did not arrive within {self._settings.body_seconds:g} seconds"
            ) from None
        request.scope[BODY] = b"".join(chunks)
        whole: Message | None = {"type": "http.request", "body": request.scope[BODY]}

        async def again() -> Message:
            nonlocal whole
            if whole is None:
                return await receive()
            message, whole = whole, None
            return message

        return again

    def _note(self, scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"
        who: Who | None = scope.get(KNOWN)
        id = "" if who is None else who.id
        self._metrics.count(method, route, status, seconds, id)
        if self._settings.access_log:
            path = scrubbed(printable(scope["path"]))
            LOG.info("%s %s %s %d %.1f ms", id or "-", method, path, status, 1e3 * seconds)


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def _too_large(most: int) -> TooLargeError:
    return TooLargeError(f"a request may have at most {most:,} bytes: send less at a time")


async def _refuse(scope: MutableMapping[str, Any], send: Send, error: KeyholeError) -> None:
    status, headers, body = refusal(error)
    if isinstance(error, NoKeyError) and wants_page(HTTPConnection(scope)):
        status, body = 303, b""
        headers = {"location": f"/login?next={quote(scope['path'])}"}
    if isinstance(error, TooLargeError | TooSlowError):
        headers["connection"] = "close"  # the rest of the body is not read
    headers["content-length"] = str(len(body))
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
