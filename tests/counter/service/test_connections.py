"""Before anybody has shown a key: idle connections, heads that never end, bodies over the limit."""

import contextlib
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.service.routes import API_PATH
from keyhole.counter.service.settings import ServiceSettings
from tests.helpers.serving import Service, serving

HEAD = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n"


@contextlib.contextmanager
def connected(service: Service) -> Iterator[socket.socket]:
    """A connection; what takes longer than ten seconds is taken for never."""
    parts = urlsplit(service.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as made:
        yield made


def what_comes(connection: socket.socket) -> bytes:
    """All that comes until the other side hangs up, which it must."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(1 << 16):
            found += data
    return found


@pytest.mark.parametrize("begun", [b"", b"GET", HEAD, HEAD + b"x: " + b"y" * 1000])
def test_who_sends_no_whole_request_is_hung_up_on(store: kh.Store, begun: bytes) -> None:
    settings = ServiceSettings(port=0, head_seconds=0.1)
    with serving(store, settings) as service, connected(service) as one:
        one.sendall(begun)
        assert what_comes(one) == b""
        with connected(service) as other:  # nor after a request that was whole
            other.sendall(HEAD + b"\r\n")
            assert b"200 OK" in other.recv(1 << 16)
            other.sendall(begun or b"G")
            assert what_comes(other) == b""


def test_a_slow_reply_is_not_hung_up_on(store: kh.Store) -> None:
    settings = ServiceSettings(port=0, head_seconds=0.05, body_seconds=0.2)
    with serving(store, settings) as service:
        slow = service.post(f"{API_PATH}/learners/clinic/tickets", b"{", content_length="10")
        assert slow.status == 408


def test_a_head_that_does_not_end_is_not_kept(store: kh.Store) -> None:
    with serving(store) as service, connected(service) as one:
        one.sendall(HEAD)
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 60_000_000:
                one.sendall(b"x: " + b"y" * 10_000 + b"\r\n")
                sent += 10_005
        assert sent < 20_000_000  # what the system keeps for us, and no more
        assert service.get("/health").status == 200


@pytest.mark.parametrize(
    "begun", [b"", HEAD, b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\nkey"]
)
def test_too_many_connections_give_way_to_new_ones(store: kh.Store, begun: bytes) -> None:
    with (
        serving(store, ServiceSettings(port=0, connections=20)) as service,
        contextlib.ExitStack() as stack,
    ):
        idle = []
        for _ in range(120):
            idle.append(stack.enter_context(connected(service)))
            idle[-1].sendall(begun)
        assert service.get("/health").status == 200
        assert what_comes(idle[0]) == b""  # the oldest went first
        with connected(service) as last:
            last.sendall(HEAD + b"\r\n")
            assert b"200 OK" in last.recv(1 << 16)


@pytest.mark.parametrize("with_key", [True, False])
@pytest.mark.parametrize("path", [f"{API_PATH}/learners/clinic/tickets", "/login"])
def test_a_body_over_the_limit_gets_its_answer(
    store: kh.Store, keys: ApiKeys, path: str, with_key: bool
) -> None:
    """Clients read no reply before they have sent all: what is refused is taken, and forgotten."""
    secret, _ = keys.create(["ask"])
    with serving(store, keys=keys) as service:
        caller = service.with_key(secret) if with_key else service
        reply = caller.request("POST", path, b"x" * 20_000_000)
        known = with_key or path == "/login"
        assert reply.status == (413 if known else 401)
        if path != "/login":
            chunk = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
            chunked = caller.request(
                *("POST", path, chunk * 20 + b"0\r\n\r\n"),
                content_length=None,
                transfer_encoding="chunked",
            )
            assert chunked.status == (413 if with_key else 401)
