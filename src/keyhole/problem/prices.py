"""Prices: what features cost, exactly, when some are bought together; and price lists by name.

Items have prices, and a feature needs a set of items: none if it is free, one of its own as a rule,
that of a panel if one fee buys several features, or all those of the features it is computed from.
An item is paid once, whichever features need it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.errors import (
    LARGEST,
    SMALLEST,
    FeatureNames,
    ProblemError,
    feature_names,
    nearest,
    positive_number,
    shortened,
)

Money: TypeAlias = float | int | str | Decimal
PriceList: TypeAlias = Mapping[Any, Money] | Sequence[Money] | NDArray[Any]
Panels: TypeAlias = Mapping[str, tuple[Money, Sequence[str | int]]]
Derived: TypeAlias = Mapping[Any, Sequence[str | int]]

MAX_DECIMALS = 9  # of a price at most
# Of the smallest unit, for all items together: a float tells any two amounts apart.
MAX_AMOUNT = 10**15

__all__ = [
    "MAX_AMOUNT",
    "Derived",
    "Groups",
    "Money",
    "Panels",
    "PriceList",
    "PriceTable",
    "Prices",
    "exchange_rate",
    "feature_finder",
    "money",
    "price_list",
]


@dataclass(frozen=True, slots=True)
class Prices:
    """Items with prices in whole units of 10**-decimals, and the items that each feature needs.

    Examples
    --------
    >>> prices = price_list(3, ("age", "crp", "alb"), {"age": 0, "crp": "2.50"},
    ...                     {"blood": (4, ["crp", "alb"])})
    >>> prices.items, prices.cost([0]), prices.cost([1, 2]), prices.cost([2])
    (('crp', 'blood'), 0.0, 6.5, 4.0)
    >>> prices.paid_for([1]).tolist()  # the panel is paid for, so alb comes with it
    [0, 1, 2]
    """

    items: tuple[str, ...]
    units: tuple[int, ...]
    needs: tuple[tuple[int, ...], ...]
    decimals: int

    def __post_init__(self) -> None:
        """ProblemError for what `price_list` cannot have made: a file may have been forged."""
        whole = [self.decimals, *self.units, *(i for need in self.needs for i in need)]
        if (
            any(type(number) is not int or number < 0 for number in whole)
            or any(type(item) is not str for item in self.items)
            or len(self.items) != len(self.units)
            or 0 in self.units
            or self.decimals > MAX_DECIMALS
            or sum(self.units) > MAX_AMOUNT
            or any(list(need) != sorted({*need}) for need in self.needs)
            or any(need[-1] >= len(self.units) for need in self.needs if need)
        ):
            raise ProblemError("prices: the items, what they cost and who needs them do not fit")

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> Prices:
        """The prices that `asdict` took apart, whose tuples may have become lists."""
        needs = tuple(map(tuple, parts["needs"]))
        items, units = tuple(parts["items"]), tuple(parts["units"])
        return cls(**{**parts, "items": items, "units": units, "needs": needs})

    @property
    def counts(self) -> bool:
        """Whether every item costs 1, so that money is a number of items."""
        return self.decimals == 0 and all(unit == 1 for unit in self.units)

    @property
    def alike(self) -> bool:
        """Whether every feature has one item of its own, all at one price: only numbers count.

        >>> price_list(3, None, [0.5, 0.5, 0.5], None, None).alike
        True
        """
        items = [need[0] for need in self.needs if len(need) == 1]
        own = len(items) == len(self.needs) == len(self.items) == len(set(items))
        return own and len(set(self.units)) == 1 and self.units[0] > 0

    @property
    def columns(self) -> list[list[int]]:
        """The features of every item, where a budget counts columns; else none.

        It does where every item costs 1, every feature needs one of them, and some need the same.

        >>> price_list(4, None, None, {"city": (1, [1, 2, 3])}).columns
        [[0], [1, 2, 3]]
        """
        if not self.counts or any(len(need) != 1 for need in self.needs):
            return []
        members: list[list[int]] = [[] for _ in self.items]
        for j, (item,) in enumerate(self.needs):
            members[item].append(j)
        return members if len(self.items) < len(self.needs) else []

    def columns_within(self, k: int) -> int:
        """The most columns that have at most k features, whichever they are.

        >>> price_list(5, None, None, {"city": (1, [1, 2, 3])}).columns_within(4)
        2
        """
        sizes = sorted(map(len, self.columns), reverse=True)
        return sum(whole <= k for whole in itertools.accumulate(sizes))

    def widest_columns(self, columns: int) -> int:
        """The most features that so many columns can have.

        >>> price_list(5, None, None, {"city": (1, [1, 2, 3])}).widest_columns(2)
        4
        """
        return sum(sorted(map(len, self.columns), reverse=True)[:columns])

    def count(self, features: Iterable[int]) -> int:
        """What features cost together, in units; every item is paid once."""
        return sum(self.units[i] for i in self.needed(features))

    def needed(self, features: Iterable[int]) -> set[int]:
        """The items that features need together."""
        return {i for j in features for i in self.needs[int(j)]}

    def ordered(self, bought: NDArray[np.integer]) -> NDArray[np.bool_]:
        """The items that each row of features needs, a column per item; -1 stands for none."""
        used = np.zeros((len(bought), len(self.units)), dtype=bool)
        for j in np.unique(bought[bought >= 0]).tolist():
            rows = (bought == j).any(axis=1)
            for i in self.needs[j]:
                used[:, i] |= rows
        return used

    def worth(self, ordered: NDArray[np.bool_]) -> NDArray[np.int64]:
        """What each row of items costs, in units."""
        return ordered.astype(np.int64) @ np.array(self.units, dtype=np.int64)

    def count_rows(self, bought: NDArray[np.integer]) -> NDArray[np.int64]:
        """What each row of features costs, in units; -1 stands for none."""
        return self.worth(self.ordered(bought))

    def cost(self, features: ArrayLike) -> float:
        """What features cost together, as money."""
        return self.money(self.count(np.asarray(features, dtype=np.int64).tolist()))

    def money(self, units: int) -> float:
        """Units as money.

        >>> price_list(1, None, ["0.10"], None).money(30)
        3.0
        """
        return float(Decimal(int(units)).scaleb(-self.decimals))

    def limit(self, budget: Money, what: str = "budget") -> int:
        """The units that a budget buys: what is not a whole unit buys nothing.

        More than `MAX_UNITS` buy no more than that many, all that there is.
        """
        return min(math.floor(money(what, budget).scaleb(self.decimals)), MAX_AMOUNT)

    def paid_for(self, features: Iterable[int]) -> NDArray[np.int64]:
        """All features whose items are paid for when these are bought, the free ones included."""
        paid = self.needed(features)
        return np.array([j for j, need in enumerate(self.needs) if paid.issuperset(need)], np.int64)

    def to_order(self, features: Iterable[int]) -> tuple[str, ...]:
        """The items to order for these features: a panel is one of them, not its members."""
        return tuple(self.items[i] for i in sorted(self.needed(features)))

    def affordable(self, limit: int) -> int:
        """How many features can be had for `limit` units, whichever they are.

        All, if all together cost no more. Else from what each costs alone, dearest first: what
        they share makes them cheaper still.
        """
        if self.count(range(len(self.needs))) <= limit:
            return len(self.needs)
        return _affordable_count(
            sorted((self.count([j]) for j in range(len(self.needs))), reverse=True), limit
        )

    def widest(self, limit: int) -> int:
        """At least as many as the largest set of features that costs at most `limit` units.

        Every item's price is split among the features that need it: no set costs less than the sum
        of those parts.
        """
        sharing = [0] * len(self.units)
        for need in self.needs:
            for i in need:
                sharing[i] += 1
        whole = math.lcm(*(share for share in sharing if share), 1)
        parts = [sum(self.units[i] * (whole // sharing[i]) for i in need) for need in self.needs]
        return _affordable_count(sorted(parts), limit * whole)


def _affordable_count(costs: list[int], limit: int) -> int:
    return sum(total <= limit for total in itertools.accumulate(costs))


def money(what: str, value: Money) -> Decimal:
    """An amount as it was written, or a ProblemError that names what it is the price of.

    >>> money("budget", 0.1), money("budget", "22.780")
    (Decimal('0.1'), Decimal('22.78'))
    """
    shown = str(value) if isinstance(value, Decimal) else shortened(value)
    try:
        odd = isinstance(value, bool | complex)
        exact = Decimal("nan") if odd else Decimal(str(value))
        amount = exact.normalize()
    except ArithmeticError:
        exact = amount = Decimal("nan")
    if not (amount.is_finite() and 0 <= amount <= MAX_AMOUNT):
        raise ProblemError(
            f"{what} must be an amount of at least 0, and at most {MAX_AMOUNT:.0e}, got {shown}"
        )
    digits, exponent = amount.as_tuple()[1:]
    underflows = amount.is_zero() and not exact.is_zero()  # as 1e-999999999 does
    if len(digits) > 15 or (amount != exact and not underflows):
        raise ProblemError(f"{what} has more than 15 digits, got {shown}: round it")
    if underflows or (isinstance(exponent, int) and -exponent > MAX_DECIMALS):
        raise ProblemError(f"{what} has more than {MAX_DECIMALS} decimals, got {shown}: round it")
    return abs(amount)  # never -0


def exchange_rate(what: str, value: float) -> float:
    """What one unit of squared error is worth, or a ProblemError: a number that can be multiplied.

    >>> exchange_rate("worth", 1e300)
    Traceback (most recent call last):
    keyhole.errors.ProblemError: worth must be from 1e-150 to 1e+150, got 1e+300: give the label
    another unit
    """
    rate = positive_number(what, value)
    if not SMALLEST <= rate <= LARGEST:
        raise ProblemError(
            f"{what} must be from {SMALLEST:g} to {LARGEST:g}, got {rate:g}: give the label "
            "another unit"
        )
    return rate


def price_list(
    d: int,
    names: tuple[str, ...] | None,
    prices: PriceList | None,
    panels: Panels | None,
    derived: Derived | None = None,
) -> Prices:
    """The prices of d features, or a ProblemError that names what is wrong with them.

    Parameters
    ----------
    d, names
        The features.
    prices
        One per feature, or by name; 0 is free. By name, members of panels and derived features
        may be left out: they cost nothing of their own. None: 1 each, but nothing for those.
    panels
        By name, a fee and the features that need it.
    derived
        By feature, the features that it is computed from: it needs all their items.
    """
    find = feature_finder(d, names)
    named = {
        name: [find(m, f"panel {name!r}") for m in panel[1]] for name, panel in _panels(panels)
    }
    sources = {find(j, "derived"): [find(m, "derived") for m in of] for j, of in _derived(derived)}
    joint = {j for members in named.values() for j in members} | set(sources)
    own = _own_prices(d, names, prices, joint, find)
    items, amounts = list[str](), list[Decimal]()
    needs: list[set[int]] = [set() for _ in range(d)]
    for j, amount in enumerate(own):
        if amount > 0:
            needs[j].add(len(items))
            items.append(f"feature {j}" if names is None else names[j])
            amounts.append(amount)
    for name, panel in _panels(panels):
        fee = money(f"the price of panel {name!r}", panel[0])
        if not named[name]:
            raise ProblemError(f"panel {name!r} has no members: name the features it buys")
        if fee > 0:
            if name in items:
                raise ProblemError(
                    f"panel {name!r}: a feature that has a price is called so too: rename the panel"
                )
            for j in named[name]:
                needs[j].add(len(items))
            items.append(name)
            amounts.append(fee)
    try:
        for j in TopologicalSorter(sources).static_order():
            needs[j] = needs[j].union(*(needs[m] for m in sources.get(j, ())))
    except CycleError as error:
        circle = [f"feature {j}" if names is None else names[j] for j in error.args[1]]
        raise ProblemError(f"derived: {going_round(circle)}") from None
    decimals = max([0, *(-int(a.as_tuple().exponent) for a in amounts)])
    units = tuple(int(amount.scaleb(decimals)) for amount in amounts)
    if sum(units) > MAX_AMOUNT:
        raise ProblemError(
            f"all items together cost {sum(amounts):g}, more than {MAX_AMOUNT:.0e} times "
            f"{Decimal(1).scaleb(-decimals):g}, too much to count exactly: use fewer decimals, or "
            "a larger unit of money"
        )
    return Prices(tuple(items), units, tuple(tuple(sorted(need)) for need in needs), decimals)


def going_round(circle: Sequence[str]) -> str:
    """What is wrong with features that are computed from each other, each from the one before.

    >>> going_round(["a", "b", "a"])
    "'a' needs 'b' needs 'a', a circle: give one of them a price, and nothing that it needs"
    """
    return (
        f"{' needs '.join(map(repr, reversed(circle)))}, a circle: give one of them a price, "
        "and nothing that it needs"
    )


def _panels(panels: Panels | None) -> list[tuple[str, tuple[Money, Sequence[str | int]]]]:
    found = []
    for name, panel in _by_name("panels", panels, "{'blood': (12.5, ['crp', 'alb'])}"):
        pair = isinstance(panel, tuple | list) and len(panel) == 2
        if not pair or not _is_several(panel[1]):
            raise ProblemError(
                f"panel {name!r} must be a price and its features, such as (12.5, ['crp', 'alb']), "
                f"got {shortened(panel)}"
            )
        found.append((str(name), (panel[0], panel[1])))
    return found


def _derived(derived: Derived | None) -> list[tuple[Any, Sequence[str | int]]]:
    found = _by_name("derived", derived, "{'ratio': ['crp', 'alb']}")
    for name, sources in found:
        if not _is_several(sources):
            raise ProblemError(
                f"derived {name!r} must be the features it is computed from, such as "
                f"['crp', 'alb'], got {shortened(sources)}"
            )
    return found


def _by_name(what: str, given: Any, such_as: str) -> list[tuple[Any, Any]]:
    if given is not None and not isinstance(given, Mapping):
        raise ProblemError(
            f"{what} must be a mapping by name, such as {such_as}, got {shortened(given)}"
        )
    return [*(given or {}).items()]


def _is_several(features: object) -> bool:
    return isinstance(features, Iterable) and not isinstance(features, str | bytes)


def feature_finder(d: int, names: tuple[str, ...] | None) -> Callable[[object, str], int]:
    """What makes a feature's number of its name or number, or a ProblemError."""
    known = names if isinstance(names, FeatureNames) else FeatureNames(names or ())

    def find(feature: object, where: str) -> int:
        if isinstance(feature, str):
            places = known.places
            if feature not in places:
                hint = nearest(feature, names or ()) or (
                    ": features have no names" if not names else ""
                )
                raise ProblemError(f"{where}: there is no feature {feature!r}{hint}")
            return places[feature]
        number = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        if not number or not 0 <= int(cast(int, feature)) < d:
            raise ProblemError(f"{where}: features run from 0 to {d - 1}, got {shortened(feature)}")
        return int(cast(int, feature))

    return find


