"""Rows that hold what nobody wrote: refused by themselves, found by `verify`, and no raw errors."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keyhole as kh

PROBLEM = kh.Problem(d=6, k=2, budget=3)


@pytest.fixture
def path(folder: Path) -> Path:
    """A store with two learners, each with a ticket in every state and a snapshot on the way."""
    path = folder / "keyhole.db"
    with kh.Store(path) as store:
        for name in ("bad", "good"):
            store.create(name, PROBLEM, "fixed")
            for i in range(3):
                [ticket] = store.ask(name, key=f"key {i}")
                store.fill(ticket.id, [1.0, 2.0])
                store.tell(ticket.id, 5.0)
            store.snapshot()
            store.fill(store.ask(name)[0].id, [1.0, 2.0])
            store.drop(store.ask(name)[0].id)
            store.ask(name)
    return path


def edit(path: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute(sql).rowcount != 0
        connection.commit()


ROWS_OF_LEARNER = [
    f"kh_learner SET {change} WHERE name = 'bad'"
    for change in (
        "about = 'junk'",
        "about = '{}'",
        "about = json_set(about, '$.d', 'x')",
        "about = x'00'",
        "created_at = 1e300",
        "created_at = 'then'",
        "seq = 'x'",
        "digest = x'00'",
        "waiting = 'x'",
        "loss = 'x'",
        "asked_at = 'x'",
        "told_at = 1e300",
    )
]
IDS = "learner = (SELECT id FROM kh_learner WHERE name = 'bad')"
ROWS_BELOW = [
    f"{table} SET {change} WHERE {IDS} AND {where}"
    for table, change, where in (
        ("kh_event", "body = 'junk'", "seq = 4"),
        ("kh_event", "body = x'00'", "seq = 4"),
        ("kh_event", "at = 'x'", "seq = 4"),
        ("kh_event", "at = 1e300", "seq = 4"),
        ("kh_event", "kind = 'junk'", "seq = 4"),
        ("kh_event", "who = x'00'", "seq = 4"),
        ("kh_event", "digest = 7", "seq = 4"),
        ("kh_ticket", "asked_at = 'x'", "round = 6"),
        ("kh_ticket", "asked_at = 1e300", "round = 6"),
        ("kh_ticket", "state = 'junk'", "round = 6"),
        ("kh_ticket", "round = 'x'", "round = 6"),
        ("kh_ticket", "asked_seq = 'x'", "round = 6"),
        ("kh_snapshot", "state = 7", "seq = 1"),
        ("kh_snapshot", "state = 'text'", "seq = 1"),
        ("kh_snapshot", "sha256 = x'00'", "seq = 1"),
        ("kh_snapshot", "digest = 'x'", "seq > 1"),
        ("kh_snapshot", "at = 'x'", "seq > 1"),
        ("kh_request", "tickets = 'junk'", "idem_key = 'key 1'"),
        ("kh_request", "tickets = '[7]'", "idem_key = 'key 1'"),
    )
]


@pytest.mark.parametrize("row", [*ROWS_OF_LEARNER, *ROWS_BELOW])
def test_verify_finds_it_and_the_others_are_served(path: Path, row: str) -> None:
    edit(path, f"UPDATE {row}")
    with kh.Store(path) as store:
        with pytest.raises(kh.StoreDamagedError, match="'bad'"):
            store.verify("bad")
        with pytest.raises(kh.StoreDamagedError, match="'bad'"):
            store.verify()
        assert store.verify("good")["good"] > 0
        for use in uses(store):
            with contextlib.suppress(kh.StoreDamagedError):  # and nothing else
                use()
        assert store.names() == ("bad", "good")
        assert "good" in [info.name for info in store.learners()]
        [ticket] = store.ask("good")
        store.fill(ticket.id, [1.0, 2.0])
        assert store.tell(ticket.id, 1.0).state == "told"
        assert len(store.tickets("good", state="open")) == 2
        store.compact()


def uses(store: kh.Store) -> list[Callable[[], Any]]:
    """All that can be done with a learner."""
    return [
        lambda: store.info("bad"),
        lambda: store.learner("bad").weights,
        lambda: store.ask("bad"),
        lambda: store.ask("bad", key="key 1"),
        lambda: store.tickets("bad"),
        lambda: store.tickets(),
        lambda: store.history("bad"),
        lambda: [*store.replay("bad")],
        lambda: store.snapshot(),
        lambda: store.snapshots(),
        lambda: store.open_tickets(),
        lambda: store.load("bad"),
    ]


@pytest.mark.parametrize("row", ROWS_OF_LEARNER)
def test_a_learner_whose_row_is_damaged_is_named(path: Path, row: str) -> None:
    edit(path, f"UPDATE {row}")
    with kh.Store(path) as store:
        assert [info.name for info in store.learners()] == ["good"]
        assert [*store.damaged()] == ["bad"]
        assert "the row of 'bad' is damaged" in store.damaged()["bad"]
        with pytest.raises(kh.StoreDamagedError, match="the row of 'bad' is damaged"):
            store.ask("bad")


def test_one_of_a_group_is_refused_and_the_others_are_not(path: Path) -> None:
    """A damaged ticket is no reason to give up the transaction of all who came at the time."""
    with kh.Store(path) as store:
        [damaged] = store.tickets("bad", state="asked")
        edit(path, "UPDATE kh_event SET body = 'junk' WHERE ticket = '" + damaged.id + "'")
        store._writer._loaded.clear()
        before = store._writer._connected()
        with pytest.raises(kh.StoreDamagedError, match="'bad'"):
            store.fill(damaged.id, [1.0, 2.0])
        assert store._writer._connected() is before  # nor of the connection


@pytest.mark.parametrize("change", ["digest = 'x'", "sha256 = 'x'", "state = x'00'"])
def test_a_snapshot_that_is_not_of_the_log_is_passed_over(path: Path, change: str) -> None:
    edit(path, f"UPDATE kh_snapshot SET {change} WHERE seq > 1 AND {IDS}")
    with kh.Store(path) as store:
        with pytest.raises(kh.StoreDamagedError, match="the snapshot at event"):
            store.verify("bad")
        assert store.ask("bad")[0].round == 7  # replayed from the first one
