"""A learner that is deleted is gone, from every table and every memory; nothing else is."""

from pathlib import Path

import pytest

import keyhole as kh
from keyhole.counter.store.tables import TABLES_OF_LEARNER

PROBLEM = kh.Problem(d=3, k=1, budget=2)


def played(store: kh.Store, name: str) -> None:
    """A learner with two rounds."""
    store.create(name, PROBLEM, "random")
    for number in range(2):
        [ticket] = store.ask(name, key=f"{number}")
        store.fill(ticket.id, [1.0, 2.0])
        store.tell(ticket.id, float(number))


def test_everything_of_it_goes_and_nothing_else(url: str) -> None:
    with kh.Store(url) as store, kh.Store(url) as other:
        played(store, "gone")
        played(store, "stays")
        other.learner("gone")  # loaded there
        kept = store.history("stays")
        assert store.delete("gone").told == 2
        assert "gone" not in store.names()
        for each in (store, other):
            with pytest.raises(kh.UnknownLearnerError):
                each.ask("gone")
            with pytest.raises(kh.UnknownLearnerError):
                each.delete("gone")
        assert store.history("stays") == kept
        with store._reader.connected() as connection:
            for table in TABLES_OF_LEARNER:
                ids = connection.rows(
                    f"SELECT DISTINCT learner FROM {table} WHERE learner NOT IN "
                    "(SELECT id FROM kh_learner)"
                )
                assert ids == [], table
        # Another one of its name may get the same number: nobody takes it for the first.
        played(store, "gone")
        assert other.ask("gone")[0].round == 3
        store.verify()


def test_open_tickets_are_given_up_only_by_force(url: str) -> None:
    with kh.Store(url) as store:
        store.create("busy", PROBLEM, "random")
        first, second = store.ask("busy", 2)
        with pytest.raises(kh.ConflictError, match=r"2 open tickets.*Export the learner"):
            store.delete("busy")
        store.drop(first.id)
        with pytest.raises(kh.ConflictError, match="an open ticket"):
            store.delete("busy")
        assert store.ticket(second.id).open
        assert store.delete("busy", force=True).open == 1
        with pytest.raises(kh.UnknownTicketError):
            store.drop(second.id)


def test_an_export_brings_it_back(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        played(store, "moved")
        store.export("moved", tmp_path / "moved.khl")
        before = store.tickets("moved")
        store.delete("moved")
        store.import_(tmp_path / "moved.khl")
        assert store.tickets("moved") == before
        store.verify()
