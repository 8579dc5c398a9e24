"""Forged states: every number that a learner saves, changed to what it cannot be, sealed anew."""

from __future__ import annotations

import contextlib
import copy
import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from benchmarks.attack.outcome import finite
from benchmarks.attack.victims import NAMES, PRICED, make
from keyhole.problem.state import LearnerState
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.saving.archive import encode

Case = list[Any]
Path = tuple[str | int, ...]
Array = NDArray[Any]

PROBLEMS = (kh.Problem(6, 2, 4), kh.Problem(9, 3, 9), kh.Problem(12, 2, 7))
MOMENTS = ("new", "waiting", "late")  # in the game: see `_played`


class Leaf(NamedTuple):
    """A number, text or array of a state, and where it stands."""

    path: Path
    value: Any


def cases() -> Iterator[Case]:
    """All of them: learner, problem, moment, where, change."""
    for start in product(NAMES, range(len(PROBLEMS)), MOMENTS):
        yield from cases_of(*start)


def cases_of(name: str, problem: int, moment: str) -> Iterator[Case]:
    """All of one state."""
    for leaf in leaves(_tree(genuine(name, problem, moment))):
        for change, changed in CHANGES.items():
            if changed(leaf.value, np.random.default_rng(0)) is not None:
                yield [name, problem, moment, [*leaf.path], change]


def suffer(case: Case) -> str:
    """Load it, tell its open tickets, play 50 rounds as a block and singly, and study a little."""
    try:
        learner: Any = from_bytes(forged(case))
    except kh.StateError:
        return "refused"
    play_on(learner)
    return "played"


def play_on(learner: Any) -> None:
    """The open tickets told, 50 rounds, then history; finite predictions throughout."""
    rng, d = np.random.default_rng(5), learner.problem.d
    for i, ticket in enumerate(learner._desk.open):
        seen = ticket.fill(rng.normal(size=len(ticket.features)))
        finite(learner.predict(seen))
        if i % 3 == 2:
            learner.drop(ticket)
        else:
            learner.tell(seen, rng.normal())
    X = rng.normal(size=(50, d))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.1 * rng.normal(size=50)
    kh.play(learner, kh.streams.ArrayStream(X[:25], y[:25]))
    for t in range(25, 50):
        ticket = learner.ask()
        seen = ticket.fill(X[t][ticket.features])
        finite(learner.predict(seen))
        learner.tell(seen, float(y[t]))
    if hasattr(learner, "explain"):
        str(learner.explain())
    if hasattr(learner, "advice"):
        str(learner.advice())
    if learner.STUDIES:
        learner.study(kh.streams.ArrayStream(X[:5], y[:5]))
        ticket = learner.ask()
        finite(learner.predict(ticket.fill(X[5][ticket.features])))
    with contextlib.suppress(kh.StateError):  # what was forged may grow beyond all bounds
        from_bytes(to_bytes(learner))


@functools.cache
def genuine(name: str, problem: int, moment: str) -> LearnerState:
    """A learner's own state: `new`, with labels missing (`waiting`), or further on (`late`)."""
    learner: Any = make(name, PROBLEMS[problem], seed=3)
    rng = np.random.default_rng(7)
    if moment == "late":
        X = rng.normal(size=(150, PROBLEMS[problem].d))
        learner.advance(X, X[:, 0] + 0.1 * rng.normal(size=len(X)))
    if moment != "new":
        for t in range(23):
            ticket = learner.ask()
            values = rng.normal(size=len(ticket.features))
            if name in PRICED and t % 8 == 0:  # an open ticket on terms of its own
                learner.ask(known={1: 0.5}, without=[0], budget=3)
            if t % 4:
                learner.tell(ticket.fill(values), rng.normal())
    state: LearnerState = learner.state()
    return state


def forged(case: Case) -> bytes:
    """The file of a forged state, with the right checksum."""
    name, problem, moment, path, change = case
    state = genuine(name, problem, moment)
    tree: Any = copy.deepcopy(_tree(state))
    at = tree
    for key in path[:-1]:
        at = at[key]
    rng = np.random.default_rng(zlib.crc32(repr(path).encode()))
    at[path[-1]] = CHANGES[change](at[path[-1]], rng)
    return encode(replace(state, **tree), "forged")


