"""Stores that were edited, damaged, or written by somebody else: refused in clear words."""

import hashlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.saving.api import to_bytes

PROBLEM = kh.Problem(d=6, k=2, budget=3)


@pytest.fixture
def path(folder: Path) -> Path:
    """A store with a snapshot at its 10th event and three after it."""
    path = folder / "keyhole.db"
    with kh.Store(path) as store:
        store.create("a", PROBLEM, "fixed")
        for _ in range(3):
            play(store)
        store.snapshot()
        play(store)
        store._writer._loaded.clear()  # so that none is taken at the end
    return path


def play(store: kh.Store) -> None:
    [ticket] = store.ask("a")
    store.fill(ticket.id, [1.0, 2.0])
    store.tell(ticket.id, 5.0)


def edit(path: Path, sql: str, values: tuple[Any, ...] = ()) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute(sql, values).rowcount != 0
    connection.commit()
    connection.close()


def test_it_is_sound_as_it_is(path: Path) -> None:
    with kh.Store(path) as store:
        assert store.verify() == {"a": 13}


@pytest.mark.parametrize(
    ("sql", "match"),
    [
        ("UPDATE kh_event SET body = '{\"y\": 6.0}' WHERE seq = 13", "event 13 was changed"),
        ("UPDATE kh_event SET who = 'me' WHERE seq = 12", "event 12 was changed"),
        ("DELETE FROM kh_event WHERE seq = 12", "event 12 of 13 is missing"),
        ("DELETE FROM kh_event WHERE seq = 13", "event 13 of 13 is missing"),
        ("UPDATE kh_learner SET seq = 12", "does not end at event 12"),
    ],
)
def test_an_event_after_the_snapshot(path: Path, sql: str, match: str) -> None:
    edit(path, sql)
    with kh.Store(path) as store:
        for use in (lambda: store.ask("a"), lambda: store.learner("a"), store.verify):
            with pytest.raises(kh.StoreDamagedError, match=match):
                use()
        assert store.names() == ("a",)  # what can be read can be read


@pytest.mark.parametrize(
    ("sql", "match"),
    [
        ("UPDATE kh_event SET body = '{\"y\": 6.0}' WHERE seq = 4", "event 4 was changed"),
        ("UPDATE kh_ticket SET prediction = 3.0", "the row of ticket .* is not what the log"),
        ("UPDATE kh_learner SET spent = 0.0", "its row is not what the log"),
        ("UPDATE kh_snapshot SET state = x'00' WHERE seq = 10", "snapshot at event 10 is damaged"),
    ],
)
def test_what_only_verify_sees(path: Path, sql: str, match: str) -> None:
    edit(path, sql)
    with kh.Store(path) as store:
        with pytest.raises(kh.StoreDamagedError, match=match):
            store.verify()
        assert store.ask("a")[0].round == 5


def test_a_damaged_snapshot_is_passed_over_and_then_there_is_none(path: Path) -> None:
    edit(path, "UPDATE kh_snapshot SET state = x'00' WHERE seq > 1")
    with kh.Store(path) as store:
        assert store.ask("a")[0].round == 5  # replayed from the first event on
    edit(path, "UPDATE kh_snapshot SET state = x'00'")
    with (
        kh.Store(path) as store,
        pytest.raises(kh.StoreDamagedError, match=r"cannot be recovered.*checksum is wrong"),
    ):
        store.ask("a")


def test_a_snapshot_of_another_state_does_not_replay(path: Path) -> None:
    """Its checksum is right; what it predicts is not what was served."""
    forged = to_bytes(kh.LEARNERS["fixed"](PROBLEM, seed=0))
    edit(
        path,
        "UPDATE kh_snapshot SET state = ?, sha256 = ? WHERE seq = 10",
        (forged, hashlib.sha256(forged).hexdigest()),
    )
    with kh.Store(path) as store:
        with pytest.raises(kh.StoreDamagedError, match="event 11 does not replay: the ticket"):
            store.ask("a")
        with pytest.raises(kh.StoreDamagedError, match="snapshot at event 10 is not what"):
            store.verify()


def test_a_newer_store(path: Path) -> None:
    edit(path, "UPDATE kh_version SET version = 99")
    with pytest.raises(kh.StoreError, match=r"newer than this keyhole.*upgrade"):
        kh.Store(path)


def test_files_that_are_no_stores(folder: Path) -> None:
    text = folder / "text.db"
    text.write_text("not a database, but longer than a header of SQLite\n" * 40)
    with pytest.raises(kh.StoreDamagedError, match="no database"):
        kh.Store(text)
    other = folder / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE notes (text TEXT)")
    connection.commit()
    connection.close()
    before = other.read_bytes()
    with pytest.raises(kh.StoreError, match="database of something else"):
        kh.Store(other)
    assert other.read_bytes() == before
    with pytest.raises(kh.StoreError, match="is a folder"):
        kh.Store(folder)
    with pytest.raises(kh.StoreError, match="no store at"):
        kh.Store(folder / "none.db", create=False)
    assert not (folder / "none.db").exists()
    with pytest.raises(kh.StoreError, match="cannot make a store"):
        kh.Store(folder / "no" / "such" / "folder.db")


def test_a_page_that_is_overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 6] = b"\xa5" * (4096 * 4)
    path.write_bytes(bytes(data))
    with pytest.raises(kh.StoreError), kh.Store(path) as store:
        store.verify()


@pytest.mark.parametrize("size", [1, 100, 511, 512, 4096, 5000])
def test_a_store_that_was_cut_short_is_not_a_new_one(path: Path, size: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")  # nothing is left beside the file
    connection.close()
    os.truncate(path, size)
    with pytest.raises(kh.StoreDamagedError, match="damaged"):
        kh.Store(path)
    with pytest.raises(kh.StoreDamagedError, match="damaged"):
        ApiKeys(str(path))
    assert path.stat().st_size == size


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_files_are_for_their_owner_only(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        with kh.Store(folder / "keyhole.db") as store:
            store.create("a", PROBLEM, "fixed")
            store.ask("a")
            store.backup(folder / "backup.db")
            found = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    finally:
        os.umask(before)
    assert {"keyhole.db", "keyhole.db-wal", "backup.db"} <= {*found}
    assert set(found.values()) == {0o600}
    with kh.Store(folder / "backup.db") as copy:
        assert copy.verify() == {"a": 2}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@host:port/db",
        "postgresql://me:hunter2/x@127.0.0.1:1/db",
        "postgresql://me:hunter2?x@127.0.0.1:1/db",
        "postgresql://me:x@hunter2@127.0.0.1:1/db",
        "postgresql://me:hunter2%@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?pasword=hunter2",
        "postgresql:/me:hunter2@127.0.0.1/db",
        "postgres//me:hunter2@127.0.0.1/db",
        "mysql://me:hunter2@127.0.0.1/db",
        "Postgresql://me:hunter2@127.0.0.1/db",
    ],
)
def test_a_password_in_an_address_is_not_shown(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(kh.StoreError) as caught:
        kh.Store(url)
    assert "hunter2" not in str(caught.value)
