"""Terms of one example: what cannot be had, what is in hand, other prices, another budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyhole.blocks.fit.market import Market, market
from keyhole.errors import LARGEST, SMALLEST, shortened
from keyhole.prices import Money, Prices, feature_finder, money
from keyhole.problem import Floats, Indices, Problem, ProblemError


@dataclass(frozen=True, slots=True)
class Terms:
    """What an example may be bought for, and the values in hand, NaN where there is none."""

    shop: Market
    known: Floats

    def within(self, units: int) -> Terms:
        """The same, but for at most so many units."""
        return replace(self, shop=self.shop._replace(limit=min(self.shop.limit, max(units, 0))))

    def order(self, S: Indices) -> tuple[Indices, Indices]:
        """The items to order for features S, and what each costs."""
        shop = self.shop
        items = {int(i) for j in S.tolist() for i in shop.need[shop.first[j] : shop.first[j + 1]]}
        ordered = np.array(sorted(items), dtype=np.int64)
        return ordered, shop.units[ordered]


def own_terms(
    problem: Problem,
    prices: Mapping[str | int, float | str] | None,
    without: Sequence[str | int],
    known: Mapping[str | int, float] | None,
    budget: Money | None,
) -> Terms:
    """The terms of one example, or a ProblemError that names what is wrong with them.

    >>> problem = Problem(d=3, k=1, budget=2, names=("age", "crp", "mri"))
    >>> terms = own_terms(problem, {"crp": 0}, ["mri"], {"age": 61.0}, None)
    >>> terms.known.tolist(), terms.shop.barred.tolist(), terms.shop.units.tolist()
    ([61.0, nan, nan], [False, False, True], [1, 0, 1])
    """
    usual = problem.prices or Prices(
        tuple(problem.label(j) for j in range(problem.d)),
        (1,) * problem.d,
        tuple((j,) for j in range(problem.d)),
        0,
    )
    find = feature_finder(problem.d, problem.names)
    values, barred = np.full(problem.d, np.nan), set[int]()
    for feature, value in _mapping("known", known).items():
        values[find(feature, "known")] = _value(feature, value)
    if isinstance(without, str | bytes) or not isinstance(without, Sequence | set | frozenset):
        raise ProblemError(f"without must be a list of features, got {shortened(without)}")
    for feature in without:
        barred.add(find(feature, "without"))
    units = list(usual.units)
    for what, price in _mapping("prices", prices).items():
        item, served = _item(usual, what, find)
        if price == math.inf:
            barred.update(served)
        elif item is None:
            if _units(usual, what, price):
                raise ProblemError(
                    f"prices: {what!r} has no price of its own that could be another one: give it "
                    "one in the problem's prices, name the panel it belongs to, or use known"
                )
        else:
            units[item] = _units(usual, what, price)
    in_hand = set(np.flatnonzero(~np.isnan(values)).tolist())
    for j in sorted(in_hand & barred):
        raise ProblemError(f"{problem.label(j)} is known and cannot be had: leave one of them out")
    needs = [() if j in in_hand else need for j, need in enumerate(usual.needs)]
    limit = usual.limit(problem.budget if budget is None else budget)
    return Terms(market(units, needs, limit, sorted(barred)), values)


def _mapping(name: str, given: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise ProblemError(
            f"{name} must be a mapping by feature, such as {{'age': 0}}, got {shortened(given)}"
        )
    return given or {}


def _value(feature: object, value: object) -> float:
    if isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool):
        number = float(value)
        if abs(number) <= LARGEST:
            return number if abs(number) >= SMALLEST else 0.0
    raise ProblemError(
        f"known: the value of {feature!r} must be a number, got {shortened(value)}: leave it out "
        "if it is not in hand"
    )


def _item(usual: Prices, what: str | int, find: Any) -> tuple[int | None, list[int]]:
    """The item that is meant, None for a feature without one of its own, and whom it serves."""
    if isinstance(what, str) and what in usual.items:
        item = usual.items.index(what)
        return item, [j for j, need in enumerate(usual.needs) if item in need]
    feature = find(what, "prices")
    alone = [i for i in usual.needs[feature] if sum(i in need for need in usual.needs) == 1]
    return (alone[0] if len(alone) == 1 else None), [feature]


def _units(usual: Prices, what: str | int, price: Any) -> int:
    exact = money(f"the price of {what!r}", price).scaleb(usual.decimals)
    if exact != exact.to_integral_value():
        raise ProblemError(
            f"the price of {what!r} is {price}: the prices of this problem have "
            f"{usual.decimals} decimals, round it to them"
        )
    return int(exact)
