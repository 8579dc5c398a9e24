"""The store's writer: requests of many threads and coroutines, committed together in groups."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, TypeVar, cast

from keyhole.counter.store import tables
from keyhole.counter.store.database import (
    Connection,
    Database,
    LearnerDamagedError,
    SharedConnection,
)
from keyhole.counter.store.records import Commit, StoredTicket
from keyhole.counter.store.replay import catch_up, load_learner, write_snapshot
from keyhole.counter.store.requests import LearnerTransaction, LoadedLearner, Request
from keyhole.counter.store.tables import LearnerTableRow
from keyhole.errors import (
    ConflictError,
    StoreDamagedError,
    StoreError,
    UnknownLearnerError,
    UnknownTicketError,
)
from keyhole.problem import Learner

if TYPE_CHECKING:
    from keyhole.counter.store.store import Store

T = TypeVar("T")
MAX_REQUESTS_PER_COMMIT = 512  # requests in one transaction
COMMITS_REMEMBERED = 512  # commits of which it is known how long they took


class Writer(SharedConnection):
    """Does requests. Learners are loaded when they are first needed, and kept level with the log.

    Other processes may write to the same store: a transaction starts by locking the learner's row
    (SQLite locks the file), then plays the events that others have written since. So there is
    always one writer, whoever it is, and every one starts from what was committed last.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._waiting: deque[Request] = deque()
        self._loaded: dict[int, LoadedLearner] = {}
        self.transactions = 0  # so far, and requests in them
        self.requests = 0
        self.recent: deque[Commit] = deque(maxlen=COMMITS_REMEMBERED)  # the last of them

    def submit(self, request: Request) -> Request:
        """Have a request done; it returns when that is on disk, and raises what went wrong."""
        self._waiting.append(request)
        with self._lock:
            while not request.done:
                self._commit_waiting()
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
            self._commit_waiting()

    def look(self, name: str, at: Callable[[Learner], T]) -> T:
        """What a learner says; `at` must not change it."""
        with self._lock:
            with self.connected() as connection:
                row = tables.find_learner(connection, name)
                loaded = self._loaded.get(row.id)
                if loaded is None or (loaded.seq, loaded.digest) != (row.seq, row.digest):
                    with connection.reading():
                        loaded = self._up_to_date(connection, tables.find_learner(connection, name))
            return at(loaded.learner)

    def snapshot(self, name: str | None = None, *, due: bool = False) -> None:
        """Write snapshots of loaded learners that have a tail, or of this one."""
        with self._lock:
            connection = self._connected()
            for row in tables.find_learners(connection):
                loaded = self._loaded.get(row.id)
                if row.name == name and (loaded is None or loaded.seq != row.seq):
                    with connection.reading():
                        loaded = self._up_to_date(
                            connection, tables.find_learner(connection, row.name)
                        )
                if loaded is None or loaded.tail == 0 or name not in (None, row.name):
                    continue
                if not due or loaded.snapshot_due_at_close():
                    self._write_snapshot(connection, row.id, loaded)

    def run(self, call: Callable[[Connection], T]) -> T:
        """Something else in a transaction that writes."""
        with self.connected() as connection, connection.writing():
            return call(connection)

    def forget(self, learner: int) -> None:
        """Let go of a learner that was deleted."""
        with self._lock:
            self._loaded.pop(learner, None)

    def close(self) -> None:
        """Leave snapshots behind and let go of everything; safe to call again."""
        with self._lock:
            try:
                if self._loaded:
                    # What was answered is in the log: without a snapshot, loading takes longer.
                    with contextlib.suppress(StoreError):
                        self.snapshot(due=True)
            finally:
                super().close()

    def _commit_waiting(self) -> None:
        """Do what is waiting, and again without a request that failed half-way, then answer."""
        group: list[Request] = []
        try:
            while self._waiting and len(group) < MAX_REQUESTS_PER_COMMIT:
                group.append(self._waiting.popleft())
            while not self._try_commit([request for request in group if request.error is None]):
                pass
        except BaseException as error:
            self.reset()
            for request in group:
                request.error = request.error or _unconfirmed(error)
            if not isinstance(error, Exception):
                raise  # Ctrl-C is for the one who pressed it
        finally:
            for request in group:
                request.finish()

    def _try_commit(self, group: list[Request]) -> bool:
        """One transaction; False if one of the requests has failed and has to be left out."""
        connection = self._connected()
        now = time.time()
        transactions: dict[str, LearnerTransaction] = {}
        started: dict[str, int] = {}
        begun = time.perf_counter()
        try:
            with connection.writing():
                for name, theirs in sorted(_by_learner(connection, group).items()):
                    try:
                        row = tables.find_learner(connection, name, self._database.row_lock)
                        loaded, started[name] = self._up_to_date(connection, row), row.seq
                    except (UnknownLearnerError, StoreDamagedError) as error:
                        for request in theirs:
                            request.error = error
                    else:
                        keys = [request.key for request in theirs if request.key is not None]
                        answered = tables.answered(connection, row.id, keys)
                        transactions[name] = LearnerTransaction(
                            connection, row, loaded, now, answered
                        )
                for request in group:
                    if request.error is None:
                        self._perform(request, transactions[cast(str, request.learner)])
                for name, tx in transactions.items():
                    if tx.row.seq != started[name]:
                        tx.flush()
                        tables.update_learner(connection, tx.row, started[name])
                begun = time.perf_counter()
        except _PartlyDone:
            for tx in transactions.values():  # they may be ahead of the log: nobody may use them
                self._loaded.pop(tx.row.id, None)
            return False
        self.recent.append(Commit(len(group), time.perf_counter() - begun))
        self.transactions, self.requests = self.transactions + 1, self.requests + len(group)
        for tx in transactions.values():
            tx.loaded.seq, tx.loaded.digest = tx.row.seq, tx.row.digest
            tx.loaded.forget_tickets(tx.closed())
        self._write_due_snapshots(connection, transactions, now)
        return True

    def _perform(self, request: Request, tx: LearnerTransaction) -> None:
        tx.changed = False
        try:
            request.perform(tx)
        except Exception as error:
            own = (ConflictError, UnknownTicketError, LearnerDamagedError)
            if isinstance(error, StoreError) and not isinstance(error, own):
                raise  # the database, not the request
            request.error = error
            if tx.changed:
                raise _PartlyDone from None

    def _write_due_snapshots(
        self, connection: Connection, transactions: dict[str, LearnerTransaction], now: float
    ) -> None:
        """Those that are due. The group is committed: what fails here fails nobody's request."""
        for tx in transactions.values():
            if tx.loaded.snapshot_due(now):
                try:
                    self._write_snapshot(connection, tx.row.id, tx.loaded)
                except StoreError:
                    tx.loaded.snapshot_at = now  # again later; the log has everything

    def _write_snapshot(self, connection: Connection, learner: int, loaded: LoadedLearner) -> None:
        with connection.writing():
            write_snapshot(connection, learner, loaded, time.time())

    def _up_to_date(self, connection: Connection, row: LearnerTableRow) -> LoadedLearner:
        """The learner of a row, level with its log."""
        loaded = self._loaded.get(row.id)
        if loaded is not None and (loaded.seq, loaded.digest) == (row.seq, row.digest):
            return loaded
        self._loaded.pop(row.id, None)
        if loaded is None or loaded.seq >= row.seq:
            loaded = load_learner(connection, row)
        else:
            try:
                catch_up(connection, loaded, row)
            except StoreDamagedError:  # it may be memory that is wrong: from a snapshot, then
                loaded = load_learner(connection, row)
        self._loaded[row.id] = loaded
        return loaded

    def reset(self) -> None:
        """Throw away what is in memory, and the connection: the log knows better."""
        self._loaded.clear()
        super().reset()


