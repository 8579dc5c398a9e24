"""The tables: the SQL that reads and writes learners, events, tickets and replies."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from keyhole.errors import ConflictError, StoreDamagedError, UnknownLearnerError, nearest, shortened
from keyhole.store.arguments import is_name
from keyhole.store.database import Connection, Row
from keyhole.store.records import Event, LearnerInfo, StoredTicket, moment
from keyhole.ticket import Ticket

PAGE = 1000  # events at a time
TALLY = "seq, digest, waiting, filled, told, dropped, spent, loss, asked_at, told_at"
LEARNER = f"id, name, about, created_at, {TALLY}"
EVENT = "seq, kind, ticket, who, at, body, digest"
TICKET = """
    SELECT t.id, l.name, l.about, t.state, a.who, t.asked_at, t.expires_at, t.filled_at,
           t.closed_at, a.body, s.body, c.body
    FROM kh_ticket t
    JOIN kh_learner l ON l.id = t.learner
    JOIN kh_event a ON a.learner = t.learner AND a.seq = t.asked_seq
    LEFT JOIN kh_event s ON s.learner = t.learner AND s.seq = t.filled_seq
    LEFT JOIN kh_event c ON c.learner = t.learner AND c.seq = t.closed_seq
"""


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
        return tuple(getattr(self, name) for name in TALLY.split(", "))

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


def chained(before: str, event: Event) -> str:
    """The digest of an event and all before it: none is edited or lost without being noticed."""
    line = [before, event.seq, event.kind, event.ticket, event.who, event.at, event.body]
    return hashlib.sha256(json.dumps(line).encode()).hexdigest()[:32]


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
        raise ConflictError(
            f"there is a learner {row.name!r} in the store already: take another name"
        )
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


def add_event(connection: Connection, learner: int, event: Event) -> None:
    """Write an event."""
    values = [learner, *(getattr(event, name) for name in EVENT.split(", "))]
    connection.run(
        f"INSERT INTO kh_event (learner, {EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values
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
        return tuple(getattr(self, name) for name in self.__slots__)


TICKET_ROW = ", ".join(TicketRow.__slots__)


def add_ticket(connection: Connection, row: TicketRow) -> None:
    """Write the row of a new ticket."""
    marks = ", ".join("?" for _ in TicketRow.__slots__)
    connection.run(f"INSERT INTO kh_ticket ({TICKET_ROW}) VALUES ({marks})", row.values())


def update_ticket(connection: Connection, row: TicketRow) -> None:
    """Write what has happened to a ticket."""
    connection.run(
        "UPDATE kh_ticket SET state = ?, filled_seq = ?, filled_at = ?, prediction = ?, "
        "closed_seq = ?, closed_at = ? WHERE id = ?",
        (
            *(row.state, row.filled_seq, row.filled_at, row.prediction),
            *(row.closed_seq, row.closed_at, row.id),
        ),
    )


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


def tickets(connection: Connection, rest: str, values: Sequence[Any]) -> list[StoredTicket]:
    """Tickets as users see them; `rest` is what follows in the SELECT."""
    return [_stored(row) for row in connection.rows(TICKET + rest, values)]


def _stored(row: Row) -> StoredTicket:
    id, learner, about, state, who, asked_at, expires_at, filled_at, closed_at, *bodies = row
    asked, seen, closed = bodies
    back = None if seen is None else json.loads(seen)
    return StoredTicket(
        id=id,
        learner=learner,
        state=state,
        who=who,
        asked_at=datetime.fromtimestamp(asked_at, UTC),
        expires_at=moment(expires_at),
        filled_at=moment(filled_at),
        closed_at=moment(closed_at),
        ticket=Ticket.from_json(asked),
        item_prices=tuple(json.loads(asked)["item_prices"]),
        units=json.loads(about)["units"],
        values=None if back is None else tuple(map(_number, back["values"])),
        prediction=None if back is None else back["prediction"],
        label=json.loads(closed)["y"] if state == "told" else None,
        **{name: (back or {}).get(name) for name in ("coverage", "low", "high")},
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
