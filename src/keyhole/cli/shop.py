"""A price list as it was named, fitted to the features of a stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from keyhole import streams
from keyhole.price_file import read_prices
from keyhole.price_table import PriceTable
from keyhole.prices import Prices, price_list
from keyhole.problem import BlockStream

CLINIC = "clinic"  # in place of a file: the price list of the simulated clinic


@dataclass(frozen=True)
class Shop:
    """Prices of the features of a stream, where they come from, and rows that were not needed."""

    title: str
    prices: Prices
    left_out: tuple[str, ...] = ()

    @property
    def everything(self) -> float:
        """What all features of one example cost."""
        return self.prices.cost(range(len(self.prices.needs)))

    def words(self) -> list[str]:
        """A line about the rows that were left out, if any were."""
        if not self.left_out:
            return []
        rows = ", ".join(repr(name) for name in self.left_out)
        return [f"Prices of {rows} in {self.title} are left out: not features here."]

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {"source": self.title, "left_out": list(self.left_out), "full": self.everything}


def read_table(path: str) -> PriceTable:
    """The price list of a file, or the clinic's."""
    return streams.clinic_prices() if path == CLINIC else read_prices(path)


def open_shop(path: str, stream: BlockStream, ignored: Iterable[str] = ()) -> Shop:
    """The price list of a file for the features of a stream; `ignored` columns are none."""
    table, away = read_table(path), {*ignored}
    groups = getattr(stream, "groups", None)
    names = stream.names or tuple(f"x{j}" for j in range(stream.d))
    fitted = table.fitted(names, groups, away)
    prices = price_list(stream.d, names, fitted.prices, fitted.panels, fitted.derived)
    rows = {*table.prices, *table.derived}
    rows.update(name for _, members in table.panels.values() for name in members)
    title = "the clinic's price list" if path == CLINIC else path
    return Shop(title, prices, tuple(sorted(rows & away)))
