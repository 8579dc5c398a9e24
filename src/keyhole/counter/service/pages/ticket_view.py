"""View of a ticket on a page: what to order, what to fill in, what each value contributes."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
from keyhole.counter.store.records import Event, LearnerInfo, StoredTicket, moment
from keyhole.learners.base import LearnerBase
from keyhole.learners.doubts import Doubt
from keyhole.learners.registry import LEARNERS
from keyhole.problem import Problem
from keyhole.problem.display import counted
from keyhole.problem.limits import written_ends
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
    low: float = -math.inf  # its limits
    high: float = math.inf

    @property
    def limits(self) -> str:
        """Its limits in words, nothing if it has none."""
        none = (self.low, self.high) == (-math.inf, math.inf)
        return "" if none else written_ends(self.low, self.high)

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


def order(
    ticket: StoredTicket,
    problem: Problem,
    typed: Mapping[int, TypedNumber] = {},
    names: Collection[str] | None = None,
) -> Order:
    """What is to be ordered and typed in, these names or all, with what was typed so far."""
    features = ticket.ticket.features.tolist()
    known = ticket.ticket.known
    groups = dict[str, list[Field]]()
    for place, (j, name) in enumerate(zip(features, ticket.names, strict=True)):
        if names is not None and name not in names:
            continue
        given = typed.get(place)
        if given is None:
            given = TypedNumber(plain(known[j]) if j in known else "")
        unit, ends = str(ticket.units.get(name, "")), _ends(ticket, place)
        field = Field(place, name, unit, given.text, given.error, given.offers, *ends)
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
    """What was typed, by place; a value beyond its limits is an error."""
    typed = {place: read_number(text) for place, text in enumerate(texts[: len(ticket.names)])}
    for place, given in typed.items():
        low, high = _ends(ticket, place)
        if given.value is not None and not low <= given.value <= high:
            typed[place] = TypedNumber(given.text, None, f"is not {written_ends(low, high)}")
    return typed


def _ends(ticket: StoredTicket, place: int) -> tuple[float, float]:
    """The limits of a value."""
    ends = ticket.ticket.limits
    return (-math.inf, math.inf) if ends is None else (float(ends[0, place]), float(ends[1, place]))


def doubted(doubt: Doubt, text: str) -> TypedNumber:
    """A number that was typed and is in doubt, and what may have been meant instead."""
    offers = () if doubt.suggestion is None else (plain(doubt.suggestion),)
    return TypedNumber(text, None, str(doubt).partition(": ")[2], offers)


def doubted_values(
    ticket: StoredTicket, doubts: Sequence[Doubt], typed: Mapping[int, TypedNumber]
) -> dict[int, TypedNumber]:
    """Those of a ticket that are in doubt, by place."""
    numbers = ticket.ticket.features.tolist()
    names = [*(ticket.ticket.names or (f"x{j}" for j in numbers))]
    places = {doubt.name: names.index(doubt.name) for doubt in doubts if doubt.name is not None}
    return {
        places[doubt.name]: doubted(doubt, typed[places[doubt.name]].text)
        for doubt in doubts
        if doubt.name is not None
    }


def buys_in_steps(info: LearnerInfo) -> bool:
    """Whether a learner can go on with an example after its first step."""
    kind = LEARNERS.get(info.kind)
    goes_on = None if kind is None else getattr(kind.cls, "_goes_on", None)
    return goes_on not in (None, LearnerBase._goes_on)


def may_correct(info: LearnerInfo, ticket: StoredTicket) -> bool:
    """Whether a ticket can be corrected: one that waits for its label always can."""
    kind = LEARNERS.get(info.kind)
    able = kind is not None and getattr(kind.cls, "CORRECTS", False) and not info.yes_no
    return ticket.state == "filled" or (ticket.state == "told" and able)


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """Something that has happened to a ticket."""

    at: datetime | None
    who: str
    what: str
    details: tuple[str, ...]


WHAT_HAPPENED = {
    "asked": "asked",
    "seen": "values entered",
    "step": "asked what next",
    "told": "label told",
}


def history_lines(ticket: StoredTicket, events: Sequence[Event]) -> list[HistoryLine]:
    """What has happened to a ticket, with what was confirmed and corrected."""
    lines = []
    for event in events:
        body, details = json.loads(event.body), list[str]()
        if event.kind == "corrected":
            details += _changes(ticket, body)
        if event.kind == "step":
            details += _said(ticket, body["step"])
        details += [f"confirmed: {doubt['text']}" for doubt in body.get("confirmed", ())]
        if body.get("why"):
            details.append(f"because: {body['why']}")
        what = WHAT_HAPPENED.get(event.kind, event.kind)
        lines.append(HistoryLine(moment(event.at), event.who, what, tuple(details)))
    return lines


def _changes(ticket: StoredTicket, body: Mapping[str, Any]) -> Iterator[str]:
    was = body["was"]
    numbers = ticket.ticket.features.tolist()
    name = dict(zip(numbers, ticket.names, strict=True))
    names = [name[j] for j in body.get("features", numbers)]
    rows = [*zip(names, was["values"], body["values"], strict=True)]
    rows.append(("the label", was["y"], body.get("y")))
    for name, before, after in rows:
        if before != after:
            words = ["nothing" if each is None else number(each, 6) for each in (before, after)]
            yield f"{name}: {words[0]} → {words[1]}"


def _said(ticket: StoredTicket, step: Mapping[str, Any]) -> Iterator[str]:
    if step["features"]:
        yield f"to order: {', '.join(step['items'])}"
    yield str(step["reason"])


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
    if ticket.values is None or ticket.prediction is None or ticket.yes_no:
        return None  # what a value adds to a score says little about a probability
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
