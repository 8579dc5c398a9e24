"""Tables of the store: SQL for learners, events and tickets, and what each event changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast

from keyhole.counter.store.database import Connection, LearnerDamagedError, SqlRow
from keyhole.counter.store.records import (
    STATES,
    Event,
    LearnerInfo,
    NextStep,
    StoredTicket,
    is_name,
    moment,
    read_id,
)
from keyhole.errors import (
    ConflictError,
    KeyholeError,
    StoreDamagedError,
    StoreError,
    UnknownLearnerError,
    UnknownTicketError,
    nearest,
    one_of,
    shortened,
    whole_number,
)
from keyhole.problem.ticket import Ticket

EVENTS_PER_QUERY = 1000  # events at a time
MAX_KEYS_PER_QUERY = 512  # keys in one statement
CHANGING_COLUMNS = "seq, digest, waiting, filled, told, dropped, spent, loss, asked_at, told_at"
LEARNER_COLUMNS = f"id, name, about, created_at, {CHANGING_COLUMNS}"
EVENT_COLUMNS = "seq, kind, ticket, who, at, body, digest"


@contextlib.contextmanager
def damage_of(what: str) -> Iterator[None]:
    """Rows are data: whatever reading them leads to is a LearnerDamagedError that names them."""
    try:
        yield
    except (StoreError, MemoryError):
        raise
    except KeyholeError as error:
        raise LearnerDamagedError(f"{what} is damaged: {error}") from None
    except Exception as error:
        said = shortened(f"{type(error).__name__}: {error}")[1:-1]
        raise LearnerDamagedError(f"{what} is damaged: {said}") from None


def checked(row: object, **kinds: str) -> None:
    """TypeError unless fields of a row are of these kinds: SQLite keeps anything in any column.

    A kind is "text", "whole" or "real", with a "?" behind it if there may be none.
    """
    for name, kind in kinds.items():
        value = getattr(row, name)
        if value is None and kind.endswith("?"):
            continue
        if not isinstance(value, KINDS[kind.rstrip("?")]) or isinstance(value, bool):
            raise TypeError(f"{name} is {shortened(value)}")


KINDS: Mapping[str, Any] = {"text": str, "whole": int, "real": (int, float)}


@dataclass(slots=True)
class LearnerTableRow:
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

    def info(self) -> LearnerInfo:
        """The same as users see it; LearnerDamagedError if it cannot be seen."""
        with damage_of(f"the row of {self.name!r}"):
            checked(self, id="whole", seq="whole", name="text", about="text", digest="text")
            counts = dict.fromkeys(("waiting", "filled", "told", "dropped"), "whole")
            checked(self, created_at="real", spent="real", loss="real", **counts)
            about = about_learner(self.about)
            same = ("name", "waiting", "filled", "told", "dropped", "spent", "loss")
            return LearnerInfo(
                **about,
                **{field: getattr(self, field) for field in same},
                rounds=self.waiting + self.filled + self.told + self.dropped,
                created_at=datetime.fromtimestamp(self.created_at, UTC),
                asked_at=moment(self.asked_at),
                told_at=moment(self.told_at),
                events=self.seq,
            )


@lru_cache(maxsize=64)  # nearly all requests are about the same
def about_learner(text: str) -> Mapping[str, Any]:
    """What is said about a learner when it is made: fields of a LearnerInfo."""
    about: dict[str, Any] = json.loads(text)
    names, units = about["names"], about["units"]
    about["names"] = None if names is None else tuple(names)
    about.setdefault("yes_no", False)  # only those that are say so
    kinds: dict[str, Any] = {"kind": str, "seed": int, "history": int, "d": int, "k": int}
    fits = all(isinstance(about[name], kind) for name, kind in kinds.items())
    words = [*(names or ()), *units, *units.values()]
    fits = fits and isinstance(about["budget"], int | float) and isinstance(about["priced"], bool)
    fits = fits and isinstance(about["yes_no"], bool)
    if not fits or not all(isinstance(word, str) for word in words):
        raise TypeError(f"about is {shortened(text)}")
    return about


_changing_values = attrgetter(*CHANGING_COLUMNS.split(", "))
_event_values = attrgetter(*EVENT_COLUMNS.split(", "))


def chained(before: str, event: Event) -> str:
    """The digest of an event and all before it: none is edited or lost without being noticed."""
    return digest(before, event.seq, event.kind, event.ticket, event.who, event.at, event.body)


def digest(before: str, *parts: Any) -> str:
    """The same of the parts of an event, in their order."""
    return hashlib.sha256(json.dumps([before, *parts]).encode()).hexdigest()[:32]


def find_learner(connection: Connection, name: str, lock: str = "") -> LearnerTableRow:
    """The row of a learner, or an UnknownLearnerError with the nearest name."""
    found: list[SqlRow] = []
    if is_name(name):  # a database may take offence at anything else
        sql = f"SELECT {LEARNER_COLUMNS} FROM kh_learner WHERE name = ?{lock}"
        found = connection.rows(sql, (name,))
    if not found:
        names = [other for (other,) in connection.rows("SELECT name FROM kh_learner ORDER BY name")]
        hint = nearest(name, names) or (": there are " + ", ".join(names[:8]) if names else "")
        raise UnknownLearnerError(f"there is no learner {shortened(name)} in the store{hint}")
    row = LearnerTableRow(*found[0])
    row.info()  # LearnerDamagedError if it is
    return row


def find_learners(connection: Connection) -> list[LearnerTableRow]:
    """The rows of all learners, by name, as they are: any may be damaged."""
    sql = f"SELECT {LEARNER_COLUMNS} FROM kh_learner ORDER BY name"
    return [LearnerTableRow(*row) for row in connection.rows(sql)]


def add_learner(connection: Connection, row: LearnerTableRow) -> None:
    """Write the row of a new learner, and its number into `row`."""
    columns = f"name, about, created_at, {CHANGING_COLUMNS}"
    values = (row.name, row.about, row.created_at, *_changing_values(row))
    marks = ", ".join("?" for _ in values)
    sql = f"INSERT INTO kh_learner ({columns}) VALUES ({marks}) ON CONFLICT (name) DO NOTHING"
    found = connection.rows(f"{sql} RETURNING id", values)
    if not found:
        raise ConflictError(f"the store already has a learner {row.name!r}: use another name")
    row.id = found[0][0]


def update_learner(connection: Connection, row: LearnerTableRow, seq: int) -> None:
    """Write the row of a learner whose log went up to `seq` before."""
    columns = ", ".join(f"{name} = ?" for name in CHANGING_COLUMNS.split(", "))
    sql = f"UPDATE kh_learner SET {columns} WHERE id = ? AND seq = ?"
    if connection.run(sql, (*_changing_values(row), row.id, seq)) != 1:
        raise StoreDamagedError(f"another process wrote to the log of {row.name!r} out of turn")


def events(connection: Connection, learner: int, after: int, last: int) -> Iterator[Event]:
    """The events after one and up to another, in order."""
    while after < last:
        sql = f"SELECT {EVENT_COLUMNS} FROM kh_event WHERE learner = ? AND seq > ? AND seq <= ?"
        rows = connection.rows(
            f"{sql} ORDER BY seq LIMIT ?", (learner, after, last, EVENTS_PER_QUERY)
        )
        for row in rows:
            event = Event(*row)
            if event.seq != after + 1:
                break
            after = event.seq
            yield readable_event(event)
        if not rows or rows[-1][0] != after:
            raise StoreDamagedError(f"event {after + 1} of {last} is missing from the log")


def events_of_ticket(connection: Connection, id: str) -> list[Event]:
    """The events of a ticket, in order; UnknownTicketError if there are none."""
    sql = f"SELECT {EVENT_COLUMNS} FROM kh_event WHERE ticket = ? ORDER BY seq"
    found = [readable_event(Event(*row)) for row in connection.rows(sql, (id,))]
    if not found:
        raise UnknownTicketError(f"there is no ticket {id} in the store")
    for event in found:
        with damage_of(f"event {event.seq} of ticket {id}"):
            json.loads(event.body)
    return found


def corrections(connection: Connection, learner: int) -> dict[str, dict[str, Any]]:
    """By ticket, what the last event says that corrected it, and its number as `seq`."""
    sql = "SELECT ticket, seq, body FROM kh_event WHERE learner = ? AND kind = 'corrected'"
    found = {}
    for id, seq, text in connection.rows(f"{sql} ORDER BY seq", (learner,)):
        with damage_of(f"a correction of ticket {id}"):
            found[id] = {**json.loads(text), "seq": seq}
    return found


def as_corrected(
    event: Event, body: Mapping[str, Any], right: Mapping[str, Any], features: Iterable[int]
) -> Mapping[str, Any]:
    """What values of a ticket came back, as if what was corrected later had been right."""
    if not right or right["seq"] < event.seq:
        return body
    numbers = [*features]
    now = dict(zip(right.get("features", numbers), right["values"], strict=True))
    return {**right, "values": [now[j] for j in numbers]}


def readable_event(event: Event) -> Event:
    """The event, or a LearnerDamagedError if it cannot be one."""
    with damage_of(f"event {event.seq}"):
        checked(event, kind="text", ticket="text?", who="text", body="text", digest="text")
        moment(event.at)
    return event


def add_events(connection: Connection, learner: int, events: Iterable[Event]) -> None:
    """Write events."""
    connection.run_many(
        f"INSERT INTO kh_event (learner, {EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(learner, *_event_values(event)) for event in events],
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
    corrected_seq: int | None = None  # the last time
    corrected_at: float | None = None
    step_seq: int | None = None  # the last step


TICKET_ROW = ", ".join(TicketRow.__slots__)
TICKET_CHANGES = (
    *("state", "filled_seq", "filled_at", "prediction", "closed_seq", "closed_at"),
    *("corrected_seq", "corrected_at", "step_seq", "cost"),
)
_ticket_values = attrgetter(*TicketRow.__slots__)
_changing_ticket_values = attrgetter(*TICKET_CHANGES, "id")


def add_tickets(connection: Connection, rows: Iterable[TicketRow]) -> None:
    """Write the rows of new tickets."""
    marks = ", ".join("?" for _ in TicketRow.__slots__)
    sql = f"INSERT INTO kh_ticket ({TICKET_ROW}) VALUES ({marks})"
    connection.run_many(sql, [_ticket_values(row) for row in rows])


def update_tickets(connection: Connection, rows: Iterable[TicketRow]) -> None:
    """Write what has happened to tickets."""
    columns = ", ".join(f"{name} = ?" for name in TICKET_CHANGES)
    sql = f"UPDATE kh_ticket SET {columns} WHERE id = ?"
    connection.run_many(sql, [_changing_ticket_values(row) for row in rows])


def among(
    connection: Connection, sql: str, first: Sequence[Any], keys: Sequence[str]
) -> list[SqlRow]:
    """The rows for any of these keys; the SQL says `{}` where their marks go, at its end.

    Marks are a power of two in number, so that few statements are prepared.
    """
    found: list[SqlRow] = []
    for start in range(0, len(keys), MAX_KEYS_PER_QUERY):
        some = [*keys[start : start + MAX_KEYS_PER_QUERY]]
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


def find_ticket_row(connection: Connection, where: str, values: Sequence[Any]) -> TicketRow | None:
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


def project(
    row: LearnerTableRow,
    ticket: TicketRow | None,
    event: Event,
    body: Mapping[str, Any] | None = None,
) -> TicketRow:
    """Take an event into the row of its learner and of its ticket, which is new if it is asked.

    `body` is what the event says, for those who know it without reading it.
    """
    body = json.loads(event.body) if body is None else body
    row.seq, row.digest = event.seq, event.digest
    if event.kind == "asked":
        row.waiting, row.spent, row.asked_at = row.waiting + 1, row.spent + body["cost"], event.at
        number, cost = int(body["round"]), float(body["cost"])
        expires_at = body.get("expires_at")
        id = cast(str, event.ticket)
        return TicketRow(id, row.id, number, "asked", cost, event.seq, event.at, expires_at)
    if ticket is None:
        raise StoreDamagedError(f"event {event.seq} is about a ticket that was never asked for")
    if event.kind == "seen":
        if ticket.state == "asked":
            row.waiting, row.filled = row.waiting - 1, row.filled + 1
        ticket.state, ticket.prediction = "filled", body["prediction"]
        ticket.filled_seq, ticket.filled_at = event.seq, event.at
        return ticket
    if event.kind == "step":
        row.spent += body["cost"] - ticket.cost
        ticket.step_seq, ticket.cost = event.seq, body["cost"]
        return ticket
    if event.kind == "corrected":
        ticket.corrected_seq, ticket.corrected_at = event.seq, event.at
        ticket.prediction = body.get("prediction", ticket.prediction)
        return ticket
    if ticket.state == "asked":
        row.waiting -= 1
    else:
        row.filled -= 1
    if event.kind == "told":
        error = body["y"] - cast(float, ticket.prediction)
        row.told, row.loss, row.told_at = row.told + 1, row.loss + error * error, event.at
    else:
        row.dropped += 1
    ticket.state, ticket.closed_seq, ticket.closed_at = event.kind, event.seq, event.at
    return ticket


class Projection:
    """The rows that a log makes: that of its learner, which is new, and those of its tickets."""

    def __init__(self, row: LearnerTableRow, events: Iterable[Event]) -> None:
        self.row = row
        self.tickets: dict[str, TicketRow] = {}
        self._labels: dict[str, float] = {}
        for event in events:
            if event.ticket is None:
                row.seq, row.digest = event.seq, event.digest
            else:
                self._take(event.ticket, event)

    def _take(self, id: str, event: Event) -> None:
        body = json.loads(event.body)
        self.tickets[id] = project(self.row, self.tickets.get(id), event, body)
        before, y = self._labels.get(id), body.get("y")
        if y is not None:
            self._labels[id] = y
        if before not in (None, y):  # a correction, of the label
            told = self._labels.items()
            self.row.loss = squared_errors((self.tickets[each].prediction, y) for each, y in told)


def squared_errors(pairs: Iterable[tuple[float | None, float]]) -> float:
    """The sum of squared errors, the same in any order."""
    return math.fsum((y - cast(float, prediction)) ** 2 for prediction, y in pairs)


def total_loss(connection: Connection, learner: int) -> float:
    """The loss of a learner by its labels as they are now.

    Once a label was corrected: taken from the sum, a loss that was far too large would leave
    nothing but rounding.
    """
    rows = connection.rows(
        "SELECT t.prediction, c.body, k.body FROM kh_ticket t "
        "JOIN kh_event c ON c.learner = t.learner AND c.seq = t.closed_seq "
        "LEFT JOIN kh_event k ON k.learner = t.learner AND k.seq = t.corrected_seq "
        "WHERE t.learner = ? AND t.state = 'told'",
        (learner,),
    )
    return squared_errors((prediction, _label(told, right)) for prediction, told, right in rows)


def _label(told: str, corrected: str | None) -> float:
    """The label by the event that told it, and by the last that corrected its ticket."""
    right = None if corrected is None else json.loads(corrected).get("y")
    return float(json.loads(told)["y"] if right is None else right)


TICKET_COLUMNS = ", ".join(f"t.{name}" for name in TicketRow.__slots__)
SELECT_TICKETS = f"""
    SELECT l.name, l.about, a.who, COALESCE(p.body, a.body),
           s.body, p.body, c.body, k.body, {TICKET_COLUMNS}
    FROM kh_ticket t
    JOIN kh_learner l ON l.id = t.learner
    JOIN kh_event a ON a.learner = t.learner AND a.seq = t.asked_seq
    LEFT JOIN kh_event s ON s.learner = t.learner AND s.seq = t.filled_seq
    LEFT JOIN kh_event p ON p.learner = t.learner AND p.seq = t.step_seq
    LEFT JOIN kh_event c ON c.learner = t.learner AND c.seq = t.closed_seq
    LEFT JOIN kh_event k ON k.learner = t.learner AND k.seq = t.corrected_seq
