"""What a run spent: money beside the limit, the best model for the same money, what was ordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.analysis.advice.choosing import amount
from keyhole.analysis.hindsight import Hindsight, hindsight
from keyhole.cli.output import number, plain, span
from keyhole.cli.shop import Shop
from keyhole.cli.spending import Spending
from keyhole.game import Observer, PlayedBlock
from keyhole.game.ledger import Ledger
from keyhole.learners.blocks.sums.gram import gram_bytes
from keyhole.problem import BlockStream, Interval, Learner, Problem
from keyhole.problem.memory import fits
from keyhole.streams import take


class CompleteRows(Observer):
    """Counts the rounds at the beginning in which everything was bought."""

    def __init__(self) -> None:
        self.count = 0
        self._over = False

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        """Count on, up to the first round in which something was left out."""
        if self._over:
            return
        complete = (played.bought >= 0).sum(axis=1) == learner.problem.d
        first = int(np.argmin(complete)) if not complete.all() else len(complete)
        self.count += first
        self._over = first < len(complete)


@dataclass(frozen=True)
class Spent:
    """The books of a game in money, and what could have been had for as much."""

    shop: Shop
    spending: Spending
    ledger: Ledger
    best: Hindsight | None
    purse_left: float | None
    complete: int

    @property
    def problem(self) -> Problem:
        """What was played."""
        return self.ledger.problem

    @property
    def per_example(self) -> float:
        """Money per example."""
        return self.ledger.spent / self.ledger.rounds

    @property
    def regret(self) -> Interval | None:
        """What was lost beyond the best model for the money; with --worth in money, both summed."""
        if self.best is None:
            return None
        if self.best.total is not None and self.spending.worth is not None:
            return self.ledger.total(self.spending.worth) - self.best.total
        return self.ledger.loss - self.best.loss

    def spent_rows(self) -> list[tuple[str, str, str]]:
        """What was spent, for people."""
        ledger, limit = self.ledger, amount(self.problem.budget)
        if self.shop.columns:
            of = number(self.shop.everything)
            saved = f"{ledger.saved:.0%} saved of {of} columns"
            return [("columns bought per example", f"{number(self.per_example)} of {limit}", saved)]
        rows = [
            (
                "money spent per example",
                f"{number(self.per_example)} of {limit}",
                f"at most {amount(ledger.most_spent)} for one",
            ),
            (
                "money spent in all",
                number(ledger.spent),
                f"{ledger.saved:.0%} saved of {number(ledger.full_cost)} for everything",
            ),
        ]
        if self.purse_left is not None:
            first = f"the first {self.complete:,} rows were bought completely"
            purse = f"{number(self.purse_left)} of {number(self.spending.purse or 0.0)}"
            rows.append(("left of the purse", purse, first if self.complete else ""))
        return rows

    @property
    def best_words(self) -> str:
        """What the best model for the same money is called."""
        same = "as many columns" if self.shop.columns else "the same money"
        if self.spending.worth is not None:
            same = "what it is worth"
        return f"best model for {same} in hindsight"

    def regret_rows(self) -> list[tuple[str, str, str]]:
        """What the best model costs, and regret against it without the first round, for people."""
        n, worth, gap = self.ledger.rounds, self.spending.worth, self.regret
        if self.best is None or gap is None:
            return []
        first = self.ledger.first_loss if n > 1 else 0.0
        cost = self.best.cost or 0.0
        about = f"{number(cost)} per example"
        if self.shop.columns:
            about = f"{number(cost)} column{'' if cost == 1 else 's'}"
        rows = [("that model costs", about, "")]
        if worth is not None and self.best.total is not None:
            first *= worth
            total, least = (self.ledger.total(worth) - first) / n, self.best.total.high / n
            sum_of = f"J = {worth:,.15g} × loss + money, per example"
            rows += [(sum_of, number(total), f"lowest J of any model in hindsight {number(least)}")]
        gap = Interval(gap.low - first, gap.high - first, gap.how)
        what = "regret against it" if worth is None else "regret against it, in money"
        return [*rows, (what, span(gap), f"{number(gap.high / n)} per round at most")]

    def order_rows(self, most: int) -> tuple[list[tuple[str, ...]], int]:
        """Items with their price, how often they were ordered and what for; how many are left."""
        rows: list[tuple[str, ...]] = [("item", "price", "ordered", "in all")]
        prices, n = self._items(), self.ledger.rounds
        if self.shop.columns:
            many = sorted(prices, key=lambda item: -self.ledger.orders[item])
            orders = [(item, self.ledger.orders[item]) for item in many[:most]]
            counted = [(item, f"{times / n:.1%}", f"{times:,} times") for item, times in orders]
            return [("column", "bought in", ""), *counted], max(len(many) - most, 0)
        order = sorted(prices, key=lambda item: -self.ledger.orders[item] * prices[item])
        for item in order[:most]:
            times = self.ledger.orders[item]
            rows.append(
                (item, amount(prices[item]), f"{times / n:.1%}", number(times * prices[item]))
            )
        return rows, max(len(order) - most, 0)

    def _items(self) -> dict[str, float]:
        """What every item costs."""
        prices = self.shop.prices
        return {
            item: prices.money(units)
            for item, units in zip(prices.items, prices.units, strict=True)
        }

    def price(self, feature: int) -> str:
        """What a feature costs by itself, everything it needs included."""
        cost = self.problem.cost([feature])
        if self.shop.columns:
            name = self.shop.prices.items[next(iter(self.shop.prices.needs[feature]))]
            return f"of {name}" if name in self.shop.columns else ""
        return amount(cost) if cost else "free"

    def as_json(self) -> dict[str, Any]:
        """All of it, for machines."""
        ledger, worth, prices = self.ledger, self.spending.worth, self._items()
        return {
            **self.shop.as_json(),
            "spent": ledger.spent,
            "spent_per_example": self.per_example,
            "most_spent": ledger.most_spent,
            "full_cost": ledger.full_cost,
            "saved": ledger.saved,
            "orders": {
                item: {"price": prices[item], "times": times, "spent": times * prices[item]}
                for item, times in ledger.orders.items()
            },
            "price": {self.problem.label(j): self.problem.cost([j]) for j in range(self.problem.d)},
            "hindsight": self._best_json(),
            "regret": plain(self.regret),
            "worth": worth,
            "total": None if worth is None else ledger.total(worth),
            "purse": self.spending.purse,
            "purse_left": self.purse_left,
            "complete_rows": self.complete,
        }

    def _best_json(self) -> dict[str, Any] | None:
        best = self.best
        if best is None:
            return None
        weights = {self.problem.label(int(j)): float(best.weights[j]) for j in best.support}
        return {
            "loss": plain(best.loss),
            "total": plain(best.total),
            "r2": best.r2,
            "cost": best.cost,
            "weights": weights,
            "intercept": best.intercept,
        }


def best_for(
    stream: BlockStream, rounds: int, problem: Problem, spending: Spending, seconds: float
) -> Hindsight | None:
    """The best model for the same money of the rounds that were played.

    None where its sums would not fit in memory.
    """
    deal = spending.deal(problem)
    if deal is None or not fits(gram_bytes(stream.d, copies=6)):
        return None
    cost = None if deal.limit is None else deal.prices.money(deal.limit)
    return hindsight(
        take(stream, rounds),
        cost=cost,
        prices=deal.prices,
        worth=deal.worth,
        intercept=True,
        seconds=seconds,
    )
