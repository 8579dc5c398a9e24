"""Intervals are served with predictions, kept in the log, and come out the same when replayed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.store import Event, replay, requests
from keyhole.errors import StoreDamagedError
from keyhole.problem import Floats

PROBLEM = kh.Problem(d=4, k=1, budget=2)


def data(rounds: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rounds, 4))
    return X, X[:, 0] + rng.normal(size=rounds)


def test_what_is_served_is_what_the_learner_in_memory_says(tmp_path: Path) -> None:
    X, y = data(60)
    alone = kh.FixedSubset(PROBLEM)
    path = tmp_path / "keyhole.db"
    late: list[tuple[str, kh.Observation, float]] = []
    with kh.Store(path) as store:
        store.create("a", PROBLEM, learner="fixed")
        for row, label in zip(X, y.tolist(), strict=True):
            [ticket] = store.ask("a")
            seen = alone.ask().fill(row[ticket.ticket.features])
            interval = alone.interval(seen, 0.8)
            filled = store.fill(ticket.id, row[ticket.ticket.features], coverage=0.8)
            assert filled.prediction == interval.prediction
            assert filled.coverage == 0.8
            if np.isfinite(interval.low):
                assert (filled.low, filled.high) == (interval.low, interval.high)
            else:
                assert (filled.low, filled.high) == (None, None)
            late.append((ticket.id, seen, label))
            if len(late) > 3:  # labels come three rounds late
                id, told, value = late.pop(0)
                alone.tell(told, value)
                store.tell(id, value)
        assert filled.low is not None
    with kh.Store(path) as store:  # woken from a snapshot, and checked from the first event on
        store.verify()
        [ticket] = store.ask("a")
        seen = alone.ask().fill([1.0])
        again, interval = store.fill(ticket.id, [1.0], coverage=0.8), alone.interval(seen, 0.8)
        assert (again.low, again.high) == (interval.low, interval.high)


def test_an_interval_of_the_log_that_was_changed_is_noticed() -> None:
    learner = kh.LEARNERS["mean"](PROBLEM, seed=0)
    for label in (1.0, 2.0, 3.0):
        learner.tell(learner.ask().fill([]), label)
    twin = kh.LEARNERS["mean"](PROBLEM, seed=0)
    for label in (1.0, 2.0, 3.0):
        twin.tell(twin.ask().fill([]), label)
    ticket = requests.ask_learner(learner, {})
    asked = requests.asked_body(ticket, [], {}, None)
    body = requests.seen_body(learner, ticket.fill([]), 0.9)
    replayed = replay.Replay(twin, None)
    replayed.play(Event(2, "asked", "T", "", 0.0, asked, ""))
    narrow = json.dumps({**body, "low": 0.5})
    with pytest.raises(StoreDamagedError, match="the low of T is now"):
        replayed.play(Event(3, "seen", "T", "", 0.0, narrow, ""))


def test_no_interval_where_none_is_asked_for_or_made(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("a", PROBLEM, learner="fixed")
        [ticket] = store.ask("a")
        assert store.fill(ticket.id, [1.0], coverage=None).coverage is None
        with pytest.raises(kh.ProblemError, match="coverage must be a share"):
            store.fill(ticket.id, [1.0], coverage=90)


def test_a_stored_learner_serves_intervals_of_its_own(tmp_path: Path) -> None:
    """Each is in the log, replayed and compared; the same coverage again is what was served."""
    X, y = data(40)
    alone: Any = kh.LEARNERS["fixed"](PROBLEM, seed=0)
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("a", PROBLEM, learner="fixed")
        learner = store.learner("a")
        for row, label in zip(X, y.tolist(), strict=True):
            seen, twin = (one.ask().fill(row[:1]) for one in (learner, alone))
            for coverage in (0.8, 0.5):
                assert learner.interval(seen, coverage) == alone.interval(twin, coverage)
            assert learner.interval(seen, 0.8).coverage == 0.8
            learner.tell(seen, label)
            alone.tell(twin, label)
        kinds = [event.kind for event in store.history("a")]
        assert kinds[1:5] == ["asked", "seen", "interval", "told"]
        assert kinds.count("interval") == 40
        assert store.verify() == {"a": 1 + 4 * 40}
        with pytest.raises(kh.DataError, match="interval takes what"):
            learner.interval(3)


def test_an_interval_that_was_changed_is_noticed(tmp_path: Path) -> None:
    """Of the event of its own: the digest is made anew, so it is the replay that notices."""
    learner, twin = (kh.LEARNERS["mean"](PROBLEM, seed=0) for _ in range(2))
    for one in (learner, twin):
        for label in (1.0, 2.0, 3.0):
            one.tell(one.ask().fill([]), label)
    ticket = requests.ask_learner(learner, {})
    body = requests.seen_body(learner, ticket.fill([]), 0.9)
    more = requests.interval_body(learner, ticket.fill([]), 0.5)
    replayed = replay.Replay(twin, None)
    replayed.play(Event(2, "asked", "T", "", 0.0, requests.asked_body(ticket, [], {}, None), ""))
    replayed.play(Event(3, "seen", "T", "", 0.0, json.dumps(body), ""))
    narrow = json.dumps({**more, "ticket": "T", "low": 0.5})
    with pytest.raises(StoreDamagedError, match="the low of T is now"):
        replayed.play(Event(4, "interval", None, "", 0.0, narrow, ""))
