"""Files of learners that buy step by step: they go on to the bit, and forged ones are refused."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from benchmarks.attack import states
from keyhole.problem.state import LearnerState
from keyhole.problem.step import MOST_STEPS, next_features
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import encode

PROBLEM = kh.Problem(
    d=6, k=2, budget=7, prices=[0, 1, 3, 1, 1, 2], panels={"panel": ("1.5", [3, 4])}
)
MODES: dict[str, dict[str, Any]] = {
    "limit": {},
    "worth": {"worth": 2.0},
    "purse": {"purse": 1500, "horizon": 600},
}
TERMS = [*MODES, "yes or no"]


def rows(n: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    y = 3.0 * X[:, 1] + np.where(X[:, 1] > 0.4, 2.0 * X[:, 3], 0.0) + 0.3 * rng.standard_normal(n)
    return X, y


def make(mode: str) -> Any:
    if mode == "yes or no":
        return kh.YesNoLearner(kh.AutoLearner(PROBLEM, seed=3, worth=40.0))
    return kh.AutoLearner(PROBLEM, seed=3, **MODES[mode])


def play_on(learner: Any, n: int, seed: int) -> list[Any]:
    """What it did, step by step; some labels late, some never."""
    X, y = rows(n, seed)
    if isinstance(learner, kh.YesNoLearner):
        y = (y > 0.0).astype(float)
    found, waiting = list[Any](), list[Any]()
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        seen = (ticket := learner.ask(steps=True)).fill(x[ticket.features])
        while step := learner.next(seen):
            found.append(step.reason)
            seen = step.fill(x[step.features])
        found.append((seen.ticket.features.tolist(), learner.predict(seen)))
        waiting.append((seen, label))
        if t % 5:
            late, told = waiting.pop(t % len(waiting))
            if t % 11:
                learner.tell(late, told)
            else:
                learner.drop(late.ticket)
    for late, told in waiting:
        learner.tell(late, told)
    return found


def on_the_way(learner: Any, seed: int = 9) -> list[kh.Observation]:
    """Examples after no, one, two steps."""
    found = []
    for many, x in enumerate(rows(3, seed)[0]):
        seen = (ticket := learner.ask(steps=True)).fill(x[ticket.features])
        for _ in range(many):
            if not (step := learner.next(seen)):
                break
            seen = step.fill(x[step.features])
        found.append(seen)
    return found


@pytest.mark.parametrize("mode", TERMS)
@pytest.mark.parametrize("n", [0, 3, 130, 420])
def test_saved_in_the_midst_of_examples_it_goes_on_to_the_bit(mode: str, n: int) -> None:
    learner = make(mode)
    play_on(learner, n, 0)
    seens = on_the_way(learner)
    if mode != "yes or no":
        learner.interval(seens[0])
    data = to_bytes(learner)
    twin = from_bytes(data, type(learner))
    assert to_bytes(twin) == data
    found = []
    for player in (learner, twin):
        said: list[Any] = []
        for seen in seens[::-1]:
            mine = kh.Observation(kh.Ticket.from_json(seen.ticket.to_json()), seen.values)
            while step := player.next(mine):
                said.append((repr(step), step.reason))
                mine = step.fill(np.arange(len(step.features)) / 2.0)
            said.append(player.predict(mine))
            player.tell(mine, 1.0)
        found.append(said + play_on(player, 40, 2))
    assert found[0] == found[1]
    assert to_bytes(twin) == to_bytes(learner)


def genuine(mode: str) -> LearnerState:
    """Its state, some examples on their way, some stopped before."""
    learner = make(mode)
    play_on(learner, 450, 0)
    on_the_way(learner)
    state: LearnerState = learner.state()
    return state


WORTH = genuine("worth")


def forged(change: Callable[[Any], Any], state: LearnerState = WORTH) -> Any:
    parts = copy.deepcopy(dict(state.parts))
    change(parts)
    return from_bytes(encode(replace(state, parts=parts), "forged"))


def put(path: str, value: Any) -> Callable[[Any], None]:
    """Write a number all over an array."""

    def change(parts: Any) -> None:
        *way, last = path.split(".")
        at = parts
        for key in way:
            at = at[key]
        at[last] = np.full_like(at[last], value)

    return change


def test_what_is_forged_here_was_fine() -> None:
    learner = forged(lambda parts: None)
    assert any(next_features(ticket) is not None for ticket in learner._desk.open)
    assert {"stepwise", "stopped"} <= WORTH.parts.keys()
    play_on(learner, 10, 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("stepwise.table.bins", 16),
        ("stepwise.table.bins", -1),
        ("stepwise.table.many", -1),
        ("stepwise.table.many", 2**62),
        ("stepwise.table.errors", -0.5),
        ("stepwise.table.errors", np.nan),
        ("stepwise.table.recent", np.inf),
        ("stepwise.table.cuts", np.nan),
        ("stepwise.table.saved", np.inf),
        ("stepwise.rate", -1.0),
        ("stepwise.rate", np.inf),
        ("stepwise.went", np.nan),
        ("stepwise.went", -1.0),
        ("stepwise.batch", 10**6),
        ("stepwise.wide", 2),
        ("stepwise.step", MOST_STEPS),
        ("stepwise.step", -1),
    ],
)
def test_what_is_known_of_steps_is_held_to_what_it_can_be(path: str, value: Any) -> None:
    with pytest.raises(kh.StateError, match=path.replace(".", r"\.")):
        forged(put(path, value))


@pytest.mark.parametrize(
    "path",
    ["table.recent", "table.cuts", "table.bins", "table.saved", "went", "step", "batch"],
)
def test_arrays_of_other_sizes_are_refused(path: str) -> None:
    def cut(parts: Any) -> None:
        *way, last = path.split(".")
        at = parts["stepwise"]
        for key in way:
            at = at[key]
        at[last] = at[last][:-1].copy()

    with pytest.raises(kh.StateError, match="stepwise"):
        forged(cut)


def memo_of(parts: Any) -> Any:
    """The memos of the tickets that grow."""
    return next(group["memo"] for group in parts["desk"]["open"] if "plan" in group["memo"])


def _plan(parts: Any, at: int, value: int) -> None:
    memo_of(parts)["plan"]["values"][at] = value


def _step(parts: Any, at: int, value: int) -> None:
    memo_of(parts)["step"]["values"][at] = value


def _flat(parts: Any) -> None:
    memo = memo_of(parts)
    n = len(memo["plan"]["shapes"])
    for key in ("plan", "step"):
        memo[key] = {"shapes": np.zeros((n, 0), dtype=np.int64), "values": memo[key]["values"][:n]}


def _no_step(parts: Any) -> None:
    del memo_of(parts)["step"]


def _floats(parts: Any) -> None:
    plan = memo_of(parts)["plan"]
    plan["values"] = plan["values"].astype(np.float64)


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: _plan(parts, 0, 10**9),
        lambda parts: _plan(parts, 0, -1),
        lambda parts: _plan(parts, 1, 0),
        lambda parts: _step(parts, 0, 99),
        lambda parts: _step(parts, 0, -1),
        lambda parts: _step(parts, -1, 0),
        _flat,
        _no_step,
        _floats,
    ],
)
def test_tickets_that_cannot_grow_so_are_refused(change: Any) -> None:
    with pytest.raises(kh.StateError):
        forged(change)


def test_tickets_that_grow_need_what_is_known_of_steps() -> None:
    with pytest.raises(kh.StateError, match="stepwise: the ticket of round"):
        forged(lambda parts: parts.pop("stepwise"))


def test_errors_of_examples_that_stopped_are_proven_too() -> None:
    def nonsense(parts: Any) -> None:
        parts["stopped"] = {"is": "Residuals"}

    def another(parts: Any) -> None:
        parts["stopped"] = parts["stepwise"]

    for change in (nonsense, another, lambda parts: parts.update(stopped=None)):
        with pytest.raises(kh.StateError):
            forged(change)
    kept = dict(WORTH.parts["stopped"])
    for leaf in states.leaves(kept):
        if (
            isinstance(leaf.value, np.ndarray)
            and leaf.value.dtype == np.float64
            and leaf.value.size
        ):
            where = "stopped." + ".".join(map(str, leaf.path))
            with contextlib.suppress(kh.StateError):
                play_on(forged(put(where, np.nan)), 5, 1)
                raise AssertionError(f"{where} may be NaN")


def test_the_calibration_of_those_that_stopped_is_proven_too() -> None:
    state = genuine("yes or no")
    assert "stopped" in state.parts
    for name, value in (("share", 2.0), ("told", 1e9), ("precision", 0.0), ("bins", np.nan)):
        with pytest.raises(kh.StateError, match="stopped"):
            forged(put(f"stopped.{name}", value), state)


@pytest.mark.parametrize("mode", ["worth", "purse"])
def test_any_number_changed_is_refused_or_played(mode: str) -> None:
    """By the changes of `benchmarks.attack`, to what is new in these files."""
    state, rng, played = genuine(mode), np.random.default_rng(4), 0
    new = [
        leaf
        for leaf in states.leaves(dict(state.parts))
        if leaf.path[0] in ("stepwise", "stopped") or {"plan", "step"} & {*leaf.path}
    ]
    cases = [(leaf, change) for leaf in new for change in states.CHANGES]
    for i in rng.permutation(len(cases))[:70].tolist():
        leaf, change = cases[i]
        value = states.CHANGES[change](leaf.value, np.random.default_rng(i))
        if value is None:
            continue

        def swap(parts: Any, leaf: Any = leaf, value: Any = value) -> None:
            at = parts
            for key in leaf.path[:-1]:
                at = at[key]
            at[leaf.path[-1]] = value

        try:
            learner = forged(swap, state)
        except kh.StateError:
            continue
        played += 1
        for ticket in learner._desk.open:
            seen = ticket.fill(np.ones(len(ticket.features)))
            while step := learner.next(seen):
                seen = step.fill(np.ones(len(step.features)))
            learner.tell(seen, 0.5)
        play_on(learner, 8, 3)
    assert played > 0
