"""A learner in memory: woken from a snapshot and the events after it, kept level with the log."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from keyhole.counter.store import log
from keyhole.counter.store.database import Connection
from keyhole.counter.store.events import Replay
from keyhole.counter.store.held import Held
from keyhole.counter.store.log import Tally
from keyhole.counter.store.records import Event
from keyhole.errors import StateError, StoreDamagedError
from keyhole.problem import Learner
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.version import __version__

KEPT = 2  # snapshots, beside the first of all, from which everything can be replayed
PLATFORM = f"{platform.system()} {platform.machine()}"

# An event takes 0.1 to 0.4 ms to replay, a megabyte of snapshot 7 ms to make: waking takes less
# than half a second, or as long as some 30 snapshots of a large learner.
EVENTS, EVENTS_PER_BYTE = 1000, 875e-6
SECONDS = 600.0
HELD = 2000  # tickets in memory
SMALL = 4_000_000  # bytes: a snapshot that is taken at every close


@dataclass(slots=True)
class Awake:
    """A learner in memory, and the event up to which it has played the log."""

    learner: Learner
    seq: int
    digest: str
    snapshot_seq: int
    snapshot_bytes: int
    snapshot_at: float
    version: str = field(default=__version__)
    held: dict[str, Held] = field(default_factory=dict)  # tickets, as the log has them at `seq`

    def forget_tickets(self, closed: Iterable[str]) -> None:
        """Let go of tickets that are closed, and of the oldest ones if there are too many."""
        for id in closed:
            self.held.pop(id, None)
        for id in [*self.held][: max(0, len(self.held) - HELD)]:
            del self.held[id]

    @property
    def tail(self) -> int:
        """Events since the last snapshot."""
        return self.seq - self.snapshot_seq

    def snapshot_due(self, now: float) -> bool:
        """Whether waking it would take too long by now."""
        many = self.tail >= max(EVENTS, EVENTS_PER_BYTE * self.snapshot_bytes)
        return many or (self.tail > 0 and now - self.snapshot_at >= SECONDS)

    def snapshot_due_at_close(self) -> bool:
        """Whether to leave a snapshot behind: always, unless it is large and little happened."""
        return self.tail > 0 and (self.snapshot_bytes <= SMALL or self.tail >= EVENTS / 10)


def wake(connection: Connection, row: Tally) -> Awake:
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
            awake = load(connection, row.id, seq)
        except StoreDamagedError as error:
            reason = str(error)  # an older one will do, with more events to replay
            continue
        catch_up(connection, awake, row)
        return awake
    raise StoreDamagedError(f"{row.name!r} cannot be recovered: {reason}")


def load(connection: Connection, learner: int, seq: int) -> Awake:
    """A snapshot as a learner, or a StoreDamagedError."""
    sql = "SELECT at, digest, version, sha256, state FROM kh_snapshot WHERE learner = ? AND seq = ?"
    at, digest, version, sha256, state = connection.rows(sql, (learner, seq))[0]
    data = bytes(state)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise StoreDamagedError(f"the snapshot at event {seq} is damaged: its checksum is wrong")
    try:
        return Awake(from_bytes(data), seq, digest, seq, len(data), at, version)
    except StateError as error:
        raise StoreDamagedError(f"the snapshot at event {seq} is damaged: {error}") from None


def catch_up(connection: Connection, awake: Awake, row: Tally) -> None:
    """Play the events that the log has and the learner has not, others may have written them."""
    for _ in replayed(connection, awake, row):
        pass


def replayed(connection: Connection, awake: Awake, row: Tally) -> Iterator[Event]:
    """The same event by event, each when it was played; StoreDamagedError if one goes otherwise."""

    def find(ticket: str, kind: str) -> str:
        sql = "SELECT body FROM kh_event WHERE learner = ? AND ticket = ? AND kind = ?"
        found = connection.rows(sql, (row.id, ticket, kind))
        if not found:
            raise StoreDamagedError(f"the log does not say how {ticket} was {kind}")
        return str(found[0][0])

    awake.held.clear()  # others may have written about them
    replay = Replay(awake.learner, find)
    try:
        for event in log.events(connection, row.id, awake.seq, row.seq):
            if log.chained(awake.digest, event) != event.digest:
                raise StoreDamagedError(f"event {event.seq} was changed after it was written")
            replay.play(event)
            awake.seq, awake.digest = event.seq, event.digest
            yield event
        if (awake.seq, awake.digest) != (row.seq, row.digest):
            raise StoreDamagedError(f"the log does not end at event {row.seq} as it should")
    except StoreDamagedError as error:
        here = f"keyhole {__version__} on {PLATFORM}"
        other = "" if awake.version == __version__ else f", the snapshot is by {awake.version}"
        raise StoreDamagedError(
            f"{row.name!r} is not served: {error} (this is {here}{other}; "
            "docs/howto/the-counter.md says what to do)"
        ) from None


def keep_snapshot(connection: Connection, learner: int, awake: Awake, now: float) -> None:
    """Write a snapshot and forget those before the last two, in a transaction that is open."""
    state = to_bytes(awake.learner)
    columns = "learner, seq, at, digest, version, platform, sha256, state"
    sha256 = hashlib.sha256(state).hexdigest()
    connection.run(
        f"INSERT INTO kh_snapshot ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (learner, seq) DO NOTHING",
        (learner, awake.seq, now, awake.digest, __version__, PLATFORM, sha256, state),
    )
    connection.run(
        "DELETE FROM kh_snapshot WHERE learner = ? AND seq > 1 AND seq NOT IN "
        "(SELECT seq FROM kh_snapshot WHERE learner = ? ORDER BY seq DESC LIMIT ?)",
        (learner, learner, KEPT),
    )
    awake.snapshot_seq, awake.snapshot_bytes, awake.snapshot_at = awake.seq, len(state), now
