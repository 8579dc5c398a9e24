"""Terms of one example: what cannot be had, what is in hand, other prices, another budget."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyhole.errors import LARGEST, SMALLEST, shortened
from keyhole.learners.blocks.fit.purchase import Market, market
from keyhole.problem import Floats, Indices, Problem, ProblemError
from keyhole.problem.prices import MAX_AMOUNT, Money, Prices, feature_finder, money


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
    for feature, value in mapping("known", known).items():
        values[find(feature, "known")] = _value(feature, value)
    if problem.limits is not None:
        problem.limits.refuse_rows(values[None, :], problem.label, "in what is known")
    for feature in without:
        barred.update(_served(usual, problem, find(feature, "without")))
    units = list(usual.units)
    for what, price in mapping("prices", prices).items():
        item, served = _item(usual, problem, what, find)
        if isinstance(price, float | np.floating) and price == math.inf:
            barred.update(served)
        elif item is None:
            if _units(usual, what, price):
                raise ProblemError(
                    f"prices: {what!r} has no price of its own that could be changed: give it "
                    "one in the problem's prices, name the panel it belongs to, or use known"
                )
        else:
            units[item] = _units(usual, what, price)
    in_hand = set(np.flatnonzero(~np.isnan(values)).tolist())
    for j in sorted(in_hand & barred):
        raise ProblemError(
            f"{problem.label(j)} is said to be known and to be unavailable: leave one of them out"
        )
    if sum(units) > MAX_AMOUNT:
        raise ProblemError(
            f"prices: all items together cost {usual.money(sum(units)):g}, too much to count "
            "exactly: use math.inf for what is not available"
        )
    paid = {_own(usual, problem, j) for j in in_hand}
    needs = [
        [] if j in in_hand else [i for i in need if i not in paid]
        for j, need in enumerate(usual.needs)
    ]
    limit = usual.limit(problem.budget if budget is None else budget)
    return Terms(market(units, needs, limit, sorted(barred)), values)


def listed(without: Iterable[str | int] | None) -> list[str | int]:
    """What cannot be had as a list, or a ProblemError."""
    if without is None:
        return []
    flat = without.ndim == 1 if isinstance(without, np.ndarray) else isinstance(without, Iterable)
    if not flat or isinstance(without, str | bytes | Mapping):
        raise ProblemError(
            f"without must be a list of features, such as ['age'], got {shortened(without)}"
        )
    return [*without]


def mapping(name: str, given: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    """What is given by feature, or a ProblemError."""
    if given is not None and not isinstance(given, Mapping):
        raise ProblemError(
            f"{name} must be a mapping by feature, such as {{'age': 0}}, got {shortened(given)}"
        )
    return given or {}


def _value(feature: object, value: object) -> float:
    number = math.nan
    if isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # of a whole number
            number = float(value)
    if abs(number) <= LARGEST:
        return number if abs(number) >= SMALLEST else 0.0
    raise ProblemError(
        f"known: the value of {feature!r} must be a number, got {shortened(value)}: leave it out "
        "if it is not in hand"
    )


def _own(usual: Prices, problem: Problem, feature: int) -> int | None:
    """The item that a feature has to itself, and for those computed from it; None without one."""
    for item in usual.needs[feature]:
        if usual.items[item] == problem.label(feature):
            return item
    return None


def _served(usual: Prices, problem: Problem, feature: int) -> list[int]:
    """The feature and those that are computed from it, as far as its own price tells."""
    item = _own(usual, problem, feature)
    return [feature] if item is None else _users(usual, item)


def _users(usual: Prices, item: int) -> list[int]:
    return [j for j, need in enumerate(usual.needs) if item in need]


def _item(
    usual: Prices, problem: Problem, what: str | int, find: Callable[[object, str], int]
) -> tuple[int | None, list[int]]:
    """The item that is meant, None for a feature without one of its own, and whom it serves."""
    if isinstance(what, str) and what in usual.items:
        item = usual.items.index(what)
        return item, _users(usual, item)
    feature = find(what, "prices")
    alone = [i for i in usual.needs[feature] if len(_users(usual, i)) == 1]
    only = alone[0] if len(alone) == 1 else None
    own = _own(usual, problem, feature)
    return (only if own is None else own), _served(usual, problem, feature)


def _units(usual: Prices, what: str | int, price: Any) -> int:
    exact = money(f"the price of {what!r}", price).scaleb(usual.decimals)
    if exact != exact.to_integral_value():
        raise ProblemError(
            f"the price of {what!r} is {price}: the prices of this problem are in units of "
            f"{usual.money(1):g}, round it to them"
        )
    return int(exact)
