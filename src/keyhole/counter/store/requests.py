"""The verbs: what asking, filling, telling and dropping do to a learner and to the tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np

from keyhole.counter.store import events, held, log
from keyhole.counter.store.database import Connection
from keyhole.counter.store.held import Held
from keyhole.counter.store.log import Tally, TicketRow
from keyhole.counter.store.memory import Awake
from keyhole.counter.store.projection import project
from keyhole.counter.store.records import Event, Kind, StoredTicket
from keyhole.counter.store.ticket_ids import new_id
from keyhole.errors import (
    ConflictError,
    DataError,
    KeyholeError,
    ProblemError,
    TicketError,
    UnknownTicketError,
)
from keyhole.problem import Learner
from keyhole.problem.ticket import Observation, Ticket

T = TypeVar("T")


@dataclass(slots=True)
class Turn:
    """A learner's turn in a transaction: its row is locked, the learner is level with its log.

    What it writes is collected, and written by `flush` in a few statements. Until then it is
    known here and in `awake`, which are thrown away together if the transaction fails.
    """

    connection: Connection
    row: Tally
    awake: Awake
    now: float
    keys: dict[str, tuple[str, str]]  # by idempotency key: hash and tickets of its request
    who: str = ""
    changed: bool = False  # the learner, or the tables: what an error would have to undo
    events: list[Event] = field(default_factory=list)
    asked: list[TicketRow] = field(default_factory=list)
    later: dict[str, TicketRow] = field(default_factory=dict)
    requests: list[tuple[Any, ...]] = field(default_factory=list)

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

    def append(
        self,
        kind: Kind,
        id: str,
        text: str,
        said: Mapping[str, Any],
        ticket: TicketRow | None = None,
    ) -> TicketRow:
        """Write the next event, and what it means for its ticket and for the learner's row."""
        after = project(self.row, ticket, self._next(kind, id, text), said)
        if ticket is None:
            self.asked.append(after)
        else:
            self.later[id] = after
        return after

    def note(self, kind: Kind, text: str) -> None:
        """Write the next event, one that means nothing for any row."""
        event = self._next(kind, None, text)
        self.row.seq, self.row.digest = event.seq, event.digest

    def _next(self, kind: Kind, id: str | None, text: str) -> Event:
        self.changed = True
        parts = (self.row.seq + 1, kind, id, self.who, self.now, text)
        event = Event(*parts, log.digest(self.row.digest, *parts))
        self.events.append(event)
        return event

    def ticket(self, id: str) -> Held:
        """A ticket of this learner."""
        found = self.awake.held.get(id)
        if found is None:
            found = held.find(self.connection, id, self.row.id)
            if found is None:
                raise UnknownTicketError(f"there is no ticket {id} in the store")
            self.awake.held[id] = found
        return found

    def answer(self, key: str, hash: str, tickets: list[str]) -> None:
        """Remember what an idempotency key was used for."""
        self.keys[key] = hash, json.dumps(tickets)
        self.requests.append((self.row.id, key, *self.keys[key], self.now))

    def closed(self) -> list[str]:
        """The tickets that were closed."""
        return [id for id, row in self.later.items() if row.closed_seq is not None]

    def flush(self) -> None:
        """Write all of it."""
        log.add_events(self.connection, self.row.id, self.events)
        if self.asked:
            log.add_tickets(self.connection, self.asked)
        if self.later:
            log.update_tickets(self.connection, self.later.values())
        if self.requests:
            log.add_requests(self.connection, self.requests)


Filler = Callable[[Ticket], Observation]  # what came back, as its ticket has it
Deed = Callable[[Turn], list[str]]  # gives the ids of the tickets it is about


