"""The reader: what is in the tables, on a connection of its own, whoever writes meanwhile."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from threading import RLock
from typing import Any

from keyhole.counter.store import held, log
from keyhole.counter.store.database import Connection, Database
from keyhole.counter.store.log import TicketRow
from keyhole.counter.store.records import STATES, Event, LearnerInfo, Snapshot, StoredTicket
from keyhole.counter.store.ticket_ids import read_id
from keyhole.errors import StoreError, UnknownTicketError, one_of, whole_number


class Reader:
    """Answers questions about learners and tickets; each query sees what is committed by then."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._lock = RLock()
        self._closed, self._pid = False, os.getpid()

    @contextlib.contextmanager
    def connected(self) -> Iterator[Connection]:
        """The connection, for one thread at a time; thrown away if it fails."""
        with self._lock:
            if self._closed:
                raise StoreError("the store is closed")
            if os.getpid() != self._pid:
                raise StoreError(
                    "the store was opened before this process was forked: open it again"
                )
            self._database.refuse_if_replaced()
            if self._connection is None:
                self._connection = self._database.connect()
            try:
                yield self._connection
            except StoreError as error:
                if not isinstance(error, LookupError):  # the connection may be broken: a new one
                    self._disconnect()
                raise

    def infos(self) -> list[LearnerInfo]:
        """What there is to say about each learner, by name."""
        with self.connected() as connection:
            return [row.info() for row in log.tallies(connection)]

    def info(self, name: str) -> LearnerInfo:
        """What there is to say about one learner."""
        with self.connected() as connection:
            return log.tally(connection, name).info()

    def snapshots(self) -> dict[str, Snapshot]:
        """The last snapshot of each learner, by name."""
        sql = (
            "SELECT l.name, s.at, l.seq - s.seq FROM kh_learner l "
            "JOIN kh_snapshot s ON s.learner = l.id WHERE s.seq = "
            "(SELECT MAX(seq) FROM kh_snapshot WHERE learner = l.id) ORDER BY l.name"
        )
        with self.connected() as connection:
            rows = connection.rows(sql)
        return {name: Snapshot(datetime.fromtimestamp(at, UTC), tail) for name, at, tail in rows}

    def by_id(self, ids: Sequence[str]) -> list[StoredTicket]:
        """These tickets, in this order."""
        with self.connected() as connection:
            found = []
            for id in ids:
                found += held.tickets(connection, " WHERE t.id = ?", (id,))
                if not found or found[-1].id != id:
                    raise UnknownTicketError(f"there is no ticket {id} in the store")
            return found

    def search(
        self,
        name: str | None,
        state: str | None,
        age: float | None,
        limit: int | None,
        after: str | None,
        newest_first: bool,
    ) -> list[StoredTicket]:
        """Tickets of a learner, in a state, of an age; a page of them."""
        where: list[tuple[str, Sequence[Any]]] = []
        if state is not None:
            states = STATES[one_of("state", state, STATES)]
            where.append((f"t.state IN ({', '.join('?' for _ in states)})", states))
        if age is not None:
            where.append(("t.asked_at <= ?", [time.time() - age]))
        with self.connected() as connection:
            if name is not None:
                where.append(("t.learner = ?", [log.tally(connection, name).id]))
            if after is not None:
                sign, last = "<" if newest_first else ">", _row(connection, after).id
                sql = f"t.number {sign} (SELECT number FROM kh_ticket WHERE id = ?)"
                where.append((sql, [last]))
            rest = " WHERE " + " AND ".join(part for part, _ in where) if where else ""
            rest += " ORDER BY t.number" + (" DESC" if newest_first else "")
            values = [value for _, part in where for value in part]
            if limit is not None:
                most = min(whole_number("limit", limit, 0), sys.maxsize)
                rest, values = rest + " LIMIT ?", [*values, most]
            return held.tickets(connection, rest, values)

    def history(self, name: str, after: int, limit: int | None) -> list[Event]:
        """The events of a learner after one, so many."""
        with self.connected() as connection:
            row, first = log.tally(connection, name), whole_number("after", after, 0)
            last = row.seq if limit is None else first + whole_number("limit", limit, 0)
            return list(log.events(connection, row.id, first, min(row.seq, last)))

    def id_of(self, name: str, round: int) -> str:
        """The id of the ticket of a round."""
        with self.connected() as connection:
            learner = log.tally(connection, name).id
            found = log.find_ticket(connection, "learner = ? AND round = ?", (learner, round))
        if found is None:
            raise UnknownTicketError(f"{name!r} has issued no ticket of round {round}")
        return found.id

    def close(self) -> None:
        """Let go of the connection; safe to call again."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _row(connection: Connection, ticket: str) -> TicketRow:
    id = read_id(ticket)
    found = log.find_ticket(connection, "id = ?", (id,))
    if found is None:
        raise UnknownTicketError(f"there is no ticket {id} in the store")
    return found
