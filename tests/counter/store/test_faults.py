"""A disk that is full, a commit that fails, a reply that is lost: memory never goes its own way."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import keyhole as kh
from keyhole.counter.store import requests
from keyhole.counter.store.database import SQLiteConnection
from keyhole.counter.store.requests import LoadedLearner
from keyhole.counter.store.writer import Writer

PROBLEM = kh.Problem(d=6, k=2, budget=3)
KIND = "explore-commit"


@pytest.fixture
def store(folder: Path) -> Iterator[kh.Store]:
    with kh.Store(folder / "keyhole.db") as store:
        store.create("a", PROBLEM, KIND)
        store.create("b", PROBLEM, KIND)
        play(store, 5)
        yield store


def play(store: kh.Store, rounds: int) -> None:
    """Rounds of a and b."""
    for _ in range(rounds):
        for name in ("a", "b"):
            [ticket] = store.ask(name)
            store.fill(ticket.id, [float(ticket.round % 3)] * len(ticket.names))
            store.tell(ticket.id, float(ticket.round % 4))


def is_sound(store: kh.Store) -> None:
    """It goes on, and everything in it replays."""
    play(store, 3)
    store.verify()
    with kh.Store(store.url) as again:
        for name in ("a", "b"):
            ours, theirs = store.learner(name), again.learner(name)
            assert (ours.weights == theirs.weights).all()
            assert ours.round == theirs.round == store.info(name).rounds


class Trouble:
    """Makes statements fail: before they are run, or after, when nobody will hear of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._plain, self._many = SQLiteConnection.run, SQLiteConnection.run_many
        self.when: dict[str, bool] = {}  # by the beginning of a statement: after it was run?
        trouble = self

        def failing(plain: Any) -> Any:
            def run(connection: SQLiteConnection, sql: str, values: Any = ()) -> Any:
                for start in [start for start in trouble.when if sql.startswith(start)]:
                    if trouble.when.pop(start):
                        plain(connection, sql, values)
                    raise kh.StoreError("disk I/O error")
                return plain(connection, sql, values)

            return run

        monkeypatch.setattr(SQLiteConnection, "run", failing(self._plain))
        monkeypatch.setattr(SQLiteConnection, "run_many", failing(self._many))