def and_others(missing: Sequence[object]) -> str:
    """What follows the first of several names.

    >>> and_others("a"), and_others("ab"), and_others("abc")
    ('', ', and 1 other', ', and 2 others')
    """
    more = len(missing) - 1
    return f", and {more} other{'s' if more > 1 else ''}" if more else ""


def _own_prices(
    d: int,
    names: tuple[str, ...] | None,
    prices: PriceList | None,
    joint: set[int],
    find: Callable[[object, str], int],
) -> list[Decimal]:
    """The price of each feature by itself."""
    if prices is None:
        return [Decimal(0 if j in joint else 1) for j in range(d)]
    if isinstance(prices, Mapping):
        given = {
            find(name, "prices"): money(f"the price of {name!r}", p) for name, p in prices.items()
        }
        missing = [j for j in range(d) if j not in given and j not in joint]
        if missing:
            name = f"feature {missing[0]}" if names is None else repr(names[missing[0]])
            raise ProblemError(
                f"prices: {name} has none{and_others(missing)}: give every feature one, 0 if it is "
                "free"
            )
        return [given.get(j, Decimal(0)) for j in range(d)]
    shape = np.shape(np.asarray(prices, dtype=object))  # what is in it is looked at below
    if isinstance(prices, str | bytes) or shape != (d,):
        raise ProblemError(f"prices must be one per feature, {d} of them, got {shortened(prices)}")
    return [
        money(f"the price of {f'feature {j}' if names is None else repr(names[j])}", p)
        for j, p in enumerate(list(prices))
    ]


