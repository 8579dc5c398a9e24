"""Deleting a learner, with everything that is kept about it."""

from __future__ import annotations

from keyhole.counter.store import log
from keyhole.counter.store.database import Connection
from keyhole.counter.store.log import Tally
from keyhole.errors import ConflictError

TABLES = ("kh_request", "kh_snapshot", "kh_ticket", "kh_event")  # those that name their learner


def delete(connection: Connection, name: str, lock: str, force: bool) -> Tally:
    """Delete a learner, in a transaction that is open; its row as it was.

    ConflictError if somebody may still bring values or labels, unless they are given up too.
    """
    row = log.tally(connection, name, lock)
    waiting = row.waiting + row.filled
    if waiting and not force:
        tickets = "an open ticket" if waiting == 1 else f"{waiting:,} open tickets"
        raise ConflictError(
            f"{name!r} has {tickets}: tell their labels or drop them first, or force it (`force`). "
            "Export the learner before you delete it: this cannot be undone"
        )
    for table in TABLES:
        connection.run(f"DELETE FROM {table} WHERE learner = ?", (row.id,))
    connection.run("DELETE FROM kh_learner WHERE id = ?", (row.id,))
    return row
