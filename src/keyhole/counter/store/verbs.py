"""What is asked of the store, checked and made a request: asking, filling, telling, dropping."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from numpy.typing import ArrayLike

from keyhole.counter.store import requests
from keyhole.counter.store.arguments import checked_key, checked_who, seconds
from keyhole.counter.store.requests import Filler, Request
from keyhole.counter.store.ticket_ids import read_id
from keyhole.errors import (
    ProblemError,
    UnknownLearnerError,
    finite_label,
    shortened,
    whole_number,
)
from keyhole.problem.prediction_interval import a_coverage

Values = ArrayLike | Mapping[str, Any] | Mapping[int, Any]
Duration = timedelta | float | None
COVERAGE = 0.9  # of intervals, where none is said
MOST = 100_000  # tickets at once: others wait meanwhile


def ask(
    name: str,
    count: int = 1,
    who: str = "",
    key: str | None = None,
    expires_in: Duration = None,
    terms: Mapping[str, Any] | None = None,
) -> Request:
    """Tickets for the next examples."""
    many = whole_number("count", count, 1)
    if many > MOST:
        raise ProblemError(f"count must be at most {MOST:,} at once, got {many:,}")
    lasts = seconds("expires_in", expires_in)
    what, deed = ("ask", many, lasts, terms), requests.ask(many, terms, lasts)
    return Request(_named(name), deed, what, checked_who(who), checked_key(key))


def fill(
    ticket: str,
    values: Values,
    coverage: float | None = COVERAGE,
    who: str = "",
    key: str | None = None,
) -> Request:
    """What came back for a ticket."""
    id, share = read_id(ticket), _share(coverage)
    what, deed = ("fill", id, values, share), requests.fill([(id, _filler(values))], share)
    return Request(None, deed, what, checked_who(who), checked_key(key), about=id)


def tell(
    ticket: str,
    y: float,
    who: str = "",
    key: str | None = None,
    values: Values | None = None,
) -> Request:
    """The label of a ticket; with what came back for it, if that was not said before."""
    label, id = finite_label(y), read_id(ticket)
    what: tuple[Any, ...] = ("tell", id, label)
    deed = requests.tell([(id, label)])
    if values is not None:
        what = (*what, values)
        deed = requests.in_turn(requests.fill([(id, _filler(values))], COVERAGE), deed)
    return Request(None, deed, what, checked_who(who), checked_key(key), about=id)


def drop(ticket: str, who: str = "", key: str | None = None) -> Request:
    """The label of a ticket will never come."""
    id = read_id(ticket)
    deed = requests.drop([id])
    return Request(None, deed, ("drop", id), checked_who(who), checked_key(key), about=id)


def fill_many(
    name: str,
    rows: Mapping[str, Values],
    coverage: float | None = COVERAGE,
    who: str = "",
    key: str | None = None,
) -> Request:
    """What came back for tickets of one learner."""
    read, share = [(read_id(id), values) for id, values in rows.items()], _share(coverage)
    deed = requests.fill([(id, _filler(values)) for id, values in read], share)
    return Request(_named(name), deed, ("fill", share, *read), checked_who(who), checked_key(key))


def tell_many(
    name: str, labels: Mapping[str, float], who: str = "", key: str | None = None
) -> Request:
    """Labels of tickets of one learner."""
    many = [(read_id(id), finite_label(y)) for id, y in labels.items()]
    deed = requests.tell(many)
    return Request(_named(name), deed, ("tell", *many), checked_who(who), checked_key(key))


def _named(name: object) -> str:
    """What may be the name of a learner; whether it is one, the store will say."""
    if not isinstance(name, str):
        raise UnknownLearnerError(f"there is no learner {shortened(name)} in the store")
    return name


def _share(coverage: float | None) -> float | None:
    return None if coverage is None else a_coverage(coverage)


def _filler(values: Values) -> Filler:
    return lambda ticket: ticket.fill(values)
