"""The verbs: what asking, filling, telling and dropping do to a learner and to the tables."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event as Signal
from typing import Any, TypeVar

import numpy as np

from keyhole.errors import ConflictError, DataError, KeyholeError, TicketError, UnknownTicketError
from keyhole.store import events, log
from keyhole.store.database import Connection
from keyhole.store.log import Tally, TicketRow
from keyhole.store.memory import Awake
from keyhole.store.projection import project
from keyhole.store.records import Event, Kind
from keyhole.store.ticket_ids import new_id
from keyhole.ticket import Observation, Ticket

T = TypeVar("T")


@dataclass(slots=True)
class Turn:
    """A learner's turn in a transaction: its row is locked, the learner is level with its log."""

    connection: Connection
    row: Tally
    awake: Awake
    now: float
    who: str = ""
    changed: bool = False  # the learner, or the tables: what an error would have to undo
    bodies: dict[int, str] = field(default_factory=dict)  # of events that were read or written

    def change(self, call: Callable[..., T], *given: Any) -> T:
        """Have the learner do something that changes it; a KeyholeError leaves it as it was."""
        try:
            result = call(*given)
        except KeyholeError:
            raise
        except BaseException:
            self.changed = True
            raise
        self.changed = True
        return result

    def append(self, kind: Kind, id: str, body: str, ticket: TicketRow | None = None) -> None:
        """Write the next event, and what it means for its ticket and for the learner's row."""
        row, self.changed = self.row, True
        draft = Event(row.seq + 1, kind, id, self.who, self.now, body, "")
        event = replace(draft, digest=log.chained(row.digest, draft))
        log.add_event(self.connection, row.id, event)
        self.bodies[event.seq] = body
        after = project(row, ticket, event)
        (log.add_ticket if ticket is None else log.update_ticket)(self.connection, after)

    def ticket(self, id: str) -> TicketRow:
        """The row of a ticket of this learner."""
        found = log.find_ticket(self.connection, "id = ? AND learner = ?", (id, self.row.id))
        if found is None:
            raise UnknownTicketError(f"there is no ticket {id} in the store")
        return found

    def body(self, seq: int | None) -> str:
        """What an event says."""
        known = None if seq is None else self.bodies.get(seq)
        if known is None:
            known = log.body(self.connection, self.row.id, seq)
            self.bodies[seq or 0] = known
        return known


Deed = Callable[[Turn], list[str]]  # gives the ids of the tickets it is about


@dataclass(slots=True, eq=False)
class Request:
    """Something to be done for a learner, all of it or nothing, and what came of it.

    `what` says in JSON what is asked: two requests of the same key must say the same.
    """

    learner: str
    deed: Deed
    what: Sequence[Any]
    who: str = ""
    key: str | None = None
    tickets: list[str] = field(default_factory=list)
    error: BaseException | None = None
    done: Signal = field(default_factory=Signal)

    def hash(self) -> str:
        """Of what is asked."""
        return hashlib.sha256(json.dumps(_plain(self.what)).encode()).hexdigest()

    def perform(self, turn: Turn) -> None:
        """Do it, or find that it was done before under the same key."""
        turn.who = self.who
        if self.key is None:
            self.tickets = self.deed(turn)
            return
        found = turn.connection.rows(
            "SELECT request_hash, tickets FROM kh_request WHERE learner = ? AND idem_key = ?",
            (turn.row.id, self.key),
        )
        if found:
            if found[0][0] != self.hash():
                raise ConflictError(
                    f"the key {self.key!r} was used for another request: take a new key for each"
                )
            self.tickets = json.loads(found[0][1])
            return
        self.tickets = self.deed(turn)
        turn.connection.run(
            "INSERT INTO kh_request (learner, idem_key, request_hash, tickets, at) "
            "VALUES (?, ?, ?, ?, ?)",
            (turn.row.id, self.key, self.hash(), json.dumps(self.tickets), turn.now),
        )


def _plain(value: Any) -> Any:
    """What was asked as JSON has it: the same for the same request, in whatever order it came."""
    if isinstance(value, Mapping):
        pairs = [[str(key), _plain(each)] for key, each in value.items()]
        return sorted(pairs, key=lambda pair: str(pair[0]))
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def ask(count: int, terms: Mapping[str, Any] | None, lasts: float | None) -> Deed:
    """Issue tickets."""

    def deed(turn: Turn) -> list[str]:
        learner = turn.awake.learner
        written = events.written_terms(learner, terms)
        expires_at = None if lasts is None else turn.now + lasts
        ids = []
        for _ in range(count):
            id = new_id()
            turn.append("asked", id, turn.change(events.asked, learner, written, expires_at)[1])
            ids.append(id)
        return ids

    return deed


