"""Server process of the HTTP service: uvicorn, its socket, its signals and its log."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, cast

import uvicorn

from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.service.app import create_app
from keyhole.counter.service.connections import Connections
from keyhole.counter.service.settings import ServiceSettings
from keyhole.counter.store import Store
from keyhole.errors import KeyholeError, StoreError
from keyhole.saving.parallel import signals_handled

SHUTDOWN_SECONDS = 30  # seconds that requests have to finish in when it is told to stop
KEEP_ALIVE_SECONDS = 75  # seconds
SPARE_CONNECTIONS = 64  # that may be there for a moment, until those that must go are gone


class Server(uvicorn.Server):
    """Uvicorn that ends in peace: a signal stops it, and is not raised again afterwards."""

    def __init__(self, config: uvicorn.Config, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping
        self.signal: int | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGTERM and SIGINT while it runs, where that is possible."""
        with signals_handled(self.handle_exit, signal.SIGTERM, signal.SIGINT):
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take nothing more; on a second Ctrl-C, wait for nobody."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.signal = sig
        self.stop()

    def stop(self) -> None:
        """Take nothing more, finish what was taken, and end."""
        self._stopping.set()
        self.should_exit = True


def serve(
    store: Store,
    keys: ApiKeys,
    settings: ServiceSettings,
    *,
    say: Callable[[str], None],
    demo: Any = None,
    sockets: list[socket.socket] | None = None,
) -> int:
    """Serve until a signal comes; which one it was, 0 for none. The store stays open."""
    refuse_public_without_key(settings, keys)
    listening = sockets or [bound(settings)]
    server = make_server(store, keys, settings, say=say, demo=demo)
    say(f"listening on {address(settings, listening[0])}, store {store.url}")
    try:
        server.run(sockets=listening)
    finally:
        for each in listening:
            each.close()
    return server.signal or 0


def make_server(
    store: Store,
    keys: ApiKeys,
    settings: ServiceSettings,
    *,
    say: Callable[[str], None],
    demo: Any = None,
) -> Server:
    """A server that is not running yet."""
    app = create_app(store, settings, keys=keys, say=say, demo=demo)
    config = uvicorn.Config(
        app,
        http=cast(Any, Connections(settings).protocol),
        log_config=None,  # its own would bypass ours, and the secrets that ours leaves out
        access_log=False,  # it would log queries; the middleware has a log of its own
        log_level="warning",
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        limit_concurrency=settings.connections + SPARE_CONNECTIONS,
        ws="none",
    )
    return Server(config, app.state.stopping)


def refuse_public_without_key(settings: ServiceSettings, keys: ApiKeys) -> None:
    """KeyholeError if others than this machine could come in without a key."""
    if not settings.local and not any(key.state == "valid" for key in keys.all()):
        raise KeyholeError(
            "others could reach the service, and there is no key: make one with `keyhole keys "
            "create --role admin` (and the same --store), or serve on 127.0.0.1 only"
        )


def bound(settings: ServiceSettings) -> socket.socket:
    """A socket at the address of the settings, or a StoreError that says why not."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise StoreError(f"cannot listen on {settings.host}: {error}") from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(2048)
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or error
        raise StoreError(
            f"cannot listen on {settings.host}, port {settings.port}: {reason}; --port takes "
            "another one"
        ) from None
    return made


def address(settings: ServiceSettings, listening: socket.socket) -> str:
    """Where a browser finds it."""
    port = listening.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port}"
