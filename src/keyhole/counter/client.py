"""HTTP client: a learner of a remote service, `kh.connect("http://...", learner="clinic")`."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import random
import ssl
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from keyhole import errors
from keyhole.errors import (
    KeyholeError,
    ServiceError,
    StateError,
    TicketError,
    finite_label,
    positive_number,
    shortened,
)
from keyhole.problem import Floats, Learner, Problem
from keyhole.problem.labels import PredictionInterval, a_coverage
from keyhole.problem.problem import problem_from_dict
from keyhole.problem.sparse_model import SparseModel
from keyhole.problem.ticket import Observation, Ticket, refuse_unfilled

RETRY_STATUSES = (408, 429, 502, 503, 504)  # what may pass
FIRST_PAUSE, MAX_PAUSE = 0.05, 2.0  # seconds
ERRORS_BY_NAME: Mapping[str, type[KeyholeError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, KeyholeError)
}


def connect(
    url: str,
    learner: str,
    *,
    key: str | None = None,
    who: str = "",
    patience: float = 30.0,
    timeout: float = 60.0,
) -> RemoteLearner:
    """A learner of a service (`keyhole serve`), to be used like any other `kh.Learner`.

    Parameters
    ----------
    url
        Where the service is: `http://127.0.0.1:8321`, `https://...`.
    learner
        Its name there.
    key
        A key with the roles read, ask and tell; None: that of the environment variable
        `KEYHOLE_KEY`, if there is one.
    who
        Who asks and tells; kept in the log there.
    patience
        For how many seconds to try again when the service cannot be reached, or is busy.
    timeout
        How long to wait for a reply, in seconds, before trying again.

    Guarantee
    ---------
    Every request that changes something carries an idempotency key and is repeated with it until
    there is a reply, so it is done once, whatever is lost on the way. `kh.play` gives the
    transcript of the same learner in memory, bit for bit.
    """
    client = Client(url, key=key, patience=patience, timeout=timeout)
    path = f"/api/v1/learners/{quote(learner, safe='')}"
    try:
        problem = problem_from_dict(client.get(f"{path}/problem"))
    except BaseException:
        client.close()
        raise
    return RemoteLearner(client, path, problem, who)


@dataclass(frozen=True, slots=True)
class IssuedTicket:
    """A ticket that is open, and its id there."""

    id: str
    ticket: Ticket


class RemoteLearner:
    """A learner of a service. Threads may share one; each has a connection of its own.

    What was asked here is kept until it is told or dropped; a ticket that was asked elsewhere is
    looked up by its round.
    """

    def __init__(self, client: Client, path: str, problem: Problem, who: str) -> None:
        self._client, self._path, self._problem, self._who = client, path, problem, who
        self._open: dict[int, IssuedTicket] = {}

    def __repr__(self) -> str:
        p = self.problem
        return f"<RemoteLearner at {self._path}: d={p.d}, k={p.k}, budget={p.budget:g}>"

    @property
    def problem(self) -> Problem:
        """The problem it was made for."""
        return self._problem

    @property
    def round(self) -> int:
        """How many tickets were issued so far."""
        return int(self._client.get(self._path)["rounds"])

    @property
    def weights(self) -> Floats:
        """The current linear model."""
        found = self._client.get(f"{self._path}/model", whole=True)
        return np.array(found["all_weights"], dtype=np.float64)

    @property
    def intercept(self) -> float:
        """What the current model adds to the weighted sum."""
        return float(self._client.get(f"{self._path}/model", whole=True)["all_intercept"])

    def model(self) -> SparseModel:
        """The sparse model that it would be used as."""
        found = self._client.get(f"{self._path}/model")
        rows = found["weights"]
        return SparseModel(
            names=tuple(row["feature"] for row in rows),
            weights=np.array([row["weight"] for row in rows], dtype=np.float64),
            intercept=found["intercept"],
            features=np.array([row["number"] for row in rows], dtype=np.int64),
            past=found["past"],
        )

    def ask(self, **terms: Any) -> Ticket:
        """The ticket of the next round; on terms of its own, where the learner takes them."""
        body: dict[str, Any] = {"who": self._who}
        if terms:
            body["terms"] = {name: _plain(value) for name, value in terms.items()}
        [reply] = self._client.post(f"{self._path}/tickets", body, whole=True)["tickets"]
        issued = _issued_ticket(reply)
        self._open[issued.ticket.round] = issued
        return issued.ticket

    def predict(self, seen: Observation) -> float:
        """The predicted label; changes nothing, and is not kept."""
        body = {"round": seen.round, "values": written_values(seen)}
        return float(self._client.post(f"{self._path}/predictions", body)["prediction"])

    def interval(self, seen: Observation, coverage: float = 0.9) -> PredictionInterval:
        """Where the label will be, in that share of rounds; the values are kept there."""
        refuse_unfilled("interval", seen)
        self._find(seen.ticket)
        share, values = a_coverage(coverage), written_values(seen)
        body = {"round": seen.round, "values": values, "coverage": share}
        return served_interval(self._client.post(f"{self._path}/intervals", body))

    def tell(self, seen: Observation, y: float) -> None:
        """Learn from the label of a ticket and close it."""
        label = finite_label(y)
        refuse_unfilled("tell", seen)
        body = {"label": label, "values": written_values(seen), "who": self._who}
        self._close(seen.ticket, "label", body)

    def drop(self, ticket: Ticket) -> None:
        """Close a ticket whose label will never come."""
        if not isinstance(ticket, Ticket):
            raise TicketError(f"a ticket is what ask() returns, got a {type(ticket).__name__}")
        self._close(ticket, "drop", {"who": self._who})

    def correct(self, ticket: Ticket, **right: Any) -> None:
        """Refused: the service keeps a log of what it was told."""
        raise StateError(
            f"{self!r} cannot correct what it was told: the service keeps a log of what came in. "
            "Create another learner there and tell it everything right, or use kh.AutoLearner here"
        )

    def id_of(self, ticket: Ticket) -> str:
        """The id there of a ticket of this learner."""
        return self._find(ticket).id

    def close(self) -> None:
        """Close the connection of this thread."""
        self._client.close()

    def _close(self, ticket: Ticket, verb: str, body: Mapping[str, Any]) -> None:
        id = self._find(ticket).id
        self._client.post(f"/api/v1/tickets/{id}/{verb}", body)
        self._open.pop(ticket.round, None)

    def _find(self, ticket: Ticket) -> IssuedTicket:
        """An open ticket as it was issued; TicketError if it is closed, or was another one."""
        issued = self._open.get(ticket.round)
        if issued is None:
            reply = self._client.get(f"{self._path}/rounds/{ticket.round}", whole=True)
            state = reply["state"]
            if state not in ("asked", "filled"):
                raise TicketError(f"the ticket of round {ticket.round} is closed: it was {state}")
            issued = _issued_ticket(reply)
        if not ticket.says_the_same(issued.ticket):
            raise TicketError(
                f"the ticket of round {ticket.round} is not what was issued: it was changed, or is "
                "another learner's"
            )
        return issued

    def __deepcopy__(self, memo: dict[int, Any]) -> Learner:
        from keyhole.saving.api import from_bytes

        return from_bytes(self._client.fetch(f"{self._path}/state"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


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

    def get(self, path: str, **query: bool) -> Any:
        """What is there, as JSON."""
        return json.loads(self._request("GET", _path(path, query)))

    def fetch(self, path: str) -> bytes:
        """What is there."""
        return self._request("GET", path)

    def post(self, path: str, body: Mapping[str, Any], **query: bool) -> Any:
        """Do something, once."""
        headers = {"content-type": "application/json", "idempotency-key": uuid.uuid4().hex}
        data = json.dumps(body, allow_nan=False).encode()
        return json.loads(self._request("POST", _path(path, query), data, headers))

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
    ) -> bytes:
        ends, pause = time.monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                return self._once(method, path, data, {**self._headers, **(headers or {})})
            except _RetryableError as error:
                wait = max(pause * random.uniform(0.5, 1.0), error.after)
                if time.monotonic() + wait > ends:
                    raise error.last from None
            time.sleep(wait)
            pause = min(2 * pause, MAX_PAUSE)

    def _once(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> bytes:
        try:
            connection = self._connected()
            connection.request(method, path, data, headers)
            reply = connection.getresponse()
            content = reply.read()
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
            self._local.connection = connection
        return connection

    def __deepcopy__(self, memo: dict[int, Any]) -> Client:
        return self


class _RetryableError(Exception):
    """A request that may go better next time, and what to say if there is none."""

    def __init__(self, last: KeyholeError, after: float = 0.0) -> None:
        super().__init__(str(last))
        self.last, self.after = last, after


def _address(url: str) -> Any:
    with contextlib.suppress(ValueError, AttributeError, TypeError):
        parts = urlsplit(url)
        parts.port  # noqa: B018 # a ValueError if it is none
        if parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/"):
            return parts
    raise ServiceError(f"url must be like http://127.0.0.1:8321, got {shortened(url)}")


def _path(path: str, query: Mapping[str, bool]) -> str:
    given = {name: "true" for name, wanted in query.items() if wanted}
    return f"{path}?{urlencode(given)}" if given else path


def _error(status: int, content: bytes) -> KeyholeError:
    """The error that the service tells of."""
    try:
        said = json.loads(content)
        kind, words = ERRORS_BY_NAME.get(said["kind"], ServiceError), str(said["error"])
    except (ValueError, KeyError, TypeError):
        kind, words = ServiceError, f"status {status}: {shortened(content[:200])}"
    return kind(words)


def _issued_ticket(reply: Mapping[str, Any]) -> IssuedTicket:
    return IssuedTicket(reply["id"], Ticket.from_json(json.dumps(reply["ticket"])))


def written_values(seen: Observation) -> list[float | None]:
    """What came back as JSON has it: null for what did not arrive."""
    return [None if math.isnan(value) else value for value in seen.values.tolist()]


def served_interval(served: Mapping[str, Any]) -> PredictionInterval:
    """An interval from JSON, which has no infinity: an end that is not there is that."""
    low = -math.inf if served["low"] is None else served["low"]
    high = math.inf if served["high"] is None else served["high"]
    return PredictionInterval(low, high, served["coverage"], served["prediction"])


def _plain(value: Any) -> Any:
    """Terms of one example as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | type(None)) else str(value)
