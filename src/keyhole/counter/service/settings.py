"""Settings of the HTTP service: where it listens, which hosts it answers, and its limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache

from keyhole.errors import ProblemError

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of the service.

    Parameters
    ----------
    host, port
        Where it listens.
    allowed_hosts
        Names under which it may be called (the Host header), beside `host` and those of loopback.
    rate
        Requests per second and key; twice as many at once.
    open_tickets
        Open tickets per key.
    body_bytes, body_seconds
        How large a request may be, and how long it may take to arrive.
    connections, head_seconds
        How many connections there may be, and how long each may take until a request is there.
    features
        How many features a learner made over HTTP may have: memory grows with their square.
    threads
        Requests that are worked on at the same time; those that write share commits.
    access_log
        Whether to log every request.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    allowed_hosts: tuple[str, ...] = ()
    rate: float = 200.0
    open_tickets: int = 10_000
    body_bytes: int = 8_000_000
    body_seconds: float = 30.0
    connections: int = 1_000
    head_seconds: float = 15.0
    features: int = 2_000
    threads: int = 96
    access_log: bool = False

    def __post_init__(self) -> None:
        for name in self.allowed_hosts:
            if not name or (any(letter in name for letter in "/:*@ ") and not _is_address(name)):
                raise ProblemError(
                    f"--allow-host takes a name or an address without a port, got {name!r}"
                )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it, under names of this machine."""
        return all(is_loopback(name) for name in (self.host, *self.allowed_hosts))

    def names(self) -> frozenset[str]:
        """The hosts it answers to, in lower case and without port or brackets."""
        return frozenset(name.lower() for name in (*LOOPBACK, self.host, *self.allowed_hosts))


def is_loopback(host: str) -> bool:
    """Whether this is an address of the machine itself, which no other can reach."""
    if host.lower() == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)  # nearly all requests are for the same
def bare_host(header: str) -> str | None:
    """The host of a Host or Origin, without port and brackets, in lower case; None if it is none.

    >>> bare_host("Example.org:8321"), bare_host("[::1]:8321"), bare_host("a@b"), bare_host("")
    ('example.org', '::1', None, None)
    """
    text = header.strip().lower()
    if text.startswith("["):
        inside, bracket, rest = text[1:].partition("]")
        good = bool(bracket) and _is_address(inside) and (not rest or rest[0] == ":")
        return inside if good and (rest[1:].isdigit() or not rest) else None
    name, colon, port = text.partition(":")
    if not name or (colon and not port.isdigit()) or any(letter in name for letter in "/@\\ ,"):
        return None
    return name.removesuffix(".")