@dataclass(slots=True, eq=False)
class Request:
    """Something to be done for a learner, all of it or nothing, and what came of it.

    The learner is named, or is that of a ticket (`about`). `what` says in JSON what is asked: two
    requests of the same key must say the same. `then` is called when the request is done, by
    whoever did it.
    """

    learner: str | None
    deed: Deed
    what: Sequence[Any]
    who: str = ""
    key: str | None = None
    about: str | None = None
    then: Callable[[Request], None] | None = None
    tickets: list[str] = field(default_factory=list)
    replies: list[StoredTicket] | None = None  # None: they are in the store, to be read
    error: BaseException | None = None
    done: bool = False

    def hash(self) -> str:
        """Of what is asked."""
        return hashlib.sha256(json.dumps(_plain(self.what)).encode()).hexdigest()

    def perform(self, turn: Turn) -> None:
        """Do it, or find that it was done before under the same key."""
        turn.who, self.replies = self.who, None  # an attempt before this one counts for nothing
        before = None if self.key is None else turn.keys.get(self.key)
        if before is not None:
            if before[0] != self.hash():
                raise ConflictError(
                    f"the key {self.key!r} was used for another request: take a new key for each"
                )
            self.tickets = json.loads(before[1])
            return
        self.tickets = self.deed(turn)
        if self.key is not None:
            turn.answer(self.key, self.hash(), self.tickets)
        row = turn.row
        self.replies = [turn.ticket(id).stored(row.name, row.about) for id in self.tickets]

    def finish(self) -> None:
        """Say that it is done."""
        self.done = True
        if self.then is not None:
            self.then(self)


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
        return [_ask(turn, learner, written, expires_at) for _ in range(count)]

    return deed


def _ask(turn: Turn, learner: Learner, terms: Mapping[str, Any], expires_at: float | None) -> str:
    ticket, id = turn.change(events.asked, learner, terms), new_id()
    prices = events.item_prices(learner.problem, ticket)
    said = {"round": ticket.round, "cost": ticket.cost, "expires_at": expires_at}
    row = turn.append("asked", id, events.order(ticket, prices, terms, expires_at), said)
    turn.awake.held[id] = Held(row, turn.who, ticket, tuple(prices))
    return id


def fill(many: Sequence[tuple[str, Filler]], coverage: float | None) -> Deed:
    """Keep what came back for tickets, and the predictions and intervals served for it."""

    def deed(turn: Turn) -> list[str]:
        for id, observe in many:
            ticket = turn.ticket(id)
            try:
                observation = observe(ticket.order)
            except DataError as error:
                wanted = ", ".join(ticket.order.names or ticket.order.items)
                raise DataError(f"ticket {id}, which asks for {wanted}: {error}") from None
            _keep_values(turn, ticket, observation, coverage)
        return [id for id, _ in many]

    return deed


def tell(many: Sequence[tuple[str, float]]) -> Deed:
    """Tell labels."""

    def deed(turn: Turn) -> list[str]:
        for id, y in many:
            ticket = turn.ticket(id)
            state = ticket.row.state
            if state == "told":
                _refuse_other_label(ticket, y)
                continue
            if state == "dropped":
                raise ConflictError(f"ticket {id} was dropped: its label comes too late")
            if state == "asked":
                if len(ticket.order.features):
                    raise ConflictError(
                        f"ticket {id} was not filled: fill it first, even if no value came back, "
                        "or drop it"
                    )
                _keep_values(turn, ticket, ticket.order.fill([]))
            _close(turn, ticket, y)
        return [id for id, _ in many]

    return deed


def drop(many: Sequence[str]) -> Deed:
    """Drop tickets: their labels will never come."""

    def deed(turn: Turn) -> list[str]:
        for id in many:
            ticket = turn.ticket(id)
            if ticket.row.state == "told":
                raise ConflictError(f"ticket {id} has its label: it cannot be dropped any more")
            if ticket.row.state != "dropped":
                _drop(turn, ticket)
        return list(many)

    return deed


def in_turn(first: Deed, second: Deed) -> Deed:
    """One after the other; the tickets are those of the second."""

    def deed(turn: Turn) -> list[str]:
        first(turn)
        return second(turn)

    return deed


