"""Saving AutoLearner: what its tickets and files hold, and files from when it was another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.auto.last_layer import PAST, recalled
from keyhole.learners.blocks.auto.parts import USUAL, AutoParts
from keyhole.learners.blocks.auto.spending import counts
from keyhole.learners.blocks.sums.memories import Memories
from keyhole.learners.blocks.sums.past_labels import LAST_LABELS
from keyhole.problem import Floats, Indices, ProblemError, StateError, Ticket
from keyhole.problem.state import AscendingFeatures, Holds, LearnerState
from keyhole.problem.step import MOST_STEPS


def seated_as_saved(parts: Any, state: LearnerState) -> Any:
    """The parts that a learner is made anew with: with as many seats as the file has.

    Files of problems with up to 1,024 features were written with fewer seats for a while.
    """
    if not isinstance(parts, AutoParts) or parts.active is not None:
        return parts
    who = _saved_array(state, "kept", "who", 1)
    if who is None:
        return parts
    if state.problem.width <= len(who) < parts.seats(state.problem):
        return replace(parts, active=len(who))
    return parts


def parts_as_saved(settings: Mapping[str, Any], state: LearnerState) -> Any:
    """The parts that a learner is made anew with: seats and a safety net as the file has them.

    Files were written with a net from a budget of 6 on, and without one wherever there were prices.
    """
    parts = seated_as_saved(settings.get("parts", USUAL), state)
    if not isinstance(parts, AutoParts) or parts.slots is not None:
        return parts
    L = _saved_array(state, "net", "L", 2)
    if L is None:
        return parts
    as_saved = replace(parts, slots=len(L))
    counted = counts(state.problem, settings.get("worth"), settings.get("purse"))
    try:
        usual = parts.sizes(state.problem, counted).slots
        as_saved.sizes(state.problem, counted)
    except ProblemError:  # what does not fit together is refused elsewhere
        return parts
    return parts if usual == len(L) else as_saved


def _saved_array(state: LearnerState, part: str, name: str, dimensions: int) -> NDArray[Any] | None:
    """An array of what was learnt, as a file has it; None if it is no such array."""
    tree = dict(_pairs(state.part("learnt"))).get(part)
    array = tree.get(name) if isinstance(tree, dict) else None
    return array if isinstance(array, np.ndarray) and array.ndim == dimensions else None


def _pairs(learnt: Any) -> list[list[Any]]:
    """The entries of a saved dict, as [key, value]; what does not look like one is left out."""
    of = learnt.get("of") if isinstance(learnt, dict) else None
    pairs = of if isinstance(of, list) else []
    return [one for one in pairs if isinstance(one, list) and len(one) == 2 and type(one[0]) is str]


def by_batches(learnt: Any) -> tuple[Any, bool]:
    """Saved sums with a last layer as it is now, and whether it was another: then `begin` is due.

    Files from before its VAWs learnt by batches hold them as `runs`; the sums say as much.
    """
    pairs = _pairs(learnt)
    for pair in pairs:
        if pair[0] == "last" and isinstance(pair[1], dict) and "runs" in pair[1]:
            last = {name: value for name, value in pair[1].items() if name != "runs"}
            room = {"root": np.zeros_like(last.get("A")), "along": np.zeros_like(last.get("b"))}
            others = [one for one in pairs if one[0] != "last"]
            return {**learnt, "of": [*others, ["last", {**last, **room}]]}, True
    return learnt, False


def with_seats(learnt: Any, new: Memories) -> Any:
    """What a file says was learnt, with memories as they are now; `new` are empty ones.

    Where there are too few seats for all features, those most strongly related to the label in the
    longest memory get one.
    """
    pairs = _pairs(learnt)
    for pair in pairs:
        if pair[0] == "kept" and isinstance(pair[1], dict) and "who" not in pair[1]:
            others = [one for one in pairs if one[0] != "kept"]
            kept = {"is": pair[1].get("is"), **_seated(pair[1], new)._asdict()}
            return {**learnt, "of": [*others, ["kept", kept]]}
    return learnt


def _seated(tree: dict[str, Any], new: Memories) -> Memories:
    memories, d = len(new.tau), len(new.seat)
    shapes = {"G": (memories, d + 1, d + 1), "c": (memories, d + 1), "n": (memories, d + 1)}
    shapes |= {"yy": (memories,), "scale": (memories,), "tau": (memories,)}
    if set(tree) != {"is", *shapes}:
        raise StateError(f"learnt.kept must be entries {', '.join(shapes)}")
    for name, shape in shapes.items():
        array = tree[name]
        if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != (shape, np.float64):
            raise StateError(f"learnt.kept.{name} must be an array float64{list(shape)}")
    parts = {name: tree[name] for name in shapes}
    every, none = np.arange(d), np.zeros((memories, 0, 4))
    old = Memories(**parts, who=every, seat=every.copy(), rest=none)
    return old if len(new.who) == d else _few(old, len(new.who))


def _few(old: Memories, seats: int) -> Memories:
    """The same memories with fewer seats."""
    square = np.maximum(np.diagonal(old.G, axis1=1, axis2=2), 0.0)[:, :-1]
    with np.errstate(all="ignore"):
        strength = np.nan_to_num(old.c[0, :-1] ** 2 / square[0])
    stay = np.sort(np.argsort(-strength, kind="stable")[:seats])
    d, there = len(old.seat), np.append(stay, len(old.seat))
    sums = square, old.G[:, -1, :-1], old.c[:, :-1], old.n[:, :-1]
    rest, seat = np.stack(sums, axis=-1), np.full(d, -1, dtype=np.int64)
    rest[:, stay], seat[stay] = 0.0, np.arange(seats)
    G = np.ascontiguousarray(old.G[:, there][:, :, there])
    c, n = (np.ascontiguousarray(part[:, there]) for part in (old.c, old.n))
    return old._replace(G=G, c=c, n=n, who=stay, seat=seat, rest=rest)


class Memo(NamedTuple):
    """What a ticket remembers: the number of its batch, 0 if it is on terms of its own."""

    batch: Annotated[Indices, Holds(most="begun", shape=())]


class PastMemo(NamedTuple):
    """The same, and what the past said when the ticket was asked (see `noted`)."""

    batch: Annotated[Indices, Holds(most="begun", shape=())]
    past: Annotated[Floats, Holds(shape=(PAST,))]
    told: Annotated[Indices, Holds(most=LAST_LABELS, shape=(2,))]


class OwnMemo(NamedTuple):
    """Of a ticket on terms of its own: the values in hand, the items ordered, what each cost."""

    batch: Annotated[Indices, Holds(most=0, shape=())]
    known: Annotated[Floats, Holds(shape=("features",), nan=True)]
    ordered: Annotated[Indices, Holds(below="items")]
    paid: Annotated[Indices, Holds(shape=("ordered",))]


class OwnPastMemo(NamedTuple):
    """The same, and what the past said."""

    batch: Annotated[Indices, Holds(most=0, shape=())]
    past: Annotated[Floats, Holds(shape=(PAST,))]
    told: Annotated[Indices, Holds(most=LAST_LABELS, shape=(2,))]
    known: Annotated[Floats, Holds(shape=("features",), nan=True)]
    ordered: Annotated[Indices, Holds(below="items")]
    paid: Annotated[Indices, Holds(shape=("ordered",))]


class StepMemo(NamedTuple):
    """Of a ticket that grows: all features that may be bought in the end, and the step of each."""

    batch: Annotated[Indices, Holds(most="begun", shape=())]
    plan: AscendingFeatures
    step: Annotated[Indices, Holds(most=MOST_STEPS - 1, shape=("plan",))]


class StepPastMemo(NamedTuple):
    """The same, and what the past said."""

    batch: Annotated[Indices, Holds(most="begun", shape=())]
    past: Annotated[Floats, Holds(shape=(PAST,))]
    told: Annotated[Indices, Holds(most=LAST_LABELS, shape=(2,))]
    plan: AscendingFeatures
    step: Annotated[Indices, Holds(most=MOST_STEPS - 1, shape=("plan",))]


MEMOS = (Memo, PastMemo, OwnMemo, OwnPastMemo, StepMemo, StepPastMemo)


def past_of(ticket: Ticket) -> Floats:
    """What the past said when this ticket was asked; nothing if it was not looked at."""
    memo = ticket.memo
    return recalled(memo["past"], memo["told"]) if "past" in memo else np.empty(0)
