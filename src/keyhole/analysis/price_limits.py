"""Price limits of hindsight: the cost, budget or worth that a model is searched for, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.analysis.exact.best_subset import CostTerms
from keyhole.errors import shortened, sparsity
from keyhole.problem import Described, Problem, ProblemError, refuse_other_names
from keyhole.problem.prices import Money, Prices, exchange_rate, money


@dataclass(frozen=True, slots=True)
class CostLimit:
    """Prices and what is asked of a model: at most k features and `limit` units, or a rate.

    `worth` is the money that one unit of squared error is worth; None where money is only limited.
    """

    prices: Prices
    k: int | None
    limit: int | None
    worth: float | None

    def terms(self, rounds: int) -> CostTerms:
        """The same for moments that were summed over so many rounds."""
        if self.worth is None:
            return CostTerms(self.prices, self.limit, self.k)
        unit = 10.0**-self.prices.decimals
        return CostTerms(self.prices, None, self.k, rounds * unit / self.worth)


def cost_limit_of(
    stream: Described,
    k: int | None,
    cost: Money | None,
    prices: Problem | Prices | None,
    worth: float | None,
) -> CostLimit | None:
    """What is asked for, None if money does not come into it, or a ProblemError that says why."""
    if cost is not None and worth is not None:
        raise ProblemError(
            "cost and worth exclude each other: give a limit per example, or what a unit of "
            "squared error is worth"
        )
    if prices is None:
        if cost is not None or worth is not None:
            name = "worth" if cost is None else "cost"
            raise ProblemError(f"{name} needs prices: give prices=, a Problem that has them")
        if k is None:
            raise ProblemError("k must be given, or prices and with them cost or worth")
        return None
    found = prices_of(stream, prices)
    most = None if k is None else sparsity(k, stream.d)
    if cost is None and worth is None and k is None:
        raise ProblemError("prices alone limit nothing: give cost, worth or k with them")
    limit = None if cost is None else units_of("cost", cost, found)
    return CostLimit(found, most, limit, None if worth is None else exchange_rate("worth", worth))


def prices_of(stream: Described, prices: Problem | Prices) -> Prices:
    """The prices, which are of the features of the stream, or a ProblemError."""
    if isinstance(prices, Problem):
        refuse_other_names(prices, stream)
        if prices.prices is None:
            raise ProblemError("prices: this Problem has none, make it with prices=")
        return prices.prices
    if not isinstance(prices, Prices):
        raise ProblemError(
            f"prices must be a Problem that has prices, or its .prices, got {shortened(prices)}"
        )
    if len(prices.needs) != stream.d:
        raise ProblemError(f"prices are of {len(prices.needs)} features, the stream has {stream.d}")
    return prices


def units_of_each(costs: Sequence[Money], prices: Prices) -> list[int]:
    """The units that each of `costs` buys, or a ProblemError."""
    if isinstance(costs, str) or np.ndim(np.asarray(costs, dtype=object)) != 1 or not len(costs):
        raise ProblemError(f"costs must be a list of amounts, got {costs!r}")
    return [units_of("costs", cost, prices) for cost in costs]


def units_of(name: str, cost: Money, prices: Prices) -> int:
    """The units that an amount per example buys: what is not a whole unit buys nothing.

    Floats may come from a division, such as spent / rounds: they count to nine decimals.

    >>> from keyhole.problem.prices import price_list
    >>> units_of("cost", 10 / 3, price_list(1, None, ["0.25"], None))
    333
    """
    if isinstance(cost, float | np.floating) and math.isfinite(cost):
        cost = float(f"{round(float(cost), 9):.15g}")
    return math.floor(money(name, cost).scaleb(prices.decimals))
