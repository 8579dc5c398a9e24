"""What the page of a run says about money: large numbers, the bill, the price of a feature."""

from __future__ import annotations

from dataclasses import dataclass

from keyhole.problem.prices import Prices
from keyhole.report.figures import Fact, amount, brief, brief_span, mean_amount, number
from keyhole.report.run import Run

LISTED = 4  # members of a panel by name, and free features
ROWS = 100  # of the bill


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
        bills[:ROWS],
        max(len(bills) - ROWS, 0),
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
    if len(names) <= LISTED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:LISTED])} and {len(names) - LISTED:,} more"
