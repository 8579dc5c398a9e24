"""Requests of the HTTP client: repeated until there is a reply, bounded in time and size."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import random
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from keyhole import errors
from keyhole.errors import (
    DoubtError,
    KeyholeError,
    ServiceError,
    positive_number,
    shortened,
    without_password,
)
from keyhole.learners.doubts import Doubt

T = TypeVar("T")
RETRY_STATUSES = (408, 429, 502, 503, 504)  # what may pass
FIRST_PAUSE, MAX_PAUSE = 0.05, 2.0  # seconds
MAX_REPLY_BYTES = 1 << 26  # of JSON; a learner itself may be larger
MAX_STATE_BYTES = 1 << 30
MAX_ERROR_LENGTH = 2000  # characters
PIECE_BYTES = 1 << 16  # that are read at a time
ERRORS_BY_NAME: Mapping[str, type[KeyholeError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, KeyholeError)
}


class Client:
    """Requests over connections that are kept, repeated until there is a reply."""

    def __init__(
        self, url: str, *, key: str | None = None, patience: float = 30.0, timeout: float = 60.0
    ) -> None:
        self._address = _address(url)
        self._patience = positive_number("patience", patience)
        self._timeout = positive_number("timeout", timeout)
        self._headers = {"accept": "application/json", "user-agent": "keyhole"}
        secret = os.environ.get("KEYHOLE_KEY") if key is None else key
        if secret:
            if not secret.isascii() or not secret.isprintable():
                raise ServiceError("key must be what `keyhole keys create` printed")
            self._headers["authorization"] = f"Bearer {secret}"
        self._local = threading.local()

    def get(self, path: str, read: Callable[[Any], T], **query: bool) -> T:
        """What is there: `read` makes it from the JSON of the reply."""
        return self._read(self._request("GET", _path(path, query)), read)

    def fetch(self, path: str) -> bytes:
        """What is there, as it is."""
        return self._request("GET", path, most=MAX_STATE_BYTES)

    def post(
        self, path: str, body: Mapping[str, Any], read: Callable[[Any], T], **query: bool
    ) -> T:
        """Do something, once; `read` makes the result from the JSON of the reply."""
        headers = {"content-type": "application/json", "idempotency-key": uuid.uuid4().hex}
        data = json.dumps(body, allow_nan=False).encode()
        return self._read(self._request("POST", _path(path, query), data, headers), read)

    def _read(self, content: bytes, read: Callable[[Any], T]) -> T:
        """A reply is data: whatever it leads to is a ServiceError."""
        try:
            return read(json.loads(content))
        except Exception as error:
            raise ServiceError(
                f"{self._address.geturl()} does not answer as keyhole does "
                f"({shortened(str(error))[1:-1]}): {shortened(content[:200])}"
            ) from None

    def close(self) -> None:
        """Close the connection of this thread."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _request(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        most: int | None = None,
    ) -> bytes:
        ends, pause = time.monotonic() + self._patience, FIRST_PAUSE
        most = MAX_REPLY_BYTES if most is None else most
        while True:
            try:
                return self._once(method, path, data, {**self._headers, **(headers or {})}, most)
            except _RetryableError as error:
                wait = max(pause * random.uniform(0.5, 1.0), error.after)
                if time.monotonic() + wait > ends:
                    raise error.last from None
            time.sleep(wait)
            pause = min(2 * pause, MAX_PAUSE)

    def _once(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str], most: int
    ) -> bytes:
        ends = time.monotonic() + self._timeout
        try:
            connection = self._connected()
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(_left(ends))
            connection.request(method, path, data, headers)
            connection.sock.settimeout(_left(ends))
            reply = connection.getresponse()
            content = self._content(reply, most)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            reason = str(error) or type(error).__name__
            raise _RetryableError(
                ServiceError(f"{self._address.geturl()} does not answer: {reason}")
            ) from None
        except BaseException:
            self.close()  # Ctrl-C: what is left of the reply is nobody's
            raise
        if reply.status < 300:
            return content
        refused = _error(reply.status, content)
        if reply.status in RETRY_STATUSES:
            after = reply.headers.get("retry-after", "0")
            raise _RetryableError(refused, min(float(after), MAX_PAUSE) if after.isdigit() else 0.0)
        raise refused

    def _content(self, reply: http.client.HTTPResponse, most: int) -> bytes:
        """The content of a reply, whole and not larger than `most`."""
        parts, size = list[bytes](), 0
        while size <= most and (reply.length or 0) <= most:
            part = reply.read(PIECE_BYTES)
            if not part:
                if reply.length:
                    raise http.client.IncompleteRead(b"", reply.length)
                return b"".join(parts)
            parts.append(part)
            size += len(part)
        raise ServiceError(f"{self._address.geturl()} sends more than {most:,} bytes")

    def _connected(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            host, port = self._address.hostname or "", self._address.port
            if self._address.scheme == "https":
                context = ssl.create_default_context()
                connection = http.client.HTTPSConnection(
                    host, port, timeout=self._timeout, context=context
                )
            else:
                connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
            connection.response_class = _PromptResponse
            self._local.connection = connection
        return connection

    def __deepcopy__(self, memo: dict[int, Any]) -> Client:
        return self


class _PromptResponse(http.client.HTTPResponse):
    """A reply that must have arrived when the timeout is over that its socket has at first."""

    def __init__(self, sock: socket.socket, *given: Any, **named: Any) -> None:
        super().__init__(sock, *given, **named)
        ends = time.monotonic() + (sock.gettimeout() or 0.0)
        self.fp = io.BufferedReader(_PromptReader(self.fp.detach(), sock, ends))


class _PromptReader(io.RawIOBase):
    """What comes from a socket, each read with what is left of the time."""

    def __init__(self, raw: Any, sock: socket.socket, ends: float) -> None:
        super().__init__()
        self._raw, self._sock, self._ends = raw, sock, ends

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Fill a buffer, or as much of it as there is; TimeoutError when the time is over."""
        if not self._raw.closed:
            self._sock.settimeout(_left(self._ends))
        found: int | None = self._raw.readinto(buffer)
        return found

    def close(self) -> None:
        """Let go of the socket."""
        self._raw.close()
        super().close()


def _left(ends: float) -> float:
    """Seconds until then; TimeoutError if there are none."""
    left = ends - time.monotonic()
    if left <= 0.0:
        raise TimeoutError("timed out")
    return left


class _RetryableError(Exception):
    """A request that may go better next time, and what to say if there is none."""

    def __init__(self, last: KeyholeError, after: float = 0.0) -> None:
        super().__init__(str(last))
        self.last, self.after = last, after


def _address(url: str) -> Any:
    with contextlib.suppress(ValueError, AttributeError, TypeError):
        parts = urlsplit(url)
        parts.port  # noqa: B018 # a ValueError if it is none
        plain = parts.path in ("", "/") and not (parts.query or parts.fragment)
        if parts.scheme in ("http", "https") and parts.hostname and plain:
            if "@" not in parts.netloc:
                return parts
            raise ServiceError("url must have no name and no password in it: a key goes into `key`")
    shown = without_password(url) if isinstance(url, str) else url
    raise ServiceError(f"url must be like http://127.0.0.1:8321, got {shortened(shown)}")


def _path(path: str, query: Mapping[str, bool]) -> str:
    given = {name: "true" for name, wanted in query.items() if wanted}
    return f"{path}?{urlencode(given)}" if given else path


def _error(status: int, content: bytes) -> KeyholeError:
    """The error that the service tells of."""
    try:
        said = json.loads(content)
        kind, words = ERRORS_BY_NAME.get(said["kind"], ServiceError), str(said["error"])
        words = words[:MAX_ERROR_LENGTH]
        if kind is DoubtError:
            return DoubtError(words, _doubts(said["doubts"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        kind, words = ServiceError, f"status {status}: {shortened(content[:200])}"
    return kind(words)


def _doubts(said: Any) -> dict[str, tuple[Doubt, ...]]:
    found = dict[str, tuple[Doubt, ...]]()
    for each in said:
        id = str(each["ticket"])
        found[id] = (*found.get(id, ()), Doubt.from_dict(each))
    return found
