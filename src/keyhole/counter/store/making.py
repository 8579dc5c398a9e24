"""New learners: made, let study, written into the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from keyhole.counter.store import log
from keyhole.counter.store.arguments import checked_name
from keyhole.counter.store.database import Connection
from keyhole.counter.store.log import Tally
from keyhole.counter.store.memory import Awake, keep_snapshot
from keyhole.counter.store.records import Event
from keyhole.errors import ProblemError, nearest, whole_number
from keyhole.game.history import study_first
from keyhole.learners.registry import learner_row
from keyhole.problem import BlockStream, Learner, Problem
from keyhole.saving.api import to_bytes
from keyhole.version import __version__


@dataclass(frozen=True, slots=True)
class Made:
    """A new learner, and how many rows it has studied."""

    learner: Learner
    history: int


def make(
    problem: Problem,
    kind: str,
    seed: int,
    settings: Mapping[str, Any],
    history: BlockStream | None,
    half_life: float | None,
) -> Made:
    """A new learner by its name in the registry."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"problem must be a kh.Problem, got a {type(problem).__name__}")
    row = learner_row(kind)
    try:
        learner = replace(row, settings={**row.settings, **settings})(problem, seed=seed)
    except TypeError as error:
        if not settings:
            raise
        raise ProblemError(f"settings of {kind!r}: {error}") from None
    rows = 0 if history is None else study_first(learner, history, half_life=half_life)
    return Made(learner, rows)


def about(made: Made, kind: str, seed: int, units: Mapping[str, str] | None) -> str:
    """What is said about a learner without waking it, as JSON."""
    problem = made.learner.problem
    for name in units or {}:
        if problem.names is None or name not in problem.names:
            raise ProblemError(
                f"units: there is no feature {name!r}{nearest(name, problem.names or ())}"
            )
    parts = {
        "kind": kind,
        "seed": whole_number("seed", seed, 0),
        "history": made.history,
        "d": problem.d,
        "k": problem.k,
        "budget": problem.budget,
        "names": problem.names,
        "priced": problem.prices is not None,
        "units": dict(units or {}),
    }
    return json.dumps(parts)


def row(name: str, about: str, learner: Learner, who: str, now: float) -> tuple[Tally, Event]:
    """The row of a new learner, and the first event of its log."""
    state = hashlib.sha256(to_bytes(learner)).hexdigest()
    body = json.dumps({**json.loads(about), "version": __version__, "sha256": state})
    draft = Event(1, "created", None, who, now, body, "")
    event = replace(draft, digest=log.chained("", draft))
    return Tally(0, checked_name(name), about, now, 1, event.digest), event


def keep(connection: Connection, new: tuple[Tally, Event], learner: Learner, now: float) -> None:
    """Write a new learner, in a transaction that is open."""
    row, event = new
    log.add_learner(connection, row)
    log.add_events(connection, row.id, [event])
    keep_snapshot(connection, row.id, Awake(learner, 1, event.digest, 0, 0, now), now)