"""


@dataclass(slots=True)
class TicketRecord:
    """A ticket: its row, who asked, the order, and what the events after it say."""

    row: TicketRow
    who: str
    order: Ticket
    item_prices: tuple[float, ...]
    seen: Mapping[str, Any] | None = None  # as `events.seen` has it
    label: float | None = None

    def correct(self, body: Mapping[str, Any]) -> None:
        """Have what an event of a correction says."""
        self.seen = body
        if self.label is not None and "y" in body:
            self.label = float(body["y"])

    def grow(self, order: Ticket, body: Mapping[str, Any]) -> None:
        """Have what an event of a step says."""
        self.order, self.item_prices, self.seen = order, tuple(body["item_prices"]), body

    def next_step(self) -> NextStep | None:
        """What `next` said, if no values of it came since."""
        said = (self.seen or {}).get("step")
        if said is None or self.row.state not in STATES["open"]:
            return None
        now = {*said["features"]}
        labels = zip(self.order.features.tolist(), self.order._labels(), strict=True)
        prices = dict(zip(self.order.items, self.item_prices, strict=True))
        return NextStep(
            tuple(label for j, label in labels if j in now),
            tuple(said["items"]),
            tuple(prices[item] for item in said["items"]),
            float(said["cost"]),
            str(said["reason"]),
        )

    def stored(self, learner: str, about: str) -> StoredTicket:
        """The same as users see it; LearnerDamagedError if it cannot be seen."""
        row, seen = self.row, self.seen or {}
        with damage_of(f"ticket {row.id} of {learner!r}"):
            checked(row, round="whole", cost="real", state="text", prediction="real?")
            noted = about_learner(about)
            return StoredTicket(
                id=row.id,
                learner=learner,
                state=cast(Any, one_of("state", row.state, OWN_STATES)),
                who=self.who,
                asked_at=datetime.fromtimestamp(row.asked_at, UTC),
                expires_at=moment(row.expires_at),
                filled_at=moment(row.filled_at),
                closed_at=moment(row.closed_at),
                ticket=self.order,
                item_prices=self.item_prices,
                units=noted["units"],
                yes_no=noted["yes_no"],
                corrected_at=moment(row.corrected_at),
                values=None if self.seen is None else tuple(map(_number, seen["values"])),
                label=self.label,
                step=self.next_step(),
                **{name: seen.get(name) for name in SERVED[1:-1]},
            )


# What there is to say of the values of a ticket: the last event that is about them says all of it.
SERVED = ("values", "prediction", "coverage", "low", "high", "step")
OWN_STATES = (*STATES["open"], *STATES["closed"])


def find_ticket(connection: Connection, id: str, learner: int) -> TicketRecord | None:
    """A ticket of this learner, if there is one."""
    found = connection.rows(f"{SELECT_TICKETS} WHERE t.id = ? AND t.learner = ?", (id, learner))
    if not found:
        return None
    record = _ticket_record(found[0])
    record.stored(*found[0][:2])  # LearnerDamagedError if it is
    return record


def tickets(connection: Connection, rest: str, values: Sequence[Any]) -> list[StoredTicket]:
    """Tickets as users see them; `rest` is what follows in the SELECT_TICKETS."""
    rows = connection.rows(SELECT_TICKETS + rest, values)
    return [_ticket_record(row).stored(row[0], row[1]) for row in rows]


def open_tickets(connection: Connection) -> list[SqlRow]:
    """Of every ticket that is open its id, and who asked for it; nothing else is read."""
    states = STATES["open"]
    return connection.rows(
        "SELECT t.id, a.who FROM kh_ticket t JOIN kh_event a "
        "ON a.learner = t.learner AND a.seq = t.asked_seq "
        f"WHERE t.state IN ({', '.join('?' for _ in states)})",
        states,
    )


def tickets_by_id(connection: Connection, ids: Sequence[str]) -> list[StoredTicket]:
    """These tickets, in this order."""
    found = []
    for id in ids:
        found += tickets(connection, " WHERE t.id = ?", (id,))
        if not found or found[-1].id != id:
            raise UnknownTicketError(f"there is no ticket {id} in the store")
    return found


def search_tickets(
    connection: Connection,
    name: str | None,
    state: str | None,
    asked_before: float | None,
    limit: int | None,
    after: str | None,
    newest_first: bool,
) -> list[StoredTicket]:
    """Tickets of a learner, in a state, of an age; a page of them."""
    where: list[tuple[str, Sequence[Any]]] = []
    if state is not None:
        states = STATES[one_of("state", state, STATES)]
        where.append((f"t.state IN ({', '.join('?' for _ in states)})", states))
    if asked_before is not None:
        where.append(("t.asked_at <= ?", [asked_before]))
    own: list[Any] = []  # the learner
    if name is not None:
        own = [find_learner(connection, name).id]
        where.append(("t.learner = ?", own))
    if after is not None:
        last = read_id(after)
        which = "id = ? AND learner = ?" if own else "id = ?"
        if find_ticket_row(connection, which, (last, *own)) is None:
            raise UnknownTicketError(f"there is no ticket {last} in the store")
        sign = "<" if newest_first else ">"
        where.append((f"t.number {sign} (SELECT number FROM kh_ticket WHERE id = ?)", [last]))
    rest = " WHERE " + " AND ".join(part for part, _ in where) if where else ""
    rest += " ORDER BY t.number" + (" DESC" if newest_first else "")
    values = [value for _, part in where for value in part]
    if limit is not None:
        most = min(whole_number("limit", limit, 0), sys.maxsize)
        rest, values = rest + " LIMIT ?", [*values, most]
    return tickets(connection, rest, values)


def _ticket_record(found: SqlRow) -> TicketRecord:
    name, _, who, order, seen, step, closed, corrected, *columns = found
    row = TicketRow(*columns)
    with damage_of(f"ticket {row.id} of {name!r}"):
        record = TicketRecord(
            row,
            who,
            Ticket.from_json(order),
            tuple(json.loads(order)["item_prices"]),
            None,
            float(json.loads(closed)["y"]) if row.state == "told" else None,
        )
        seqs = row.filled_seq, row.step_seq, row.corrected_seq
        said = zip(seqs, (seen, step, corrected), strict=True)
        for _, body in sorted((seq, body) for seq, body in said if body is not None):
            record.correct(json.loads(body))  # the last says it all
        return record


def _number(value: float | None) -> float:
    return math.nan if value is None else value


# Those that name their learner.
TABLES_OF_LEARNER = ("kh_request", "kh_snapshot", "kh_ticket", "kh_event")


def delete_learner(connection: Connection, name: str, lock: str, force: bool) -> LearnerTableRow:
    """Delete a learner, in a transaction that is open; its row as it was.

    ConflictError if somebody may still bring values or labels, unless they are given up too.
    """
    row = find_learner(connection, name, lock)
    waiting = row.waiting + row.filled
    if waiting and not force:
        tickets = "an open ticket" if waiting == 1 else f"{waiting:,} open tickets"
        raise ConflictError(
            f"{name!r} has {tickets}: tell their labels or drop them first, or force it (`force`). "
            "Export the learner before you delete it: this cannot be undone"
        )
    for table in TABLES_OF_LEARNER:
        connection.run(f"DELETE FROM {table} WHERE learner = ?", (row.id,))
    connection.run("DELETE FROM kh_learner WHERE id = ?", (row.id,))
    return row
