"""Learners in the store: making new ones, and `StoredLearner`, a `kh.Learner` that logs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from keyhole.counter.client import served_interval
from keyhole.counter.store import requests, tables
from keyhole.counter.store.corrections import correct_ticket
from keyhole.counter.store.database import Connection
from keyhole.counter.store.records import Event, checked_name
from keyhole.counter.store.replay import write_snapshot
from keyhole.counter.store.requests import DEFAULT_COVERAGE, LoadedLearner
from keyhole.counter.store.steps import as_step, step_after
from keyhole.counter.store.tables import LearnerTableRow, TicketRecord
from keyhole.errors import (
    ProblemError,
    UnknownTicketError,
    finite_label,
    nearest,
    true_or_false,
    whole_number,
)
from keyhole.game.playing import study_history
from keyhole.learners.correcting import RightValues
from keyhole.learners.registry import learner_row
from keyhole.learners.yes_no import YesNoLearner
from keyhole.problem import BlockStream, Floats, Learner, Problem
from keyhole.problem.labels import PredictionInterval, a_coverage
from keyhole.problem.state import has_state
from keyhole.problem.step import Step
from keyhole.problem.ticket import Observation, Ticket, refuse_unfilled, refuse_unless_ticket
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.version import __version__

if TYPE_CHECKING:
    from keyhole.counter.store.store import Store

T = TypeVar("T")
# That some learners have.
OPTIONAL_METHODS = (
    *("model", "explain", "advice", "interval", "doubts"),
    *("calibration", "probabilities", "next"),
)


class StoredLearner:
    """A learner in a store, used like any other; `store.learner(name)` makes it.

    `ask`, `tell` and `drop` return when what they did is on disk. `tell` fills the ticket if nobody
    has, and keeps the prediction. What only looks (`predict`, `weights`, `intercept`, and `model`,
    `explain`, `advice` where the learner has them) is not in the log. `interval`, where the learner
    has it, fills the ticket: what was served is kept, and judged when the label comes. So does
    `next`: the ticket is for what it says to buy from then on. A deep copy
    is a learner in memory that goes its own way; the store knows nothing of it.

    Values and labels that are implausible are a `DoubtError` of `tell` and `interval`, unless they
    are confirmed: there with `confirm=True`, or for all calls, `store.learner(name, confirm=True)`.

    Examples
    --------
    >>> import tempfile
    >>> import keyhole as kh
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = kh.Store(folder.name + "/keyhole.db")
    >>> info = store.create("demo", kh.Problem(d=5, k=1, budget=2), learner="random")
    >>> learner = store.learner("demo")
    >>> seen = learner.ask().fill([1.0, 2.0])
    >>> learner.tell(seen, y=3.0)
    >>> learner.round, store.info("demo").told
    (1, 1)
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(self, store: Store, name: str, problem: Problem, confirm: bool = False) -> None:
        self._store, self._name, self._problem = store, name, problem
        self._confirm = confirm

    @property
    def name(self) -> str:
        """Its name in the store."""
        return self._name

    @property
    def problem(self) -> Problem:
        """The problem it was made for."""
        return self._problem

    @property
    def round(self) -> int:
        """How many tickets were issued so far."""
        return self._look(lambda learner: learner.round)

    @property
    def weights(self) -> Floats:
        """The current linear model."""
        return self._look(lambda learner: learner.weights)

    @property
    def intercept(self) -> float:
        """What the current model adds to the weighted sum."""
        return self._look(lambda learner: learner.intercept)

    def ask(self, *, steps: bool = False, **terms: Any) -> Ticket:
        """The ticket of the next round, or its first step; on terms of its own, where it can be."""
        return self._store.ask(self._name, terms=terms, steps=steps)[0].ticket

    def predict(self, seen: Observation) -> float:
        """The predicted label; changes nothing, and is not kept: `store.fill` keeps it."""
        return self._look(lambda learner: learner.predict(seen))

    def tell(self, seen: Observation, y: float, *, confirm: bool = False) -> None:
        """Learn from the label of a ticket and close it."""
        label = finite_label(y)
        refuse_unfilled("tell", seen)
        sure = confirm or self._confirm
        self._store._writer.submit(requests.tell_observation(self._name, seen, label, sure))

    def drop(self, ticket: Ticket) -> None:
        """Close a ticket whose label will never come."""
        refuse_unless_ticket(ticket)
        self._store._writer.submit(requests.drop_ticket(self._name, ticket))

    def correct(
        self,
        ticket: Ticket,
        *,
        y: float | None = None,
        values: RightValues | None = None,
        why: str = "",
        confirm: bool = False,
    ) -> None:
        """Have a row with another label, or other values: see `Store.correct`."""
        refuse_unless_ticket(ticket)
        sure = confirm or self._confirm
        self._store._writer.submit(correct_ticket(self._name, ticket, y, values, why, sure))

    def id_of(self, ticket: Ticket) -> str:
        """The id in the store of a ticket of this learner."""
        with self._store._reader.connected() as connection:
            learner = tables.find_learner(connection, self._name).id
            where = "learner = ? AND round = ?"
            found = tables.find_ticket_row(connection, where, (learner, ticket.round))
        if found is None:
            raise UnknownTicketError(f"{self._name!r} has issued no ticket of round {ticket.round}")
        return found.id

    def __repr__(self) -> str:
        p = self._problem
        return f"<StoredLearner {self._name!r}: d={p.d}, k={p.k}, budget={p.budget:g}>"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in OPTIONAL_METHODS or not self._look(lambda it: hasattr(it, name)):
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        if name in ("interval", "next"):
            return self._interval if name == "interval" else self._next
        return lambda *given, **named: self._look(lambda it: getattr(it, name)(*given, **named))

    def _look(self, at: Callable[[Learner], T]) -> T:
        return self._store._writer.look(self._name, at)

    def _interval(
        self,
        seen: Observation,
        coverage: float = DEFAULT_COVERAGE,
        *,
        confirm: bool = False,
    ) -> PredictionInterval:
        """Where the label will be, in that share of rounds; fills the ticket if nobody has."""
        refuse_unfilled("interval", seen)
        share, served = a_coverage(coverage), dict[str, Any]()
        sure = confirm or self._confirm
        self._store._writer.submit(requests.interval(self._name, seen, share, served, sure))
        return served_interval(served)

    def _next(
        self, seen: Observation, *, stop_at: float | None = None, confirm: bool = False
    ) -> Step:
        """What to buy next, or that enough is known; both are kept, and what was seen."""
        refuse_unfilled("next", seen)
        found, sure = list[TicketRecord](), confirm or self._confirm
        self._store._writer.submit(step_after(self._name, seen, stop_at, found, sure))
        return as_step(seen, found[0])

    def __deepcopy__(self, memo: dict[int, Any]) -> Learner:
        return self._look(_copy)


