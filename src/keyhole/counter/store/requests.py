"""Requests to the store: ask, fill, tell and drop, performed in a transaction, kept as events.

`corrections.py` has the request that corrects, `steps.py` those that say what to buy next."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from keyhole.counter.client import written_values
from keyhole.counter.store import tables
from keyhole.counter.store.database import Connection
from keyhole.counter.store.doubts import Claim, confirmed_doubts, refuse_doubts
from keyhole.counter.store.records import (
    Event,
    EventKind,
    StoredTicket,
    checked_key,
    checked_who,
    new_id,
    read_id,
    seconds,
)
from keyhole.counter.store.tables import LearnerTableRow, TicketRecord, TicketRow, project
from keyhole.errors import (
    ConflictError,
    DataError,
    KeyholeError,
    ProblemError,
    TicketError,
    UnknownLearnerError,
    UnknownTicketError,
    finite_label,
    shortened,
    true_or_false,
    whole_number,
)
from keyhole.problem import Learner, Problem
from keyhole.problem.labels import a_coverage
from keyhole.problem.step import grown_from
from keyhole.problem.ticket import Observation, Ticket
from keyhole.version import __version__

T = TypeVar("T")
Values = ArrayLike | Mapping[str, Any] | Mapping[int, Any]
Duration = timedelta | float | None
DEFAULT_COVERAGE = 0.9  # of intervals, where none is said
MAX_TICKETS_PER_REQUEST = 100_000  # others wait meanwhile
TERM_NAMES = ("prices", "without", "known", "budget")  # what one example may have of its own


# An event takes 0.1 to 0.4 ms to replay, a megabyte of snapshot 7 ms to make: loading takes less
# than half a second, or as long as some 30 snapshots of a large learner.
EVENTS_PER_SNAPSHOT, EVENTS_PER_SNAPSHOT_BYTE = 1000, 875e-6
SECONDS_PER_SNAPSHOT = 600.0
MAX_TICKETS_IN_MEMORY = 2000  # of one learner
SMALL_SNAPSHOT_BYTES = 4_000_000  # bytes: a snapshot that is taken at every close


@dataclass(slots=True)
class LoadedLearner:
    """A learner in memory, and the event up to which it has played the log."""

    learner: Learner
    seq: int
    digest: str
    snapshot_seq: int
    snapshot_bytes: int
    snapshot_at: float
    version: str = field(default=__version__)
    tickets: dict[str, TicketRecord] = field(default_factory=dict)  # as the log has them at `seq`

    def forget_tickets(self, closed: Iterable[str]) -> None:
        """Let go of tickets that are closed, and of the oldest ones if there are too many."""
        for id in closed:
            self.tickets.pop(id, None)
        for id in [*self.tickets][: max(0, len(self.tickets) - MAX_TICKETS_IN_MEMORY)]:
            del self.tickets[id]

    @property
    def tail(self) -> int:
        """Events since the last snapshot."""
        return self.seq - self.snapshot_seq

    def snapshot_due(self, now: float) -> bool:
        """Whether loading it would take too long by now."""
        many = self.tail >= max(EVENTS_PER_SNAPSHOT, EVENTS_PER_SNAPSHOT_BYTE * self.snapshot_bytes)
        return many or (self.tail > 0 and now - self.snapshot_at >= SECONDS_PER_SNAPSHOT)

    def snapshot_due_at_close(self) -> bool:
        """Whether to leave a snapshot behind: always, unless it is large and little happened."""
        return self.tail > 0 and (
            self.snapshot_bytes <= SMALL_SNAPSHOT_BYTES or self.tail >= EVENTS_PER_SNAPSHOT / 10
        )


@dataclass(slots=True)
class LearnerTransaction:
    """One learner in a transaction: its row is locked, and it is up to date with its log.

    What it writes is collected, and written by `flush` in a few statements. Until then it is
    known here and in `loaded`, which are thrown away together if the transaction fails.
    """

    connection: Connection
    row: LearnerTableRow
    loaded: LoadedLearner
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
        kind: EventKind,
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

    def note(self, kind: EventKind, text: str) -> None:
        """Write the next event, one that means nothing for any row."""
        event = self._next(kind, None, text)
        self.row.seq, self.row.digest = event.seq, event.digest

    def _next(self, kind: EventKind, id: str | None, text: str) -> Event:
        self.changed = True
        parts = (self.row.seq + 1, kind, id, self.who, self.now, text)
        event = Event(*parts, tables.digest(self.row.digest, *parts))
        self.events.append(event)
        return event

    def ticket(self, id: str) -> TicketRecord:
        """A ticket of this learner."""
        found = self.loaded.tickets.get(id)
        if found is None:
            found = tables.find_ticket(self.connection, id, self.row.id)
            if found is None:
                raise UnknownTicketError(f"there is no ticket {id} in the store")
            self.loaded.tickets[id] = found
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
        tables.add_events(self.connection, self.row.id, self.events)
        if self.asked:
            tables.add_tickets(self.connection, self.asked)
        if self.later:
            tables.update_tickets(self.connection, self.later.values())
        if self.requests:
            tables.add_requests(self.connection, self.requests)
        # What happens later in the transaction is written by another flush. Tickets that were
        # changed are kept for `closed`: written again, they are what they were.
        self.events, self.asked, self.requests = [], [], []


Action = Callable[[LearnerTransaction], list[str]]  # gives the ids of the tickets it is about


@dataclass(slots=True, eq=False)
class Request:
    """Something to be done for a learner, all of it or nothing, and what came of it.

    The learner is named, or is that of a ticket (`ticket_id`). `content` is what is asked, as JSON:
    two requests of the same key must have the same. `callback` is called when the request is done,
    by whoever did it. ProblemError if `who` or `key` are not what they may be.
    """

    learner: str | None
    action: Action
    content: Sequence[Any]
    who: str = ""
    key: str | None = None
    ticket_id: str | None = None
    callback: Callable[[Request], None] | None = None
    tickets: list[str] = field(default_factory=list)
    replies: list[StoredTicket] | None = None  # None: they are in the store, to be read
    error: BaseException | None = None
    done: bool = False

    def __post_init__(self) -> None:
        if self.ticket_id is None and not isinstance(self.learner, str):
            raise UnknownLearnerError(f"there is no learner {shortened(self.learner)} in the store")
        self.who, self.key = checked_who(self.who), checked_key(self.key)

    def hash(self) -> str:
        """Of what is asked."""
        return hashlib.sha256(json.dumps(_plain(self.content)).encode()).hexdigest()

    def perform(self, tx: LearnerTransaction) -> None:
        """Do it, or find that it was done before under the same key."""
        tx.who, self.replies = self.who, None  # an attempt before this one counts for nothing
        before = None if self.key is None else tx.keys.get(self.key)
        if before is not None:
            if before[0] != self.hash():
                raise ConflictError(
                    f"the key {self.key!r} was used for another request: take a new key for each"
                )
            with tables.damage_of(f"what {tx.row.name!r} remembers of the key {self.key!r}"):
                self.tickets = read_tickets(before[1])
            return
        self.tickets = self.action(tx)
        if self.key is not None:
            tx.answer(self.key, self.hash(), self.tickets)
        row = tx.row
        self.replies = [tx.ticket(id).stored(row.name, row.about) for id in self.tickets]

    def finish(self) -> None:
        """Say that it is done."""
        self.done = True
        if self.callback is not None:
            self.callback(self)


def read_tickets(text: str) -> list[str]:
    """The tickets of a request that was answered, as `LearnerTransaction.answer` writes them."""
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(id, str) for id in found):
        raise TypeError(f"the tickets are {shortened(text)}")
    return found


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


def ask(
    name: str,
    count: int = 1,
    who: str = "",
    key: str | None = None,
    expires_in: Duration = None,
    terms: Mapping[str, Any] | None = None,
    keep: Callable[[int], None] | None = None,
    steps: bool = False,
) -> Request:
    """Issue tickets for the next examples; `keep` may refuse so many, in the transaction."""
    many = whole_number("count", count, 1)
    if many > MAX_TICKETS_PER_REQUEST:
        raise ProblemError(
            f"count must be at most {MAX_TICKETS_PER_REQUEST:,} at once, got {many:,}"
        )
    lasts, by_step = seconds("expires_in", expires_in), true_or_false("steps", steps)

    def action(tx: LearnerTransaction) -> list[str]:
        if keep is not None:
            keep(many)
        learner = tx.loaded.learner
        written = written_terms(learner, terms)
        if by_step:
            refuse_without_steps(tx.row.name, learner)
            written["steps"] = True
        expires_at = None if lasts is None else tx.now + lasts
        return [_ask(tx, written, expires_at) for _ in range(many)]

    content = ("ask", many, lasts, terms, *(["steps"] if by_step else []))
    return Request(name, action, content, who, key)


def fill(
    ticket: str,
    values: Values,
    coverage: float | None = DEFAULT_COVERAGE,
    who: str = "",
    key: str | None = None,
    confirm: bool = False,
) -> Request:
    """Keep what came back for a ticket, and the prediction and interval served for it."""
    id, share = read_id(ticket), None if coverage is None else a_coverage(coverage)
    action = filling([(id, values)], share, confirm)
    return Request(None, action, ("fill", id, values, share), who, key, ticket_id=id)


def fill_many(
    name: str,
    rows: Mapping[str, Values],
    coverage: float | None = DEFAULT_COVERAGE,
    who: str = "",
    key: str | None = None,
    confirm: bool = False,
) -> Request:
    """`fill` for tickets of one learner."""
    many = [(read_id(id), values) for id, values in rows.items()]
    share = None if coverage is None else a_coverage(coverage)
    return Request(name, filling(many, share, confirm), ("fill", share, *many), who, key)


def tell(
    ticket: str,
    y: float,
    who: str = "",
    key: str | None = None,
    values: Values | None = None,
    confirm: bool = False,
) -> Request:
    """Tell the label of a ticket; with what came back for it, if that was not said before."""
    label, id = finite_label(y), read_id(ticket)
    telling = _telling([(id, label)], confirm)
    if values is None:
        return Request(None, telling, ("tell", id, label), who, key, ticket_id=id)
    fill_first = filling([(id, values)], DEFAULT_COVERAGE, confirm, label)

    def action(tx: LearnerTransaction) -> list[str]:
        fill_first(tx)
        return telling(tx)

    return Request(None, action, ("tell", id, label, values), who, key, ticket_id=id)


def tell_many(
    name: str,
    labels: Mapping[str, float],
    who: str = "",
    key: str | None = None,
    confirm: bool = False,
) -> Request:
    """`tell` for tickets of one learner."""
    many = [(read_id(id), finite_label(y)) for id, y in labels.items()]
    return Request(name, _telling(many, confirm), ("tell", *many), who, key)


def drop(ticket: str, who: str = "", key: str | None = None) -> Request:
    """Drop a ticket: its label will never come."""
    id = read_id(ticket)

    def action(tx: LearnerTransaction) -> list[str]:
        found = tx.ticket(id)
        if found.row.state == "told":
            raise ConflictError(f"ticket {id} has its label: it cannot be dropped any more")
        if found.row.state != "dropped":
            _drop(tx, found)
        return [id]

    return Request(None, action, ("drop", id), who, key, ticket_id=id)


def tell_observation(name: str, seen: Observation, y: float, confirm: bool = False) -> Request:
    """Tell the label of an observation, as `Learner.tell` does: fills its ticket if need be."""

    def action(tx: LearnerTransaction) -> list[str]:
        ticket = open_by_round(tx, seen.ticket)
        given = arrival(ticket, seen)
        if not confirm:
            refuse_doubts(tx.loaded.learner, _claims(given, y))
        keep_values(tx, given, confirm=confirm)
        _tell(tx, ticket, y, confirm)
        return [ticket.row.id]

    return Request(name, action, ("tell", seen.round))


def drop_ticket(name: str, given: Ticket) -> Request:
    """Drop a ticket, as `Learner.drop` does."""

    def action(tx: LearnerTransaction) -> list[str]:
        ticket = open_by_round(tx, given)
        _drop(tx, ticket)
        return [ticket.row.id]

    return Request(name, action, ("drop", given.round))


def interval(
    name: str, seen: Observation, coverage: float, served: dict[str, Any], confirm: bool = False
) -> Request:
    """Serve an interval, as `Learner.interval` does: fills its ticket if need be.

    What is served is put into `served`. For the coverage that came with the prediction, it is what
    was served then.
    """

    def action(tx: LearnerTransaction) -> list[str]:
        learner = tx.loaded.learner
        refuse_without_intervals(tx.row.name, learner)
        ticket = open_by_round(tx, seen.ticket)
        id = ticket.row.id
        keep_values(tx, arrival(ticket, seen), coverage, confirm)
        found = cast(Mapping[str, Any], ticket.seen)
        if found.get("coverage") != coverage:
            again = observation_of(ticket.order, found)
            found = tx.change(interval_body, learner, again, coverage)
            tx.note("interval", json.dumps({"ticket": id, **found}, allow_nan=False))
        served.update(found)
        return [id]

    return Request(name, action, ("interval", seen.round, coverage))


def refuse_without_intervals(name: str, learner: object) -> None:
    """ProblemError for a learner without intervals."""
    if not hasattr(learner, "interval"):
        raise ProblemError(
            f"{name!r} is a learner that makes no intervals"
            + (": what it predicts is a probability" if hasattr(learner, "probabilities") else "")
        )


def refuse_without_steps(name: str, learner: object) -> None:
    """ProblemError for a learner that cannot say what to buy next."""
    if not hasattr(learner, "next"):
        raise ProblemError(
            f"{name!r} is a learner that does not buy step by step: leave `steps` out, and buy all "
            "that a ticket asks for at once"
        )


@dataclass(frozen=True, slots=True)
class Arrival:
    """What came back for a ticket: all that is known of it by now, and what of that is new.

    `came` has the features that came now; None if nothing was filled in before. `answers` says
    that they are what the last step was for, or that it is known not to come.
    """

    ticket: TicketRecord
    seen: Observation
    came: list[int] | None
    answers: bool


def arrival(
    ticket: TicketRecord, given: Observation, named: Iterable[int] | None = None
) -> Arrival:
    """What came back, beside what is there; ConflictError if a value is another one now.

    `named`: the features that were spoken of, if not all of the ticket that was handed in.
    """
    order = ticket.order
    if ticket.seen is None:
        return Arrival(ticket, given if given.ticket is order else _of(order, given), None, True)
    now = given.at(order.features)
    before = np.array(ticket.seen["values"], dtype=np.float64)
    absent = np.isnan(now)
    changed = ~(np.isnan(before) | absent | (before == now))
    for at in np.flatnonzero(changed)[:1].tolist():
        raise ConflictError(
            f"ticket {ticket.row.id} was filled with other values before, and a prediction was "
            f"served for them ({order._labels()[at]} was {before[at]:g}, now {now[at]:g}): correct "
            "it if they were wrong"
        )
    came = order.features[np.isnan(before) & ~absent].tolist()
    step = ticket.seen.get("step")
    spoken = given.ticket.features.tolist() if named is None else named
    answers = step is not None and not {*step["features"]}.isdisjoint(spoken)
    return Arrival(ticket, Observation(order, np.where(absent, before, now)), came, answers)


def _of(order: Ticket, given: Observation) -> Observation:
    return Observation(order, given.at(order.features), prediction=given.prediction)


def filling(
    many: Sequence[tuple[str, Values]],
    coverage: float | None,
    confirm: bool,
    y: float | None = None,
) -> Action:
    """Fill these tickets; `y` is the label that is told next, so that all doubts are said."""

    def action(tx: LearnerTransaction) -> list[str]:
        rows = [_arrived(tx.ticket(id), values) for id, values in many]
        if not confirm and (len(rows) > 1 or y is not None):  # of one, `keep_values` says it all
            claims = [claim for given in rows for claim in _claims(given, y)]
            refuse_doubts(tx.loaded.learner, claims)
        for given in rows:
            keep_values(tx, given, coverage, confirm)
        return [id for id, _ in many]

    return action


def _arrived(ticket: TicketRecord, values: Values) -> Arrival:
    order = ticket.order
    try:
        seen = order.fill(values)
    except DataError as error:
        wanted = ", ".join(order.names or order.items)
        raise DataError(f"ticket {ticket.row.id}, which asks for {wanted}: {error}") from None
    if not isinstance(values, Mapping) or "step" not in (ticket.seen or {}):
        return arrival(ticket, seen)
    features = order.features.tolist()
    number = {**dict(zip(order.names or (), features, strict=False)), **{j: j for j in features}}
    return arrival(ticket, seen, [number[key] for key in values])


def _claims(given: Arrival, y: float | None) -> Iterator[Claim]:
    """What is claimed of a ticket, and was not kept before."""
    id, state = given.ticket.row.id, given.ticket.row.state
    if state == "asked" or (state == "filled" and given.came):
        yield id, given.seen, None, given.came
    if y is not None and state in ("asked", "filled"):
        yield id, given.seen, y, None


def _telling(many: Sequence[tuple[str, float]], confirm: bool) -> Action:
    def action(tx: LearnerTransaction) -> list[str]:
        if not confirm and len(many) > 1:
            refuse_doubts(tx.loaded.learner, _claimed_labels(tx, many))
        for id, y in many:
            ticket = tx.ticket(id)
            state = ticket.row.state
            if state == "told":
                if ticket.label != y:
                    raise ConflictError(
                        f"ticket {id} was told {ticket.label:g} before, now {y:g}: correct it if "
                        "that was wrong"
                    )
                continue
            if state == "dropped":
                raise ConflictError(f"ticket {id} was dropped: its label comes too late")
            if state == "asked":
                if len(ticket.order.features):
                    raise ConflictError(
                        f"ticket {id} was not filled: fill it first, even if no value came back, "
                        "or drop it"
                    )
                keep_values(tx, arrival(ticket, ticket.order.fill([])))
            _tell(tx, ticket, y, confirm)
        return [id for id, _ in many]

    return action


def _claimed_labels(tx: LearnerTransaction, many: Sequence[tuple[str, float]]) -> Iterator[Claim]:
    for id, y in many:
        ticket = tx.ticket(id)
        if ticket.row.state == "filled" and ticket.seen is not None:
            yield id, observation_of(ticket.order, ticket.seen), y, None


def _ask(tx: LearnerTransaction, terms: Mapping[str, Any], expires_at: float | None) -> str:
    learner, id = tx.loaded.learner, new_id()
    ticket = tx.change(ask_learner, learner, terms)
    prices = item_prices(learner.problem, ticket)
    said = {"round": ticket.round, "cost": ticket.cost, "expires_at": expires_at}
    row = tx.append("asked", id, asked_body(ticket, prices, terms, expires_at), said)
    tx.loaded.tickets[id] = TicketRecord(row, tx.who, ticket, tuple(prices))
    return id


def ticket_by_round(tx: LearnerTransaction, given: Ticket) -> TicketRecord:
    """The ticket of a learner that this one is, or was before its last steps."""
    number = given.round
    row = tables.find_ticket_row(tx.connection, "learner = ? AND round = ?", (tx.row.id, number))
    if row is None:
        raise TicketError(f"the ticket of round {number} was never issued by {tx.row.name!r}")
    found = tx.ticket(row.id)
    if not grown_from(given, found.order):
        raise TicketError(
            f"the ticket of round {number} is not what {tx.row.name!r} issued: it was changed, "
            "or is another learner's"
        )
    return found


def open_by_round(tx: LearnerTransaction, given: Ticket) -> TicketRecord:
    found = ticket_by_round(tx, given)
    if found.row.state in ("told", "dropped"):
        raise TicketError(f"the ticket of round {given.round} is closed: it was {found.row.state}")
    return found


def keep_values(
    tx: LearnerTransaction, given: Arrival, coverage: float | None = None, confirm: bool = False
) -> None:
    """Keep what came back, beside what is there; the same again changes nothing."""
    ticket, id, state = given.ticket, given.ticket.row.id, given.ticket.row.state
    if state in ("told", "dropped"):
        if given.came == []:
            return
        remedy = (
            "correct it if values are missing" if state == "told" else "its values are of no use"
        )
        raise ConflictError(f"ticket {id} was {state}: nothing can be filled in any more, {remedy}")
    if given.came == [] and not given.answers:
        return
    learner = tx.loaded.learner
    more: dict[str, Any] = {}
    if given.came is not None:
        more["came"] = given.came
        if not given.answers and (ticket.seen or {}).get("step"):
            more["step"] = (ticket.seen or {})["step"]  # it waits for its own values
    more |= confirmed_doubts(learner, id, given.seen, None, confirm, given.came)
    seen = {**tx.change(seen_body, learner, given.seen, coverage), **more}
    tx.append("seen", id, json.dumps(seen, allow_nan=False), seen, ticket.row)
    ticket.seen = seen


def _tell(tx: LearnerTransaction, ticket: TicketRecord, y: float, confirm: bool) -> None:
    learner = tx.loaded.learner
    observation = observation_of(ticket.order, cast(Mapping[str, Any], ticket.seen))
    said = {"y": y, **confirmed_doubts(learner, ticket.row.id, observation, y, confirm)}
    tx.change(learner.tell, observation, y)
    tx.append("told", ticket.row.id, json.dumps(said, allow_nan=False), said, ticket.row)
    ticket.label = y


def _drop(tx: LearnerTransaction, ticket: TicketRecord) -> None:
    tx.change(tx.loaded.learner.drop, ticket.order)
    tx.append("dropped", ticket.row.id, "{}", {}, ticket.row)


def ask_learner(learner: Learner, terms: Mapping[str, Any]) -> Ticket:
    """Ask for a ticket, on terms as `written_terms` has them."""
    given = {
        name: dict(value) if name in ("prices", "known") else value for name, value in terms.items()
    }
    return cast(Ticket, cast(Any, learner).ask(**given))


def asked_body(
    ticket: Ticket, prices: Sequence[float], terms: Mapping[str, Any], expires_at: float | None
) -> str:
    """The event of a ticket that was asked for."""
    more: dict[str, Any] = {"item_prices": prices}
    if terms:
        more["terms"] = terms
    if expires_at is not None:
        more["expires_at"] = expires_at
    # Beside what a ticket says of itself, in one object, so that Ticket.from_json reads it.
    return f"{ticket.to_json()[:-1]}, {json.dumps(more)[1:]}"


def seen_body(learner: Learner, observation: Observation, coverage: float | None) -> dict[str, Any]:
    """The event of what came back: with it the prediction that is served, and its interval.

    An interval is issued where a coverage is said and the learner makes intervals. What the learner
    buys and predicts stays as it is; what its next intervals are made from does not.
    """
    values = written_values(observation)
    if coverage is None or not hasattr(learner, "interval"):
        return {"values": values, "prediction": float(learner.predict(observation))}
    return {"values": values, **interval_body(learner, observation, coverage)}


def interval_body(learner: Learner, observation: Observation, coverage: float) -> dict[str, Any]:
    """What an interval that is served says; before the first label it has no ends."""
    found = cast(Any, learner).interval(observation, coverage)
    ends = {"low": found.low, "high": found.high}
    finite = {key: end if math.isfinite(end) else None for key, end in ends.items()}
    return {"prediction": found.prediction, "coverage": found.coverage, **finite}


def observation_of(order: Ticket, seen: Mapping[str, Any]) -> Observation:
    """What `tell` is given: the ticket as it was issued, what came back, and what was predicted.

    The one place where the log becomes an Observation.
    """
    values = np.array(seen["values"], dtype=np.float64)  # None becomes NaN
    return Observation(order, values, prediction=seen["prediction"])


def written_terms(learner: Learner, terms: Mapping[str, Any] | None) -> dict[str, Any]:
    """The terms of one example as JSON has them; ProblemError if this learner takes none.

    Keys may be numbers, which JSON would make text of: mappings become lists of pairs.
    """
    given = {name: value for name, value in (terms or {}).items() if value is not None}
    if not given:
        return {}
    takes = inspect.signature(learner.ask).parameters
    for name in given:
        if name not in TERM_NAMES or name not in takes:
            raise ProblemError(
                f"terms: a {type(learner).__name__} takes no {shortened(name)} for one example"
                + (f": it takes {', '.join(t for t in TERM_NAMES if t in takes)}" if takes else "")
            )
    return {
        name: [[_plain_terms(key), _plain_terms(each)] for key, each in value.items()]
        if isinstance(value, Mapping)
        else _plain_terms(value)
        for name, value in given.items()
    }


def _plain_terms(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list | tuple | set | np.ndarray):
        return [_plain_terms(each) for each in value]
    if not isinstance(value, str | int | float):
        raise ProblemError(f"terms hold names and numbers, got {shortened(value)}")
    return value


def item_prices(problem: Problem, ticket: Ticket) -> list[float]:
    """What each of the ticket's items costs."""
    prices = problem.prices
    if "ordered" in ticket.memo:  # on terms of its own
        paid = ticket.memo["paid"].tolist()
        return [float(units) if prices is None else prices.money(units) for units in paid]
    if prices is None:
        return [1.0] * len(ticket.items)
    units = dict(zip(prices.items, prices.units, strict=True))
    return [prices.money(units[item]) for item in ticket.items]