Groups = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class PriceTable:
    """What features cost, by name: what `read_prices` reads and `Problem(prices=...)` takes.

    Parameters
    ----------
    prices
        By feature or column, its own price; 0 is free. Members of panels and derived features may
        be left out: they cost nothing of their own.
    panels
        By name, a fee that is paid once and the features that need it.
    derived
        By feature, the features that it is computed from.
    limits
        By feature, the least and the largest value that it can have.
    title, lines
        Where it was read, for messages: the name of a file, and the line of each row.

    Examples
    --------
    >>> table = PriceTable({"age": 0, "city": 5}, {"blood": (4, ["crp", "alb"])}, {})
    >>> fitted = table.fitted(["age", "crp", "alb", "city=Berlin", "city=Paris"])
    >>> fitted.panels  # a categorical column is a panel of its levels
    {'city': (5, ('city=Berlin', 'city=Paris')), 'blood': (4, ('crp', 'alb'))}
    """

    prices: Mapping[str, Money]
    panels: Mapping[str, tuple[Money, Sequence[str]]] = field(default_factory=dict)
    derived: Mapping[str, Sequence[str]] = field(default_factory=dict)
    title: str = field(default="prices", compare=False, repr=False)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    limits: Mapping[str, tuple[float | None, float | None]] = field(
        default_factory=dict, repr=False
    )

    def __post_init__(self) -> None:
        for what in ("prices", "panels", "derived", "limits"):
            if not isinstance(getattr(self, what), Mapping):
                given = shortened(getattr(self, what))
                raise ProblemError(f"{what} of a price table must be by name, got {given}")
        for name, price in self.prices.items():
            money(f"{self.place(name)}: the price of {name!r}", price)
        panels = {name: self._panel(name, panel) for name, panel in self.panels.items()}
        derived = {name: self._list(name, needs) for name, needs in self.derived.items()}
        object.__setattr__(self, "prices", dict(self.prices))
        object.__setattr__(self, "panels", panels)
        object.__setattr__(self, "derived", derived)

    def _panel(self, name: str, panel: tuple[Money, Sequence[str]]) -> tuple[Money, Sequence[str]]:
        if not (isinstance(panel, tuple | list) and len(panel) == 2):
            raise ProblemError(
                f"{self.place(name)}: panel {name!r} must be a price and its features, such as "
                f"(12.5, ['crp', 'alb']), got {shortened(panel)}"
            )
        money(f"{self.place(name)}: the price of panel {name!r}", panel[0])
        if name in self.prices:
            raise ProblemError(
                f"{self.place(name)}: {name!r} is a feature with a price and a panel too: "
                "rename the panel"
            )
        return panel[0], self._list(name, panel[1])

    def _list(self, name: str, features: Sequence[str]) -> tuple[str, ...]:
        listed = () if isinstance(features, str) else tuple(dict.fromkeys(features))
        if not listed or not all(isinstance(feature, str) for feature in listed):
            raise ProblemError(
                f"{self.place(name)}: {name!r} needs a list of features by name, at least one, "
                f"got {shortened(features)}"
            )
        return listed

    def place(self, name: str) -> str:
        """Where a row stands: 'prices.csv, line 4'."""
        return f"{self.title}, line {self.lines[name]}" if name in self.lines else self.title

    def fitted(
        self, names: Sequence[str], groups: Groups | None = None, ignored: Iterable[str] = ()
    ) -> PriceTable:
        """The same prices for exactly these features.

        A row for a column that became several features is a panel of them: it is paid once, and all
        are known then. Rows for columns that are left out of the data are left out here too.

        Parameters
        ----------
        names
            The features: `stream.names`.
        groups
            By column, the features that it became: `stream.groups` of a stream from a file. None:
            those that are called `column=...`.
        ignored
            Columns that are no features: those that are ignored, and the target.

        Examples
        --------
        >>> PriceTable({"age": 0, "crp": 2.5}).fitted(["age", "cpr"])
        Traceback (most recent call last):
        keyhole.errors.ProblemError: prices: there is no feature 'crp' (did you mean 'cpr'?)...
        """
        if names is None:
            raise ProblemError(f"{self.title}: the features have no names to look up: give names")
        known = feature_names(names, len(names)) or ()
        features = _FeatureLookup(self, known, groups, {*ignored})
        prices: dict[str, Money] = {}
        panels: dict[str, tuple[Money, Sequence[str]]] = {}
        for name, price in self.prices.items():
            found = features.of(name)
            if found == (name,):
                prices[name] = price
            elif found:
                panels[name] = (price, found)
        for name, (fee, members) in self.panels.items():
            if name in known:
                raise ProblemError(
                    f"{self.place(name)}: {name!r} is a panel here and a feature of the data: "
                    "rename the panel"
                )
            if found := features.of_all(members):  # none: its members are all ignored
                panels[name] = (fee, found)
        derived = {
            feature: features.needed(name, needs)
            for name, needs in self.derived.items()
            for feature in features.of(name)
        }
        priced = {*prices, *derived, *(m for _, members in panels.values() for m in members)}
        self._refuse_unpriced([name for name in known if name not in priced])
        limits = {name: pair for name, pair in self.limits.items() if features.of(name) == (name,)}
        for name in self.limits.keys() - limits.keys():
            if features.of(name):
                raise ProblemError(
                    f"{self.place(name)}: {name!r} has levels and cannot have limits: leave them "
                    "empty"
                )
        return replace(self, prices=prices, panels=panels, derived=derived, limits=limits)

    def all_limits(self, names: tuple[str, ...] | None, more: Any) -> Any:
        """The limits of these features here, and more that are given beside them."""
        if not self.limits:
            return more
        own: dict[str, Any] = {
            name: self.limits[name] for name in names or () if name in self.limits
        }
        if isinstance(more, Mapping):
            for name in own.keys() & more.keys():
                raise ProblemError(f"{self.place(name)}: {name!r} has limits here: give no others")
            return {**own, **more}
        return own if more is None else more

    def _refuse_unpriced(self, missing: Sequence[str]) -> None:
        if missing:
            column, level = missing[0].partition("=")[:2]
            whole = f" (or one for {column!r}, for all its levels)" if level else ""
            raise ProblemError(
                f"{self.title}: there is no price for {missing[0]!r}{and_others(missing)}: add a "
                f"row for every feature{whole}, 0 if it is free"
            )

    def parts(
        self, names: tuple[str, ...] | None, panels: Panels | None, derived: Derived | None
    ) -> tuple[Mapping[str, Money], Panels, Derived]:
        """Prices, panels and derived features of a problem with these features."""
        if panels is not None or derived is not None:
            raise ProblemError(
                f"{self.title}: a price table has its own panels and derived features: give no "
                "others beside it"
            )
        if names is None:
            raise ProblemError(
                f"{self.title}: a price table goes by name: give names=stream.names too"
            )
        fitted = self.fitted(names)
        return fitted.prices, fitted.panels, fitted.derived


