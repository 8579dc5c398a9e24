"""What events say, and how a learner plays them again: the log is the truth, and it is checked."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

import numpy as np

from keyhole.counter.store.records import Event
from keyhole.errors import DataError, ProblemError, StoreDamagedError, shortened
from keyhole.problem import Learner, Problem
from keyhole.problem.ticket import Observation, Ticket

TERMS = ("prices", "without", "known", "budget")  # what one example may have of its own


def asked(learner: Learner, terms: Mapping[str, Any]) -> Ticket:
    """Ask for a ticket, on terms as `written_terms` has them."""
    return cast(Ticket, cast(Any, learner).ask(**_read_terms(terms))) if terms else learner.ask()


def order(
    ticket: Ticket, prices: Sequence[float], terms: Mapping[str, Any], expires_at: float | None
) -> str:
    """The event of a ticket that was asked for."""
    more: dict[str, Any] = {"item_prices": prices}
    if terms:
        more["terms"] = terms
    if expires_at is not None:
        more["expires_at"] = expires_at
    # Beside what a ticket says of itself, in one object, so that Ticket.from_json reads it.
    return f"{ticket.to_json()[:-1]}, {json.dumps(more)[1:]}"


def seen(learner: Learner, observation: Observation, coverage: float | None) -> dict[str, Any]:
    """The event of what came back: with it the prediction that is served, and its interval.

    An interval is issued where a coverage is said and the learner makes intervals. What the learner
    buys and predicts stays as it is; what its next intervals are made from does not.
    """
    values = written_values(observation)
    if coverage is None or not hasattr(learner, "interval"):
        return {"values": values, "prediction": float(learner.predict(observation))}
    return {"values": values, **interval(learner, observation, coverage)}


def interval(learner: Learner, observation: Observation, coverage: float) -> dict[str, Any]:
    """What an interval that is served says; before the first label it has no ends."""
    found = cast(Any, learner).interval(observation, coverage)
    ends = {"low": _finite(found.low), "high": _finite(found.high)}
    return {"prediction": found.prediction, "coverage": found.coverage, **ends}


def written_values(observation: Observation) -> list[float | None]:
    """What came back as JSON has it: null for what did not arrive."""
    return [None if math.isnan(value) else value for value in observation.values.tolist()]


def _finite(end: float) -> float | None:
    return end if math.isfinite(end) else None  # before the first label: JSON has no infinity


def observation(order: Ticket, seen: Mapping[str, Any]) -> Observation:
    """What `tell` is given: the ticket as it was issued, what came back, and what was predicted.

    The one place where the log becomes an Observation.
    """
    values = np.array(seen["values"], dtype=np.float64)  # None becomes NaN
    return Observation(order, values, prediction=seen["prediction"])


def label(body: str) -> float:
    """The label of an event."""
    return float(json.loads(body)["y"])


def written_terms(learner: Learner, terms: Mapping[str, Any] | None) -> dict[str, Any]:
    """The terms of one example as JSON has them; ProblemError if this learner takes none.

    Keys may be numbers, which JSON would make text of: mappings become lists of pairs.
    """
    given = {name: value for name, value in (terms or {}).items() if value is not None}
    if not given:
        return {}
    takes = inspect.signature(learner.ask).parameters
    for name in given:
        if name not in TERMS or name not in takes:
            raise ProblemError(
                f"terms: a {type(learner).__name__} takes no {shortened(name)} for one example"
                + (f": it takes {', '.join(t for t in TERMS if t in takes)}" if takes else "")
            )
    return {
        name: [[_plain(key), _plain(each)] for key, each in value.items()]
        if isinstance(value, Mapping)
        else _plain(value)
        for name, value in given.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list | tuple | set | np.ndarray):
        return [_plain(each) for each in value]
    if not isinstance(value, str | int | float):
        raise ProblemError(f"terms hold names and numbers, got {shortened(value)}")
    return value


def _read_terms(terms: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: dict(value) if name in ("prices", "known") else value for name, value in terms.items()
    }


def item_prices(problem: Problem, ticket: Ticket) -> list[float]:
    """What each of the ticket's items costs."""
    prices = problem.prices
    if "ordered" in ticket.memo:  # on terms of its own
        paid = ticket.memo["paid"].tolist()
        return [float(units) if prices is None else prices.money(units) for units in paid]
    if prices is None:
        return [1.0] * len(ticket.items)
    units = dict(zip(prices.items, prices.units, strict=True))
    return [prices.money(units[item]) for item in ticket.items]


class Replay:
    """Plays events again with a learner, and compares what it says with what was said then.

    Tickets that are open are looked up by `find`, which gives the bodies of their events asked and
    seen, for those that stand before the first event that is played.
    """

    def __init__(self, learner: Learner, find: Any) -> None:
        self._learner, self._find = learner, find
        self._asked: dict[str, str] = {}
        self._seen: dict[str, str] = {}

    def play(self, event: Event) -> None:
        """Play one event; StoreDamagedError if it goes another way than it went then."""
        try:
            self._play(event)
        except StoreDamagedError:
            raise
        except Exception as error:  # the log is data: whatever it leads to is its fault
            raise StoreDamagedError(f"event {event.seq} cannot be played again: {error}") from None

    def _play(self, event: Event) -> None:
        learner, id = self._learner, cast(str, event.ticket)
        if event.kind == "asked":
            was = json.loads(event.body)
            ticket = asked(learner, was.get("terms", {}))
            if not ticket.says_the_same(Ticket.from_json(event.body)):
                raise _differs(event, "the ticket", ticket.features.tolist(), was["features"])
            self._asked[id] = event.body
        elif event.kind == "seen":
            was = json.loads(event.body)
            again = observation(Ticket.from_json(self._order(id)), was)
            _compare(event, seen(learner, again, was.get("coverage")), was)
            self._seen[id] = event.body
        elif event.kind == "interval":
            was = json.loads(event.body)
            id = str(was["ticket"])
            order, back = Ticket.from_json(self._order(id)), json.loads(self._back(id))
            _compare(event, interval(learner, observation(order, back), was["coverage"]), was)
        elif event.kind == "told":
            order, back = Ticket.from_json(self._order(id)), json.loads(self._back(id))
            learner.tell(observation(order, back), label(event.body))
            self._forget(id)
        elif event.kind == "dropped":
            learner.drop(Ticket.from_json(self._order(id)))
            self._forget(id)
        elif event.kind != "created" or event.seq != 1:
            raise DataError(f"it is of kind {shortened(event.kind)}")

    def _order(self, id: str) -> str:
        return self._asked.get(id) or str(self._find(id, "asked"))

    def _back(self, id: str) -> str:
        return self._seen.get(id) or str(self._find(id, "seen"))

    def _forget(self, id: str) -> None:
        self._asked.pop(id, None)
        self._seen.pop(id, None)


def _compare(event: Event, now: Mapping[str, Any], then: Mapping[str, Any]) -> None:
    """StoreDamagedError unless the same was served."""
    for what in ("prediction", "low", "high"):
        if now.get(what) != then.get(what):
            raise _differs(event, f"the {what}", now.get(what), then.get(what))


def _differs(event: Event, what: str, now: object, then: object) -> StoreDamagedError:
    return StoreDamagedError(
        f"event {event.seq} does not replay: {what} of {_about(event)} is now {shortened(now)}, "
        f"and was {shortened(then)}"
    )


def _about(event: Event) -> str:
    return str(event.ticket or json.loads(event.body).get("ticket"))
