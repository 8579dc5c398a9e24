"""Backups and what is restored from them, of both databases, while others write."""

import contextlib
import shutil
import sqlite3
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.store.backups import TABLES, restore, verified
from keyhole.counter.store.database import SQLite, open_database
from tests.counter.store.test_transfer import PRICED, play

NewDatabase = Callable[[], str]


@pytest.fixture
def new_database(request: pytest.FixtureRequest) -> NewDatabase:
    """Makes empty databases on the server."""
    import psycopg

    url = str(request.getfixturevalue("postgres"))

    def make() -> str:
        name = f"kh{uuid.uuid4().hex}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return url.rpartition("/")[0] + f"/{name}"

    return make


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, folder: Path) -> Callable[[str], str]:
    """Makes addresses of stores that are not there yet, on each database in turn."""
    if request.param == "sqlite":
        return lambda name: str(folder / name)
    make = request.getfixturevalue("new_database")
    return lambda name: str(make())


def everything(url: str) -> dict[str, list[tuple[object, ...]]]:
    """All rows of a store, keys included."""
    database = open_database(url, 5.0)
    with contextlib.closing(database.connect()) as connection:
        return {
            table: [
                tuple(map(plain, row))
                for row in connection.rows(f"SELECT * FROM {table} ORDER BY {', '.join(key)}")
            ]
            for table, (key, _) in TABLES.items()
        }


def plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


def filled(url: str) -> None:
    """A store with two learners, open tickets, a correction, an idempotency key and an API key."""
    with kh.Store(url) as store:
        store.create("a", PRICED, "auto", units={"age": "years"})
        store.create("b", PRICED, "fixed")
        play(store, "a", 9)
        play(store, "b", 5)
        store.ask("b", 2, key="asked once")
        wrong = store.tickets("a", state="told")[0]
        store.correct(wrong.id, y=4.5, why="misread")
    with contextlib.closing(ApiKeys(url)) as keys:
        keys.create(["ask"], learners=["a"], label="ward 3")


def test_what_is_restored_is_what_was_backed_up(place: Callable[[str], str], folder: Path) -> None:
    first, second = place("first.db"), place("second.db")
    filled(first)
    with kh.Store(first) as store:
        store.backup(folder / "copy.db")
        counts = {info.name: info.events for info in store.learners()}
    assert restore(str(folder / "copy.db"), second) == counts
    assert everything(second) == everything(first)
    with kh.Store(first) as one, kh.Store(second) as other:
        other.verify()
        assert other.ask("b", 2, key="asked once") == one.ask("b", 2, key="asked once")
        for store in (one, other):
            play(store, "a", 6)  # new ids go on from the old ones
        assert np.array_equal(one.learner("a").weights, other.learner("a").weights)
        other.create("c", PRICED, "fixed")


def test_a_store_moves_between_databases(folder: Path, new_database: NewDatabase) -> None:
    here, there = str(folder / "here.db"), new_database()
    filled(here)
    before = everything(here)
    restore(here, there)  # a store of SQLite is a backup
    assert everything(there) == before
    with kh.Store(there) as store:
        store.backup(folder / "back.db")
    assert everything(str(folder / "back.db")) == everything(there)
    assert (folder / "back.db").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in folder.iterdir()) == ["back.db", "here.db"]


def test_a_backup_is_of_one_moment(place: Callable[[str], str], folder: Path) -> None:
    url = place("busy.db")
    with kh.Store(url) as store:
        store.create("a", PRICED, "fixed")
        play(store, "a", 3)
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                play(store, "a", 1)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(4):
                store.backup(folder / f"{number}.db")
        finally:
            stop.set()
            writer.join()
    counts = [verified(SQLite(str(folder / f"{number}.db"), 5.0))["a"] for number in range(4)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1], "the writer wrote nothing meanwhile: the test shows nothing"


def test_nothing_is_overwritten(place: Callable[[str], str], folder: Path) -> None:
    first, second = place("first.db"), place("second.db")
    filled(first)
    with kh.Store(second) as store:
        store.create("mine", PRICED, "fixed")
    with kh.Store(first) as store:
        store.backup(folder / "copy.db")
    with contextlib.closing(ApiKeys(second)):
        before = everything(second)
        with pytest.raises(kh.StoreError, match="already"):
            restore(str(folder / "copy.db"), second)
        assert everything(second) == before


def test_an_empty_database_of_a_server_is_restored_to(
    folder: Path, new_database: NewDatabase
) -> None:
    filled(str(folder / "a.db"))
    there = new_database()
    with kh.Store(there), contextlib.closing(ApiKeys(there)):
        pass  # as a service that was started too early leaves it
    restore(str(folder / "a.db"), there)
    assert everything(there) == everything(str(folder / "a.db"))


def test_a_forgotten_log_is_not_taken_for_a_part_of_the_new_store(folder: Path) -> None:
    filled(str(folder / "a.db"))
    (folder / "b.db-wal").write_bytes(b"of a store that was removed")
    with pytest.raises(kh.StoreError, match=r"b\.db-wal already exists"):
        restore(str(folder / "a.db"), str(folder / "b.db"))
    assert not (folder / "b.db").exists()


@pytest.mark.parametrize("damage", ["UPDATE kh_event SET who = 'x' WHERE seq = 3", "a file", "no"])
def test_what_is_not_sound_is_not_restored(
    damage: str, place: Callable[[str], str], folder: Path
) -> None:
    source = folder / "copy.db"
    if damage == "a file":
        source.write_bytes(b"something else" * 100)
    elif damage != "no":
        filled(str(source))
        with contextlib.closing(sqlite3.connect(source)) as raw:
            raw.execute(damage)
            raw.commit()
    goal = place("goal.db")
    with pytest.raises(kh.StoreError, match=r"copy\.db|event 3"):
        restore(str(source), goal)
    assert not (folder / "goal.db").exists()
    if "://" in goal:
        with kh.Store(goal) as store:
            assert store.names() == ()
    left = {path.name for path in folder.iterdir()} - {"copy.db"}
    assert not left


def test_the_backup_is_left_as_it_is(folder: Path) -> None:
    filled(str(folder / "a.db"))
    with kh.Store(folder / "a.db") as store:
        store.backup(folder / "copy.db")
    shutil.copy(folder / "copy.db", folder / "same.db")
    restore(str(folder / "copy.db"), str(folder / "b.db"))
    assert (folder / "copy.db").read_bytes() == (folder / "same.db").read_bytes()
