"""HTTP client: a learner of a remote service, `kh.connect("http://...", learner="clinic")`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

import numpy as np

from keyhole.counter.transport import Client
from keyhole.errors import (
    DataError,
    TicketError,
    finite_label,
    positive_number,
    real_numbers,
    true_or_false,
)
from keyhole.learners.correcting import RightValues, right_values
from keyhole.problem import Floats, Learner, Problem
from keyhole.problem.labels import PredictionInterval, a_coverage
from keyhole.problem.problem import problem_from_dict
from keyhole.problem.sparse_model import SparseModel
from keyhole.problem.step import Step, grown_from
from keyhole.problem.ticket import Observation, Ticket, refuse_unfilled, refuse_unless_ticket


def connect(
    url: str,
    learner: str,
    *,
    key: str | None = None,
    who: str = "",
    confirm: bool = False,
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
    confirm
        Whether implausible values and labels are right, as in data that were recorded; else they
        are a `DoubtError` that has the doubts, of `tell` and `interval`, unless confirmed there.
    patience
        For how many seconds to try again when the service cannot be reached, or is busy.
    timeout
        How long a request may take in all, in seconds, before it is tried again.

    Guarantee
    ---------
    Every request that changes something carries an idempotency key and is repeated with it until
    there is a reply, so it is done once, whatever is lost on the way. `kh.play` gives the
    transcript of the same learner in memory, bit for bit, where nothing is in doubt or `confirm` is
    True.
    """
    client = Client(url, key=key, patience=patience, timeout=timeout)
    path = f"/api/v1/learners/{quote(learner, safe='')}"
    try:
        problem = client.get(f"{path}/problem", problem_from_dict)
    except BaseException:
        client.close()
        raise
    return RemoteLearner(client, path, problem, who, true_or_false("confirm", confirm))


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

    def __init__(
        self, client: Client, path: str, problem: Problem, who: str, confirm: bool = False
    ) -> None:
        self._client, self._path, self._problem, self._who = client, path, problem, who
        self._confirm = confirm
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
        return self._client.get(self._path, lambda reply: int(reply["rounds"]))

    @property
    def weights(self) -> Floats:
        """The current linear model."""
        return self._client.get(f"{self._path}/model", self._read_weights, whole=True)

    @property
    def intercept(self) -> float:
        """What the current model adds to the weighted sum."""
        path = f"{self._path}/model"
        return self._client.get(
            path, lambda reply: finite_label(reply["all_intercept"]), whole=True
        )

    def model(self) -> SparseModel:
        """The sparse model that it would be used as."""
        return self._client.get(f"{self._path}/model", _read_model)

    def ask(self, *, steps: bool = False, **terms: Any) -> Ticket:
        """The ticket of the next round, or its first step; on terms of its own, where it can be."""
        body: dict[str, Any] = {"who": self._who}
        if true_or_false("steps", steps):
            body["steps"] = True
        if terms:
            body["terms"] = {name: _plain(value) for name, value in terms.items()}
        path = f"{self._path}/tickets"
        issued = self._client.post(
            path, body, lambda reply: _issued_ticket(*reply["tickets"]), whole=True
        )
        self._open[issued.ticket.round] = issued
        return issued.ticket

    def predict(self, seen: Observation) -> float:
        """The predicted label; changes nothing, and is not kept."""
        issued = self._find(seen.ticket) if seen.round in self._open else None
        body = {"round": seen.round, "values": _values(seen, issued)}
        path = f"{self._path}/predictions"
        return self._client.post(path, body, lambda reply: finite_label(reply["prediction"]))

    def interval(
        self, seen: Observation, coverage: float = 0.9, *, confirm: bool = False
    ) -> PredictionInterval:
        """Where the label will be, in that share of rounds; the values are kept there."""
        refuse_unfilled("interval", seen)
        share, values = a_coverage(coverage), _values(seen, self._find(seen.ticket))
        sure = confirm or self._confirm
        body = {"round": seen.round, "values": values, "coverage": share, "confirm": sure}
        return self._client.post(f"{self._path}/intervals", body, served_interval)

    def next(
        self, seen: Observation, *, stop_at: float | None = None, confirm: bool = False
    ) -> Step:
        """What to buy next, or that enough is known; both are kept there, and the values."""
        refuse_unfilled("next", seen)
        issued = self._find(seen.ticket)
        body: dict[str, Any] = {"values": _values(seen, issued), "who": self._who}
        body["confirm"] = confirm or self._confirm
        if stop_at is not None:
            body["stop_at"] = positive_number("stop_at", stop_at)
        path = f"/api/v1/tickets/{issued.id}/next"
        step, now = self._client.post(path, body, lambda r: _read_step(seen, r), whole=True)
        self._open[seen.round] = now
        return step

    def tell(self, seen: Observation, y: float, *, confirm: bool = False) -> None:
        """Learn from the label of a ticket and close it."""
        label = finite_label(y)
        refuse_unfilled("tell", seen)
        sure = confirm or self._confirm
        issued = self._find(seen.ticket)
        values = _values(seen, issued)
        body = {"label": label, "values": values, "confirm": sure, "who": self._who}
        self._close(issued, "label", body)

    def drop(self, ticket: Ticket) -> None:
        """Close a ticket whose label will never come."""
        refuse_unless_ticket(ticket)
        self._close(self._find(ticket), "drop", {"who": self._who})

    def correct(
        self,
        ticket: Ticket,
        *,
        y: float | None = None,
        values: RightValues | None = None,
        why: str = "",
        confirm: bool = False,
    ) -> None:
        """Have a row with another label, or other values: see `Store.correct`."""
        refuse_unless_ticket(ticket)
        places, numbers = right_values(ticket, values or {})
        right = zip(ticket.features[places].tolist(), numbers.tolist(), strict=True)
        body: dict[str, Any] = {"why": why, "confirm": confirm or self._confirm, "who": self._who}
        if y is not None:
            body["label"] = finite_label(y)
        if values:
            body["values"] = {str(j): None if math.isnan(value) else value for j, value in right}
        id = self._issued(ticket)[1].id
        self._client.post(f"/api/v1/tickets/{id}/correction", body, dict)

    def id_of(self, ticket: Ticket) -> str:
        """The id there of a ticket of this learner."""
        return self._find(ticket).id

    def close(self) -> None:
        """Close the connection of this thread."""
        self._client.close()

    def _read_weights(self, reply: Mapping[str, Any]) -> Floats:
        weights = real_numbers("weights", np.array(reply["all_weights"])).astype(np.float64)
        if weights.shape != (self.problem.d,):
            raise DataError(f"there are {self.problem.d} features and {len(weights)} weights")
        return weights

    def _close(self, issued: IssuedTicket, verb: str, body: Mapping[str, Any]) -> None:
        self._client.post(f"/api/v1/tickets/{issued.id}/{verb}", body, dict)
        self._open.pop(issued.ticket.round, None)

    def _find(self, ticket: Ticket) -> IssuedTicket:
        """An open ticket as it was issued; TicketError if it is closed, or was another one."""
        state, issued = self._issued(ticket)
        if state not in ("asked", "filled"):
            raise TicketError(f"the ticket of round {ticket.round} is closed: it was {state}")
        return issued

    def _issued(self, ticket: Ticket) -> tuple[str, IssuedTicket]:
        """A ticket as it was issued, and its state; TicketError if it was another one."""
        state, issued = "asked", self._open.get(ticket.round)
        if issued is None:
            path = f"{self._path}/rounds/{ticket.round}"
            state, issued = self._client.get(path, _read_state, whole=True)
        if not grown_from(ticket, issued.ticket):
            raise TicketError(
                f"the ticket of round {ticket.round} is not what was issued: it was changed, or is "
                "another learner's"
            )
        return state, issued

    def __deepcopy__(self, memo: dict[int, Any]) -> Learner:
        from keyhole.saving.api import from_bytes

        return from_bytes(self._client.fetch(f"{self._path}/state"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _issued_ticket(reply: Mapping[str, Any]) -> IssuedTicket:
    return IssuedTicket(str(reply["id"]), Ticket.from_json(json.dumps(reply["ticket"])))


def _read_state(reply: Mapping[str, Any]) -> tuple[str, IssuedTicket]:
    return str(reply["state"]), _issued_ticket(reply)


def _read_step(seen: Observation, reply: Mapping[str, Any]) -> tuple[Step, IssuedTicket]:
    """What was said to buy next, and the ticket as it is by now."""
    issued, said = _issued_ticket(reply), reply["step"]
    cost, reason = float(said["cost"]), str(said["reason"])
    return step_said(seen, issued.ticket, len(said["features"]), cost, reason), issued


def step_said(seen: Observation, now: Ticket, bought: int, cost: float, reason: str) -> Step:
    """What `next` says of a ticket that has just grown by so many features, or by none."""
    if len(seen.ticket.features) + bought != len(now.features):  # it grew before, too
        seen = Observation(now, seen.at(now.features))
    return Step(seen, now, cost, reason)


def _values(
    seen: Observation, issued: IssuedTicket | None
) -> list[float | None] | dict[str, float | None]:
    """What came back: in order, or by feature if the ticket has grown since."""
    values, ticket = written_values(seen), seen.ticket
    if issued is None or len(ticket.features) == len(issued.ticket.features):
        return values
    return dict(zip(ticket.names or map(str, ticket.features.tolist()), values, strict=True))


def _read_model(reply: Mapping[str, Any]) -> SparseModel:
    rows = reply["weights"]
    return SparseModel(
        names=tuple(str(row["feature"]) for row in rows),
        weights=np.array([row["weight"] for row in rows], dtype=np.float64),
        intercept=finite_label(reply["intercept"]),
        features=np.array([row["number"] for row in rows], dtype=np.int64),
        past={str(name): float(value) for name, value in reply["past"].items()},
    )


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
