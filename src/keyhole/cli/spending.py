"""An exchange rate or a purse, as they were typed, and the learner that spends by them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keyhole.analysis.hindsight_cost import Deal
from keyhole.cli.options import MoneyOptions, SizeOptions
from keyhole.cli.shop import Shop
from keyhole.cli.source import Source
from keyhole.learners.registry import learner_row, make_learner
from keyhole.problem import Learner, Problem, ProblemError
from keyhole.problem.prices import exchange_rate
from keyhole.problem.prices import money as checked

SPENDS = "auto"  # the learner that knows what an exchange rate and a purse are


@dataclass(frozen=True)
class Spending:
    """What one unit of squared error is worth, or money for so many examples; neither as a rule."""

    worth: float | None = None
    purse: float | None = None
    horizon: int | None = None

    @property
    def special(self) -> str:
        """The option that was given, if one was."""
        return "--worth" if self.worth is not None else "--purse" if self.purse is not None else ""

    def settings(self) -> dict[str, Any]:
        """What the learner is made with beside its own settings."""
        given = dataclasses.asdict(self)
        return {name: value for name, value in given.items() if value is not None}

    def deal(self, problem: Problem) -> Deal | None:
        """What the best model in hindsight may cost: what the learner may; None without prices."""
        if problem.prices is None:
            return None
        if self.worth is not None:
            return Deal(problem.prices, None, None, self.worth)
        limit = problem.prices.limit(problem.budget)
        if self.purse is not None and self.horizon:
            limit = min(limit, problem.prices.limit(self.purse) // self.horizon)
        return Deal(problem.prices, None, limit, None)


ONLY_A_LIMIT = Spending()


def spending_of(money: MoneyOptions, source: Source) -> Spending:
    """What was asked for, or a ProblemError that says what it needs."""
    worth, purse = money.worth, money.purse
    for name, value in (("--worth", worth), ("--purse", purse)):
        if value is not None and (source.shop is None or source.shop.columns):
            raise ProblemError(f"{name} {value:g} is about money: give --prices FILE.csv too")
    if worth is not None and purse is not None:
        raise ProblemError("--worth and --purse are two ways to spend money: give one of them")
    if worth is not None:
        return Spending(worth=exchange_rate("--worth", worth))
    if purse is None:
        return ONLY_A_LIMIT
    checked("--purse", purse)
    rows = source.stream.rounds
    if rows is None:
        rows = sum(len(y) for _, y in source.stream.blocks())
    return Spending(purse=purse, horizon=rows)


def capped(size: SizeOptions, spending: Spending, shop: Shop | None) -> SizeOptions:
    """The sizes where a rate or a purse decides: without a budget, everything may be bought."""
    if not spending.special or size.budget is not None or shop is None:
        return size
    return dataclasses.replace(size, budget=shop.everything)


def refuse_others(names: Sequence[str], spending: Spending) -> None:
    """ProblemError for learners that know neither a rate nor a purse, where there is one."""
    for name in names:
        learner_row(name)
        if spending.special and name != SPENDS:
            raise ProblemError(
                f"{spending.special} is for {SPENDS}, {name} knows only a limit: leave it out, or "
                f"use --learner {SPENDS}"
            )


def make_player(name: str, problem: Problem, seed: int, spending: Spending) -> Learner:
    """A learner by name, which spends by that."""
    if not spending.special:
        return make_learner(name, problem, seed)
    refuse_others([name], spending)
    row = learner_row(name)
    player = dataclasses.replace(row, settings={**row.settings, **spending.settings()})
    return player(problem, seed=seed)
