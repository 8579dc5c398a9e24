"""A ticket as a person works through it: what to order, and where to write what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keyhole.counter.service.pages.typed import Typed, read_number
from keyhole.counter.service.pages.words import plain
from keyhole.counter.store.records import StoredTicket
from keyhole.problem import Problem
from keyhole.problem.display import counted
from keyhole.problem.prices import Prices

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
class Item:
    """Something to order, and what it gives."""

    name: str
    price: float
    gives: str


@dataclass(frozen=True, slots=True)
class Order:
    """All of a ticket that is worked through at the counter."""

    priced: bool
    items: tuple[Item, ...]
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


def order(ticket: StoredTicket, problem: Problem, typed: Mapping[int, Typed] = {}) -> Order:
    """What is to be ordered and typed in, with what was typed so far."""
    features = ticket.ticket.features.tolist()
    known = ticket.ticket.known
    fields, groups = [], dict[str, list[Field]]()
    for place, (j, name) in enumerate(zip(features, ticket.names, strict=True)):
        given = typed.get(place)
        if given is None:
            given = Typed(plain(known[j]) if j in known else "")
        unit = str(ticket.units.get(name, ""))
        field = Field(place, name, unit, given.text, given.error, given.offers)
        fields.append(field)
        groups.setdefault(_group(problem.prices, j, name), []).append(field)
    return Order(
        priced=problem.prices is not None,
        items=_items(ticket, problem.prices),
        free=_free(ticket, problem.prices),
        total=ticket.cost,
        groups=tuple(Group(title, tuple(inside)) for title, inside in _sorted(groups)),
    )


def read_values(ticket: StoredTicket, texts: Sequence[str]) -> dict[int, Typed]:
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


def _sorted(groups: dict[str, list[Field]]) -> list[tuple[str, list[Field]]]:
    """What is free first, then panels, then what is bought alone."""
    rank = {FREE: 0, ALONE: 2}
    return sorted(groups.items(), key=lambda group: rank.get(group[0], 1))


def _items(ticket: StoredTicket, prices: Prices | None) -> tuple[Item, ...]:
    """The items, the dearest first, each with how many values of this ticket need it."""
    uses = dict[str, int]()
    if prices is not None:
        for j in ticket.ticket.features.tolist():
            for i in prices.needs[j]:
                uses[prices.items[i]] = uses.get(prices.items[i], 0) + 1
    names = {*ticket.names}
    pairs = zip(ticket.items, ticket.item_prices, strict=True)
    items = [
        Item(item, price, "" if item in names or item not in uses else counted(uses[item], "value"))
        for item, price in pairs
    ]
    return tuple(items if prices is None else sorted(items, key=lambda item: -item.price))


def _free(ticket: StoredTicket, prices: Prices | None) -> tuple[str, ...]:
    if prices is None:
        return ()
    features = zip(ticket.ticket.features.tolist(), ticket.names, strict=True)
    return tuple(name for j, name in features if not prices.needs[j])
