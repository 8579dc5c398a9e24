"""`kh.Store`: create learners in a database, ask for tickets, fill them, tell their labels."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from keyhole.counter.store import corrections, requests, tables
from keyhole.counter.store.database import (
    Connection,
    LearnerDamagedError,
    SharedConnection,
    open_database,
)
from keyhole.counter.store.learner import StoredLearner, about_new, make_new, write_new
from keyhole.counter.store.records import (
    Commit,
    Event,
    LearnerInfo,
    Snapshot,
    StoredTicket,
    checked_name,
    checked_who,
    is_name,
    read_id,
    seconds,
)
from keyhole.counter.store.replay import replay_from_start, verify
from keyhole.counter.store.requests import DEFAULT_COVERAGE, Duration, Request, Values
from keyhole.counter.store.steps import next_step
from keyhole.counter.store.tables import damage_of, delete_learner
from keyhole.counter.store.transfer import ExportedLearner, export
from keyhole.counter.store.writer import Writer
from keyhole.errors import (
    StoreDamagedError,
    StoreError,
    UnknownTicketError,
    positive_number,
    shortened,
    true_or_false,
    whole_number,
)
from keyhole.learners.correcting import RightValues
from keyhole.problem import BlockStream, Learner, Problem


class Store:
    """Learners in a database, asked and told by ticket id, weeks apart and from many processes.

    Every call that changes something returns when that is on disk. A crash at any moment loses
    nothing that was answered, and nothing is done twice: repeat a request with the same `key` and
    you get the first reply. Threads may share a store; so may processes, each with its own `Store`
    on the same address: they take turns.

    Parameters
    ----------
    url
        The path of a file (SQLite), or `postgresql://...` (needs the extra `postgres`). Not on a
        network file system.
    create
        Whether to make a store where there is none; else that is a StoreError.
    wait
        For how many seconds to wait while other processes write; then StoreLockedError.

    Guarantee
    ---------
    A learner here plays bit for bit as it does in memory. It is recovered from a snapshot and the
    events since; every ticket and every prediction that is replayed is compared with the log, and a
    learner that differs is not served (StoreDamagedError).

    Examples
    --------
    >>> import tempfile
    >>> import keyhole as kh
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = kh.Store(folder.name + "/keyhole.db")
    >>> problem = kh.Problem(d=3, k=2, budget=2, names=("age", "crp", "tsh"))
    >>> store.create("clinic", problem, learner="fixed").rounds
    0
    >>> [ticket] = store.ask("clinic", who="ward 3")
    >>> ticket.items, ticket.cost
    (('age', 'crp'), 2.0)
    >>> store.fill(ticket.id, {"age": 61, "crp": 4.2}).prediction
    0.0
    >>> store.tell(ticket.id, 7.5).state                      # weeks later, elsewhere
    'told'
    >>> store.tickets("clinic", state="open")
    []
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        url: str | os.PathLike[str] = "keyhole.db",
        *,
        create: bool = True,
        wait: float = 30.0,
    ) -> None:
        positive_number("wait", wait)
        try:
            address = os.fspath(url)
        except TypeError:
            raise StoreError(f"url must be a path or an address, got {shortened(url)}") from None
        self._database = open_database(address, wait)
        self._database.migrate(create)
        self._writer = Writer(self._database)
        self._reader = SharedConnection(self._database)
        self._closed = False

    @property
    def url(self) -> str:
        """Where it is; without the password, if there is one."""
        return self._database.name

    @property
    def commits(self) -> tuple[int, int]:
        """How many transactions this object has committed, and how many requests were in them."""
        return self._writer.transactions, self._writer.requests

    @property
    def last_commit_seconds(self) -> float:
        """How long the last of those commits took; 0 before the first."""
        return self._writer.recent[-1].seconds if self._writer.recent else 0.0

    @property
    def recent_commits(self) -> list[Commit]:
        """The last 512 of them, oldest first: how many requests each had, and how long it took."""
        return list(self._writer.recent)

    def snapshots(self) -> dict[str, Snapshot]:
        """By learner, when its last snapshot was taken, and how many events came since."""
        sql = (
            "SELECT l.name, s.at, l.seq - s.seq FROM kh_learner l "
            "JOIN kh_snapshot s ON s.learner = l.id WHERE s.seq = "
            "(SELECT MAX(seq) FROM kh_snapshot WHERE learner = l.id) ORDER BY l.name"
        )
        with self._reader.connected() as connection:
            rows = connection.rows(sql)
        found = {}
        for name, at, tail in rows:
            with contextlib.suppress(LearnerDamagedError), damage_of("a snapshot"):
                found[name] = Snapshot(datetime.fromtimestamp(at, UTC), int(tail))
        return found

    # Learners

    def create(
        self,
        name: str,
        problem: Problem,
        learner: str = "auto",
        *,
        seed: int = 0,
        history: BlockStream | None = None,
        half_life: float | None = None,
        units: Mapping[str, str] | None = None,
        yes_no: bool = False,
        who: str = "",
        **settings: Any,
    ) -> LearnerInfo:
        """Make a learner under a name of its own; ConflictError if the name is taken.

        Parameters
        ----------
        name
            Letters, digits, `.`, `-` and `_`.
        problem
            What may be read, and what it costs.
        learner
            Its name in `kh.LEARNERS`.
        seed
            Random seed.
        history, half_life
            Old examples that are known in full, which it studies first: see `learner.study`.
        units
            By feature name, its unit: shown beside it when it is asked for.
        yes_no
            Whether labels are 0 (no) or 1 (yes): it is a `kh.YesNoLearner` then, predictions are
            calibrated probabilities of 1, and there are no intervals.
        who
            Who made it.
        settings
            Arguments for the learner.
        """
        new, rows = make_new(problem, learner, seed, settings, history, half_life, yes_no)
        about = about_new(problem, rows, learner, seed, units, yes_no)
        given = name, about, new, checked_who(who), time.time()
        self._writer.run(lambda connection: write_new(connection, *given))
        return self.info(name)

    def names(self) -> tuple[str, ...]:
        """The names of all learners, in order."""
        with self._reader.connected() as connection:
            return tuple(row.name for row in tables.find_learners(connection) if is_name(row.name))

    def learners(self) -> list[LearnerInfo]:
        """What there is to say about each learner, by name, without those that are damaged."""
        return [found for found in self._infos().values() if isinstance(found, LearnerInfo)]

    def damaged(self) -> dict[str, str]:
        """By name, learners about which nothing can be said any more, and why.

        Others are served; `verify` replays logs too.
        """
        found = self._infos().items()
        return {name: str(error) for name, error in found if isinstance(error, StoreError)}

    def info(self, name: str) -> LearnerInfo:
        """What there is to say about one learner; UnknownLearnerError if there is none."""
        with self._reader.connected() as connection:
            return tables.find_learner(connection, name).info()

    def learner(self, name: str, *, confirm: bool = False) -> StoredLearner:
        """A learner of the store, to be used like any other `kh.Learner`.

        `confirm` takes implausible values and labels without a question, as recorded data need it.
        """
        problem = self._writer.look(name, lambda learner: learner.problem)
        return StoredLearner(self, name, problem, true_or_false("confirm", confirm))

    # Verbs

    def ask(
        self,
        name: str,
        count: int = 1,
        *,
        who: str = "",
        key: str | None = None,
        expires_in: Duration = None,
        terms: Mapping[str, Any] | None = None,
        steps: bool = False,
    ) -> list[StoredTicket]:
        """Tickets for the next examples: what to buy for each.

        Parameters
        ----------
        name
            The learner.
        count
            How many tickets.
        who
            Who asks; kept with the ticket.
        key
            Idempotency key: the same key and the same request give the first reply, its tickets as
            they are now; the same key and another request are a ConflictError.
        expires_in
            Seconds, or a timedelta, until the tickets are marked as expired. A note, no more: a
            label that comes later is taken.
        terms
            Of these examples only, for learners that take them: `prices`, `without`, `known`,
            `budget`, as in `kh.AutoLearner.ask`.
        steps
            Begin with what most examples need; `next` says what to buy after that.
        """
        return self.answer(requests.ask(name, count, who, key, expires_in, terms, None, steps))

    def fill(
        self,
        ticket: str,
        values: Values,
        *,
        coverage: float | None = DEFAULT_COVERAGE,
        confirm: bool = False,
        who: str = "",
        key: str | None = None,
    ) -> StoredTicket:
        """Keep what came back for a ticket and serve the prediction: `.prediction` of the reply.

        Values are by name, by feature number, or in the ticket's order; None, NaN or left out: it
        was bought and did not arrive yet. What arrives later is filled in by further calls, in any
        order: `.awaited` of the reply is what is still out, and each call serves a prediction from
        all that is there. What the learner buys and predicts stays as it is. The same values again
        change nothing, a value that is another one now is a ConflictError: `correct` it.

        Values far beyond what was seen are a DoubtError that has the doubts, and nothing is kept,
        unless `confirm` says that they are right; that they were confirmed is in the log.

        Beside the prediction is an interval, `.low` and `.high`, that holds the label in a share
        `coverage` of rounds (see `interval` of learners; None before the first label, or where the
        learner makes none). `coverage=None` issues none.
        """
        return self.answer(requests.fill(ticket, values, coverage, who, key, confirm))[0]

    def next(
        self,
        ticket: str,
        *,
        stop_at: float | None = None,
        values: Values | None = None,
        confirm: bool = False,
        who: str = "",
        key: str | None = None,
    ) -> StoredTicket:
        """What to buy next for a ticket of `ask(steps=True)`: `.step` of the reply, and why.

        A step that is false says that enough is known. The ticket is for what it buys from then on;
        asked again before anything of that was filled in, it says the same. A value of None, by
        name, says that it will not come: then one can go on without it. ConflictError for a ticket
        that was not filled, or is closed; ProblemError for a learner that buys all at once.

        `values` are filled in first, as by `fill`. `stop_at`: enough is known once the 90 %
        interval is at most so wide, or yes or no at least so probable (see `next` of learners).
        """
        return self.answer(next_step(ticket, stop_at, who, key, values, confirm))[0]

    def tell(
        self,
        ticket: str,
        y: float,
        *,
        confirm: bool = False,
        who: str = "",
        key: str | None = None,
    ) -> StoredTicket:
        """Tell the label of a ticket that was filled: the learner learns, the ticket is closed.

        The same label again gives the first reply, another one is a ConflictError: `correct` it. So
        is a label for a ticket that was not filled: fill it first, with nothing if nothing came, or
        drop it. A label far beyond what was seen is a DoubtError, unless `confirm` is True.
        """
        return self.answer(requests.tell(ticket, y, who, key, confirm=confirm))[0]

    def correct(
        self,
        ticket: str,
        *,
        y: float | None = None,
        values: RightValues | None = None,
        why: str = "",
        confirm: bool = False,
        who: str = "",
        key: str | None = None,
    ) -> StoredTicket:
        """Have a ticket with another label, or other values, than it was told or filled with.

        Give what was wrong: `y`, the right label, `values`, the right values by name or number,
        None for one that never arrived. Who did it and why, and what it was before, is an event of
        the log. The same again changes nothing.

        Before its label is told any ticket can be corrected: another prediction and interval are
        served. Then the learner has to correct what it learnt (see `learner.correct`): one that
        cannot, or no longer, is a ConflictError or a TicketError that says so. Implausible values
        and labels are a DoubtError, unless `confirm` says that they are right.
        """
        return self.answer(corrections.correct(ticket, y, values, why, who, key, confirm))[0]

    def drop(self, ticket: str, *, who: str = "", key: str | None = None) -> StoredTicket:
        """Close a ticket whose label will never come; again changes nothing."""
        return self.answer(requests.drop(ticket, who, key))[0]

    def fill_many(
        self,
        name: str,
        rows: Mapping[str, Values],
        *,
        coverage: float | None = DEFAULT_COVERAGE,
        confirm: bool = False,
        who: str = "",
        key: str | None = None,
    ) -> list[StoredTicket]:
        """`fill` for many tickets of one learner, by id: all of them or, on an error, none."""
        return self.answer(requests.fill_many(name, rows, coverage, who, key, confirm))

    def tell_many(
        self,
        name: str,
        labels: Mapping[str, float],
        *,
        confirm: bool = False,
        who: str = "",
        key: str | None = None,
    ) -> list[StoredTicket]:
        """`tell` for many tickets of one learner, by id: all of them or, on an error, none."""
        return self.answer(requests.tell_many(name, labels, who, key, confirm))

    # Tickets and events

    def ticket(self, ticket: str) -> StoredTicket:
        """A ticket by its id; UnknownTicketError if there is none, or the id was mistyped."""
        id = read_id(ticket)
        with self._reader.connected() as connection:
            return tables.tickets_by_id(connection, [id])[0]

    def owner_of(self, ticket: str) -> str:
        """The name of the learner that issued a ticket; UnknownTicketError as from `ticket`."""
        id = read_id(ticket)
        with self._reader.connected() as connection:
            found = tables.owners(connection, [id])
        if id not in found:
            raise UnknownTicketError(f"there is no ticket {id} in the store")
        return found[id]

    def tickets(
        self,
        name: str | None = None,
        *,
        state: str | None = None,
        older_than: Duration = None,
        limit: int | None = None,
        after: str | None = None,
        newest_first: bool = False,
    ) -> list[StoredTicket]:
        """Tickets, oldest first.

        Parameters
        ----------
        name
            Of one learner; None: of all.
        state
            "asked", "filled", "told", "dropped", "open" (asked or filled) or "closed".
        older_than
            Only those asked at least so many seconds (or a timedelta) ago.
        limit, after
            At most so many, after the ticket of this id: a page at a time.
        newest_first
            In the other order.
        """
        age = seconds("older_than", older_than)
        asked_before = None if age is None else time.time() - age
        with self._reader.connected() as connection:
            return tables.search_tickets(
                connection, name, state, asked_before, limit, after, newest_first
            )

    def open_tickets(self) -> list[tuple[str, str]]:
        """Of every ticket that is open its id, and who asked for it."""
        with self._reader.connected() as connection:
            return [(id, who) for id, who in tables.open_tickets(connection)]

    def history(self, name: str, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events of a learner in order, after the one of this number."""
        with self._reader.connected() as connection:
            row, first = tables.find_learner(connection, name), whole_number("after", after, 0)
            last = row.seq if limit is None else first + whole_number("limit", limit, 0)
            found = list(tables.events(connection, row.id, first, min(row.seq, last)))
        for event in found:
            with damage_of(f"event {event.seq} of {name!r}"):
                json.loads(event.body)
        return found

    def ticket_history(self, ticket: str) -> list[Event]:
        """The events of one ticket in order: asked, filled, corrected, told or dropped."""
        id = read_id(ticket)
        with self._reader.connected() as connection:
            return tables.events_of_ticket(connection, id)

    def corrections(self, name: str) -> dict[str, dict[str, Any]]:
        """By ticket, the body of the event that corrected it last, and the event's `seq`."""
        with self._reader.connected() as connection:
            return tables.corrections(connection, tables.find_learner(connection, name).id)

    # The beginning and the end

    def load(self, name: str | None = None) -> None:
        """Restore a learner, or all of them, now and not when it is first asked for.

        That takes long where many events were logged since its last snapshot.
        """
        for each in self.names() if name is None else (name,):
            self._writer.look(each, lambda learner: learner.round)

    def snapshot(self) -> None:
        """Write a snapshot of each learner that has none of its present state.

        One that is not served is a StoreDamagedError when the others have theirs.
        """
        first: StoreDamagedError | None = None
        for name in self.names():
            try:
                self._writer.snapshot(name)
            except StoreDamagedError as error:
                first = first or error
        if first is not None:
            raise first

    def verify(self, name: str | None = None) -> dict[str, int]:
        """Replay every log from its first event and compare; how many events, by learner.

        StoreDamagedError with the first thing that is not as it was written. Others may go on
        writing meanwhile.
        """
        with self._view() as connection:
            self._database.check(connection)
            rows = (
                tables.find_learners(connection)
                if name is None
                else [tables.find_learner(connection, name)]
            )
            return {row.name: verify(connection, row) for row in rows}

    def replay(self, name: str) -> Iterator[tuple[Event, Learner]]:
        """Every event of a log in order, with the learner as it was after it.

        The learner is a copy that plays the log again, compared with it: StoreDamagedError where
        it goes another way. Look at it before you ask for the next event, and change nothing.
        """
        with self._view() as connection:
            yield from replay_from_start(connection, tables.find_learner(connection, name))

    def export(self, name: str, path: str | os.PathLike[str]) -> None:
        """Write one learner, its log and its tickets included, to a file for `import_`.

        Idempotency keys stay behind.
        """
        self._writer.snapshot(name)
        with self._reader.connected() as connection, connection.reading():
            export(connection, tables.find_learner(connection, name), os.fspath(path))

    def import_(self, path: str | os.PathLike[str], name: str | None = None) -> LearnerInfo:
        """Take in a learner that `export` wrote, under its name or another one.

        DataError if the file was changed, ConflictError if the name or a ticket is there already.
        """
        parcel = ExportedLearner(os.fspath(path))
        new = checked_name(parcel.name if name is None else name)
        self._writer.run(lambda connection: parcel.keep(connection, new))
        return self.info(new)

    def delete(self, name: str, *, force: bool = False) -> LearnerInfo:
        """Delete a learner: its log, its tickets, its snapshots. What it was is returned.

        This cannot be undone: `export` it first. ConflictError if it has open tickets, for
        somebody may still bring their values or labels; `force` gives them up.
        """
        lock = self._database.row_lock
        row = self._writer.run(lambda connection: delete_learner(connection, name, lock, force))
        self._writer.forget(row.id)
        return row.info()

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the whole store to a new file of SQLite, as it is now, while others go on.

        The copy is a store; `keyhole restore` makes one of PostgreSQL of it. Snapshots are written
        first, so that the copy is served at once, elsewhere too.
        """
        with contextlib.suppress(StoreError):  # one that is not served is copied as it is
            self.snapshot()
        self._database.backup(os.fspath(path))

    def compact(self, *, keys_older_than: Duration = timedelta(days=30)) -> None:
        """Write snapshots, forget old idempotency keys, give free space back. No event is lost."""
        with contextlib.suppress(StoreDamagedError):  # one that is not served: the rest is
            self.snapshot()
        before = time.time() - (seconds("keys_older_than", keys_older_than) or 0.0)
        sql = "DELETE FROM kh_request WHERE at < ?"
        self._writer.run(lambda connection: connection.run(sql, (before,)))
        self._database.shrink()

    def close(self) -> None:
        """Leave snapshots behind and close; safe to call again."""
        if self._closed:
            return
        self._closed = True
        try:
            self._writer.close()
        finally:
            self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Within the room

    @contextlib.contextmanager
    def _view(self) -> Iterator[Connection]:
        """The store as it is now, on a connection of its own, for what takes long."""
        if self._closed:
            raise StoreError("the store is closed")
        with contextlib.closing(self._database.connect()) as connection, connection.reading():
            yield connection

    def _infos(self) -> dict[str, LearnerInfo | StoreError]:
        """By name, what there is to say about each learner, or why there is nothing."""
        found: dict[str, LearnerInfo | StoreError] = {}
        with self._reader.connected() as connection:
            for row in tables.find_learners(connection):
                try:
                    found[row.name] = row.info()
                except LearnerDamagedError as error:
                    found[str(row.name)] = error
        return found

    def answer(self, request: Request) -> list[StoredTicket]:
        """Have a request done (`store/requests.py` makes them); its tickets."""
        return self._replies(self._writer.submit(request))

    def _replies(self, done: Request) -> list[StoredTicket]:
        """The tickets of a request that is done: as it left them, or as they are by now."""
        if done.replies is not None:
            return done.replies
        with self._reader.connected() as connection:
            return tables.tickets_by_id(connection, done.tickets)
