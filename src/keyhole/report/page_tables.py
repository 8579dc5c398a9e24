"""Tables of the report page: the bill and other facts about money, and the learner's advice."""

from __future__ import annotations

import re
from dataclasses import dataclass

from keyhole.learners.blocks.auto.advice import Advice
from keyhole.problem.prices import Prices
from keyhole.report.number_format import Fact, amount, brief, brief_span, mean_amount, number
from keyhole.report.run import Run

MAX_LISTED = 4  # members of a panel by name, and free features
MAX_TABLE_ROWS = 100  # of a table


@dataclass(frozen=True, slots=True)
class Bill:
    """A row of the bill: an item, what it gives, its price, how often, what it came to."""

    item: str
    gives: str
    price: str
    ordered: str
    times: str
    spent: str
    share: str


@dataclass(frozen=True, slots=True)
class MoneyPage:
    """The bill of a run with prices, dearest items first, and what there is to say beside it."""

    bills: list[Bill]
    left_out: int
    total: str
    free: str
    limit: str
    allowed: str


def money_page(run: Run) -> MoneyPage | None:
    """What the page says about money; None without prices."""
    prices = run.problem.prices
    if prices is None:
        return None
    bills = _bills(run, prices)
    return MoneyPage(
        bills[:MAX_TABLE_ROWS],
        max(len(bills) - MAX_TABLE_ROWS, 0),
        amount(run.ledger.spent, prices),
        _free(run, prices),
        amount(run.problem.budget, prices),
        amount(run.problem.budget if run.spending is None else run.spending.allowed, prices),
    )


def money_facts(run: Run) -> list[Fact]:
    """Spent, saved, and where it applies the total and the purse."""
    prices, ledger, money = run.problem.prices, run.ledger, run.spending
    if prices is None:
        return []
    if run.columns:
        bought = (
            f"{number(ledger.spent / ledger.rounds)} of {len(prices.items):,} bought per example"
        )
        return [Fact("columns saved", f"{ledger.saved:.0%}", bought)]
    each, whole = ledger.spent / ledger.rounds, ledger.full_cost / ledger.rounds
    in_all, all_of_it = amount(ledger.spent, prices), amount(ledger.full_cost, prices)
    facts = [
        Fact("spent per example", mean_amount(each, prices), f"{in_all} in all"),
        Fact(
            "money saved",
            f"{ledger.saved:.0%}",
            f"everything costs {amount(whole, prices)} per example, {all_of_it} in all",
        ),
        Fact(
            "most expensive example",
            amount(ledger.most_spent, prices),
            f"the limit is {amount(run.problem.budget, prices)}",
        ),
    ]
    if money is not None and money.worth is not None:
        total = ledger.total(money.worth) / ledger.rounds
        best, note = money.best_total, f"a unit of squared error is worth {number(money.worth)}"
        if best is not None and best.total is not None:
            rounds = ledger.rounds
            low, high = best.total.low / rounds, best.total.high / rounds
            least = brief_span(type(best.total)(low, high, best.total.how))
            note = f"per example; the best in hindsight {least}"
        facts.append(Fact("worth × loss + money", brief(total), note))
    if money is not None and money.purse is not None:
        left = amount(money.purse - ledger.spent, prices)
        note = f"of {amount(money.purse, prices)}"
        if money.horizon is not None:
            note += f", after {ledger.rounds:,} of {money.horizon:,} examples"
        facts.append(Fact("left in the purse", left, note))
    return facts


def price_of(run: Run, j: int) -> str:
    """What a feature costs alone, the fees of its panels included; nothing without prices."""
    prices = run.problem.prices
    if prices is None:
        return ""
    units = prices.count([j])
    return amount(prices.money(units), prices) if units else "free"


