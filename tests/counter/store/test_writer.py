"""The writer: how requests share transactions, when snapshots are taken, what memory keeps."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import keyhole as kh
from keyhole.counter.store import requests, writer
from keyhole.counter.store.requests import LoadedLearner

PROBLEM = kh.Problem(d=4, k=2, budget=2)


@pytest.fixture
def store(folder: Path) -> Iterator[kh.Store]:
    with kh.Store(folder / "keyhole.db") as store:
        store.create("a", PROBLEM, "fixed")
        store.create("b", PROBLEM, "fixed")
        yield store


def test_a_transaction_has_no_more_requests_than_it_may(
    store: kh.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_REQUESTS_PER_COMMIT", 3)
    group = [requests.ask("ab"[i % 2], 1, "", None, None, None) for i in range(6)]
    with kh.Store(store.url) as new:
        assert (new.commits, new.recent_commits, new.last_commit_seconds) == ((0, 0), [], 0.0)
        for request in group:
            new._writer.queue(request)
        new.ask("a")  # whoever comes next does what is waiting
        assert not new._writer.waiting
        assert [commit.requests for commit in new.recent_commits] == [3, 3, 1]
        assert new.commits == (3, 7)
        assert new.last_commit_seconds == new.recent_commits[-1].seconds > 0.0
    assert [store.info(name).rounds for name in "ab"] == [4, 3]


def test_a_snapshot_is_of_what_others_have_written_too(store: kh.Store) -> None:
    """By a store that has not looked at the learner, and by one that is behind."""
    with kh.Store(store.url) as other:
        for _ in range(2):
            store.ask("a")
            assert other.snapshots()["a"].tail == 1
            other.snapshot()
            assert other.snapshots()["a"].tail == 0
    store.verify()


def test_an_export_takes_a_snapshot_of_that_learner_alone(store: kh.Store, folder: Path) -> None:
    store.ask("a")
    store.ask("b")
    store.export("b", folder / "b.keyhole")
    assert [store.snapshots()[name].tail for name in "ab"] == [1, 0]


@pytest.mark.parametrize("due", [True, False])
def test_closing_takes_the_snapshots_that_are_due(
    store: kh.Store, due: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large ones after a few events are not; who calls `snapshot` gets one all the same."""
    monkeypatch.setattr(LoadedLearner, "snapshot_due_at_close", lambda loaded: due)
    with kh.Store(store.url) as other:
        other.ask("a")
    assert store.snapshots()["a"].tail == (0 if due else 1)
    store.snapshot()
    assert store.snapshots()["a"].tail == 0


def test_a_learner_that_cannot_follow_the_log_is_not_kept(store: kh.Store) -> None:
    store.ask("a")
    with kh.Store(store.url) as other:
        other.ask("a")
        other._writer._loaded.clear()  # no snapshot at the end: the log is all there is
    edit(store, "UPDATE kh_event SET who = 'me' WHERE learner = 1 AND seq = 3")
    for use in (store.ask, store.ask, store.learner):
        with pytest.raises(kh.StoreDamagedError, match="event 3 was changed"):
            use("a")
        assert store._writer._loaded == {}
    edit(store, "UPDATE kh_event SET who = '' WHERE learner = 1 AND seq = 3")
    assert store.ask("a")[0].round == 3
    store.verify()


def test_a_mistake_of_a_caller_costs_nobody_their_memory(store: kh.Store) -> None:
    store.ask("a")
    loaded = store._writer._loaded[1]
    for call in (store.learner, store.delete):
        with pytest.raises(kh.UnknownLearnerError):
            call("nobody")
    with pytest.raises(kh.ConflictError):
        store.create("a", PROBLEM, "fixed")
    assert store._writer._loaded[1] is loaded


def test_what_is_closed_or_deleted_is_let_go_of(store: kh.Store) -> None:
    told, dropped, waiting = store.ask("a", 3)
    store.fill(told.id, [1.0, 2.0])
    store.tell(told.id, 3.0)
    store.drop(dropped.id)
    assert [*store._writer._loaded[1].tickets] == [waiting.id]
    store.delete("a", force=True)
    assert store._writer._loaded == {}


def test_verify_looks_at_the_file_as_well(folder: Path) -> None:
    """A list of free pages that is wrong: every row can be read, and writing would do harm."""
    path = folder / "keyhole.db"
    with kh.Store(path) as store:
        store.create("a", PROBLEM, "fixed")
        store.ask("a")
    with path.open("r+b") as file:
        file.seek(36)  # how many pages are free, says the header
        file.write((7).to_bytes(4, "big"))
    with kh.Store(path) as store:
        assert store.learner("a").round == 1
        with pytest.raises(kh.StoreDamagedError, match=r"is damaged.*go back to a backup"):
            store.verify()


def edit(store: kh.Store, sql: str) -> None:
    """Change a row behind the store's back."""
    connection = sqlite3.connect(store.url)
    assert connection.execute(sql).rowcount == 1
    connection.commit()
    connection.close()