@pytest.mark.parametrize("statement", ["COMMIT", "UPDATE kh_learner", "INSERT INTO kh_event"])
def test_a_request_that_fails_leaves_nothing(
    store: kh.Store, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = Trouble(monkeypatch)
    before = store.learners()
    for name in ("a", "b"):
        trouble.when[statement] = False
        with pytest.raises(kh.StoreError, match=r"disk I/O error.*not confirmed"):
            store.ask(name, 3, key="again")
    assert store.learners() == before
    assert len(store.ask("a", 3, key="again")) == 3
    is_sound(store)


def test_a_reply_that_is_lost_is_given_again(
    store: kh.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit succeeded and nobody heard of it: the key finds what it did."""
    trouble = Trouble(monkeypatch)
    trouble.when["COMMIT"] = True
    with pytest.raises(kh.StoreError, match="not confirmed"):
        store.ask("a", 2, key="lost")
    assert store.info("a").rounds == 7
    first = store.ask("a", 2, key="lost")
    assert [ticket.round for ticket in first] == [6, 7]
    assert store.info("a").rounds == 7
    is_sound(store)


def test_the_twin_that_keeps_its_memory_is_caught(
    store: kh.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that goes on with a learner that is ahead of the log."""
    trouble = Trouble(monkeypatch)
    monkeypatch.setattr(Writer, "reset", lambda writer: None)
    trouble.when["COMMIT"] = False
    with pytest.raises(kh.StoreError):
        store.ask("a")
    with pytest.raises((AssertionError, kh.KeyholeError)):
        is_sound(store)


def test_a_full_disk(store: kh.Store) -> None:
    """SQLite's own error, by a limit on the size of the file."""
    connection = store._writer._connected()
    (pages,) = connection.rows("PRAGMA page_count")[0]
    connection.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(kh.StoreError, match="full"):
        store.ask("a", 500)
    assert store.info("a").rounds == 5
    is_sound(store)  # the limit was the connection's, and that was thrown away


def test_a_store_that_cannot_be_written(store: kh.Store) -> None:
    store._writer._connected().rows("PRAGMA query_only = ON")
    with pytest.raises(kh.StoreError, match="readonly"):
        store.ask("a")
    assert store.info("a").rounds == 5
    is_sound(store)


def test_a_request_that_fails_half_way_takes_no_other_with_it(store: kh.Store) -> None:
    """In one group: a good request, one that fails after it has changed something, a good one."""
    tickets = store.ask("a", 3)
    for ticket in tickets:
        store.fill(ticket.id, [1.0] * len(ticket.names))
    store.drop(tickets[2].id)
    one, two, dropped = (ticket.id for ticket in tickets)
    labels = {one: 1.0}, {two: 9.0, dropped: 1.0}, {two: 2.0}  # the 9 has to be undone
    group = [requests.tell_many("a", each, "", None) for each in labels]
    groups = store.commits[0]
    for request in group:
        store._writer.queue(request)
    store._writer.work()
    assert [type(request.error) for request in group] == [
        type(None),
        kh.ConflictError,
        type(None),
    ]
    assert store.commits[0] == groups + 1
    assert [store.ticket(id).label for id in (one, two, dropped)] == [1.0, 2.0, None]
    is_sound(store)


def test_threads_share_commits(store: kh.Store) -> None:
    """What waits while somebody writes is committed together."""
    writer = store._writer
    groups, requests = writer.transactions, writer.requests
    threads = [Thread(target=store.ask, args=("ab"[number % 2],)) for number in range(20)]
    with writer._lock:
        for number, thread in enumerate(threads, start=1):
            thread.start()
            while len(writer._waiting) < number:
                pass
    for thread in threads:
        thread.join()
    assert (writer.transactions - groups, writer.requests - requests) == (1, 20)
    is_sound(store)


def test_others_that_do_not_finish(store: kh.Store) -> None:
    other = sqlite3.connect(store.url, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with kh.Store(store.url, wait=0.05) as hasty:
        with pytest.raises(kh.StoreLockedError, match="other processes"):
            hasty.ask("a")
        assert hasty.info("a").rounds == 5  # reading does not wait
        other.execute("ROLLBACK")
        assert hasty.ask("a")[0].round == 6
    other.close()
    is_sound(store)


def test_a_file_that_is_replaced(store: kh.Store, folder: Path) -> None:
    """Writing on into a file that has no name any more would lose what was acknowledged."""
    store.backup(folder / "backup.db")
    (folder / "backup.db").rename(folder / "keyhole.db")
    with pytest.raises(kh.StoreError, match="replaced"):
        store.ask("a")
    with pytest.raises(kh.StoreError, match="replaced"):
        store.names()
    with contextlib.suppress(kh.StoreError):
        store.close()


def test_a_snapshot_that_cannot_be_kept_fails_nobody(
    store: kh.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the request after which it was due, nor closing."""
    trouble = Trouble(monkeypatch)
    monkeypatch.setattr(LoadedLearner, "snapshot_due", lambda loaded, now: True)
    trouble.when["INSERT INTO kh_snapshot"] = False
    store.ask("a")
    assert trouble.when == {}
    with kh.Store(store.url) as again:
        again.ask("b")
        again._writer._loaded[2].snapshot_seq = 0
        trouble.when["INSERT INTO kh_snapshot"] = False
    assert trouble.when == {}
    is_sound(store)


def test_after_a_fork_it_is_opened_anew(store: kh.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's connections do not survive a fork, and nobody would notice."""
    for part in (store._reader, store._writer):
        monkeypatch.setattr(part, "_pid", part._pid + 1)
    with pytest.raises(kh.StoreError, match="forked"):
        store.names()
    with pytest.raises(kh.StoreError, match="forked"):
        store.ask("a")


def test_a_connection_that_is_cut(postgres: str) -> None:
    """The server goes away in between: one error, and then it goes on."""
    psycopg = pytest.importorskip("psycopg")
    with kh.Store(postgres) as store:
        for name in ("a", "b"):
            store.create(name, PROBLEM, KIND)
        play(store, 3)
        with psycopg.connect(postgres, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
        with pytest.raises(kh.StoreError, match="not confirmed"):
            store.ask("a", key="cut")
        with pytest.raises(kh.StoreError):
            store.info("a")
        assert store.info("a").rounds == 3
        assert store.ask("a", key="cut")[0].round == 4
        is_sound(store)


def test_interrupted_while_it_writes(store: kh.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a transaction: nothing has happened, and it goes on."""

    def interrupt(*given: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("keyhole.counter.store.tables.update_learner", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.ask("a")
    assert store.info("a").rounds == 5
    is_sound(store)
