"""A client of a server that is not keyhole, or wishes it ill: errors of one line, bounded."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import keyhole as kh
from keyhole.counter import transport
from keyhole.counter.transport import Client
from keyhole.problem.problem import problem_to_dict

PROBLEM = problem_to_dict(kh.Problem(d=2, k=1, budget=1))


@contextlib.contextmanager
def saying(answer: Callable[[bytes], Iterator[bytes]]) -> Iterator[str]:
    """The address of a server that answers every request head with these bytes, then hangs up."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            head = connection.recv(1 << 16)
            for part in answer(head):
                connection.sendall(part)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def reply(content: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(content), content)


def learner_of(content: bytes) -> Callable[[bytes], Iterator[bytes]]:
    """A service whose learner is sound and whose other replies are this."""

    def answer(head: bytes) -> Iterator[bytes]:
        sound = b"/problem " in head
        yield reply(json.dumps(PROBLEM).encode() if sound else content)

    return answer


USES: dict[str, Callable[[kh.RemoteLearner], Any]] = {
    "round": lambda learner: learner.round,
    "weights": lambda learner: learner.weights,
    "intercept": lambda learner: learner.intercept,
    "model": lambda learner: learner.model(),
    "ask": lambda learner: learner.ask(),
}
CONTENTS = [
    b"",
    b"<html>hello</html>",
    b"\xff\xfe",
    b"[]",
    b"null",
    b"7",
    b"{}",
    b"[" * 100_000,
    b'{"rounds": "x", "tickets": {}, "weights": 7, "all_weights": "x", "all_intercept": "x"}',
    b'{"rounds": 1e400, "tickets": [], "weights": [7], "all_weights": [1], "all_intercept": NaN}',
    b'{"rounds": [], "tickets": [{"id": 1, "ticket": 2}], "weights": [{}], "all_weights": [[1], 2],'
    b' "all_intercept": null}',
]


@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
def test_replies_that_are_malformed_are_errors_of_the_service(content: bytes) -> None:
    with (
        saying(learner_of(content)) as url,
        contextlib.closing(kh.connect(url, "clinic", patience=0.1)) as learner,
    ):
        for name, use in USES.items():
            with pytest.raises(kh.ServiceError, match="does not answer as keyhole does") as caught:
                use(learner)
            assert len(str(caught.value)) < 500, name
    with saying(lambda head: iter([reply(content)])) as url, pytest.raises(kh.ServiceError):
        kh.connect(url, "clinic", patience=0.1)


def test_a_reply_is_not_read_further_than_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_REPLY_BYTES", 1 << 20)
    sent = 0

    def endless(head: bytes) -> Iterator[bytes]:
        nonlocal sent
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        for _ in range(1000):  # 65 MB, if anybody takes them
            yield b"x" * (1 << 16)
            sent += 1 << 16

    huge = b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n"
    for answer in (endless, lambda head: iter([huge])):
        with saying(answer) as url, pytest.raises(kh.ServiceError, match="more than 1,048,576"):
            Client(url, patience=0.1).get("/", dict)
    assert sent < 1 << 25  # what the system keeps for us, and no more


def test_a_reply_that_is_cut_short_is_none() -> None:
    cut = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}"
    with saying(lambda head: iter([cut])) as url, pytest.raises(kh.ServiceError, match="answer"):
        Client(url, patience=0.05).get("/", dict)


@pytest.mark.parametrize("where", ["head", "content"])
def test_the_timeout_is_of_the_whole_reply(where: str) -> None:
    """A byte now and then does not keep a request alive: it would take a minute."""
    trickled = 0

    def trickle(head: bytes) -> Iterator[bytes]:
        nonlocal trickled
        yield b"HTTP/1.1 200 OK\r\n"
        if where == "content":
            yield b"content-length: 600\r\n\r\n"
        for _ in range(600):
            time.sleep(0.1)
            yield b"x"
            trickled += 1

    with saying(trickle) as url, pytest.raises(kh.ServiceError, match="timed out"):
        Client(url, patience=0.05, timeout=0.3).get("/", dict)
    assert trickled < 300


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter2@127.0.0.1:8321",
        "http://me:hunter2@127.0.0.1:8321/path",
        "ftp://me:hunter2@host",
        "http://me:hunter2@host:port",
        "http://me:hun/hunter2@host",
        "me:hunter2@host",
        "http://host/?password=hunter2",
    ],
)
def test_a_password_in_an_address_is_not_shown(url: str) -> None:
    with pytest.raises(kh.ServiceError, match="url must") as caught:
        kh.connect(url, "clinic", patience=0.1)
    assert "hunter2" not in str(caught.value)