def _bills(run: Run, prices: Prices) -> list[Bill]:
    rounds, spent = run.ledger.rounds, run.ledger.spent
    orders = list(run.ledger.orders.values())
    costs = [many * units for many, units in zip(orders, prices.units, strict=True)]
    order = sorted(range(len(costs)), key=lambda i: (-costs[i], -prices.units[i], i))
    return [
        Bill(
            item=prices.items[i],
            gives=_gives(run, prices, i),
            price=amount(prices.money(prices.units[i]), prices),
            ordered=f"{orders[i] / rounds:.1%}",
            times=f"{orders[i]:,}",
            spent=amount(prices.money(costs[i]), prices),
            share=f"{prices.money(costs[i]) / spent:.1%}" if spent > 0 else "",
        )
        for i in order
    ]


def _gives(run: Run, prices: Prices, item: int) -> str:
    """The features that need an item, unless it is that feature itself."""
    members = [run.problem.label(j) for j, need in enumerate(prices.needs) if item in need]
    if members == [prices.items[item]]:
        return ""
    return f"for {_listed(members)}"


def _free(run: Run, prices: Prices) -> str:
    free = [run.problem.label(j) for j, need in enumerate(prices.needs) if not need]
    if not free:
        return ""
    return f"{len(free):,} {'is' if len(free) == 1 else 'are'} free: {_listed(free)}."


def _listed(names: list[str]) -> str:
    """Some names, and how many more there are.

    >>> _listed(list("abcdefg"))
    'a, b, c, d and 3 more'
    """
    if len(names) <= MAX_LISTED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:MAX_LISTED])} and {len(names) - MAX_LISTED:,} more"


@dataclass(frozen=True, slots=True)
class Loss:
    """What is lost without a feature: in words, and where its bar begins and ends, in percent.

    The bar is as long as the loss; `low` to `high` is two standard errors to both sides. All are
    shares of the room there is, which the longest of them fills. `saves` is money, with prices.
    """

    name: str
    lost: str
    error: str
    bar: float
    low: float
    high: float
    saves: str = ""


def losses(advice: Advice, prices: Prices | None = None) -> list[Loss]:
    """A row per kept feature, the most valuable first.

    >>> from keyhole.learners.blocks.auto.advice import Fewer, Worth
    >>> kept = Worth("age", 0.5, 0.3, 0.05), Worth("bmi", 0.1, 0.01, 0.01)
    >>> fewer = (Fewer(("age", "bmi"), 0.4, 0.0),)
    >>> for row in losses(Advice(9, 9, kept, fewer, 0, "all rounds", 0, 0.0, 0, 0)):
    ...     print(row.name, row.lost, row.error, row.bar, row.low, row.high)
    age 30.0 % 5.0 % 75.0 50.0 100.0
    bmi 1.0 % 1.0 % 2.5 0.0 7.5
    """
    most = max((worth.lost + 2.0 * worth.error for worth in advice.kept), default=0.0)
    whole = most if most > 0.0 else 1.0

    def place(share: float) -> float:
        return round(100.0 * max(share, 0.0) / whole, 1)

    return [
        Loss(
            worth.name,
            f"{100.0 * worth.lost:.1f} %",
            f"{100.0 * worth.error:.1f} %",
            place(worth.lost),
            place(worth.lost - 2.0 * worth.error),
            place(worth.lost + 2.0 * worth.error),
            "" if prices is None or worth.saves is None else amount(worth.saves, prices),
        )
        for worth in advice.kept
    ]


def sentences(advice: Advice, *, columns: bool) -> list[str]:
    """What is advised, in words; where prices count columns, 1 for each, nothing about money.

    >>> from keyhole.learners.blocks.auto.advice import Fewer, Worth
    >>> kept = Worth("age", 0.5, 0.3, 0.05, 1.0), Worth("bmi", 0.1, 0.01, 0.001, 1.0)
    >>> fewer = (Fewer(("age", "bmi"), 0.4, 0.0),)
    >>> advised = Advice(9, 9, kept, fewer, 0, "all rounds", 0, 0.0, 0, 0)
    >>> [any("money" in s for s in sentences(advised, columns=c)) for c in (False, True)]
    [True, False]
    """
    if not columns:
        return list(advice.sentences)
    paid = re.compile(r"brings least for its money \((.*?) for 1\)")
    return [paid.sub(r"is missed least of whole columns (\1)", s) for s in advice.sentences]
