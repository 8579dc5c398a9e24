"""Learners that move, old stores that are opened, terms and prices, being ready."""

import json
import math
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.store.requests import LoadedLearner
from keyhole.counter.store.tables import digest

NAMES = ("age", "crp", "tsh", "alb", "bmi")
PRICED = kh.Problem(
    d=5,
    k=2,
    budget=12,
    names=NAMES,
    prices={"age": 0, "crp": "7.50", "tsh": 3, "alb": "2.9", "bmi": 1},
    panels={"blood": (5, ["crp", "tsh", "alb"])},
)


def play(store: kh.Store, name: str, rounds: int) -> None:
    for _ in range(rounds):
        [ticket] = store.ask(name)
        store.fill(ticket.id, [math.sin(ticket.round + j) for j in range(len(ticket.names))])
        if ticket.round % 4:
            store.tell(ticket.id, math.cos(ticket.round))


def test_from_a_file_to_a_server_and_back(folder: Path, postgres: str) -> None:
    with kh.Store(folder / "a.db") as here, kh.Store(postgres) as there:
        name = f"moves-{folder.name}"
        here.create(name, PRICED, "explore-commit", units={"age": "years"})
        play(here, name, 12)
        here.export(name, folder / "learner.keyhole")
        info = there.import_(folder / "learner.keyhole")
        assert info == here.info(name)
        assert there.tickets(name) == here.tickets(name)
        assert there.verify(name) == here.verify(name)
        waiting = there.tickets(name, state="open")[0]
        for store in (here, there):
            store.tell(waiting.id, 1.0)
            play(store, name, 5)
        assert np.array_equal(here.learner(name).weights, there.learner(name).weights)
        there.export(name, folder / "again.keyhole")
        assert there.history(name) != here.history(name)  # other ids by now
        with kh.Store(folder / "b.db") as back:
            back.import_(folder / "again.keyhole", "back")
            assert back.tickets("back")[0].learner == "back"
            assert back.verify() == {"back": there.info(name).events}


