"""State: everything a learner is, taken from it and put back.

A learner can be saved if it has two methods, `state` and `from_state`; for most they are one line
each, `snapshot` and `restore`, beside a list of what changes as it plays:

    SAVED = ("_desk", "_moments")

    def state(self) -> State:
        return snapshot(self, {"seed": self.seed})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return restore(cls, state)

Attributes in SAVED may be numbers, strings, None, arrays, lists, tuples, dicts, dataclasses,
NamedTuples, a `Desk`, `Moments`, and objects whose class has a SAVED of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeGuard, TypeVar

from keyhole.errors import StateError
from keyhole.problem.problem import Learner, Problem
from keyhole.problem.serialize import Kind, Tree, fit, key_of, pack, saved_names, unpack

L = TypeVar("L", bound=Learner)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Everything a learner is: `settings` make it anew, `parts` are what it has learnt since.

    Both are trees: None, numbers, strings, arrays, and lists and dicts of them, all copies.
    """

    learner: str
    problem: Problem
    round: int
    settings: Mapping[str, Tree]
    parts: Mapping[str, Tree]

    def part(self, key: str) -> Tree:
        """One of the parts, or a StateError that names it."""
        if key not in self.parts:
            raise StateError(f"the state of {self.learner} lacks {key}")
        return self.parts[key]

    def copied(self) -> State:
        """The same state, with arrays that nothing else has."""
        return replace(self, settings=deepcopy(self.settings), parts=deepcopy(self.parts))


class StatefulLearner(Learner, Protocol):
    """A learner that can be saved."""

    def state(self) -> State:
        """Everything it is, copied; changes nothing."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner that `state` described: its future is the same bit for bit."""


def has_state(learner: Learner) -> TypeGuard[StatefulLearner]:
    """Whether a learner can be saved."""
    methods = (getattr(type(learner), name, None) for name in ("state", "from_state"))
    return all(callable(method) for method in methods)


def snapshot(learner: Learner, settings: Mapping[str, Any], **parts: Any) -> State:
    """The state of a learner: its settings, the attributes named in SAVED, and further parts.

    `settings` are the arguments its class is called with, beside the problem, to make it anew.
    """
    name = type(learner).__name__
    saved = {key_of(a): pack(getattr(learner, a), f"{name}.{a}") for a in saved_names(learner)}
    return State(
        name,
        learner.problem,
        learner.round,
        {key: pack(value, f"{name}.{key}") for key, value in settings.items()},
        {**saved, **{key: pack(part, f"{name}.{key}") for key, part in parts.items()}},
    )


def restore(
    cls: Callable[..., L],
    state: State,
    *,
    loose: Sequence[str] = (),
    kinds: Sequence[Kind] = (),
    settings: Mapping[str, Any] | None = None,
) -> L:
    """A learner made from the settings, with the attributes named in SAVED put back.

    What is put back must look like what the new learner has there: the same types, the same
    shapes. Anything else is a StateError.

    Parameters
    ----------
    cls
        The class, called with the problem and the settings.
    state
        What `snapshot` returned.
    loose
        Attributes whose arrays may have other lengths than at the beginning.
    kinds
        Dataclasses and NamedTuples that may be found where a new learner has None.
    settings
        In place of those of the state, where they are not what the class is called with.
    """
    if settings is None:
        settings = {key: unpack(value, key) for key, value in state.settings.items()}
    learner = cls(state.problem, **settings)
    for attribute in saved_names(learner):
        key, like = key_of(attribute), getattr(learner, attribute)
        value = fit(like, state.part(key), key, loose=attribute in loose, kinds=kinds)
        setattr(learner, attribute, value)
    if learner.round != state.round:
        raise StateError(f"the state is of round {state.round}, its desk of {learner.round}")
    return learner