def tell_seen(seen: Observation, y: float) -> Deed:
    """Tell the label of an observation, as `Learner.tell` does: fills its ticket if need be."""

    def deed(turn: Turn) -> list[str]:
        ticket = _by_round(turn, seen.ticket)
        _keep_values(turn, ticket, seen)
        _close(turn, ticket, y)
        return [ticket.row.id]

    return deed


def interval(seen: Observation, coverage: float, served: dict[str, Any]) -> Deed:
    """Serve an interval, as `Learner.interval` does: fills its ticket if need be.

    What is served is put into `served`. For the coverage that came with the prediction, it is what
    was served then.
    """

    def deed(turn: Turn) -> list[str]:
        learner = turn.awake.learner
        if not hasattr(learner, "interval"):
            raise ProblemError(f"{turn.row.name!r} is a learner that makes no intervals")
        ticket = _by_round(turn, seen.ticket)
        id = ticket.row.id
        _keep_values(turn, ticket, seen, coverage)
        found = cast(Mapping[str, Any], ticket.seen)
        if found.get("coverage") != coverage:
            again = events.observation(ticket.order, found)
            found = turn.change(events.interval, learner, again, coverage)
            turn.note("interval", json.dumps({"ticket": id, **found}, allow_nan=False))
        served.update(found)
        return [id]

    return deed


def drop_ticket(given: Ticket) -> Deed:
    """Drop a ticket, as `Learner.drop` does."""

    def deed(turn: Turn) -> list[str]:
        ticket = _by_round(turn, given)
        _drop(turn, ticket)
        return [ticket.row.id]

    return deed


def _by_round(turn: Turn, given: Ticket) -> Held:
    number = given.round
    row = log.find_ticket(turn.connection, "learner = ? AND round = ?", (turn.row.id, number))
    if row is None:
        raise TicketError(f"the ticket of round {number} was never issued by {turn.row.name!r}")
    found = turn.ticket(row.id)
    if found.row.state in ("told", "dropped"):
        raise TicketError(f"the ticket of round {number} is closed: it was {found.row.state}")
    if not given.says_the_same(found.order):
        raise TicketError(
            f"the ticket of round {number} is not what {turn.row.name!r} issued: it was changed, "
            "or is another learner's"
        )
    return found


def _keep_values(
    turn: Turn, ticket: Held, observation: Observation, coverage: float | None = None
) -> None:
    """Keep what came back, once; the same again changes nothing."""
    id = ticket.row.id
    if ticket.row.state != "asked":
        if ticket.seen is None:
            raise ConflictError(f"ticket {id} was dropped: nothing can be filled in any more")
        if ticket.seen["values"] != events.written_values(observation):
            raise ConflictError(
                f"ticket {id} was filled with other values before, and a prediction was "
                "served for them: drop it and ask for another one"
            )
        return
    seen = turn.change(events.seen, turn.awake.learner, observation, coverage)
    turn.append("seen", id, json.dumps(seen, allow_nan=False), seen, ticket.row)
    ticket.seen = seen


def _refuse_other_label(ticket: Held, y: float) -> None:
    if ticket.label != y:
        raise ConflictError(
            f"ticket {ticket.row.id} was told {ticket.label:g} before, now {y:g}: a label cannot "
            "be changed"
        )


def _close(turn: Turn, ticket: Held, y: float) -> None:
    said = {"y": y}
    observation = events.observation(ticket.order, cast(Mapping[str, Any], ticket.seen))
    turn.change(turn.awake.learner.tell, observation, y)
    turn.append("told", ticket.row.id, json.dumps(said, allow_nan=False), said, ticket.row)
    ticket.label = y


def _drop(turn: Turn, ticket: Held) -> None:
    turn.change(turn.awake.learner.drop, ticket.order)
    turn.append("dropped", ticket.row.id, "{}", {}, ticket.row)
