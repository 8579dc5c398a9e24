"""The tables: the SQL that reads and writes learners, events, tickets and replies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from keyhole.counter.store.arguments import is_name
from keyhole.counter.store.database import Connection, Row
from keyhole.counter.store.records import Event, LearnerInfo, moment
from keyhole.errors import ConflictError, StoreDamagedError, UnknownLearnerError, nearest, shortened

PAGE = 1000  # events at a time
MOST = 512  # keys in one statement
TALLY = "seq, digest, waiting, filled, told, dropped, spent, loss, asked_at, told_at"
LEARNER = f"id, name, about, created_at, {TALLY}"
EVENT = "seq, kind, ticket, who, at, body, digest"


@dataclass(slots=True)
class Tally:
    """The row of a learner: how far its log goes, and what can be said without reading it."""

    id: int
    name: str
    about: str
    created_at: float
    seq: int
    digest: str
    waiting: int = 0
    filled: int = 0
    told: int = 0
    dropped: int = 0
    spent: float = 0.0
    loss: float = 0.0
    asked_at: float | None = None
    told_at: float | None = None

    def values(self) -> tuple[Any, ...]:
        """The columns of TALLY."""
        return _tally(self)

    def info(self) -> LearnerInfo:
        """The same as users see it."""
        about = json.loads(self.about)
        names = about.pop("names")
        return LearnerInfo(
            **about,
            name=self.name,
            names=None if names is None else tuple(names),
            rounds=self.waiting + self.filled + self.told + self.dropped,
            waiting=self.waiting,
            filled=self.filled,
            told=self.told,
            dropped=self.dropped,
            spent=self.spent,
            loss=self.loss,
            created_at=datetime.fromtimestamp(self.created_at, UTC),
            asked_at=moment(self.asked_at),
            told_at=moment(self.told_at),
            events=self.seq,
        )


_tally = attrgetter(*TALLY.split(", "))
_event = attrgetter(*EVENT.split(", "))


def chained(before: str, event: Event) -> str:
    """The digest of an event and all before it: none is edited or lost without being noticed."""
    return digest(before, event.seq, event.kind, event.ticket, event.who, event.at, event.body)


def digest(before: str, *parts: Any) -> str:
    """The same of the parts of an event, in their order."""
    return hashlib.sha256(json.dumps([before, *parts]).encode()).hexdigest()[:32]


def tally(connection: Connection, name: str, lock: str = "") -> Tally:
    """The row of a learner, or an UnknownLearnerError with the nearest name."""
    found: list[Row] = []
    if is_name(name):  # a database may take offence at anything else
        found = connection.rows(f"SELECT {LEARNER} FROM kh_learner WHERE name = ?{lock}", (name,))
    if not found:
        names = [other for (other,) in connection.rows("SELECT name FROM kh_learner ORDER BY name")]
        hint = nearest(name, names) or (": there are " + ", ".join(names[:8]) if names else "")
        raise UnknownLearnerError(f"there is no learner {shortened(name)} in the store{hint}")
    return Tally(*found[0])


def tallies(connection: Connection) -> list[Tally]:
    """The rows of all learners, by name."""
    return [
        Tally(*row) for row in connection.rows(f"SELECT {LEARNER} FROM kh_learner ORDER BY name")
    ]


def add_learner(connection: Connection, row: Tally) -> None:
    """Write the row of a new learner, and its number into `row`."""
    columns = f"name, about, created_at, {TALLY}"
    values = (row.name, row.about, row.created_at, *row.values())
    marks = ", ".join("?" for _ in values)
    sql = f"INSERT INTO kh_learner ({columns}) VALUES ({marks}) ON CONFLICT (name) DO NOTHING"
    found = connection.rows(f"{sql} RETURNING id", values)
    if not found:
        raise ConflictError(f"the store already has a learner {row.name!r}: use another name")
    row.id = found[0][0]


def update_learner(connection: Connection, row: Tally, seq: int) -> None:
    """Write the row of a learner whose log went up to `seq` before."""
    columns = ", ".join(f"{name} = ?" for name in TALLY.split(", "))
    sql = f"UPDATE kh_learner SET {columns} WHERE id = ? AND seq = ?"
    if connection.run(sql, (*row.values(), row.id, seq)) != 1:
        raise StoreDamagedError(f"another process wrote to the log of {row.name!r} out of turn")


def events(connection: Connection, learner: int, after: int, last: int) -> Iterator[Event]:
    """The events after one and up to another, in order."""
    while after < last:
        sql = f"SELECT {EVENT} FROM kh_event WHERE learner = ? AND seq > ? AND seq <= ?"
        rows = connection.rows(f"{sql} ORDER BY seq LIMIT ?", (learner, after, last, PAGE))
        for row in rows:
            event = Event(*row)
            if event.seq != after + 1:
                break
            after = event.seq
            yield event
        if not rows or rows[-1][0] != after:
            raise StoreDamagedError(f"event {after + 1} of {last} is missing from the log")


def add_events(connection: Connection, learner: int, events: Iterable[Event]) -> None:
    """Write events."""
    connection.run_many(
        f"INSERT INTO kh_event (learner, {EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(learner, *_event(event)) for event in events],
    )


@dataclass(slots=True)
class TicketRow:
    """The row of a ticket: where in the log it was asked, filled and closed. A projection."""

    id: str
    learner: int
    round: int
    state: str
    cost: float
    asked_seq: int
    asked_at: float
    expires_at: float | None = None
    filled_seq: int | None = None
    filled_at: float | None = None
    prediction: float | None = None
    closed_seq: int | None = None
    closed_at: float | None = None

    def values(self) -> tuple[Any, ...]:
        """All columns."""
        return _ticket(self)


TICKET_ROW = ", ".join(TicketRow.__slots__)
CHANGES = ("state", "filled_seq", "filled_at", "prediction", "closed_seq", "closed_at")
_ticket = attrgetter(*TicketRow.__slots__)
_changes = attrgetter(*CHANGES, "id")


def add_tickets(connection: Connection, rows: Iterable[TicketRow]) -> None:
    """Write the rows of new tickets."""
    marks = ", ".join("?" for _ in TicketRow.__slots__)
    sql = f"INSERT INTO kh_ticket ({TICKET_ROW}) VALUES ({marks})"
    connection.run_many(sql, [row.values() for row in rows])


def update_tickets(connection: Connection, rows: Iterable[TicketRow]) -> None:
    """Write what has happened to tickets."""
    columns = ", ".join(f"{name} = ?" for name in CHANGES)
    sql = f"UPDATE kh_ticket SET {columns} WHERE id = ?"
    connection.run_many(sql, [_changes(row) for row in rows])


def among(connection: Connection, sql: str, first: Sequence[Any], keys: Sequence[str]) -> list[Row]:
    """The rows for any of these keys; the SQL says `{}` where their marks go, at its end.

    Marks are a power of two in number, so that few statements are prepared.
    """
    found: list[Row] = []
    for start in range(0, len(keys), MOST):
        some = [*keys[start : start + MOST]]
        many = 1 << (len(some) - 1).bit_length()
        marks = ", ".join("?" * many)
        found += connection.rows(
            sql.format(marks), (*first, *some, *some[-1:] * (many - len(some)))
        )
    return found


def answered(
    connection: Connection, learner: int, keys: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """What idempotency keys were used for, those that were: hash and tickets of the request."""
    sql = "SELECT idem_key, request_hash, tickets FROM kh_request WHERE learner = ? AND idem_key"
    return {key: (a, b) for key, a, b in among(connection, sql + " IN ({})", (learner,), keys)}


def add_requests(connection: Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write what idempotency keys were used for."""
    columns = "learner, idem_key, request_hash, tickets, at"
    connection.run_many(f"INSERT INTO kh_request ({columns}) VALUES (?, ?, ?, ?, ?)", rows)


def owners(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The names of the learners of tickets, by id; without those that there are not."""
    sql = "SELECT t.id, l.name FROM kh_ticket t JOIN kh_learner l ON l.id = t.learner"
    return dict(among(connection, sql + " WHERE t.id IN ({})", (), ids))


def find_ticket(connection: Connection, where: str, values: Sequence[Any]) -> TicketRow | None:
    """The row of the ticket for which this holds, if there is one."""
    found = connection.rows(f"SELECT {TICKET_ROW} FROM kh_ticket WHERE {where}", values)
    return TicketRow(*found[0]) if found else None


def body(connection: Connection, learner: int, seq: int | None) -> str:
    """What an event says."""
    sql = "SELECT body FROM kh_event WHERE learner = ? AND seq = ?"
    found = connection.rows(sql, (learner, seq))
    if not found:
        raise StoreDamagedError(f"event {seq} is missing from the log")
    return str(found[0][0])
