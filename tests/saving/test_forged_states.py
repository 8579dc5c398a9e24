"""A forged file is a StateError or a clean game: a seeded part of `python -m benchmarks.attack`.

In a process of its own, which may crash or hang; `make sanitize` has every index checked.
"""

import random
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from benchmarks.attack import states
from benchmarks.attack.outcome import FINE
from benchmarks.attack.runner import Child, attack
from benchmarks.attack.states import MOMENTS
from benchmarks.attack.victims import NAMES
from keyhole.saving.api import from_bytes
from keyhole.saving.archive import encode


@pytest.mark.parametrize("many", [60, pytest.param(250, marks=pytest.mark.slow)])
def test_a_forged_state_is_refused_or_played(many: int) -> None:
    rng, drawn = random.Random(19), []
    for i in range(many):  # of every learner in turn
        start = NAMES[i % len(NAMES)], rng.randrange(len(states.PROBLEMS)), rng.choice(MOMENTS)
        drawn.append(rng.choice([*states.cases_of(*start)]))
    assert {case[0] for case in drawn} == set(NAMES)
    child = Child()
    tally = attack("states", drawn, child)
    child.end()
    assert tally.faults == []
    assert tally.counts.total() == many
    assert min(tally.counts[outcome] for outcome in FINE) > 0


def forged(name: str, moment: str, leaf: str, value: Any) -> bytes:
    """The file of a learner with one number changed, which `leaf` names by how its path ends."""
    [path] = [
        [*leaf_.path]
        for leaf_ in states.leaves(states._tree(states.genuine(name, 0, moment)))
        if ".".join(map(str, leaf_.path)).endswith(leaf)
    ]
    states.CHANGES["this"] = lambda old, rng: (
        np.full_like(old, value) if isinstance(old, np.ndarray) else value
    )
    try:
        return states.forged([name, 0, moment, path, "this"])
    finally:
        del states.CHANGES["this"]


@pytest.mark.parametrize(
    ("name", "leaf", "value"),
    [
        # What once crashed the process, or made it hang.
        ("auto", "waiting.0.content.S", 10**9),
        ("auto", "waiting.0.content.runs.place", 10**9),
        ("auto", "waiting.0.content.runs.size", 99),
        ("auto", "waiting.0.content.rows", 10**6),
        ("auto", "waiting.0.size", 10**6),
        ("auto", "parts.begun", 0),
        ("online-greedy", "waiting.0.content.draw.p", -1.0),
        ("online-greedy", "waiting.0.asked", 10**6),
        ("dantzig-data", "parts.fixed", 10**9),
        ("dantzig-data", "parts.explore", 10**6),
        ("dantzig", "desk.open.0.memo.explore.values", 10**9),
        ("dantzig", "desk.open.0.memo.support.values", -(10**9)),
        ("subset-experts", "desk.open.0.memo.explore.values", 10**9),
        ("subset-experts", "desk.open.0.memo.support.values", 10**9),
        ("iht", "parts.search.order", 10**9),
        ("mean", "parts.y", np.nan),
        ("last-value", "parts.last", np.nan),
    ],
)
def test_what_cannot_be_is_named(name: str, leaf: str, value: Any) -> None:
    assert from_bytes(encode(states.genuine(name, 0, "late"), "test"))
    with pytest.raises(kh.StateError, match=leaf.split(".")[-2 if "values" in leaf else -1]):
        from_bytes(forged(name, "late", leaf, value))


@pytest.mark.parametrize(
    ("leaf", "most", "beyond"),
    [
        # Of 50 rows of history, and three memories.
        ("studied", [50], [[51], [-1], [2**62]]),
        ("aside", [50, 50], [[51, 51], [1, 51], [2, 1], [-1, 0], [0, -1], [2**62, 2**62]]),
        ("lead", [2, 50], [[3, 0], [0, 51], [-1, 0], [0, -1], [2**62, 0]]),
    ],
)
def test_no_more_was_studied_than_labels_were_told(
    leaf: str, most: list[int], beyond: list[list[int]]
) -> None:
    learner = from_bytes(forged("auto, after history", "new", f"parts.{leaf}", most))
    states.play_on(learner)
    for value in beyond:
        with pytest.raises(kh.StateError, match=leaf):
            from_bytes(forged("auto, after history", "new", f"parts.{leaf}", value))
