"""Services for tests: one in a thread of this process, one in a process of its own."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.service.server import bound, make_server
from keyhole.counter.service.settings import ServiceSettings


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def json(self) -> Any:
        """The content, which must be JSON that other languages read, too."""

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not a number of JSON")

        return json.loads(self.content, parse_constant=refuse)

    @property
    def kind(self) -> str:
        """Of the error."""
        return str(self.json["kind"])


@dataclass(frozen=True)
class Service:
    """A service that runs, and requests to it."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def request(self, method: str, path: str, body: Any = None, **headers: str | None) -> Reply:
        """One request on a connection of its own; a body that is not bytes goes as JSON."""
        parts = urlsplit(self.url)
        given = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if data is not None and not isinstance(body, bytes):
            given.setdefault("content-type", "application/json")
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        try:
            sent = {name: value for name, value in given.items() if value is not None}
            connection.request(method, path, data, sent)
            reply = connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Reply:
        """GET."""
        return self.request("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str | None) -> Reply:
        """POST."""
        return self.request("POST", path, {} if body is None else body, **headers)

    def with_key(self, secret: str) -> "Service":
        """The same service, with a key in every request."""
        return Service(self.url, {"authorization": f"Bearer {secret}"})

    def wait(self) -> None:
        """Until it is ready; that takes a second, even on a busy machine not a minute."""
        ends = time.monotonic() + 60.0
        while self.get("/ready").status != 200:
            assert time.monotonic() < ends, "the service does not become ready"
            time.sleep(0.02)


@contextlib.contextmanager
def serving(
    store: kh.Store, settings: ServiceSettings | None = None, keys: ApiKeys | None = None
) -> Iterator[Service]:
    """A service in a thread, on a free port of this machine."""
    chosen = settings or ServiceSettings(port=0)
    api_keys = keys or ApiKeys(store.url)
    listening = bound(chosen)
    server = make_server(store, api_keys, chosen, say=lambda line: None)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    service = Service(f"http://127.0.0.1:{listening.getsockname()[1]}")
    try:
        service.wait()
        yield service
    finally:
        server.stop()
        thread.join()


class Process:
    """`keyhole serve` in a process of its own. Its port stays the same if it is started again."""

    def __init__(self, store: str | Path, *options: str) -> None:
        self._store, self._options, self._port = str(store), options, 0
        self.log = ""
        self.process = self._started()

    @property
    def service(self) -> Service:
        """For requests to it."""
        return Service(f"http://127.0.0.1:{self._port}")

    def kill(self) -> None:
        """As a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> int:
        """As a service manager would; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._end()

    def restart(self) -> None:
        """Start it again."""
        self.process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "keyhole", "serve", "--store", self._store),
                *("--port", str(self._port), *self._options),
            ],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stderr is not None
        for line in process.stderr:
            self.log += line
            found = re.search(r"listening on http://[^ ]*:(\d+),", line)
            if found:
                self._port = int(found[1])
            if line.strip() == "keyhole: ready" or '"message": "ready"' in line:
                self._reader = threading.Thread(target=self._read, args=(process,))
                self._reader.start()
                return process
        raise AssertionError(f"it did not start: {self.log}")

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self.log += line

    def _end(self) -> int:
        code = self.process.wait()
        self._reader.join()
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code
