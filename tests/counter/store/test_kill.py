"""kill -9 under load: what was acknowledged is there once, and the learner goes on as in memory."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.store import Event, requests

WORKER = Path(__file__).with_name("worker.py")
PROBLEM = kh.Problem(d=6, k=2, budget=3)
KILLS = 3


def run_and_kill(url: str, name: str, replies: int, delay: float) -> list[list[str]]:
    """Let a process work, kill it a moment after so many replies; what it had acknowledged."""
    process = subprocess.Popen(
        [sys.executable, str(WORKER), url, name, "6"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(replies)]
    time.sleep(delay)  # somewhere between two replies; where does not matter
    process.kill()
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()
    lines = [*said, *rest.splitlines(keepends=True)]
    assert all(said), "the worker ended by itself"
    # A line that was cut off is no acknowledgement that anybody has read.
    return [line.split() for line in lines if line.endswith("\n")]


def in_memory(history: list[Event], kind: str) -> kh.Learner:
    """A learner that has played the same events, by itself."""
    learner = kh.LEARNERS[kind](PROBLEM, seed=2)
    tickets: dict[str | None, kh.Ticket] = {}
    seen: dict[str | None, kh.Observation] = {}
    for event in history[1:]:
        if event.kind == "asked":
            tickets[event.ticket] = learner.ask()
            assert tickets[event.ticket] == kh.Ticket.from_json(event.body)
        elif event.kind in ("seen", "corrected"):
            values = requests.observation_of(tickets[event.ticket], json.loads(event.body)).values
            seen[event.ticket] = tickets[event.ticket].fill(values)
        elif event.kind == "told":
            learner.tell(seen[event.ticket], json.loads(event.body)["y"])
        else:
            learner.drop(tickets[event.ticket])
    return learner


@pytest.mark.parametrize("kind", ["explore-commit"])
def test_nothing_acknowledged_is_lost_or_done_twice(kind: str, url: str) -> None:
    name = f"killed-{time.time_ns()}"
    with kh.Store(url) as store:
        store.create(name, PROBLEM, kind, seed=2)
    rng = np.random.default_rng(0)
    said: list[list[str]] = []
    for _ in range(KILLS):
        said += run_and_kill(url, name, int(rng.integers(20, 120)), float(rng.random()) * 0.02)
    with kh.Store(url) as store:
        store.verify(name)
        history = store.history(name)
        bodies: dict[Any, Any] = {}  # by kind and ticket, and how many values were there
        in_log: Counter[Any] = Counter()
        for event in history:
            body = json.loads(event.body)
            there = sum(each is not None for each in body.get("values", ()))
            place = event.kind, event.ticket, there if event.kind == "seen" else 0
            bodies[place] = body
            in_log[place] += 1
        assert set(in_log.values()) == {1}
        kinds = {kind: kind for kind in ("asked", "told", "dropped", "corrected")}
        kinds["filled"] = "seen"
        for verb, *about in said:
            if verb == "ready":
                continue
            heard = kinds[verb], about[0], int(about[2]) if verb == "filled" else 0
            assert in_log[heard] == 1, (verb, about)
            ticket = store.ticket(about[0])
            if verb in ("filled", "corrected"):
                assert bodies[heard]["prediction"] == float(about[1])
            if verb == "told":
                assert ticket.label == float(about[1])
        assert len(said) >= 20 * KILLS
        assert "corrected" in {verb for verb, *_ in said}
        # The log may have what nobody was told of, one request per thread and kill at most.
        unheard = len(history) - 1 - sum(verb != "ready" for verb, *_ in said)
        assert 0 <= unheard <= 6 * KILLS
        twin, learner = in_memory(history, kind), store.learner(name)
        assert (learner.weights == twin.weights).all()
        for _ in range(5):
            order = twin.ask()
            assert learner.ask() == order
            row = [0.5] * len(order.features)
            assert learner.predict(order.fill(row)) == twin.predict(order.fill(row))
            learner.tell(order.fill(row), 1.0)
            twin.tell(order.fill(row), 1.0)
