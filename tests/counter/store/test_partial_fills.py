"""Values that come one by one: each is kept, serves a prediction, and is an event of the log."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.service.pages.log_summary import LogSummary
from keyhole.saving.api import to_bytes
from tests.helpers.counted import learnt, values_for


def kinds(store: kh.Store, id: str) -> list[str]:
    return [event.kind for event in store.ticket_history(id)]


def test_in_any_order_over_restarts_and_retries(url: str) -> None:
    """Each call says what is out, serves what the learner says of what is there, and is kept."""
    with kh.Store(url) as store:
        name = learnt(store)
        [ticket] = store.ask(name)
        twin: Any = copy.deepcopy(store.learner(name))
        row = values_for(ticket)
        assert ticket.awaited == ("age", "crp", "tsh")
        first = store.fill(ticket.id, {"tsh": row["tsh"]}, key="a")
        assert (first.state, first.awaited) == ("filled", ("age", "crp"))
    with kh.Store(url) as store:  # a clerk of the next shift
        assert store.ticket(ticket.id) == first
        second = store.fill(ticket.id, {"age": row["age"], "crp": None}, key="b")
        assert second.awaited == ("crp",)
        events = store.info(name).events
        for again in (
            store.fill(ticket.id, {"age": row["age"], "crp": None}, key="b"),
            store.fill(ticket.id, {"tsh": row["tsh"]}, key="a"),  # its ticket as it is now
            store.fill(ticket.id, {"tsh": row["tsh"]}),
            store.fill(ticket.id, {}),
        ):
            assert again == second
        assert store.info(name).events == events
        store.snapshot()
    with kh.Store(url) as store:
        last = store.fill(ticket.id, [math.nan, row["crp"], math.nan])
        assert last.awaited == ()
        assert (last.step, last.stepwise) == (None, False)
        for stored, values in (
            (first, {"tsh": row["tsh"]}),
            (second, {"tsh": row["tsh"], "age": row["age"]}),
            (last, row),
        ):
            interval = twin.interval(ticket.ticket.fill(values))
            assert stored.prediction == interval.prediction
            assert (stored.low, stored.high) == (interval.low, interval.high)
        assert kinds(store, ticket.id) == ["asked", "seen", "seen", "seen"]
        told = store.tell(ticket.id, 6.0)
        twin.tell(ticket.ticket.fill(row), 6.0)
        assert (told.prediction, told.awaited) == (last.prediction, ())
        assert to_bytes(copy.deepcopy(store.learner(name))) == to_bytes(twin)
        info = store.info(name)
        assert (info.waiting, info.filled, info.told) == (0, 0, 41)
        store.verify(name)


def test_a_value_that_changes_is_for_a_correction(url: str) -> None:
    with kh.Store(url) as store:
        name = learnt(store)
        [ticket] = store.ask(name)
        part = store.fill(ticket.id, {"age": 2.0})
        events = store.info(name).events
        with pytest.raises(kh.ConflictError, match=r"age was 2, now 2\.5.*correct it"):
            store.fill(ticket.id, {"age": 2.5, "crp": 1.0})
        for wrong in ({"nose": 1.0}, {"crp": "x"}, [1.0]):
            with pytest.raises(kh.DataError):
                store.fill(ticket.id, wrong)
        assert store.ticket(ticket.id) == part
        assert store.info(name).events == events
        right = store.correct(ticket.id, values={"age": 2.5}, why="misread")
        assert (right.awaited, right.values and right.values[0]) == (("crp", "tsh"), 2.5)
        full = store.fill(ticket.id, {"age": 2.5, "crp": 1.0, "tsh": 1.5})
        assert full.values == (2.5, 1.0, 1.5)
        assert store.ticket(ticket.id) == full
        away = store.correct(ticket.id, values={"tsh": None})
        assert away.awaited == ("tsh",)
        store.snapshot()
        assert store.fill(ticket.id, {"tsh": 1.75}).values == (2.5, 1.0, 1.75)
        store.tell(ticket.id, 6.0)
        assert store.fill(ticket.id, {"age": 2.5}).state == "told"  # nothing is new
        store.verify(name)


def test_closed_tickets_take_nothing_more(url: str) -> None:
    with kh.Store(url) as store:
        name = learnt(store)
        told, dropped = store.ask(name, 2)
        for ticket in (told, dropped):
            store.fill(ticket.id, {"age": 2.0})
        assert store.tell(told.id, 6.0).values is not None  # with whatever arrived
        store.drop(dropped.id)
        events = store.info(name).events
        for ticket, words in ((told, "was told.*correct it"), (dropped, "was dropped")):
            assert store.fill(ticket.id, {"age": 2.0}) == store.ticket(ticket.id)
            with pytest.raises(kh.ConflictError, match=words):
                store.fill(ticket.id, {"crp": 2.0})
        assert store.info(name).events == events
        store.verify(name)


def test_only_what_is_new_is_doubted(url: str) -> None:
    """A doubt that was confirmed is not raised again by what comes later."""
    with kh.Store(url) as store:
        name = learnt(store)
        [ticket] = store.ask(name)
        store.fill(ticket.id, {"crp": 2000.0}, confirm=True)
        store.fill(ticket.id, {"age": 2.0})
        with pytest.raises(kh.DoubtError, match="3,000") as refused:
            store.fill(ticket.id, {"tsh": 3000.0})
        assert [doubt.name for doubt in refused.value.doubts] == ["tsh"]
        with pytest.raises(kh.DoubtError) as refused:
            store.tell_many(name, {ticket.id: 1e9})
        assert [doubt.name for doubt in refused.value.doubts] == [None]
        store.fill(ticket.id, {"tsh": 3000.0}, confirm=True)
        log = [json.loads(event.body) for event in store.ticket_history(ticket.id)][1:]
        assert [len(body.get("confirmed", ())) for body in log] == [1, 0, 1]
        assert [body.get("came") for body in log] == [None, [0], [2]]
        store.verify(name)


def test_many_at_once_are_all_or_nothing(url: str) -> None:
    with kh.Store(url) as store:
        name = learnt(store)
        one, two = store.ask(name, 2)
        store.fill_many(name, {one.id: {"age": 2.0}, two.id: {"crp": 2.0}})
        with pytest.raises(kh.ConflictError, match="correct it"):
            store.fill_many(name, {one.id: {"tsh": 2.0}, two.id: {"crp": 1.0}})
        assert store.ticket(one.id).awaited == ("crp", "tsh")
        both = store.fill_many(name, {one.id: {"tsh": 2.0}, two.id: {"age": 1.0}})
        assert [ticket.awaited for ticket in both] == [("crp",), ("tsh",)]
        store.verify(name)


def test_charts_count_each_value_once(folder: Path) -> None:
    """Means and shares of what came are those of values, in however many parts they came."""
    with kh.Store(folder / "keyhole.db") as store:
        name = learnt(store)
        store.snapshot()
        whole, parts = store.ask(name, 2)
        row = {"age": 1.0, "crp": 2.0, "tsh": 3.0}
        store.fill(whole.id, row)
        for each, value in row.items():
            store.fill(parts.id, {each: value + (each == "age")})
        store.correct(parts.id, values={"age": 1.0})
        log = LogSummary(corrected=store.corrections(name))
        for event in store.history(name, limit=1000):
            log.add(event)
        for j in range(3):
            found = log.features[j]
            usual = [
                ticket.values[j] for ticket in store.tickets(name) if ticket.values is not None
            ]
            assert (found.bought, found.arrived, found.missing) == (42, 42, 0)
            assert found.mean == pytest.approx(float(np.mean(usual)))
