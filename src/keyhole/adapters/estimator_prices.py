"""Prices as they are handed to an estimator: amounts, a mapping by name, a table, a file."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from keyhole.errors import ProblemError, shortened
from keyhole.problem import Problem
from keyhole.problem.price_file import read_prices
from keyhole.problem.prices import Money, Panels, PriceList, PriceTable, exchange_rate


def read_if_path(prices: Any) -> Any:
    """The price list of a file, if a path is given; a Series by its labels; others as they are."""
    if isinstance(prices, str | os.PathLike):
        return read_prices(prices)
    by_label = getattr(prices, "to_dict", None)  # of pandas: labels, not places, say whose they are
    return by_label() if callable(by_label) else prices


def refuse_worth_without(prices: object, learner: str, worth: float | None) -> None:
    """ProblemError for a rate that nobody would follow."""
    if worth is None:
        return
    exchange_rate("worth", worth)
    if prices is None:
        raise ProblemError("worth needs prices: give prices=, or leave worth out")
    if learner != "auto":
        raise ProblemError(
            f"worth is for learner='auto', got {learner!r}: only that one knows what an error costs"
        )


def cut_to_budget(
    d: int,
    sparsity: int,
    budget: Money,
    names: Sequence[str] | None,
    prices: PriceList | PriceTable | None,
    panels: Panels | None = None,
) -> Problem:
    """A problem with prices whose k is cut to what the budget can buy.

    Where a budget counts columns, so does `sparsity`: k is what so many columns can have.

    >>> cut_to_budget(3, 9, 4, None, [1, 2, 3]).k
    2
    >>> cut_to_budget(5, 2, 3, None, None, {"city": (1, [1, 2, 3])}).k
    4
    """
    if isinstance(prices, PriceTable) and names is None:
        raise ProblemError(
            f"{prices.title}: prices by name need columns with names, such as those of a DataFrame"
        )
    problem = Problem(d, 1, budget, names, prices=prices, panels=panels)
    known = problem.prices
    k = sparsity if known is None else known.widest_columns(sparsity) or sparsity
    return problem.replace(k=min(k, problem.width))


def price_table_of(
    prices: Any, panels: Mapping[Any, tuple[Money, Iterable[Hashable]]] | None
) -> PriceTable:
    """A price table for features that come and go, whose names may be of any kind.

    >>> price_table_of({7: 2.5, "age": 0}, {"blood": (4, [7])}).panels
    {'blood': (4, ('7',))}
    """
    given = {} if prices is None else read_if_path(prices)
    if isinstance(given, PriceTable):
        if panels is not None:
            raise ProblemError(f"{given.title}: a price table has its own panels: give no others")
        return given
    if not isinstance(given, Mapping):
        raise ProblemError(
            "prices must be by name, such as {'age': 0, 'crp': 2.5}, a PriceTable or the path of a "
            f"price list, got {shortened(prices)}: rows have names, and no order"
        )
    fees = {str(name): _named(panel) for name, panel in (panels or {}).items()}
    return PriceTable({str(name): price for name, price in given.items()}, fees)


def _named(panel: Any) -> Any:
    """A panel whose members go by name; what is no panel is left for PriceTable to refuse."""
    if not (isinstance(panel, tuple | list) and len(panel) == 2) or isinstance(panel[1], str):
        return panel
    fee, members = panel
    return fee, [str(member) for member in members] if isinstance(members, Iterable) else members


def prices_for_names(table: PriceTable, names: Sequence[str]) -> PriceTable:
    """The prices of these names; those of others wait until they come.

    >>> prices_for_names(PriceTable({"age": 0, "crp": 2.5}), ["crp"]).prices
    {'crp': 2.5}
    """
    rows = {*table.prices, *table.derived}
    for members in (*(panel[1] for panel in table.panels.values()), *table.derived.values()):
        rows.update(members)
    here = {*names} | {name.partition("=")[0] for name in names}
    return table.fitted(names, ignored=rows - here)
