"""Several threads on one learner: calls wait for each other, and no label is lost."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.base import LearnerBase
from keyhole.learners.registry import make_learner
from keyhole.problem.desk import Desk


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads that are interrupted after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def another_thread_could_call(learner: Any) -> bool:
    with ThreadPoolExecutor(1) as pool:
        got: bool = pool.submit(learner._lock.acquire, blocking=False).result()
        if got:
            pool.submit(learner._lock.release).result()
    return got


class Watched(Desk):
    """Notes at every issue, look-up and skip whether another thread could have called as well."""

    learner: Any
    alone: list[bool]

    def issue(self, *args: Any, **given: Any) -> kh.Ticket:
        self.alone.append(not another_thread_could_call(self.learner))
        return super().issue(*args, **given)

    def issued(self, ticket: kh.Ticket) -> kh.Ticket:
        self.alone.append(not another_thread_could_call(self.learner))
        return super().issued(ticket)

    def skip(self, *args: Any) -> None:
        self.alone.append(not another_thread_could_call(self.learner))
        super().skip(*args)


def watched(learner: Any) -> list[bool]:
    learner._desk.__class__ = Watched
    learner._desk.learner, learner._desk.alone = learner, []
    alone: list[bool] = learner._desk.alone
    return alone


@pytest.mark.parametrize("name", sorted(kh.LEARNERS))
def test_every_call_is_alone(name: str) -> None:
    learner: Any = make_learner(name, kh.Problem(6, 2, 4), 0)
    alone = watched(learner)
    first, second = learner.ask(), learner.ask()
    seen = first.fill(np.ones(len(first.features)))
    learner.predict(seen)
    learner.tell(seen, 1.0)
    learner.drop(second)
    learner.advance(np.ones((3, learner.problem.d)), np.ones(3))
    assert len(alone) >= 6
    assert all(alone)
    assert another_thread_could_call(learner)  # afterwards it is free again


def test_a_method_that_does_not_wait_is_caught() -> None:
    class Impatient(kh.RunningMean):
        def tell(self, seen: kh.Observation, y: float) -> None:
            self._desk.settle(seen, y)

    learner = Impatient(kh.Problem(6, 2, 4))
    alone = watched(learner)
    learner.tell(learner.ask().fill([]), 1.0)
    assert alone == [True, False]


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_public_calls_are_those_of_the_base_or_locked(name: str) -> None:
    kind = kh.LEARNERS[name].cls
    assert issubclass(kind, LearnerBase)
    for call in ("ask", "predict", "tell", "drop", "advance", "study", "state"):
        method = getattr(kind, call)
        assert method is getattr(LearnerBase, call) or hasattr(method, "__wrapped__")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", ["mean", "auto"])
def test_no_label_is_lost(name: str) -> None:
    learner: Any = make_learner(name, kh.Problem(6, 2, 4), 0)
    each, threads = 150, 4

    def play(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(each):
            ticket = learner.ask()
            seen = ticket.fill(rng.normal(size=len(ticket.features)))
            learner.predict(seen)
            learner.tell(seen, 1.0)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(play, range(threads)))
    assert learner.round == each * threads
    assert learner._desk.open == ()
    if name == "mean":
        assert (learner._n, learner._y) == (each * threads, float(each * threads))
    else:
        unfinished = sum(int(entry.content.rows[0]) for entry in learner._batches.waiting)
        assert learner._state.label.reads[0] + unfinished == each * threads


def test_a_lock_is_not_part_of_a_learner() -> None:
    learner = kh.RunningMean(kh.Problem(6, 2, 4))
    assert "_lock" not in learner.__getstate__()
    assert isinstance(learner._lock, type(threading.RLock()))