def _by_learner(connection: Connection, group: Sequence[Request]) -> dict[str, list[Request]]:
    """The requests by the name of their learner, which is looked up for those about a ticket."""
    ids = [request.ticket_id for request in group if request.ticket_id is not None]
    owners = tables.owners(connection, ids)
    found: dict[str, list[Request]] = {}
    for request in group:
        if request.ticket_id is not None:
            request.learner = owners.get(request.ticket_id)
        if request.learner is not None:
            found.setdefault(request.learner, []).append(request)
        else:
            request.error = UnknownTicketError(
                f"there is no ticket {request.ticket_id} in the store"
            )
    return found


class _PartlyDone(Exception):
    """A request failed after it had changed something: its transaction must not be committed."""


def _unconfirmed(error: BaseException) -> BaseException:
    """What a request gets whose transaction was not confirmed."""
    if isinstance(error, StoreError):
        return type(error)(
            f"{error}; the request was not confirmed: look at the ticket, or repeat it (with the "
            "same key, if it had one)"
        )
    return StoreError(f"the request was not confirmed, repeat it: {type(error).__name__}: {error}")


class AsyncStore:
    """Requests (`store/requests.py` makes them) done for the coroutines of one event loop.

    `await answer(request)` gives the tickets when they are on disk, as the calls of `Store` do,
    without a thread for each: what comes while the disk is busy is the next group. A coroutine that
    is cancelled has its request done all the same, as a client that hangs up has.

    The thread starts with the first request; `close` ends it when nothing is waiting.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._work_waits, self._lock, self._closed = Event(), Lock(), False
        self._open: dict[Request, asyncio.Future[None]] = {}
        self._done: deque[Request] = deque()

    async def answer(self, request: Request) -> list[StoredTicket]:
        """Have a request done; its tickets."""
        if self._closed:
            raise StoreError("the store is closed")
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._loop = loop
            self._thread = Thread(target=self._work, name="keyhole writer", daemon=True)
            self._thread.start()
        future: asyncio.Future[None] = loop.create_future()
        request.callback, self._open[request] = self._finished, future
        self._store._writer.queue(request)
        self._work_waits.set()
        await future
        if request.error is not None:
            raise request.error
        if request.replies is None:  # done before, under the same key: they are read anew
            return await asyncio.to_thread(self._store._replies, request)
        return request.replies

    def close(self) -> None:
        """End the thread, when what is waiting is done; safe to call again."""
        self._closed = True
        self._work_waits.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            self._work_waits.wait()
            self._work_waits.clear()
            while self._store._writer.waiting:
                self._store._writer.work()
            if self._closed:
                return

    def _finished(self, request: Request) -> None:
        """Called for each request of a group, in the thread that wrote it: one call for all."""
        with self._lock:
            first = not self._done
            self._done.append(request)
        if first and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, nobody waits
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        """In the loop: let those go on whose requests are done."""
        with self._lock:
            done, self._done = self._done, deque()
        for request in done:
            future = self._open.pop(request)
            if not future.done():
                future.set_result(None)
