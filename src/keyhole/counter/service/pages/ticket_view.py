"""View of a ticket on a page: what to order, what to fill in, what each value contributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keyhole.counter.service.pages.formatting import (
    TypedNumber,
    decimals_for,
    fixed,
    number,
    plain,
    read_number,
    shown,
)
from keyhole.counter.service.pages.log_summary import LogSummary
from keyhole.counter.store.records import StoredTicket
from keyhole.problem import Problem
from keyhole.problem.display import counted
from keyhole.problem.prices import Prices
from keyhole.problem.sparse_model import SparseModel

FREE, ALONE = "Free of charge", "Bought one by one"


@dataclass(frozen=True, slots=True)
class Field:
    """A value to type in; `place` is its position in the ticket, and its name in the form."""

    place: int
    name: str
    unit: str
    text: str = ""
    error: str = ""
    offers: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing was typed."""
        return not self.text.strip()


@dataclass(frozen=True, slots=True)
class Group:
    """Values that come together."""

    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class OrderItem:
    """Something to order, and what it gives."""

    name: str
    price: float
    gives: str


@dataclass(frozen=True, slots=True)
class Order:
    """All of a ticket that is worked through at the counter."""

    priced: bool
    items: tuple[OrderItem, ...]
    free: tuple[str, ...]
    total: float
    groups: tuple[Group, ...]

    @property
    def cents(self) -> bool:
        """Whether some amount is not whole: then all are written with decimals."""
        return any(item.price != round(item.price) for item in self.items)

    @property
    def fields(self) -> list[Field]:
        """All values, in the order of the page."""
        return [field for group in self.groups for field in group.fields]


def order(ticket: StoredTicket, problem: Problem, typed: Mapping[int, TypedNumber] = {}) -> Order:
    """What is to be ordered and typed in, with what was typed so far."""
    features = ticket.ticket.features.tolist()
    known = ticket.ticket.known
    groups = dict[str, list[Field]]()
    for place, (j, name) in enumerate(zip(features, ticket.names, strict=True)):
        given = typed.get(place)
        if given is None:
            given = TypedNumber(plain(known[j]) if j in known else "")
        unit = str(ticket.units.get(name, ""))
        field = Field(place, name, unit, given.text, given.error, given.offers)
        groups.setdefault(_group(problem.prices, j, name), []).append(field)
    return Order(
        priced=problem.prices is not None,
        items=_items(ticket, problem.prices),
        free=_free(ticket, problem.prices),
        total=ticket.cost,
        # What is free first, then panels, then what is bought alone.
        groups=tuple(
            Group(title, tuple(groups[title]))
            for title in sorted(groups, key=lambda title: {FREE: 0, ALONE: 2}.get(title, 1))
        ),
    )


def read_values(ticket: StoredTicket, texts: Sequence[str]) -> dict[int, TypedNumber]:
    """What was typed, by place."""
    return {place: read_number(text) for place, text in enumerate(texts[: len(ticket.names)])}


def _group(prices: Prices | None, j: int, name: str) -> str:
    """Where a feature stands: with the smallest panel that it is bought in."""
    if prices is None:
        return ""
    panels = [i for i in prices.needs[j] if prices.items[i] != name]
    if not panels:
        return ALONE if prices.needs[j] else FREE
    members = [sum(i in need for need in prices.needs) for i in panels]
    return prices.items[panels[members.index(min(members))]]


def _items(ticket: StoredTicket, prices: Prices | None) -> tuple[OrderItem, ...]:
    """The items, the dearest first, each with how many values of this ticket need it."""
    uses = dict[str, int]()
    if prices is not None:
        for j in ticket.ticket.features.tolist():
            for i in prices.needs[j]:
                uses[prices.items[i]] = uses.get(prices.items[i], 0) + 1
    gives = {item: counted(n, "value") for item, n in uses.items() if item not in ticket.names}
    pairs = zip(ticket.items, ticket.item_prices, strict=True)
    items = [OrderItem(item, price, gives.get(item, "")) for item, price in pairs]
    return tuple(items if prices is None else sorted(items, key=lambda item: -item.price))


