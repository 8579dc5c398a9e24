"""Spending in a run: money over time, the frontier in hindsight, --worth and --purse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from keyhole.analysis.hindsight import Hindsight, Prefix
from keyhole.analysis.price_limits import CostLimit
from keyhole.game.ledger import Ledger
from keyhole.problem import Floats, Indices, Interval, Learner, Problem
from keyhole.problem.prices import Prices

if TYPE_CHECKING:
    from keyhole.analysis.frontier import Frontier

LIMIT_SEARCH_PART = 4  # the search at the limit itself may take one part in so many of the time


@dataclass(frozen=True, slots=True, eq=False)
class RunSpending:
    """What a run with prices cost, and what the least cost could have been.

    Attributes
    ----------
    spent
        Money up to the end of each bin.
    frontier
        The least loss in hindsight at every cost per example, of any number of features; None where
        the tables for it do not fit in memory.
    allowed
        What models in hindsight may cost per example: the budget, or an even share of the purse if
        that is less.
    worth
        What one unit of squared error is worth, if the learner was told.
    best_total
        With `worth`, the model whose worth * loss + money is least in hindsight.
    purse, horizon
        Money for so many examples together, if the learner has a purse.
    """

    spent: Floats
    frontier: Frontier | None
    allowed: float
    worth: float | None = None
    best_total: Hindsight | None = None
    purse: float | None = None
    horizon: int | None = None

    @property
    def left(self) -> Floats | None:
        """What was left of the purse at the end of each bin; None without one."""
        return None if self.purse is None else self.purse - self.spent

    def as_json(self, problem: Problem, ledger: Ledger) -> dict[str, object]:
        """The figures as plain words, numbers, lists."""
        told: dict[str, object] = {
            "spent": ledger.spent,
            "spent_per_example": ledger.spent / ledger.rounds,
            "most_spent": ledger.most_spent,
            "full_cost": ledger.full_cost,
            "saved": ledger.saved,
            "orders": {item: many for item, many in ledger.orders.items() if many},
        }
        if self.worth is not None:
            best = self.best_total
            told |= {"worth": self.worth, "total": ledger.total(self.worth)}
            told["hindsight_total"] = None if best is None else _ends(best.total)
            told["hindsight_total_cost"] = None if best is None else best.cost
        if self.purse is not None:
            told |= {"purse": self.purse, "purse_left": round(self.purse - ledger.spent, 9)}
        if self.frontier is not None:
            told["frontier"] = [
                {
                    "cost": point.cost,
                    "loss": _ends(point.loss),
                    "r2": point.r2,
                    "features": [problem.label(j) for j in point.features],
                }
                for point in self.frontier.points
            ]
        return told


@dataclass(frozen=True, slots=True)
class WithinBudget:
    """Rounds of which the best model is asked for that has k features and costs no more than so."""

    prefix: Prefix
    prices: Prices
    limit: int

    def loss_of(self, support: Indices) -> float:
        """What the best model of exactly these features loses, whatever they cost."""
        return self.prefix.loss_of(support)

    def best(self, k: int, seconds: float, start: Indices | None = None) -> Hindsight:
        """The best model of k features within the limit; the search begins with `start`."""
        return self.prefix.best_for(CostLimit(self.prices, k, self.limit, None), seconds, start)


def within_budget(prefix: Prefix, learner: Learner) -> Prefix | WithinBudget:
    """The same rounds, for models that the learner's money buys."""
    prices = learner.problem.prices
    return prefix if prices is None else WithinBudget(prefix, prices, _limit(learner, prices))


def spending(
    learner: Learner,
    spent: Floats,
    whole: Prefix | None,
    names: tuple[str, ...] | None,
    seconds: float,
) -> RunSpending | None:
    """Money in a run that is over; None without prices.

    `spent` is money at the ends of bins, `whole` all rounds, None where their sums do not fit in
    memory. Each of two searches takes `seconds` at most.
    """
    prices = learner.problem.prices
    if prices is None:
        return None
    worth, purse = _number(learner, "worth"), _number(learner, "purse")
    frontier = best = None
    if whole is not None:
        from keyhole.analysis.frontier import FrontierSearch

        sweep = FrontierSearch(whole, prices, None, seconds)
        sweep.search(_limit(learner, prices), LIMIT_SEARCH_PART)
        frontier = sweep.frontier(None, sweep.everywhere(), names)
        if worth is not None:
            best = whole.best_for(CostLimit(prices, None, None, worth), seconds)
    horizon = getattr(learner, "horizon", None) if purse is not None else None
    allowed = prices.money(_limit(learner, prices))
    return RunSpending(spent, frontier, allowed, worth, best, purse, horizon)


def _limit(learner: Learner, prices: Prices) -> int:
    """The units that an example may cost in hindsight: at most its share of the purse."""
    limit, purse = prices.limit(learner.problem.budget), getattr(learner, "purse", None)
    horizon = getattr(learner, "horizon", None)
    if purse is None or horizon is None:
        return limit
    return min(limit, prices.limit(purse) // int(horizon))


def _number(learner: Learner, name: str) -> float | None:
    """A setting of learners that know money; others have none."""
    value = getattr(learner, name, None)
    return None if value is None else float(value)


def _ends(interval: Interval | None) -> dict[str, object] | None:
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "how": interval.how}
