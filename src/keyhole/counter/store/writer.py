"""The writer: requests of many threads, done in turn and committed together.

There is no thread of its own. Who comes while nobody writes does what is waiting, for everybody, in
one transaction; who comes while somebody writes waits, and is done with the others next time. So a
lone request is committed at once, and a hundred at a time cost one commit.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import RLock
from typing import TypeVar, cast

from keyhole.counter.store import log
from keyhole.counter.store.database import Connection, Database
from keyhole.counter.store.log import Tally
from keyhole.counter.store.memory import Awake, catch_up, keep_snapshot, wake
from keyhole.counter.store.records import Commit
from keyhole.counter.store.requests import Request, Turn
from keyhole.errors import (
    ConflictError,
    StoreDamagedError,
    StoreError,
    UnknownLearnerError,
    UnknownTicketError,
)
from keyhole.problem import Learner

T = TypeVar("T")
MOST = 512  # requests in one transaction
RECENT = 512  # commits of which it is known how long they took


class Writer:
    """Does requests. Learners are woken when they are first needed, and kept level with the log.

    Other processes may write to the same store: a transaction starts by locking the learner's row
    (SQLite locks the file), then plays the events that others have written since. So there is
    always one writer, whoever it is, and every one starts from what was committed last.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._waiting: deque[Request] = deque()
        self._lock = RLock()
        self._awake: dict[int, Awake] = {}
        self._closed, self._pid = False, os.getpid()
        self.groups = 0  # transactions so far, and requests in them
        self.requests = 0
        self.recent: deque[Commit] = deque(maxlen=RECENT)  # the last of them

    def submit(self, request: Request) -> Request:
        """Have a request done; it returns when that is on disk, and raises what went wrong."""
        self._waiting.append(request)
        with self._lock:
            while not request.done:
                self._do()
        if request.error is not None:
            raise request.error
        return request

    def queue(self, request: Request) -> None:
        """Leave a request for the next one who writes, or for `work`."""
        self._waiting.append(request)

    @property
    def waiting(self) -> bool:
        """Whether there is a request that nobody has taken up."""
        return bool(self._waiting)

    def work(self) -> None:
        """Do what is waiting, one group."""
        with self._lock:
            self._do()

    def look(self, name: str, at: Callable[[Learner], T]) -> T:
        """What a learner says; `at` must not change it."""
        with self._lock:
            connection = self._connected()
            try:
                row = log.tally(connection, name)
                awake = self._awake.get(row.id)
                if awake is None or (awake.seq, awake.digest) != (row.seq, row.digest):
                    with connection.reading():
                        awake = self._level(connection, log.tally(connection, name))
            except StoreError as error:
                if not isinstance(error, UnknownLearnerError):
                    self._forget()  # the connection may be broken
                raise
            return at(awake.learner)

    def snapshot(self, name: str | None = None, *, due: bool = False) -> None:
        """Write snapshots of learners that are awake and have a tail, or of this one."""
        with self._lock:
            connection = self._connected()
            for row in log.tallies(connection):
                awake = self._awake.get(row.id)
                if row.name == name and (awake is None or awake.seq != row.seq):
                    with connection.reading():
                        awake = self._level(connection, log.tally(connection, row.name))
                if awake is None or awake.tail == 0 or name not in (None, row.name):
                    continue
                if not due or awake.snapshot_due_at_close():
                    self._keep(connection, row.id, awake)

    def run(self, call: Callable[[Connection], T]) -> T:
        """Something else in a transaction that writes."""
        with self._lock:
            connection = self._connected()
            try:
                with connection.writing():
                    return call(connection)
            except StoreError as error:
                if not isinstance(error, (ConflictError, LookupError)):
                    self._forget()  # the connection may be broken
                raise

    def forget(self, learner: int) -> None:
        """Let go of a learner that was deleted."""
        with self._lock:
            self._awake.pop(learner, None)

    def close(self) -> None:
        """Leave snapshots behind and let go of everything; safe to call again."""
        with self._lock:
            try:
                if self._awake:
                    # What was answered is in the log: without a snapshot, waking takes longer.
                    with contextlib.suppress(StoreError):
                        self.snapshot(due=True)
            finally:
                self._forget()
                self._closed = True

    def _do(self) -> None:
        """Do what is waiting, and again without a request that failed half-way, then answer."""
        group: list[Request] = []
        try:
            while self._waiting and len(group) < MOST:
                group.append(self._waiting.popleft())
            while not self._attempt([request for request in group if request.error is None]):
                pass
        except BaseException as error:
            self._forget()
            for request in group:
                request.error = request.error or _unconfirmed(error)
            if not isinstance(error, Exception):
                raise  # Ctrl-C is for the one who pressed it
        finally:
            for request in group:
                request.finish()

    def _attempt(self, group: list[Request]) -> bool:
        """One transaction; False if one of the requests has failed and has to be left out."""
        connection = self._connected()
        now = time.time()
        turns: dict[str, Turn] = {}
        started: dict[str, int] = {}
        begun = time.perf_counter()
        try:
            with connection.writing():
                for name, theirs in sorted(_by_learner(connection, group).items()):
                    try:
                        row = log.tally(connection, name, self._database.row_lock)
                        awake, started[name] = self._level(connection, row), row.seq
                    except (UnknownLearnerError, StoreDamagedError) as error:
                        for request in theirs:
                            request.error = error
                    else:
                        keys = [request.key for request in theirs if request.key is not None]
                        answered = log.answered(connection, row.id, keys)
                        turns[name] = Turn(connection, row, awake, now, answered)
                for request in group:
                    if request.error is None:
                        self._perform(request, turns[cast(str, request.learner)])
                for name, turn in turns.items():
                    if turn.row.seq != started[name]:
                        turn.flush()
                        log.update_learner(connection, turn.row, started[name])
                begun = time.perf_counter()
        except _HalfDone:
            for turn in turns.values():  # they may be ahead of the log: nobody may use them
                self._awake.pop(turn.row.id, None)
            return False
        self.recent.append(Commit(len(group), time.perf_counter() - begun))
        self.groups, self.requests = self.groups + 1, self.requests + len(group)
        for turn in turns.values():
            turn.awake.seq, turn.awake.digest = turn.row.seq, turn.row.digest
            turn.awake.forget_tickets(turn.closed())
        self._snapshots(connection, turns, now)
        return True

    def _perform(self, request: Request, turn: Turn) -> None:
        turn.changed = False
        try:
            request.perform(turn)
        except Exception as error:
            own = (ConflictError, UnknownTicketError)
            if isinstance(error, StoreError) and not isinstance(error, own):
                raise  # the database, not the request
            request.error = error
            if turn.changed:
                raise _HalfDone from None

    def _snapshots(self, connection: Connection, turns: dict[str, Turn], now: float) -> None:
        """Those that are due. The group is committed: what fails here fails nobody's request."""
        for turn in turns.values():
            if turn.awake.snapshot_due(now):
                try:
                    self._keep(connection, turn.row.id, turn.awake)
                except StoreError:
                    turn.awake.snapshot_at = now  # again later; the log has everything

    def _keep(self, connection: Connection, learner: int, awake: Awake) -> None:
        with connection.writing():
            keep_snapshot(connection, learner, awake, time.time())

    def _level(self, connection: Connection, row: Tally) -> Awake:
        """The learner of a row, level with its log."""
        awake = self._awake.get(row.id)
        if awake is not None and (awake.seq, awake.digest) == (row.seq, row.digest):
            return awake
        self._awake.pop(row.id, None)
        if awake is not None and awake.seq < row.seq:
            try:
                catch_up(connection, awake, row)
            except StoreDamagedError:
                awake = None  # it may be memory that is wrong: from a snapshot, then
        else:
            awake = None
        if awake is None:
            awake = wake(connection, row)
        self._awake[row.id] = awake
        return awake

    def _connected(self) -> Connection:
        if self._closed:
            raise StoreError("the store is closed")
        if os.getpid() != self._pid:
            raise StoreError("the store was opened before this process was forked: open it again")
        self._database.refuse_if_replaced()
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection

    def _forget(self) -> None:
        """Throw away what is in memory, and the connection: the log knows better."""
        self._awake.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _by_learner(connection: Connection, group: Sequence[Request]) -> dict[str, list[Request]]:
    """The requests by the name of their learner, which is looked up for those about a ticket."""
    ids = [request.about for request in group if request.about is not None]
    owners = log.owners(connection, ids)
    found: dict[str, list[Request]] = {}
    for request in group:
        if request.about is not None:
            request.learner = owners.get(request.about)
        if request.learner is not None:
            found.setdefault(request.learner, []).append(request)
        else:
            request.error = UnknownTicketError(f"there is no ticket {request.about} in the store")
    return found


class _HalfDone(Exception):
    """A request failed after it had changed something: its transaction must not be committed."""


def _unconfirmed(error: BaseException) -> BaseException:
    """What a request gets whose transaction was not confirmed."""
    if isinstance(error, StoreError):
        return type(error)(
            f"{error}; the request was not confirmed: look at the ticket, or repeat it (with the "
            "same key, if it had one)"
        )
    return StoreError(f"the request was not confirmed, repeat it: {type(error).__name__}: {error}")