def fill(
    many: Sequence[tuple[str, Callable[[Ticket], Observation]]], coverage: float | None
) -> Deed:
    """Keep what came back for tickets, and the predictions and intervals served for it."""

    def deed(turn: Turn) -> list[str]:
        for id, observe in many:
            ticket = turn.ticket(id)
            order = Ticket.from_json(turn.body(ticket.asked_seq))
            try:
                observation = observe(order)
            except DataError as error:
                wanted = ", ".join(order.names or order.items)
                raise DataError(f"ticket {id}, which asks for {wanted}: {error}") from None
            _keep_values(turn, ticket, observation, coverage)
        return [id for id, _ in many]

    return deed


def tell(many: Sequence[tuple[str, float]]) -> Deed:
    """Tell labels."""

    def deed(turn: Turn) -> list[str]:
        for id, y in many:
            ticket = turn.ticket(id)
            if ticket.state == "told":
                _refuse_other_label(turn, ticket, y)
                continue
            if ticket.state == "dropped":
                raise ConflictError(f"ticket {id} was dropped: its label comes too late")
            if ticket.state == "asked":
                order = Ticket.from_json(turn.body(ticket.asked_seq))
                if len(order.features):
                    raise ConflictError(
                        f"ticket {id} was not filled: fill it first with what came back, be it "
                        "nothing, or drop it"
                    )
                _keep_values(turn, ticket, order.fill([]))
            _close(turn, ticket, y)
        return [id for id, _ in many]

    return deed


def drop(many: Sequence[str]) -> Deed:
    """Drop tickets: their labels will never come."""

    def deed(turn: Turn) -> list[str]:
        for id in many:
            ticket = turn.ticket(id)
            if ticket.state == "told":
                raise ConflictError(f"ticket {id} has its label: it cannot be dropped any more")
            if ticket.state != "dropped":
                _drop(turn, ticket, Ticket.from_json(turn.body(ticket.asked_seq)))
        return list(many)

    return deed


def tell_seen(seen: Observation, y: float) -> Deed:
    """Tell the label of an observation, as `Learner.tell` does: fills its ticket if need be."""

    def deed(turn: Turn) -> list[str]:
        ticket = _by_round(turn, seen.ticket)
        _keep_values(turn, ticket, seen)
        _close(turn, ticket, y)
        return [ticket.id]

    return deed


def drop_ticket(given: Ticket) -> Deed:
    """Drop a ticket, as `Learner.drop` does."""

    def deed(turn: Turn) -> list[str]:
        ticket = _by_round(turn, given)
        _drop(turn, ticket, given)
        return [ticket.id]

    return deed


def _by_round(turn: Turn, given: Ticket) -> TicketRow:
    number = given.round
    found = log.find_ticket(turn.connection, "learner = ? AND round = ?", (turn.row.id, number))
    if found is None:
        raise TicketError(f"the ticket of round {number} was never issued by {turn.row.name!r}")
    if found.state in ("told", "dropped"):
        raise TicketError(f"the ticket of round {number} is closed: it was {found.state}")
    if not given.says_the_same(Ticket.from_json(turn.body(found.asked_seq))):
        raise TicketError(
            f"the ticket of round {number} is not what {turn.row.name!r} issued: it was changed, "
            "or is another learner's"
        )
    return found


def _keep_values(
    turn: Turn, ticket: TicketRow, observation: Observation, coverage: float | None = None
) -> None:
    """Keep what came back, once; the same again changes nothing."""
    if ticket.state != "asked":
        if ticket.filled_seq is None:
            raise ConflictError(
                f"ticket {ticket.id} was dropped: nothing can be filled in any more"
            )
        before = json.loads(turn.body(ticket.filled_seq))["values"]
        now = [None if math.isnan(value) else value for value in observation.values.tolist()]
        if before != now:
            raise ConflictError(
                f"ticket {ticket.id} was filled with other values before, and a prediction was "
                "served for them: drop it and ask for another one"
            )
        return
    body = turn.change(events.seen, turn.awake.learner, observation, coverage)
    turn.append("seen", ticket.id, body, ticket)


def _refuse_other_label(turn: Turn, ticket: TicketRow, y: float) -> None:
    before = events.label(turn.body(ticket.closed_seq))
    if before != y:
        raise ConflictError(
            f"ticket {ticket.id} was told {before:g} before, now {y:g}: a label cannot be changed"
        )


def _close(turn: Turn, ticket: TicketRow, y: float) -> None:
    bodies = turn.body(ticket.asked_seq), turn.body(ticket.filled_seq)
    turn.change(turn.awake.learner.tell, events.observation(*bodies), y)
    turn.append("told", ticket.id, events.told(y), ticket)


def _drop(turn: Turn, ticket: TicketRow, order: Ticket) -> None:
    turn.change(turn.awake.learner.drop, order)
    turn.append("dropped", ticket.id, "{}", ticket)
