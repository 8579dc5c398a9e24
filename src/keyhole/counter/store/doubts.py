"""Doubts at the counter: implausible values and labels are kept when somebody confirms them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keyhole.errors import DoubtError
from keyhole.learners.doubts import Doubt
from keyhole.problem import Learner
from keyhole.problem.ticket import Observation

# A ticket, what came back, a label to be told, and the features that are new, None for all.
Claim = tuple[str, Observation, float | None, Sequence[int] | None]


def doubts_of(
    learner: Learner, seen: Observation, y: float | None, features: Sequence[int] | None = None
) -> tuple[Doubt, ...]:
    """The doubts about a label; about values if there is none, or about those that are named."""
    doubts = getattr(learner, "doubts", None)
    if doubts is None:
        return ()
    found: tuple[Doubt, ...] = doubts(seen, y)
    if not found or (features is None and y is None):
        return found
    names = learner.problem.names
    wanted = {f"x{j}" if names is None else names[j] for j in features or ()}
    return tuple(each for each in found if each.name is None or each.name in wanted)


def refuse_doubts(learner: Learner, claims: Iterable[Claim]) -> None:
    """DoubtError with every doubt about what is claimed, if there are any."""
    found = dict[str, tuple[Doubt, ...]]()
    for id, seen, y, features in claims:
        if doubts := doubts_of(learner, seen, y, features):
            found[id] = (*found.get(id, ()), *doubts)
    if found:
        raise doubt_error(found)


def confirmed_doubts(
    learner: Learner,
    id: str,
    seen: Observation,
    y: float | None,
    confirm: bool,
    features: Sequence[int] | None = None,
) -> dict[str, Any]:
    """What an event says of the doubts that were confirmed, if any; DoubtError if they were not."""
    doubts = doubts_of(learner, seen, y, features)
    if doubts and not confirm:
        raise doubt_error({id: doubts})
    return {"confirmed": [each.as_dict() for each in doubts]} if doubts else {}


def doubt_error(by_ticket: Mapping[str, tuple[Doubt, ...]]) -> DoubtError:
    """What to say of doubts."""
    said = "; ".join(
        f"ticket {id}: {' and '.join(map(str, doubts))}" for id, doubts in by_ticket.items()
    )
    end = "" if said.endswith("?") else "."
    return DoubtError(f"{said}{end} Correct it, or confirm it with confirm=True", by_ticket)