def _copy(learner: Learner) -> Learner:
    """A learner in memory with the same future."""
    if not has_state(learner):
        raise TypeError(f"a {type(learner).__name__} cannot be copied")
    return from_bytes(to_bytes(learner), type(learner))


def make_new(
    problem: Problem,
    kind: str,
    seed: int,
    settings: Mapping[str, Any],
    history: BlockStream | None,
    half_life: float | None,
    yes_no: bool = False,
) -> tuple[Learner, int]:
    """A new learner by its name in the registry, and how many rows it has studied."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"problem must be a kh.Problem, got a {type(problem).__name__}")
    row = learner_row(kind)
    try:
        learner = replace(row, settings={**row.settings, **settings})(problem, seed=seed)
        learner = YesNoLearner(learner) if true_or_false("yes_no", yes_no) else learner
    except TypeError as error:
        if not settings:
            raise
        raise ProblemError(f"settings of {kind!r}: {error}") from None
    rows = 0 if history is None else study_history(learner, history, half_life=half_life)
    return learner, rows


def about_new(
    problem: Problem,
    history: int,
    kind: str,
    seed: int,
    units: Mapping[str, str] | None,
    yes_no: bool = False,
) -> str:
    """What is said about a learner without loading it, as JSON."""
    for name in units or {}:
        if problem.names is None or name not in problem.names:
            raise ProblemError(
                f"units: there is no feature {name!r}{nearest(name, problem.names or ())}"
            )
    about: dict[str, Any] = {
        "kind": kind,
        "seed": whole_number("seed", seed, 0),
        "history": history,
    }
    sizes = {name: getattr(problem, name) for name in ("d", "k", "budget", "names")}
    about |= {**sizes, "priced": problem.prices is not None, "units": dict(units or {})}
    return json.dumps(about | ({"yes_no": True} if yes_no else {}))


def write_new(
    connection: Connection, name: str, about: str, learner: Learner, who: str, now: float
) -> None:
    """Write a new learner, the first event of its log and its first snapshot.

    In a transaction that is open.
    """
    sha256 = hashlib.sha256(to_bytes(learner)).hexdigest()
    body = json.dumps({**json.loads(about), "version": __version__, "sha256": sha256})
    draft = Event(1, "created", None, who, now, body, "")
    event = replace(draft, digest=tables.chained("", draft))
    row = LearnerTableRow(0, checked_name(name), about, now, 1, event.digest)
    tables.add_learner(connection, row)
    tables.add_events(connection, row.id, [event])
    write_snapshot(connection, row.id, LoadedLearner(learner, 1, event.digest, 0, 0, now), now)
