"""Replay of the store's log: learners rebuilt from a snapshot and later events, and verified."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from keyhole.counter.store import tables
from keyhole.counter.store.corrections import change_of
from keyhole.counter.store.database import Connection, LearnerDamagedError
from keyhole.counter.store.doubts import doubts_of
from keyhole.counter.store.records import Event, moment
from keyhole.counter.store.requests import (
    LoadedLearner,
    ask_learner,
    interval_body,
    observation_of,
    read_tickets,
    seen_body,
)
from keyhole.counter.store.steps import step_of
from keyhole.counter.store.tables import TICKET_ROW, LearnerTableRow, Projection, TicketRow
from keyhole.errors import DataError, StateError, StoreDamagedError, shortened
from keyhole.problem import Learner
from keyhole.problem.ticket import Observation, Ticket
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.version import __version__

SNAPSHOTS_KEPT = 2  # beside the first of all, from which everything can be replayed
PLATFORM = f"{platform.system()} {platform.machine()}"


class Replay:
    """Plays events again with a learner, and compares what it says with what was said then.

    Tickets that are open are looked up by `find`, which gives the bodies of their events asked and
    seen, for those that stand before the first event that is played.
    """

    def __init__(self, learner: Learner, find: Any) -> None:
        self._learner, self._find = learner, find
        self._bodies: dict[tuple[str, str], str] = {}  # of open tickets, by id and kind

    def play(self, event: Event) -> None:
        """Play one event; StoreDamagedError if it goes another way than it went then."""
        try:
            self._play(event)
        except StoreDamagedError:
            raise
        except Exception as error:  # the log is data: whatever it leads to is its fault
            raise StoreDamagedError(f"event {event.seq} cannot be played again: {error}") from None

    def _play(self, event: Event) -> None:
        learner, id, was = self._learner, cast(str, event.ticket), json.loads(event.body)
        if event.kind == "asked":
            ticket = ask_learner(learner, was.get("terms", {}))
            if not ticket.says_the_same(Ticket.from_json(event.body)):
                raise _differs(event, "the ticket", ticket.features.tolist(), was["features"])
            self._bodies[id, "asked"] = event.body
        elif event.kind == "seen":
            again = observation_of(self._order(id), was)
            _compare_doubts(event, learner, again, None, was, was.get("came"))
            _compare(event, seen_body(learner, again, was.get("coverage")), was)
            self._bodies[id, "seen"] = event.body
        elif event.kind == "step":
            step = step_of(learner, self._order(id), self._seen(id), was["step"]["stop_at"])
            if not step.ticket.says_the_same(Ticket.from_json(event.body)):
                raise _differs(event, "the step", step.features.tolist(), was["step"]["features"])
            self._bodies[id, "asked"] = self._bodies[id, "seen"] = event.body
        elif event.kind == "corrected":
            self._correct(event, id, was)
        elif event.kind == "interval":
            filled = self._filled(str(was["ticket"]))
            _compare(event, interval_body(learner, filled, was["coverage"]), was)
        elif event.kind in ("told", "dropped"):
            if event.kind == "told":
                filled = self._filled(id)
                _compare_doubts(event, learner, filled, float(was["y"]), was)
                learner.tell(filled, float(was["y"]))
            else:
                learner.drop(self._order(id))
            for kind in ("asked", "seen"):
                self._bodies.pop((id, kind), None)
        elif event.kind != "created" or event.seq != 1:
            raise DataError(f"it is of kind {shortened(event.kind)}")

    def _correct(self, event: Event, id: str, was: Mapping[str, Any]) -> None:
        change = change_of(self._order(id), was)
        features = [*change.values]
        _compare_doubts(event, self._learner, change.seen(), change.right_label, was, features)
        now = change.carry_out(self._learner, was.get("coverage"))
        if change.label is None:  # it is still open
            _compare(event, now, was)
            self._bodies[id, "seen"] = event.body

    def _body(self, id: str, kind: str) -> str:
        return self._bodies.get((id, kind)) or str(self._find(id, kind))

    def _order(self, id: str) -> Ticket:
        return Ticket.from_json(self._body(id, "asked"))

    def _seen(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._body(id, "seen"))
        return found

    def _filled(self, id: str) -> Observation:
        return observation_of(self._order(id), self._seen(id))


def _compare(event: Event, now: Mapping[str, Any], then: Mapping[str, Any]) -> None:
    """StoreDamagedError unless the same was served."""
    for what in ("prediction", "low", "high"):
        if now.get(what) != then.get(what):
            raise _differs(event, f"the {what}", now.get(what), then.get(what))


def _compare_doubts(
    event: Event,
    learner: Learner,
    seen: Observation,
    y: float | None,
    then: Mapping[str, Any],
    features: Sequence[int] | None = None,
) -> None:
    """StoreDamagedError unless what was confirmed was doubted; older logs confirm nothing."""
    if "confirmed" in then:
        now = [each.as_dict() for each in doubts_of(learner, seen, y, features)]
        keys = ("name", "value", "low", "high")
        if [[d[k] for k in keys] for d in now] != [[d[k] for k in keys] for d in then["confirmed"]]:
            raise _differs(event, "what was confirmed", now, then["confirmed"])


def _differs(event: Event, what: str, now: object, then: object) -> StoreDamagedError:
    ticket = event.ticket or json.loads(event.body).get("ticket")
    return StoreDamagedError(
        f"event {event.seq} does not replay: {what} of {ticket} is now {shortened(now)}, "
        f"and was {shortened(then)}"
    )


def load_learner(connection: Connection, row: LearnerTableRow) -> LoadedLearner:
    """The learner of this row: the last snapshot that is sound, and the events since.

    StoreDamagedError if none is, or if the events do not replay as they happened.
    """
    reason = "there is no snapshot"
    seqs = connection.rows(
        "SELECT seq FROM kh_snapshot WHERE learner = ? AND seq <= ? ORDER BY seq DESC",
        (row.id, row.seq),
    )
    for (seq,) in seqs:
        try:
            loaded = load_snapshot(connection, row.id, seq)
        except StoreDamagedError as error:
            reason = str(error)  # an older one will do, with more events to replay
            continue
        with tables.damage_of(repr(row.name)):
            catch_up(connection, loaded, row)
        return loaded
    raise LearnerDamagedError(f"{row.name!r} cannot be recovered: {reason}")


def load_snapshot(connection: Connection, learner: int, seq: int) -> LoadedLearner:
    """A snapshot as a learner, or a StoreDamagedError; it must be one of the log as it is now."""
    sql = "SELECT at, digest, version, sha256, state FROM kh_snapshot WHERE learner = ? AND seq = ?"
    at, digest, version, sha256, state = connection.rows(sql, (learner, seq))[0]
    with tables.damage_of(f"the snapshot at event {seq}"):
        data = bytes(memoryview(state))  # a number would be taken for a length
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StateError("its checksum is wrong")
        if digest != _digest(connection, learner, seq):
            raise StateError("its digest is not that of the log")
        loaded = LoadedLearner(from_bytes(data), seq, digest, seq, len(data), at, version)
        moment(at)
    return loaded


def catch_up(connection: Connection, loaded: LoadedLearner, row: LearnerTableRow) -> None:
    """Play the events that the log has and the learner has not, others may have written them."""
    for _ in replayed(connection, loaded, row):
        pass


def replayed(
    connection: Connection, loaded: LoadedLearner, row: LearnerTableRow
) -> Iterator[Event]:
    """The same event by event, each when it was played; StoreDamagedError if one goes otherwise."""

    def find(ticket: str, kind: str) -> str:
        # What was said last, before the first event that is played.
        kinds = {"asked": "'asked', 'step'", "seen": "'seen', 'step', 'corrected'"}[kind]
        sql = "SELECT body FROM kh_event WHERE learner = ? AND ticket = ? AND seq <= ?"
        rest = f"AND kind IN ({kinds}) ORDER BY seq DESC LIMIT 1"
        found = connection.rows(f"{sql} {rest}", (row.id, ticket, loaded.seq))
        if not found:
            raise StoreDamagedError(f"the log does not say how {ticket} was {kind}")
        return str(found[0][0])

    loaded.tickets.clear()  # others may have written about them
    replay = Replay(loaded.learner, find)
    try:
        for event in tables.events(connection, row.id, loaded.seq, row.seq):
            if tables.chained(loaded.digest, event) != event.digest:
                raise StoreDamagedError(f"event {event.seq} was changed after it was written")
            replay.play(event)
            loaded.seq, loaded.digest = event.seq, event.digest
            yield event
        if (loaded.seq, loaded.digest) != (row.seq, row.digest):
            raise StoreDamagedError(f"the log does not end at event {row.seq} as it should")
    except StoreDamagedError as error:
        here = f"keyhole {__version__} on {PLATFORM}"
        other = "" if loaded.version == __version__ else f", the snapshot is by {loaded.version}"
        raise LearnerDamagedError(
            f"{row.name!r} is not served: {error} (this is {here}{other}; "
            "docs/howto/the-counter.md says what to do)"
        ) from None


def write_snapshot(connection: Connection, learner: int, loaded: LoadedLearner, now: float) -> None:
    """Write a snapshot and forget those before the last two, in a transaction that is open."""
    state = to_bytes(loaded.learner)
    columns = "learner, seq, at, digest, version, platform, sha256, state"
    sha256 = hashlib.sha256(state).hexdigest()
    connection.run(
        f"INSERT INTO kh_snapshot ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (learner, seq) DO NOTHING",
        (learner, loaded.seq, now, loaded.digest, __version__, PLATFORM, sha256, state),
    )
    connection.run(
        "DELETE FROM kh_snapshot WHERE learner = ? AND seq > 1 AND seq NOT IN "
        "(SELECT seq FROM kh_snapshot WHERE learner = ? ORDER BY seq DESC LIMIT ?)",
        (learner, learner, SNAPSHOTS_KEPT),
    )
    loaded.snapshot_seq, loaded.snapshot_bytes, loaded.snapshot_at = loaded.seq, len(state), now


def verify(connection: Connection, row: LearnerTableRow) -> int:
    """Replay a learner's log, or a StoreDamagedError with the first difference; how many events.

    Compared are every ticket and prediction with the log, every snapshot with the state at its
    event, bit for bit, and the rows of the learner and of its tickets with what the log makes.
    """
    row.info()  # LearnerDamagedError if it cannot be read
    try:
        with tables.damage_of("its log"):
            _verify(connection, row)
    except StoreDamagedError as error:
        if repr(row.name) in str(error):
            raise
        raise LearnerDamagedError(f"{row.name!r}: {error}") from None
    return row.seq


def _verify(connection: Connection, row: LearnerTableRow) -> None:
    sql = "SELECT seq FROM kh_snapshot WHERE learner = ? ORDER BY seq"
    seqs = [seq for (seq,) in connection.rows(sql, (row.id,))]
    if not seqs or seqs[0] != 1:
        raise StoreDamagedError(f"{row.name!r}: its first snapshot is missing")
    loaded = load_snapshot(connection, row.id, 1)
    loaded.seq, loaded.digest = 0, ""
    for seq in [*seqs, row.seq]:
        digest = _digest(connection, row.id, seq)
        catch_up(connection, loaded, replace(row, seq=seq, digest=digest))
        if seq in seqs:
            kept = load_snapshot(connection, row.id, seq).learner
            if to_bytes(kept) != to_bytes(loaded.learner):
                raise StoreDamagedError(f"the snapshot at event {seq} is not what the log makes")
    if loaded.digest != row.digest:
        raise StoreDamagedError(f"the log does not end at event {row.seq} as it should")
    _refuse_other_start(connection, row)
    _refuse_other_rows(connection, row)
    for key, tickets in connection.rows(
        "SELECT idem_key, tickets FROM kh_request WHERE learner = ?", (row.id,)
    ):
        with tables.damage_of(f"what it remembers of the key {key!r}"):
            read_tickets(tickets)


def replay_from_start(
    connection: Connection, row: LearnerTableRow
) -> Iterator[tuple[Event, Learner]]:
    """Every event in order, with the learner as it was after it; it goes on when asked for more."""
    loaded = load_snapshot(connection, row.id, 1)
    loaded.seq, loaded.digest = 0, ""
    for event in replayed(connection, loaded, row):
        yield event, loaded.learner


def _digest(connection: Connection, learner: int, seq: int) -> str:
    sql = "SELECT digest FROM kh_event WHERE learner = ? AND seq = ?"
    found = connection.rows(sql, (learner, seq))
    return str(found[0][0]) if found else ""  # it will be missed


def _refuse_other_start(connection: Connection, row: LearnerTableRow) -> None:
    """StoreDamagedError unless the first snapshot and the row are what the first event says."""
    sql = "SELECT state FROM kh_snapshot WHERE learner = ? AND seq = 1"
    state = bytes(connection.rows(sql, (row.id,))[0][0])
    first = json.loads(tables.body(connection, row.id, 1))
    if hashlib.sha256(state).hexdigest() != first.pop("sha256"):
        raise StoreDamagedError("the first snapshot is not the learner that was created")
    first.pop("version")
    if first != json.loads(row.about):
        raise StoreDamagedError("its row is not what was created")


def _refuse_other_rows(connection: Connection, row: LearnerTableRow) -> None:
    new = LearnerTableRow(row.id, row.name, row.about, row.created_at, 0, "")
    made = Projection(new, tables.events(connection, row.id, 0, row.seq))
    if made.row != row:
        raise StoreDamagedError("its row is not what the log makes")
    sql = f"SELECT {TICKET_ROW} FROM kh_ticket WHERE learner = ?"
    rows = [TicketRow(*found) for found in connection.rows(sql, (row.id,))]
    kept = {ticket.id: ticket for ticket in rows}
    for id in kept.keys() | made.tickets.keys():
        if kept.get(id) != made.tickets.get(id):
            raise StoreDamagedError(f"the row of ticket {id} is not what the log makes")