def forge(path: Path, change: Callable[[list[list[Any]]], None]) -> None:
    """Change the events of an exported learner, and everything that shows it."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    events = [json.loads(line) for line in parts["events.jsonl"].splitlines()]
    change(events)
    about, before = json.loads(parts["learner.json"]), ""
    for event in events:
        before = event[-1] = digest(before, *event[:-1])
        for which in ("first", "last"):
            if about[which]["seq"] == event[0]:
                about[which]["digest"] = before
    parts["learner.json"] = json.dumps(about).encode()
    parts["events.jsonl"] = "".join(json.dumps(event) + "\n" for event in events).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def _about(**changed: Any) -> Callable[[list[list[Any]]], None]:
    def change(events: list[list[Any]]) -> None:
        events[0][5] = json.dumps({**json.loads(events[0][5]), **changed})

    return change


def _field(number: int, place: int, value: Any) -> Callable[[list[list[Any]]], None]:
    def change(events: list[list[Any]]) -> None:
        events[number][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _about(d="x"),
        _about(units=7),
        _about(names=[1, 2]),
        _about(more=1),
        _field(0, 4, 1e300),
        _field(0, 4, "then"),
        _field(1, 5, "junk"),
        _field(1, 5, "{}"),
        _field(1, 5, 7),
        _field(1, 4, "then"),
        _field(1, 3, None),
        _field(1, 2, 7),
        _field(1, 1, "junk"),
    ],
    ids=range(13),
)
def test_a_forged_learner_is_not_taken_in(
    change: Callable[[list[list[Any]]], None], folder: Path
) -> None:
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "fixed")
        play(store, "a", 3)
        store.export("a", folder / "learner.keyhole")
        forge(folder / "learner.keyhole", lambda events: None)
        with kh.Store(folder / "c.db") as other:  # what is forged well is taken in
            assert other.import_(folder / "learner.keyhole").rounds == 3
        forge(folder / "learner.keyhole", change)
        with kh.Store(folder / "b.db") as other:
            with pytest.raises(kh.KeyholeError):
                other.import_(folder / "learner.keyhole")
            assert other.names() == ()


def test_a_backup_is_a_store(folder: Path) -> None:
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "fixed")
        play(store, "a", 6)
        store.backup(folder / "copy.db")
        play(store, "a", 2)
        with kh.Store(folder / "copy.db", create=False) as copy:
            assert copy.info("a").rounds == 6
            assert copy.snapshots()["a"].tail == 0
            play(copy, "a", 2)
            assert np.array_equal(copy.learner("a").weights, store.learner("a").weights)
            copy.verify()
        with pytest.raises(kh.StoreError, match="already exists"):
            store.backup(folder / "copy.db")


def test_snapshots_are_taken_by_the_way_and_the_last_two_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoadedLearner, "snapshot_due", lambda loaded, now: loaded.tail >= 10)
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "fixed")
        play(store, "a", 20)
        with store._reader.connected() as connection:
            found = connection.rows("SELECT seq FROM kh_snapshot ORDER BY seq")
        seqs = [seq for (seq,) in found]
        assert len(seqs) == 3
        assert seqs[0] == 1
        assert store.info("a").events - seqs[-1] < 10
        store.verify()


def test_compact_keeps_every_event(folder: Path) -> None:
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "fixed")
        first = store.ask("a", 2, key="k")
        store.compact()
        assert store.snapshots()["a"].tail == 0
        assert store.ask("a", 2, key="k") == first
        before = store.history("a")
        store.compact(keys_older_than=timedelta(0))
        assert store.history("a") == before
        assert len(store.ask("a", 2, key="k")) == 2
        assert store.info("a").rounds == 4
        store.verify()


def test_prices_are_on_the_ticket(folder: Path) -> None:
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "fixed")
        [ticket] = store.ask("a")
        assert sum(ticket.item_prices) == ticket.cost == store.info("a").spent
        assert dict(zip(ticket.items, ticket.item_prices, strict=True))["blood"] == 5.0


def test_terms_of_one_example_are_replayed(folder: Path) -> None:
    """By name and by number; what is known is filled in by itself."""
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "auto")
        terms = {"without": ["crp"], "known": {0: 61.0}, "prices": {"bmi": "0.50"}, "budget": 9}
        [ticket] = store.ask("a", terms=terms, key="k")
        assert store.ask("a", terms=terms, key="k") == [ticket]
        assert "crp" not in ticket.names
        given = {name: 1.0 for name in ticket.names if name != "age"}
        filled = store.fill(ticket.id, given)
        assert filled.as_dict()["values"]["age"] == 61.0
        store.tell(ticket.id, 2.0)
        assert sum(ticket.item_prices) == ticket.cost
        with pytest.raises(kh.ProblemError, match="takes no 'colour'"):
            store.ask("a", terms={"colour": 1})
        with pytest.raises(kh.ProblemError, match="known"):
            store.ask("a", terms={"known": {"agee": 1.0}})
        store.verify()


def test_a_learner_that_reads_nothing_needs_no_filling(folder: Path) -> None:
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "mean")
        [ticket] = store.ask("a")
        assert store.tell(ticket.id, 4.0).prediction == 0.0
        assert store.fill(store.ask("a")[0].id, {}).prediction == 4.0
        store.verify()


def test_history_is_studied_once_and_replayed_from_there(folder: Path) -> None:
    stream, _ = kh.streams.realizable(d=5, k=2, n=200, seed=0)
    problem = kh.Problem(d=5, k=2, budget=3)
    with kh.Store(folder / "a.db") as store:
        info = store.create("a", problem, "fixed", history=stream)
        assert info.history == 200
        play(store, "a", 5)
        store.verify()
        twin = kh.LEARNERS["fixed"](problem)
        twin.study(stream)  # type: ignore[attr-defined]
        [ticket] = store.ask("a")
        for _ in range(6):
            order = twin.ask()
        assert ticket.ticket == order


def test_loading_changes_nothing(folder: Path) -> None:
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "fixed")
        play(store, "a", 3)
    with kh.Store(folder / "a.db") as store:
        store.load()
        assert store.info("a").rounds == store.learner("a").round == 3
        with pytest.raises(kh.StoreError, match="no learner"):
            store.load("b")


def test_what_a_learner_can_say_besides(folder: Path) -> None:
    with kh.Store(folder / "a.db") as store:
        store.create("a", PRICED, "auto")
        store.create("b", PRICED, "random")
        play(store, "a", 3)
        assert store.learner("a").model().names is not None
        assert not hasattr(store.learner("b"), "explain")
        assert not hasattr(store.learner("a"), "state")


def test_closed_is_closed(folder: Path) -> None:
    store = kh.Store(folder / "a.db")
    store.create("a", PRICED, "fixed")
    [ticket] = store.ask("a")
    store.close()
    store.close()
    asked = (lambda: store.ask("a"), lambda: store.drop(ticket.id))
    for call in (store.names, store.verify, lambda: next(store.replay("a")), *asked):
        with pytest.raises(kh.StoreError, match="closed"):
            call()