def leaves(tree: Any, path: Path = ()) -> Iterator[Leaf]:
    """All numbers, texts and arrays of a tree."""
    pairs: Any = ()
    if isinstance(tree, dict):
        pairs = tree.items()
    elif isinstance(tree, list):
        pairs = enumerate(tree)
    else:
        yield Leaf(path, tree)
    for key, value in pairs:
        yield from leaves(value, (*path, key))


def _tree(state: LearnerState) -> dict[str, Any]:
    return {
        "settings": dict(state.settings),
        "parts": dict(state.parts),
        "round": state.round,
    }


def _array(change: Callable[[Array, np.random.Generator], Array | None]) -> Callable[..., Any]:
    """A change of arrays that also serves for single numbers."""

    def changed(value: Any, rng: np.random.Generator) -> Any:
        if isinstance(value, np.ndarray) and value.size:
            new = change(value.copy(), rng)
            return None if new is None else np.asarray(new)
        if isinstance(value, int | float) and not isinstance(value, bool):
            new = change(np.array([value]), rng)
            return None if new is None else new.ravel()[0].item()
        return None

    return changed


def _all(number: float) -> Callable[..., Any]:
    def change(array: Array, rng: np.random.Generator) -> Array | None:
        if array.dtype.kind == "f":
            return np.full_like(array, number)
        if array.dtype.kind == "i" and np.isfinite(number):
            most = np.iinfo(array.dtype)
            return np.full_like(array, int(min(max(number, float(most.min)), float(most.max) / 2)))
        return None

    return _array(change)


def _one(number: float) -> Callable[..., Any]:
    def change(array: Array, rng: np.random.Generator) -> Array | None:
        at = rng.integers(array.size)
        if array.dtype.kind == "f":
            array.flat[at] = number
        elif array.dtype.kind == "i" and np.isfinite(number):
            most = np.iinfo(array.dtype)
            array.flat[at] = int(min(max(number, float(most.min)), float(most.max) / 2))
        else:
            return None
        return array

    return _array(change)


def _shuffled(array: Array, rng: np.random.Generator) -> Array | None:
    return rng.permutation(array.ravel()).reshape(array.shape) if array.size > 1 else None


def _reversed(array: Array, rng: np.random.Generator) -> Array | None:
    return array.ravel()[::-1].reshape(array.shape).copy() if array.size > 1 else None


def _plus_one(array: Array, rng: np.random.Generator) -> Array | None:
    return array + 1 if array.dtype.kind in "if" else ~array


def _negated(array: Array, rng: np.random.Generator) -> Array | None:
    return -array if array.dtype.kind in "if" else None


def _longer(array: Array, rng: np.random.Generator) -> Array | None:
    return np.concatenate([array, array[-1:]]) if array.ndim else None


def _shorter(array: Array, rng: np.random.Generator) -> Array | None:
    return array[:-1].copy() if array.ndim else None


def _arrays_only(change: Callable[..., Array | None]) -> Callable[..., Any]:
    def changed(value: Any, rng: np.random.Generator) -> Any:
        return change(value, rng) if isinstance(value, np.ndarray) and value.size else None

    return changed


def _other_kind(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray):
        whole = value.dtype.kind != "f"
        return value.astype(np.float32) if whole else np.ones(value.shape, dtype=np.int64)
    return {str: 7, bool: "yes", int: 1.5, float: "1.0"}.get(type(value), 3)


CHANGES: dict[str, Callable[..., Any]] = {
    "all -1": _all(-1),
    "all 0": _all(0),
    "all 10^9": _all(10**9),
    "all 1e300": _all(1e300),
    "all -1e300": _all(-1e300),
    "all nan": _all(np.nan),
    "all inf": _all(np.inf),
    "all tiny": _all(1e-310),
    "one -1": _one(-1),
    "one 10^6": _one(10**6),
    "one 2^62": _one(2.0**62),
    "one -2^62": _one(-(2.0**62)),
    "one nan": _one(np.nan),
    "one -inf": _one(-np.inf),
    "one 1e200": _one(1e200),
    "shuffled": _array(_shuffled),
    "reversed": _array(_reversed),
    "plus one": _array(_plus_one),
    "negated": _array(_negated),
    "longer": _arrays_only(_longer),
    "shorter": _arrays_only(_shorter),
    "another kind": _other_kind,
}
