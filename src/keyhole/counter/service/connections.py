"""Connections of the HTTP server: how many, and what each may take before there is a request."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from keyhole.counter.service.settings import ServiceSettings

MAX_HEAD_BYTES = 1 << 16  # of a request: its first line and its headers
HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class Connections:
    """All connections of one server, those that were used last at the end.

    Before a request is there, nobody knows whose it is: one that sends nothing, or half a head, is
    closed after some seconds. When there are too many, the one that has idled for longest goes.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.head_seconds, self._most = settings.head_seconds, settings.connections
        self._open: dict[BoundedConnection, None] = {}

    def protocol(self, **given: Any) -> BoundedConnection:
        """For a new connection; what uvicorn calls."""
        return BoundedConnection(self, cast(Any, AutoHTTPProtocol)(**given))

    def used(self, connection: BoundedConnection) -> None:
        """Take notice of a connection that is new, or has a request."""
        self._open.pop(connection, None)
        if len(self._open) >= self._most:
            idle = next((other for other in self._open if other.idle), None)
            if idle is not None:
                idle.close()
        self._open[connection] = None

    def closed(self, connection: BoundedConnection) -> None:
        """Forget a connection."""
        self._open.pop(connection, None)


class BoundedConnection(asyncio.Protocol):
    """A connection that uvicorn serves, and what it may take before there is a request."""

    def __init__(self, connections: Connections, inner: Any) -> None:
        self._connections, self._inner = connections, inner
        self._transport: Any = None
        self._head_bytes = 0  # of a request that is not whole yet
        self._too_late: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether no request is worked on: there is none, or not all of it."""
        cycle = self._inner.cycle
        return cycle is None or bool(cycle.response_complete or cycle.more_body)

    def close(self) -> None:
        """Close it."""
        self._connections.closed(self)
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It begins: a request must come."""
        self._transport = transport
        self._inner.connection_made(transport)
        self._connections.used(self)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Bytes of a request; when its head is whole, uvicorn begins with it."""
        before = self._inner.cycle
        is_body = before is not None and before.more_body and not before.response_complete
        self._inner.data_received(data)
        if self._inner.cycle is not before:
            self._head_bytes = 0
            self._stop_waiting()
            self._connections.used(self)
        elif not is_body and not self._transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._transport.write(HEAD_TOO_LARGE)
                self.close()
            elif self._too_late is None:
                self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._stop_waiting()
        self._connections.closed(self)
        self._inner.connection_lost(exc)

    def eof_received(self) -> None:
        """The client sends nothing more."""
        self._inner.eof_received()

    def pause_writing(self) -> None:
        """The client does not read as fast as we write."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._inner.resume_writing()

    def _wait(self) -> None:
        """Begin to wait for a whole head."""
        loop = asyncio.get_running_loop()
        self._too_late = loop.call_later(self._connections.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._too_late is not None:
            self._too_late.cancel()
            self._too_late = None

    def _give_up(self) -> None:
        if self.idle:
            self.close()
        else:
            self._wait()  # what was sent ahead of its turn has time until then
