"""A price list by name: prices, panels and what is computed from what, fitted to features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from keyhole.errors import ProblemError, feature_names, nearest, shortened
from keyhole.problem.prices import Derived, Money, Panels, money

Groups = Mapping[str, Sequence[str]]

__all__ = ["Groups", "PriceTable"]


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

    def __post_init__(self) -> None:
        for what in ("prices", "panels", "derived"):
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
        features = _Features(self, known, groups, {*ignored})
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
        return replace(self, prices=prices, panels=panels, derived=derived)

    def _refuse_unpriced(self, missing: Sequence[str]) -> None:
        if missing:
            column, level = missing[0].partition("=")[:2]
            more = len(missing) - 1
            others = f", and {more} other{'s' if more > 1 else ''}" if more else ""
            whole = f" (or one for {column!r}, for all its levels)" if level else ""
            raise ProblemError(
                f"{self.title}: there is no price for {missing[0]!r}{others}: add a row for every "
                f"feature{whole}, 0 if it is free"
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


class _Features:
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
