"""Verifying: everything replayed from the first event on, and compared with what is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace

from keyhole.counter.store import log
from keyhole.counter.store.database import Connection
from keyhole.counter.store.log import TICKET_ROW, Tally, TicketRow
from keyhole.counter.store.memory import catch_up, load, replayed
from keyhole.counter.store.projection import Projection
from keyhole.counter.store.records import Event
from keyhole.errors import StoreDamagedError
from keyhole.problem import Learner
from keyhole.saving.api import to_bytes


def verify(connection: Connection, row: Tally) -> int:
    """Replay a learner's log, or a StoreDamagedError with the first difference; how many events.

    Compared are every ticket and prediction with the log, every snapshot with the state at its
    event, bit for bit, and the rows of the learner and of its tickets with what the log makes.
    """
    seqs = [
        seq
        for (seq,) in connection.rows(
            "SELECT seq FROM kh_snapshot WHERE learner = ? ORDER BY seq", (row.id,)
        )
    ]
    if not seqs or seqs[0] != 1:
        raise StoreDamagedError(f"{row.name!r}: its first snapshot is missing")
    try:
        awake = load(connection, row.id, 1)
        awake.seq, awake.digest = 0, ""
        for seq in [*seqs, row.seq]:
            digest = _digest(connection, row, seq)
            catch_up(connection, awake, replace(row, seq=seq, digest=digest))
            if seq in seqs and to_bytes(load(connection, row.id, seq).learner) != to_bytes(
                awake.learner
            ):
                raise StoreDamagedError(f"the snapshot at event {seq} is not what the log makes")
        if awake.digest != row.digest:
            raise StoreDamagedError(f"the log does not end at event {row.seq} as it should")
        _refuse_other_start(connection, row)
        _refuse_other_rows(connection, row)
    except StoreDamagedError as error:
        if repr(row.name) in str(error):
            raise
        raise StoreDamagedError(f"{row.name!r}: {error}") from None
    return row.seq


def from_the_start(connection: Connection, row: Tally) -> Iterator[tuple[Event, Learner]]:
    """Every event in order, with the learner as it was after it; it goes on when asked for more."""
    awake = load(connection, row.id, 1)
    awake.seq, awake.digest = 0, ""
    for event in replayed(connection, awake, row):
        yield event, awake.learner


def _digest(connection: Connection, row: Tally, seq: int) -> str:
    sql = "SELECT digest FROM kh_event WHERE learner = ? AND seq = ?"
    found = connection.rows(sql, (row.id, seq))
    return str(found[0][0]) if found else ""  # it will be missed


def _refuse_other_start(connection: Connection, row: Tally) -> None:
    """StoreDamagedError unless the first snapshot and the row are what the first event says."""
    sql = "SELECT state FROM kh_snapshot WHERE learner = ? AND seq = 1"
    state = bytes(connection.rows(sql, (row.id,))[0][0])
    first = json.loads(log.body(connection, row.id, 1))
    if hashlib.sha256(state).hexdigest() != first.pop("sha256"):
        raise StoreDamagedError("the first snapshot is not the learner that was created")
    first.pop("version")
    if first != json.loads(row.about):
        raise StoreDamagedError("its row is not what was created")


def _refuse_other_rows(connection: Connection, row: Tally) -> None:
    made = Projection(Tally(row.id, row.name, row.about, row.created_at, 0, ""))
    for event in log.events(connection, row.id, 0, row.seq):
        made.take(event)
    if made.row != row:
        raise StoreDamagedError("its row is not what the log makes")
    sql = f"SELECT {TICKET_ROW} FROM kh_ticket WHERE learner = ?"
    kept = {
        ticket.id: ticket for ticket in (TicketRow(*r) for r in connection.rows(sql, (row.id,)))
    }
    for id in kept.keys() | made.tickets.keys():
        if kept.get(id) != made.tickets.get(id):
            raise StoreDamagedError(f"the row of ticket {id} is not what the log makes")