def _free(ticket: StoredTicket, prices: Prices | None) -> tuple[str, ...]:
    if prices is None:
        return ()
    features = zip(ticket.ticket.features.tolist(), ticket.names, strict=True)
    return tuple(name for j, name in features if not prices.needs[j])


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one value adds to the prediction, beyond a usual value."""

    name: str
    unit: str
    value: float
    usual: float
    effect: float
    bar: float  # its size, as a share of the largest


@dataclass(frozen=True, slots=True)
class PredictionBreakdown:
    """A prediction taken apart: usual + the effects + the rest."""

    sentence: str
    usual: float
    parts: tuple[Contribution, ...]
    rest: float
    decimals: int | None = None


def prediction_breakdown(
    ticket: StoredTicket, model: SparseModel | None, trace: LogSummary
) -> PredictionBreakdown | None:
    """Take the prediction of a filled ticket apart, by the model as it is now.

    The model says what a value adds; the log says what is usual. What the learner adds beyond its
    model, from other values and earlier labels, is the rest.
    """
    if ticket.values is None or ticket.prediction is None:
        return None
    if model is None or not len(model.weights):
        learnt = "before the first label"
        if trace.labels:
            learnt = f"after {counted(trace.labels, 'label')}"
        words = f"The learner relies on no value yet, {learnt}: it goes by the labels it was told."
        return PredictionBreakdown(words, ticket.prediction, (), 0.0)
    came = dict(zip(ticket.ticket.features.tolist(), ticket.values, strict=True))
    usual, found = model.intercept, []
    terms = zip(model.features.tolist(), model.names, model.weights.tolist(), strict=True)
    for j, name, weight in terms:
        mean = trace.features[j].mean if j in trace.features else 0.0
        usual += weight * mean
        value = came.get(j, math.nan)
        if not math.isnan(value):
            found.append((name, value, mean, weight * (value - mean)))
    found.sort(key=lambda part: -abs(part[3]))
    largest = max((abs(part[3]) for part in found), default=0.0) or 1.0
    units = ticket.units
    parts = tuple(
        Contribution(p[0], str(units.get(p[0], "")), *p[1:], abs(p[3]) / largest) for p in found
    )
    rest = ticket.prediction - usual - sum(part.effect for part in parts)
    decimals = decimals_for(max(abs(ticket.prediction), abs(usual)))
    words = _sentence(ticket.prediction - usual, usual, parts, rest, decimals)
    return PredictionBreakdown(words, usual, parts, rest, decimals)


def _sentence(
    off: float, usual: float, parts: tuple[Contribution, ...], rest: float, decimals: int | None
) -> str:
    """What moved the prediction most, and what pulled the other way."""
    moved = [
        (part.effect, f"{shown(part.name)} {number(part.value)}, usually {number(part.usual)}")
        for part in parts
    ]
    moved.append((rest, "other values and labels told before"))
    moved.sort(key=lambda one: -abs(one[0]))
    largest = abs(moved[0][0])
    along = [one for one in moved if one[0] * off > 0 and abs(one[0]) > 0.1 * largest][:2]
    against = [one for one in moved if one[0] * off < 0 and abs(one[0]) > 0.3 * largest][:1]
    size = fixed(abs(off), decimals)
    if not along or not float(size.replace(",", "") if decimals is not None else 1.0):
        return f"As usual: {fixed(usual, decimals)}."
    where = "above" if off > 0 else "below"
    text = f"{size} {where} the usual {fixed(usual, decimals)}, because of "
    text += " and ".join(f"{words} ({fixed(by, decimals, sign=True)})" for by, words in along) + "."
    for by, words in against:
        text += f" The other way: {words} ({fixed(by, decimals, sign=True)})."
    return text
