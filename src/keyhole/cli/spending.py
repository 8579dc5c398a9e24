"""Spending of a run: --worth and --purse as typed, and what was spent beside the best model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.analysis.hindsight import Hindsight, hindsight
from keyhole.analysis.price_limits import CostLimit
from keyhole.cli.options import MoneyOptions, SizeOptions
from keyhole.cli.output import number, plain, span
from keyhole.cli.source import Pricing, Source
from keyhole.game import Observer, PlayedBlock
from keyhole.game.ledger import Ledger
from keyhole.learners.blocks.sums.data_sums import gram_bytes
from keyhole.learners.registry import learner_row, make_learner
from keyhole.problem import BlockStream, Interval, Learner, Problem, ProblemError
from keyhole.problem.display import money_text
from keyhole.problem.memory import fits
from keyhole.problem.prices import exchange_rate
from keyhole.problem.prices import money as checked
from keyhole.streams import Answers, take

SEARCH_SECONDS = 5.0  # for the best models in hindsight, of one game or of several
SPENDING_LEARNER = "auto"  # the learner that knows what an exchange rate and a purse are


@dataclass(frozen=True)
class SpendingRule:
    """What one unit of squared error is worth, or money for so many examples; neither as a rule."""

    worth: float | None = None
    purse: float | None = None
    horizon: int | None = None

    @property
    def option(self) -> str:
        """The option that was given, if one was."""
        return "--worth" if self.worth is not None else "--purse" if self.purse is not None else ""

    def settings(self) -> dict[str, Any]:
        """What the learner is made with beside its own settings."""
        given = dataclasses.asdict(self)
        return {name: value for name, value in given.items() if value is not None}

    def deal(self, problem: Problem) -> CostLimit | None:
        """What the best model in hindsight may cost: what the learner may; None without prices."""
        if problem.prices is None:
            return None
        if self.worth is not None:
            return CostLimit(problem.prices, None, None, self.worth)
        limit = problem.prices.limit(problem.budget)
        if self.purse is not None and self.horizon:
            limit = min(limit, problem.prices.limit(self.purse) // self.horizon)
        return CostLimit(problem.prices, None, limit, None)


NO_SPENDING_RULE = SpendingRule()


def read_spending_rule(money: MoneyOptions, source: Source) -> SpendingRule:
    """What was asked for, or a ProblemError that says what it needs."""
    worth, purse = money.worth, money.purse
    for name, value in (("--worth", worth), ("--purse", purse)):
        if value is not None and (source.pricing is None or source.counts_columns):
            raise ProblemError(f"{name} {value:g} is about money: give --prices FILE.csv too")
    if worth is not None and purse is not None:
        raise ProblemError("--worth and --purse are two ways to spend money: give one of them")
    if worth is not None:
        return SpendingRule(worth=exchange_rate("--worth", worth))
    if purse is None:
        return NO_SPENDING_RULE
    checked("--purse", purse)
    rows = source.stream.rounds
    if rows is None:
        rows = sum(len(y) for _, y in source.stream.blocks())
    return SpendingRule(purse=purse, horizon=rows)


def capped(size: SizeOptions, spending: SpendingRule, pricing: Pricing | None) -> SizeOptions:
    """The sizes where a rate or a purse decides: without a budget, everything may be bought."""
    if not spending.option or size.budget is not None or pricing is None:
        return size
    return dataclasses.replace(size, budget=pricing.everything)


def refuse_other_learners(names: Sequence[str], spending: SpendingRule) -> None:
    """ProblemError for learners that know neither a rate nor a purse, where there is one."""
    for name in names:
        learner_row(name)
        if spending.option and name != SPENDING_LEARNER:
            raise ProblemError(
                f"{spending.option} is for {SPENDING_LEARNER}, {name} knows only a limit: leave it "
                f"out, or use --learner {SPENDING_LEARNER}"
            )


def refuse_steps_without(spending: SpendingRule, audit: float) -> None:
    """ProblemError for --steps where nothing says when going on is worth its price."""
    if not spending.option:
        raise ProblemError(
            "--steps stops buying where going on is not worth its price: give --prices FILE.csv, "
            "and --worth V (what one unit of squared error is worth) or --purse P, too"
        )
    if audit:
        raise ProblemError(
            f"--audit {audit:g} plays blocks again; with --steps rows are played one by one, and "
            "what was not bought is never handed over: leave --audit out"
        )


def make_player(
    name: str, problem: Problem, seed: int, spending: SpendingRule, answers: Answers | None
) -> Learner:
    """A learner by name that spends by this rule; it predicts probabilities of `answers`."""
    if spending.option:
        refuse_other_learners([name], spending)
        row = learner_row(name)
        player = dataclasses.replace(row, settings={**row.settings, **spending.settings()})
        learner = player(problem, seed=seed)
    else:
        learner = make_learner(name, problem, seed)
    if answers is None:
        return learner
    from keyhole.learners.yes_no import YesNoLearner

    return YesNoLearner(learner)


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
class SpendingSummary:
    """The books of a game in money, and what could have been had for as much."""

    pricing: Pricing
    spending: SpendingRule
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
        ledger, limit = self.ledger, money_text(self.problem.budget)
        if self.pricing.columns:
            of = number(self.pricing.everything)
            saved = f"{ledger.saved:.0%} saved of {of} columns"
            return [("columns bought per example", f"{number(self.per_example)} of {limit}", saved)]
        rows = [
            (
                "money spent per example",
                f"{number(self.per_example)} of {limit}",
                f"at most {money_text(ledger.most_spent)} for one",
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
        same = "as many columns" if self.pricing.columns else "the same money"
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
        if self.pricing.columns:
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
        if self.pricing.columns:
            many = sorted(prices, key=lambda item: -self.ledger.orders[item])
            orders = [(item, self.ledger.orders[item]) for item in many[:most]]
            counted = [(item, f"{times / n:.1%}", f"{times:,} times") for item, times in orders]
            return [("column", "bought in", ""), *counted], max(len(many) - most, 0)
        order = sorted(prices, key=lambda item: -self.ledger.orders[item] * prices[item])
        for item in order[:most]:
            times = self.ledger.orders[item]
            rows.append(
                (item, money_text(prices[item]), f"{times / n:.1%}", number(times * prices[item]))
            )
        return rows, max(len(order) - most, 0)

    def _items(self) -> dict[str, float]:
        """What every item costs."""
        prices = self.pricing.prices
        return {
            item: prices.money(units)
            for item, units in zip(prices.items, prices.units, strict=True)
        }

    def price(self, feature: int) -> str:
        """What a feature costs by itself, everything it needs included."""
        cost = self.problem.cost([feature])
        if self.pricing.columns:
            name = self.pricing.prices.items[next(iter(self.pricing.prices.needs[feature]))]
            return f"of {name}" if name in self.pricing.columns else ""
        return money_text(cost) if cost else "free"

    def as_json(self) -> dict[str, Any]:
        """All of it, for machines."""
        ledger, worth, prices = self.ledger, self.spending.worth, self._items()
        return {
            **self.pricing.as_json(),
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
    stream: BlockStream, rounds: int, problem: Problem, spending: SpendingRule, seconds: float
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
