"""Corrections in a store: events with who and why, replayed, and the learner is mended."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.store.database import SQLite
from keyhole.saving.api import to_bytes
from tests.counter.store.test_doubts import rewrite
from tests.helpers.counted import PROBLEM, learnt, values_for


def filled(store: kh.Store, name: str, **other: float) -> kh.StoredTicket:
    [ticket] = store.ask(name)
    return store.fill(ticket.id, {**values_for(ticket), **other}, confirm=True)


def test_a_label_as_if_it_had_been_right(url: str) -> None:
    """The learner is the one that `correct` makes of it in memory; loss and history say it too."""
    with kh.Store(url) as store:
        name = learnt(store)
        ticket = filled(store, name)
        twin: Any = copy.deepcopy(store.learner(name))
        usual = store.info(name).loss
        store.tell(ticket.id, 1e9, confirm=True, who="ward 3")
        twin.tell(ticket.ticket.fill(list(ticket.values or ())), 1e9)
        for later in store.ask(name, 3):
            twin.ask()
            store.fill(later.id, values_for(later), coverage=None)
        right = store.correct(ticket.id, y=6.5, why="of another patient", who="ward 4", key="k")
        twin.correct(ticket.ticket, y=6.5)
        assert (right.label, right.prediction, right.state) == (6.5, ticket.prediction, "told")
        assert store.ticket(ticket.id) == right
        assert right.corrected_at is not None
        kept = copy.deepcopy(store.learner(name))
        np.testing.assert_array_equal(kept.weights, twin.weights)
        assert kept.intercept == twin.intercept
        off = 6.5 - (ticket.prediction or 0.0)
        assert store.info(name).loss == pytest.approx(usual + off * off, rel=1e-9)
        last = store.ticket_history(ticket.id)[-1]
        body = json.loads(last.body)
        assert (last.kind, last.who, body["why"]) == ("corrected", "ward 4", "of another patient")
        assert (body["was"]["y"], body["y"]) == (1e9, 6.5)
        assert store.correct(ticket.id, y=6.5, why="of another patient", key="k") == right
        events = store.info(name).events
        assert store.correct(ticket.id, y=6.5) == right  # the same again changes nothing
        assert store.info(name).events == events
        store.verify(name)
    with kh.Store(url) as store:  # from the snapshot
        assert store.ticket(ticket.id) == right
        assert to_bytes(copy.deepcopy(store.learner(name))) == to_bytes(kept)


def test_values_before_and_after_the_label(url: str) -> None:
    with kh.Store(url) as store:
        name = learnt(store)
        first = filled(store, name, crp=2000.0)
        with pytest.raises(kh.ConflictError, match="correct it if they were wrong"):
            store.fill(first.id, values_for(first))
        again = store.correct(first.id, values={"crp": 2.0}, why="point")
        assert (again.state, again.values and again.values[1]) == ("filled", 2.0)
        assert again.prediction != first.prediction
        assert again.low is not None
        learner = store.learner(name)
        assert again.prediction == learner.predict(again.ticket.fill(list(again.values or ())))
        store.snapshot()  # what follows is played from here
        told = store.tell(first.id, 6.0)
        assert told.prediction == again.prediction
        gone = store.correct(first.id, values={"tsh": None})
        assert gone.as_dict()["values"]["tsh"] is None
        assert (gone.prediction, gone.label) == (told.prediction, 6.0)
        both = store.correct(first.id, y=5.0, values={"tsh": 1.5})
        assert (both.label, both.values and both.values[2]) == (5.0, 1.5)
        assert both.prediction == told.prediction
        kinds = [event.kind for event in store.ticket_history(first.id)]
        assert kinds == ["asked", "seen", "corrected", "told", "corrected", "corrected"]
        store.verify(name)
    with kh.Store(url) as store:
        assert store.ticket(first.id) == both
        store.verify(name)


@pytest.mark.parametrize("kind", ["random", "fixed", "explore-commit"])
def test_an_open_ticket_of_any_learner(kind: str, tmp_path: Path) -> None:
    """Nothing was learnt from it yet; what is told then is what is right."""
    with kh.Store(tmp_path / "keyhole.db") as store:
        name = learnt(store, kind=kind)
        wrong = filled(store, name, age=3.5)
        twin: Any = copy.deepcopy(store.learner(name))
        right = {**values_for(wrong), "age": 1.5}
        store.correct(wrong.id, values={"age": 1.5})
        store.tell(wrong.id, 6.0)
        twin.tell(wrong.ticket.fill(right), 6.0)
        np.testing.assert_array_equal(store.learner(name).weights, twin.weights)
        with pytest.raises(kh.ConflictError, match=r"cannot correct what it was told.* can: auto"):
            store.correct(wrong.id, y=7e9)  # that it cannot is said before any doubt
        assert store.ticket(wrong.id).label == 6.0
        store.verify(name)


def test_what_cannot_be_corrected(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        name = learnt(store, PROBLEM.replace(limits={"crp": (0, 6000)}, label_limits=(-9, 1e6)))
        [asked] = store.ask(name)
        waiting, dropped = filled(store, name), filled(store, name)
        store.drop(dropped.id)
        told = store.tell(filled(store, name).id, 6.0)
        events = store.info(name).events
        refused: list[tuple[str, dict[str, Any], type[Exception], str]] = [
            (told.id, {}, kh.DataError, "there is nothing to correct"),
            (told.id, {"y": float("nan")}, kh.DataError, "finite"),
            (told.id, {"values": {"crq": 1.0}}, kh.DataError, "was not bought"),
            (told.id, {"values": {"crp": 1.0, 1: 2.0}}, kh.DataError, "the same feature"),
            (told.id, {"values": {"crp": -1.0}}, kh.DataError, "its limits are 0 to 6000"),
            (told.id, {"y": -10.0}, kh.DataError, "its limits are -9 to 1000000"),
            (told.id, {"y": 6.5, "why": "a\nb"}, kh.ProblemError, "why must be text"),
            (told.id, {"y": 6e5}, kh.DoubtError, "the label: 600,000"),
            (told.id, {"values": {"crp": 5000.0}}, kh.DoubtError, "crp: 5,000"),
            (asked.id, {"values": {"crp": 1.0}}, kh.ConflictError, "was not filled"),
            (waiting.id, {"y": 6.0}, kh.ConflictError, "has no label yet"),
            (dropped.id, {"values": {"crp": 1.0}}, kh.ConflictError, "was dropped"),
            ("0123-4567-89AM", {"y": 6.0}, kh.UnknownTicketError, "no ticket"),
        ]
        for id, right, kind, words in refused:
            with pytest.raises(kind, match=words):
                store.correct(id, **right)
        assert store.info(name).events == events
        store.verify(name)


def test_what_is_too_old_says_so(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("short", PROBLEM, "auto", parts=kh.AutoParts(ring=2))
        tickets = store.ask("short", 40)
        for ticket in tickets:
            store.fill(ticket.id, values_for(ticket))
            store.tell(ticket.id, 6.0)
        with pytest.raises(kh.TicketError, match="it can be corrected no more"):
            store.correct(tickets[0].id, y=5.0)
        assert store.info("short").told == 40
        store.verify()


def test_a_learner_of_a_store_corrects(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        learner = store.learner(learnt(store))
        ticket = learner.ask()
        learner.tell(ticket.fill([2.0, 2.0, 2.0]), 6.0)
        learner.correct(ticket, y=5.0, values={"crp": None}, why="lost")
        found = store.ticket(learner.id_of(ticket))
        assert (found.label, found.as_dict()["values"]["crp"]) == (5.0, None)
        with pytest.raises(kh.TicketError, match="a ticket is what ask"):
            learner.correct("no ticket", y=5.0)  # type: ignore[arg-type]
        other = kh.Ticket(ticket.round, np.array([0]))
        with pytest.raises(kh.TicketError, match="is not what"):
            learner.correct(other, y=5.0)


def test_the_log_can_be_moved_and_a_forged_one_is_found(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store, kh.Store(tmp_path / "other.db") as other:
        name = learnt(store)
        ticket = filled(store, name)
        store.correct(ticket.id, values={"crp": 2.5})
        store.tell(ticket.id, 6.0)
        store.correct(ticket.id, y=5.0, why="typo")
        store.export(name, tmp_path / "learner.khl")
        other.import_(tmp_path / "learner.khl")
        assert other.ticket(ticket.id) == store.ticket(ticket.id)
        other.verify()

        def forge(body: dict[str, Any]) -> None:
            body["y"] = 5.5

        rewrite(store, ticket.id, "corrected", forge)
        with pytest.raises(kh.StoreDamagedError, match=name):
            store.verify(name)


def test_a_store_of_before_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables are brought up to date, and its tickets can be corrected."""
    scripts = SQLite._scripts

    def first_only(self: SQLite) -> list[str]:
        return scripts(self)[:1]

    path = tmp_path / "keyhole.db"
    with monkeypatch.context() as before:
        before.setattr(SQLite, "_scripts", first_only)
        kh.Store(path).close()  # tables as they were
    import sqlite3

    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version FROM kh_version").fetchall() == [(1,)]
    connection.close()
    with kh.Store(path) as store:
        name = learnt(store)
        ticket = filled(store, name)
        store.tell(ticket.id, 6.0)
        store.correct(ticket.id, y=5.0)
        store.correct(ticket.id, y=4.0)
        store.verify()
