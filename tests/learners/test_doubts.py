"""Doubts: what is implausible is said in words, whichever the learner, and nothing changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.errors import DataError
from keyhole.learners.doubts import Doubt
from keyhole.problem import Floats, StateError
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.streams import ArrayStream

NAMES = ("creatinine", "sodium", "age")
PROBLEM = kh.Problem(d=3, k=3, budget=3, names=NAMES)


def data(n: int = 320) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.uniform([0.6, 128.0, 20.0], [1.4, 150.0, 90.0], (n, 3))
    return X, 3.0 + X[:, 0] + 0.1 * X[:, 2] + 0.2 * rng.standard_normal(n)


def made(name: str) -> Any:
    return kh.LEARNERS[name](PROBLEM, seed=0)


def can(what: str) -> list[str]:
    """The learners of whose class this is true."""
    return [name for name, row in kh.LEARNERS.items() if getattr(row.cls, what, False)]


def played(name: str = "auto") -> Any:
    learner = made(name)
    learner.advance(*data())
    return learner


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_every_learner_doubts_what_it_buys(name: str) -> None:
    learner = played(name)
    ticket = learner.ask()
    wild = {0: 90.0, 1: 13.9, 2: 5.0e7}
    seen = ticket.fill([wild[j] for j in ticket.features.tolist()])
    doubts = learner.doubts(seen, y=7.5e6)
    names = [NAMES[j] for j in ticket.features.tolist()]
    assert [doubt.name for doubt in doubts] == [*names, None]
    meant = {"creatinine": 0.9, "sodium": 139.0, "age": 50.0, None: 7.5}
    assert [doubt.suggestion for doubt in doubts] == [meant[doubt.name] for doubt in doubts]
    usual = {0: 0.9, 1: 139.0, 2: 50.0}
    assert learner.doubts(ticket.fill([usual[j] for j in ticket.features.tolist()]), y=7.5) == ()


@pytest.mark.parametrize("name", ["auto", "dantzig", "dual-averaging", "mean"])
def test_doubts_change_nothing_and_are_saved(name: str) -> None:
    learner = played(name)
    ticket = learner.ask()
    before = to_bytes(learner)
    seen = ticket.fill([9e9] * len(ticket.features))
    found = learner.doubts(seen, y=1e6)
    assert to_bytes(learner) == before
    again: Any = from_bytes(before)
    assert again.doubts(seen, y=1e6) == found
    assert len(found) == len(ticket.features) + 1


def test_rounds_and_blocks_know_the_same() -> None:
    X, y = data(100)
    block, one = (made("dual-averaging") for _ in range(2))
    block.advance(X, y)
    for x, label in zip(X, y.tolist(), strict=True):
        ticket = one.ask()
        one.tell(ticket.fill(x[ticket.features]), label)
    assert (block._seen == one._seen).all()
    assert block._seen[:, 5].max() > 90.0


@pytest.mark.parametrize("name", can("STUDIES"))
def test_history_is_known(name: str) -> None:
    X, y = data()
    learner = made(name)
    learner.study(ArrayStream(X, y, names=NAMES))
    ticket = learner.ask()
    seen = ticket.fill([1e9] * len(ticket.features))
    assert len(learner.doubts(seen, y=1e9)) == len(ticket.features) + 1


@pytest.mark.parametrize("name", can("STUDIES_SUMS"))
def test_sums_are_known(name: str) -> None:
    learner = made(name)
    learner.study(kh.sums(ArrayStream(*data(), names=NAMES)))
    ticket = learner.ask()
    seen = ticket.fill([1e9] * len(ticket.features))
    assert len(learner.doubts(seen, y=1e9)) == len(ticket.features) + 1


def test_merged_learners_know_what_both_have_seen() -> None:
    X, y = data()
    shards = [kh.DantzigLearner(PROBLEM, seed=seed, noise_sd=0.2) for seed in (1, 2)]
    shards[0].advance(X, y)
    shards[1].advance(10.0 * X, y)
    merged: Any = kh.merge(*shards)
    assert to_bytes(merged) == to_bytes(kh.merge(shards[1], shards[0]))
    assert merged._seen[0, [0, 1]].tolist() == [X[:, 0].min(), 10.0 * X[:, 0].max()]
    ticket = merged.ask()
    assert merged.doubts(ticket.fill(10.0 * X[0, ticket.features])) == ()


def test_a_file_without_a_reach_has_no_doubts_yet() -> None:
    learner = played("dual-averaging")
    state = learner.state()
    del state.parts["reach"]
    old = type(learner).from_state(state)
    ticket = old.ask()
    assert old.doubts(ticket.fill([1e9] * len(ticket.features)), y=1e9) == ()
    X, y = data(100)
    old.tell(ticket.fill(X[0][ticket.features]), y[0])
    old.advance(X, y)
    ticket = old.ask()
    assert old.doubts(ticket.fill([1e9] * len(ticket.features)), y=1e9)


@pytest.mark.parametrize(
    ("place", "forged"), [(2, np.nan), (2, np.inf), (2, -1e9), (0, 0.0), (0, 0.5), (0, 9.0)]
)
def test_a_forged_reach_is_refused(place: int, forged: float) -> None:
    learner = played("dual-averaging")
    state = learner.state()
    state.parts["reach"] = state.parts["reach"].copy()
    state.parts["reach"][1, place] = forged
    with pytest.raises(StateError, match="reach"):
        type(learner).from_state(state)


def test_yes_or_no_doubts_values() -> None:
    X, y = data()
    learner = kh.YesNoLearner(kh.AutoLearner(PROBLEM, seed=0))
    learner.advance(X, (y > np.median(y)).astype(float))
    seen = learner.ask().fill([90.0, 139.0, 50.0])
    assert [doubt.name for doubt in learner.doubts(seen, y=1)] == ["creatinine"]
    with pytest.raises(DataError):
        learner.doubts(seen, y=7.0)


def test_what_cannot_be_doubted_is_refused() -> None:
    learner = played()
    seen = learner.ask().fill([0.9, 139.0, 50.0])
    with pytest.raises(DataError, match="fill"):
        learner.doubts([1.0])
    with pytest.raises(DataError, match="label"):
        learner.doubts(seen, y=float("nan"))
    assert learner.doubts(learner.ask().fill([np.nan] * 3)) == ()


@pytest.mark.parametrize(
    ("doubt", "factor", "suggestion", "words"),
    [
        (Doubt("a", 7.5e6, 3.0, 25.0), 3e5, 7.5, "a: 7,500,000 is 300,000 times the largest"),
        (Doubt(None, 75.0, 3.0, 25.0), 3.0, 7.5, "the label: 75 is 3 times the largest"),
        (Doubt("a", 0.75, 3.0, 25.0), 0.25, 7.5, "a: 0.75 is 0.25 times the smallest seen"),
        (Doubt("a", -250.0, -25.0, -3.0), 10.0, -25.0, "a: -250 is 10 times the largest"),
        (Doubt("a", -50.0, 40.0, 60.0), 50 / 60, 50.0, "a: -50 is beyond what was seen (40 to 60)"),
        (Doubt("a", 1095.0, 990.0, 1021.0), 1095 / 1021, None, "by 2.4 times its range"),
        (Doubt("a", 5.0, 0.0, 0.2), 25.0, 0.05, "did you mean 0.05?"),
    ],
)
def test_words(doubt: Doubt, factor: float, suggestion: float | None, words: str) -> None:
    assert doubt.factor == pytest.approx(factor)
    assert doubt.suggestion == suggestion
    assert words in str(doubt)
    assert ("did you mean" in str(doubt)) == (suggestion is not None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        doubt.value = 1.0  # type: ignore[misc]
