"""Pricing of a stream: a price list fitted to its features, or 1 for each column of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from keyhole import streams
from keyhole.problem import BlockStream, DataError, Problem
from keyhole.problem.atomic_file import whole_file
from keyhole.problem.prices import Prices, PriceTable, price_list

CLINIC = "clinic"  # in place of a file: the price list of the simulated clinic


@dataclass(frozen=True)
class Pricing:
    """Prices of the features of a stream, where they come from, and rows that were not needed.

    Without a price list, `columns` has the columns that several features come from, and how many:
    every column then costs 1, and a budget counts columns.
    """

    title: str
    prices: Prices
    left_out: tuple[str, ...] = ()
    columns: Mapping[str, int] = field(default_factory=dict)

    @property
    def everything(self) -> float:
        """What all features of one example cost."""
        return self.prices.cost(range(len(self.prices.needs)))

    def words(self) -> list[str]:
        """A line about what is counted, or about the rows that were left out, if any were."""
        if self.columns:
            most = sorted(self.columns, key=lambda name: -self.columns[name])
            some = ", ".join(f"{name} ({self.columns[name]} features)" for name in most[:4])
            more = f" and {len(most) - 4} more" if len(most) > 4 else ""
            return [f"A budget counts columns. One purchase each: {some}{more}."]
        if not self.left_out:
            return []
        rows = ", ".join(repr(name) for name in self.left_out)
        return [f"Prices of {rows} in {self.title} are left out: they are not features here."]

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "source": self.title,
            "left_out": list(self.left_out),
            "full": self.everything,
            "columns": bool(self.columns),
        }

    def widest(self, columns: int) -> int:
        """The most features that so many columns can have."""
        rest = len(self.prices.items) - len(self.columns)
        sizes = sorted([*self.columns.values(), *[1] * rest], reverse=True)
        return sum(sizes[:columns])


def read_table(path: str) -> PriceTable:
    """The price list of a file, or the clinic's."""
    from keyhole.problem.price_file import read_prices

    return streams.clinic_prices() if path == CLINIC else read_prices(path)


def open_pricing(path: str, stream: BlockStream, ignored: Iterable[str] = ()) -> Pricing:
    """The price list of a file for the features of a stream; `ignored` columns are none."""
    table, away = read_table(path), {*ignored}
    groups = getattr(stream, "groups", None)
    names = stream.names or tuple(f"x{j}" for j in range(stream.d))
    fitted = table.fitted(names, groups, away)
    prices = price_list(stream.d, names, fitted.prices, fitted.panels, fitted.derived)
    rows = {*table.prices, *table.derived}
    rows.update(name for _, members in table.panels.values() for name in members)
    title = "the clinic's price list" if path == CLINIC else path
    return Pricing(title, prices, tuple(sorted(rows & away)))


def column_pricing(stream: BlockStream) -> Pricing | None:
    """A pricing where every column costs 1, however many features it has; None if all have one."""
    groups: Mapping[str, Sequence[str]] = getattr(stream, "groups", {})
    several = {column: tuple(names) for column, names in groups.items() if len(names) > 1}
    if not several or stream.names is None:
        return None
    single = {names[0]: 1 for names in groups.values() if len(names) == 1}
    taken = {*stream.names}
    panels = {
        f"column {column}" if column in taken else column: (1, names)
        for column, names in several.items()
    }
    prices = price_list(stream.d, stream.names, single, panels)
    return Pricing("columns", prices, columns={name: len(of) for name, of in several.items()})


def prices_for(path: str, names: tuple[str, ...]) -> Prices:
    """The prices of a file for these features; its rows for anything else are left out."""
    table = read_table(path)
    rows = {*table.prices, *table.derived}
    rows.update(name for _, members in table.panels.values() for name in members)
    columns = {name.partition("=")[0] for name in names}
    fitted = table.fitted(names, ignored=rows - {*names} - columns)
    return price_list(len(names), names, fitted.prices, fitted.panels, fitted.derived)


def write_prices(problem: Problem, path: str) -> None:
    """Write the price list of a problem as `read_prices` reads it: whole or not at all."""
    prices = problem.prices
    assert prices is not None
    names = problem.names or tuple(f"x{j}" for j in range(problem.d))
    users = [
        [j for j, need in enumerate(prices.needs) if i in need] for i in range(len(prices.items))
    ]
    own = {
        users[i][0]: i for i in range(len(users)) if prices.items[i] == problem.label(users[i][0])
    }
    rows = [["feature", "price", "panel"]]
    rows += [
        [item, str(_exact(prices, units)), ""]
        for i, (item, units) in enumerate(zip(prices.items, prices.units, strict=True))
        if i not in own.values()
    ]
    for j, need in enumerate(prices.needs):
        panels = ";".join(prices.items[i] for i in need if i != own.get(j))
        price = str(_exact(prices, prices.units[own[j]])) if j in own else "" if panels else "0"
        rows.append([names[j], price, panels])
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    with whole_file(Path(path), DataError) as file:
        file.write(text.getvalue().encode())


def _exact(prices: Prices, units: int) -> Decimal:
    return Decimal(units).scaleb(-prices.decimals)
