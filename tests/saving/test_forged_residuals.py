"""A forged calibration is refused by name, or plays on, is saved and is loaded again."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.conformal import FACTOR
from keyhole.learners.residuals import Residuals
from keyhole.problem.state import LearnerState
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import encode

FOLDER = Path(__file__).parent / "intervals"
BAD = (np.nan, np.inf, -np.inf, -1, -1e300, 0, 1e300, 1e190, 1e7, 2**62)


def genuine() -> kh.RunningMean:
    """After 30 labels, two coverages, and three open tickets of which two were issued."""
    rng = np.random.default_rng(0)
    learner = kh.RunningMean(kh.Problem(3, 1, 1))
    for _ in range(30):
        seen = learner.ask().fill([])
        learner.interval(seen)
        learner.tell(seen, rng.standard_normal())
    waiting = [learner.ask().fill([]) for _ in range(3)]
    learner.interval(waiting[0])
    learner.interval(waiting[1], 0.5)
    return learner


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


def forged(state: LearnerState, path: tuple[Any, ...], value: Any) -> bytes:
    tree = copy.deepcopy(dict(state.parts["residuals"]))
    inside = tree
    for key in path[:-1]:
        inside = inside[key]
    old = inside[path[-1]]
    if isinstance(old, np.ndarray) and not isinstance(value, np.ndarray):
        with np.errstate(invalid="ignore"):
            value = np.full_like(old, np.array(value).astype(old.dtype))
    inside[path[-1]] = value
    return encode(replace(state, parts={**state.parts, "residuals": tree}), "test")


def play_on(learner: Any) -> None:
    rng = np.random.default_rng(1)
    for ticket in learner._desk.open:
        learner.tell(ticket.fill([]), rng.standard_normal())
    for _ in range(30):
        seen = learner.ask().fill([])
        interval = learner.interval(seen)
        assert interval.low <= interval.high
        learner.tell(seen, rng.standard_normal())
    assert to_bytes(from_bytes(to_bytes(learner))) == to_bytes(learner)


def test_every_number_of_it() -> None:
    state, refused, played = genuine().state(), 0, 0
    paths = list(leaves(state.parts["residuals"]))
    assert len(paths) >= 18
    for path in paths:
        for value in BAD:
            try:
                learner = from_bytes(forged(state, path, value))
            except kh.StateError:
                refused += 1
                continue
            play_on(learner)
            played += 1
    assert refused > 80
    assert played > 20


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("told",), 29, "recent"),
        (("longest",), 31, "longest"),
        (("coverages",), np.array([0.9, 0.9]), "each once"),
        (("coverages",), np.array([0.9, 1.5]), "coverage"),
        (("recent",), np.zeros(3), "recent"),
        (("issued", "rounds"), np.array([31, 99]), "round 99 is not open"),
        (("issued", "rounds"), np.array([32, 31]), "ascending"),
        (("issued", "tracked"), np.array([1, 3]), "tracked"),
        (("issued", "told"), np.array([30, 31]), "told"),
        (("issued", "said"), np.zeros((2, 2, 5)), "said"),
        (("trackers", "theta"), np.zeros((2, 3)), "theta"),
        (("trackers", "units"), np.zeros((2, 2, 3)), "units"),
        (("trackers", "a"), np.array([0.05, 0.2]), "does not go with"),
        (("factors",), np.full(30, 11.0), "factors"),
        (("factors",), np.zeros(30), "factors"),
        (("sizes", "weight"), np.full((4, 4), 3.5), "weight"),
        (("sizes", "square"), np.full((4, 4), -1.0), "square"),
        (("sizes", "mean"), np.zeros(3), "mean"),
        (("sizes", "labels"), np.zeros(4), "labels"),
        (("sizes",), 3, "sizes"),
    ],
)
def test_what_cannot_be_is_named(path: tuple[str, ...], value: Any, words: str) -> None:
    with pytest.raises(kh.StateError, match=words):
        from_bytes(forged(genuine().state(), path, value))


def test_files_without_one_begin_anew() -> None:
    state = genuine().state()
    parts = {key: part for key, part in state.parts.items() if key != "residuals"}
    learner = from_bytes(encode(replace(state, parts=parts), "test"), kh.RunningMean)
    assert learner.residuals().told == 0
    play_on(learner)


def test_a_factor_that_was_noted_is_one() -> None:
    state = genuine().state()
    said = state.parts["residuals"]["issued"]["said"].copy()
    said[0, 0, FACTOR] = 0.0
    with pytest.raises(kh.StateError, match="factors are from"):
        from_bytes(forged(state, ("issued", "said"), said))


def test_files_from_before_there_were_factors_say_what_they_said() -> None:
    learner = kh.load(FOLDER / "before-factors.npz", kh.RunningMean)
    now = learner.ask().fill([])
    for coverage, ends in json.loads((FOLDER / "before-factors.json").read_text()).items():
        said = learner.interval(now, float(coverage), issue=False)
        np.testing.assert_allclose([said.low, said.high], ends, rtol=1e-12)
    play_on(learner)


@pytest.mark.parametrize("name", ["trackers", "issued", "recent"])
def test_half_of_an_old_record_is_refused(name: str) -> None:
    old = {key: part for key, part in genuine().residuals().arrays().items() if key != "sizes"}
    wrongs: list[Any] = [None, 3, {}, np.zeros(2), [1]]
    for wrong in wrongs:
        with pytest.raises(kh.StateError):
            Residuals(3).with_arrays({**old, name: wrong})