class _FeatureLookup:
    """What a row of a price table is about: a feature, the levels of a column, or nothing."""

    def __init__(
        self, table: PriceTable, names: tuple[str, ...], groups: Groups | None, ignored: set[str]
    ) -> None:
        self.table, self.names, self.ignored = table, {*names}, ignored
        rows = {*table.prices, *table.derived}
        rows.update(m for _, members in table.panels.values() for m in members)
        rows.update(m for needs in table.derived.values() for m in needs)
        if groups is None:
            wanted = sorted(rows - self.names - ignored)
            groups = {c: [n for n in names if n.startswith(f"{c}=")] for c in wanted}
            self._refuse_two_columns(groups)
        self.groups = {column: tuple(found) for column, found in groups.items() if found}
        for column, found in self.groups.items():
            for name in found:
                if name not in self.names:
                    raise ProblemError(
                        f"groups: {column!r} has {name!r}, which is none of the features: give "
                        "names and groups of the same stream"
                    )

    def _refuse_two_columns(self, groups: Groups) -> None:
        first: dict[str, str] = {}
        for column, found in groups.items():
            for name in found:
                if first.setdefault(name, column) != column:
                    raise ProblemError(
                        f"{self.table.title}: {name!r} can be a level of {first[name]!r} or of "
                        f"{column!r}: give groups=stream.groups"
                    )

    def of(self, name: str) -> tuple[str, ...]:
        """The features behind a name of the table, none if it is ignored; or a ProblemError."""
        if name in self.ignored:
            return ()
        if name in self.groups:
            return self.groups[name]
        if name in self.names:
            return (name,)
        hint = nearest(name, sorted({*self.names, *self.groups}))
        raise ProblemError(
            f"{self.table.place(name)}: there is no feature {name!r}{hint}: correct the name or "
            "remove the row; a panel is named in the panel column of its members"
        )

    def of_all(self, names: Iterable[str]) -> tuple[str, ...]:
        """The features behind several names."""
        return tuple(dict.fromkeys(feature for name in names for feature in self.of(name)))

    def needed(self, name: str, sources: Sequence[str]) -> tuple[str, ...]:
        """The features behind what another is computed from: all of it must be in the data."""
        for source in sources:
            if source in self.ignored:
                raise ProblemError(
                    f"{self.table.place(name)}: {name!r} needs {source!r}, which is ignored: keep "
                    f"it, or give {name!r} a price instead"
                )
        return self.of_all(sources)
