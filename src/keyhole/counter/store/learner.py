"""A learner of the store as a `kh.Learner`: whatever is done to it is in the log first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from keyhole.counter.store import requests
from keyhole.counter.store.requests import Request
from keyhole.counter.store.verbs import COVERAGE
from keyhole.errors import DataError, TicketError, finite_label
from keyhole.problem import Floats, Learner, Problem
from keyhole.problem.prediction_interval import PredictionInterval, a_coverage
from keyhole.problem.snapshot import has_state
from keyhole.problem.ticket import Observation, Ticket
from keyhole.saving.api import from_bytes, to_bytes

if TYPE_CHECKING:
    from keyhole.counter.store.counter import Store

LOOKS = ("model", "explain", "advice")  # what some learners can say besides


class StoredLearner:
    """A learner in a store, used like any other; `store.learner(name)` makes it.

    `ask`, `tell` and `drop` return when what they did is on disk. `tell` fills the ticket if nobody
    has, and keeps the prediction. What only looks (`predict`, `weights`, `intercept`, and `model`,
    `explain`, `advice` where the learner has them) is not in the log. `interval`, where the learner
    has it, fills the ticket: what was served is kept, and judged when the label comes. A deep copy
    is a learner in memory that goes its own way; the store knows nothing of it.

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

    def __init__(self, store: Store, name: str, problem: Problem) -> None:
        self._store, self._name, self._problem = store, name, problem

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
        return self._store._look(self._name, lambda learner: learner.round)

    @property
    def weights(self) -> Floats:
        """The current linear model."""
        return self._store._look(self._name, lambda learner: learner.weights)

    @property
    def intercept(self) -> float:
        """What the current model adds to the weighted sum."""
        return self._store._look(self._name, lambda learner: learner.intercept)

    def ask(self, **terms: Any) -> Ticket:
        """The ticket of the next round; on terms of its own, where the learner takes them."""
        return self._store.ask(self._name, terms=terms)[0].ticket

    def predict(self, seen: Observation) -> float:
        """The predicted label; changes nothing, and is not kept: `store.fill` keeps it."""
        return self._store._look(self._name, lambda learner: learner.predict(seen))

    def tell(self, seen: Observation, y: float) -> None:
        """Learn from the label of a ticket and close it."""
        label = finite_label(y)
        if not isinstance(seen, Observation):
            raise DataError(
                f"tell takes what ticket.fill(...) returns, got a {type(seen).__name__}"
            )
        deed = requests.tell_seen(seen, label)
        self._store._submit(Request(self._name, deed, ("tell", seen.round)))

    def drop(self, ticket: Ticket) -> None:
        """Close a ticket whose label will never come."""
        if not isinstance(ticket, Ticket):
            raise TicketError(f"a ticket is what ask() returns, got a {type(ticket).__name__}")
        deed = requests.drop_ticket(ticket)
        self._store._submit(Request(self._name, deed, ("drop", ticket.round)))

    def id_of(self, ticket: Ticket) -> str:
        """The id in the store of a ticket of this learner."""
        return self._store._reader.id_of(self._name, ticket.round)

    def __repr__(self) -> str:
        p = self._problem
        return f"<StoredLearner {self._name!r}: d={p.d}, k={p.k}, budget={p.budget:g}>"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name == "interval" and self._store._look(self._name, lambda it: hasattr(it, name)):
            return self._interval
        if name not in LOOKS or not self._store._look(self._name, lambda it: hasattr(it, name)):
            raise AttributeError(f"{type(self).__name__} has no {name!r}")

        def look(*given: Any, **named: Any) -> Any:
            return self._store._look(self._name, lambda it: getattr(it, name)(*given, **named))

        return look

    def _interval(self, seen: Observation, coverage: float = COVERAGE) -> PredictionInterval:
        """Where the label will be, in that share of rounds; fills the ticket if nobody has."""
        if not isinstance(seen, Observation):
            raise DataError(
                f"interval takes what ticket.fill(...) returns, got a {type(seen).__name__}"
            )
        share, served = a_coverage(coverage), dict[str, Any]()
        deed = requests.interval(seen, share, served)
        self._store._submit(Request(self._name, deed, ("interval", seen.round, share)))
        return served_interval(served)

    def __deepcopy__(self, memo: dict[int, Any]) -> Learner:
        return self._store._look(self._name, copied)


def served_interval(served: Mapping[str, Any]) -> PredictionInterval:
    """An interval from JSON, which has no infinity: an end that is not there is that."""
    low = -math.inf if served["low"] is None else served["low"]
    high = math.inf if served["high"] is None else served["high"]
    return PredictionInterval(low, high, served["coverage"], served["prediction"])


def copied(learner: Learner) -> Learner:
    """A learner in memory with the same future."""
    if not has_state(learner):
        raise TypeError(f"a {type(learner).__name__} cannot be copied")
    return from_bytes(to_bytes(learner), type(learner))
