"""Tables of a report: scores of the learner and the baselines, the bill, and the advice."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from keyhole.analysis.hindsight import Hindsight
from keyhole.game.ledger import Ledger
from keyhole.learners.blocks.auto.advice import Advice, Worth
from keyhole.problem import Interval
from keyhole.problem.display import counted
from keyhole.problem.prices import Prices
from keyhole.report.number_format import Fact, amount, brief, brief_span, mean_amount, number
from keyhole.report.run import FULL, LAST, MEAN, Run

MAX_LISTED = 4  # members of a panel by name, and free features
MAX_REPORT_ROWS = 100  # of a table
MOST_STOPS = 3  # numbers of items after which examples stopped, in a line
# What the yardsticks that everybody knows are called in front of people.
KNOWN = {
    FULL: "reading everything",
    MEAN: "running mean of the label",
    LAST: "last value of the label",
}


@dataclass(frozen=True, slots=True)
class Score:
    """What somebody lost per round, and what it cost.

    Of whoever played, the first round is not counted: nothing is known in it. Models in hindsight
    are fitted to all rounds, and what they lose in the last tenth alone is not known (NaN).

    Attributes
    ----------
    who
        In words.
    reads, cost
        Features and money per example; `cost` is None where it is not known.
    loss
        In all.
    mean
        Per round.
    last_tenth
        Per round, in the last tenth of the game.
    r2
        1 - mean / variance of the label (`Hindsight.r2_of`).
    ours
        Whether it is the learner of the run.
    """

    who: str
    reads: float
    loss: Interval
    mean: Interval
    r2: float
    last_tenth: float = math.nan
    cost: float | None = None
    ours: bool = False

    @property
    def error(self) -> float:
        """The typical error: the root of the mean squared loss, in the units of the label."""
        return math.sqrt(self.mean.high)


def scores(run: Run) -> list[Score]:
    """The learner, the best in hindsight, and what people know; the learner first."""
    ours, *known = played(run)
    return [ours, *in_hindsight(run), *known]


def played(run: Run) -> list[Score]:
    """Those who played: the learner, and what people know."""
    return [_learner(run), *_known(run)]


def in_hindsight(run: Run) -> list[Score]:
    """The best models in hindsight: of k features, beside the past, and for the money.

    Where predictions are probabilities, the first of them alone: it is calibrated as they are.
    """
    if run.calibrated_best is not None:
        features, cost = float(run.best.k), run.best.cost
        return [_fitted(run, f"{run.yardstick}, calibrated", features, run.best_loss, cost)]
    found = [of_model(run, run.yardstick, run.best)]
    if run.best_with_past is not None:
        found.append(of_model(run, f"{run.yardstick} and the past", run.best_with_past))
    return found + _best_for_money(run)


def of_model(run: Run, who: str, model: Hindsight) -> Score:
    """The score of a model in hindsight."""
    features = float(model.k) if model.worth is None else float(len(model.support))
    return _fitted(run, who, features, model.loss, model.cost)


def _learner(run: Run) -> Score:
    ledger = run.ledger
    lost = _later(ledger.loss, ledger.first_loss, ledger.rounds)
    cost = None if run.spending is None else ledger.spent / ledger.rounds
    return _played(run, run.learner, ledger.mean_reads, lost, run.recent.mean_loss, cost, ours=True)


def _known(run: Run) -> list[Score]:
    return [
        _played(
            run,
            KNOWN[b.name],
            b.reads,
            _later(float(b.loss[-1]), b.first_loss, run.ledger.rounds),
            b.last_tenth,
            None if run.spending is None else b.cost,
        )
        for b in sorted(run.baselines, key=lambda b: list(KNOWN).index(b.name))
    ]


def _later(loss: float, first_loss: float, rounds: int) -> float:
    """What was lost after the first round; all of it if there was no other."""
    return max(loss - first_loss, 0.0) if rounds > 1 else loss


def _played(
    run: Run,
    who: str,
    reads: float,
    lost: float,
    last_tenth: float,
    cost: float | None,
    ours: bool = False,
) -> Score:
    mean = lost / max(run.ledger.rounds - 1, 1)
    exact, each = Interval(lost, lost, "played"), Interval(mean, mean, "played")
    return Score(who, reads, exact, each, run.best.r2_of(mean), last_tenth, cost, ours)


def _fitted(run: Run, who: str, features: float, loss: Interval, cost: float | None) -> Score:
    n = run.ledger.rounds
    mean = Interval(loss.low / n, loss.high / n, loss.how)
    return Score(who, features, loss, mean, run.best.r2_of(mean.high), cost=cost)


def _best_for_money(run: Run) -> list[Score]:
    """The best of any number of features within the limit, and the best at the rate."""
    money, found = run.spending, list[Score]()
    if money is None:
        return found
    if money.frontier is not None:
        point = money.frontier.at(money.allowed)
        who = f"best for {money.allowed:,.10g} in hindsight, any number"
        if run.columns:
            who = f"best {money.allowed:,.10g} columns in hindsight"
        found.append(_fitted(run, who, float(len(point.features)), point.loss, point.cost))
    if money.best_total is not None:
        who = "best for what it is worth in hindsight"
        found.append(of_model(run, who, money.best_total))
    return found


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
        bills[:MAX_REPORT_ROWS],
        max(len(bills) - MAX_REPORT_ROWS, 0),
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
    each, whole = ledger.spent / ledger.rounds, ledger.full_cost / ledger.rounds
    if run.columns:
        bought = f"{number(each)} of {len(prices.items):,} bought per example"
        return [Fact("columns saved", f"{ledger.saved:.0%}", bought)]
    in_all, all_of_it = amount(ledger.spent, prices), amount(ledger.full_cost, prices)
    everything = f"everything costs {amount(whole, prices)} per example, {all_of_it} in all"
    dearest, limit = amount(ledger.most_spent, prices), amount(run.problem.budget, prices)
    facts = [
        Fact("spent per example", mean_amount(each, prices), f"{in_all} in all"),
        Fact("money saved", f"{ledger.saved:.0%}", everything),
        Fact("most expensive example", dearest, f"the limit is {limit}"),
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


def step_facts(run: Run) -> list[Fact]:
    """How far examples went, and what stopping saved; nothing where all was bought at once."""
    ledger, prices = run.ledger, run.problem.prices
    if not ledger.stepwise:
        return []
    saved, each = ledger.not_bought, ledger.not_bought / ledger.stepwise
    whole = saved + ledger.spent
    told = number(each) + " features" if prices is None else mean_amount(each, prices)
    note = f"{told} per example less than all steps cost"
    return [
        Fact("stopped early", f"{ledger.stopped_share:.0%}", how_far(ledger)),
        Fact("saved by stopping", f"{saved / whole if whole else 0.0:.0%}", note),
    ]


def how_far(ledger: Ledger) -> str:
    """After how many items examples stopped that were bought step by step, most often first.

    >>> from collections import Counter
    >>> import keyhole as kh
    >>> ledger = Ledger(kh.Problem(d=9, k=1, budget=9))
    >>> ledger.stepwise, ledger.stopped_after = 100, Counter({1: 60, 3: 20, 2: 5, 4: 3, 6: 2})
    >>> how_far(ledger)
    'after 1 item 60%, 3 items 20%, 2 items 5%, others 5%'
    """
    often = ledger.stopped_after.most_common(MOST_STOPS)
    parts = [f"{counted(items, 'item')} {many / ledger.stepwise:.0%}" for items, many in often]
    rest = ledger.stopped_after.total() - sum(many for _, many in often)
    if rest:
        parts.append(f"others {rest / ledger.stepwise:.0%}")
    return f"after {', '.join(parts)}" if parts else "none did"


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
    """A row per kept feature, the most valuable first; without a bar where nothing is known yet.

    >>> from keyhole.learners.blocks.auto.advice import Fewer, Worth
    >>> kept = Worth("age", 0.5, 0.3, 0.05), Worth("bmi", 0.1, 0.01, 0.01)
    >>> fewer = Fewer(("age", "bmi"), 0.4, 0.0), Fewer((), 0.0, 0.02)
    >>> for row in losses(Advice(9, 9, kept, fewer, 0, "all rounds", 0, 0.0, 0, 0)):
    ...     print(row.name, row.lost, row.error, row.bar, row.low, row.high)
    age 30.0 % 5.0 % 75.0 50.0 100.0
    bmi 1.0 % 1.0 % 2.5 0.0 7.5
    """
    ends = [worth.lost + 2.0 * worth.error for worth in advice.kept if advice.tells(worth)]
    most = max(ends, default=0.0)
    whole = most if most > 0.0 else 1.0

    def place(share: float) -> float:
        return round(100.0 * max(share, 0.0) / whole, 1)

    def row(worth: Worth) -> Loss:
        saves = "" if prices is None or worth.saves is None else amount(worth.saves, prices)
        if not advice.tells(worth):
            return Loss(worth.name, "not known yet", "", 0.0, 0.0, 0.0, saves)
        figures = f"{100.0 * worth.lost:.1f} %", f"{100.0 * worth.error:.1f} %"
        low, high = place(worth.lost - 2.0 * worth.error), place(worth.lost + 2.0 * worth.error)
        return Loss(worth.name, *figures, place(worth.lost), low, high, saves)

    return [row(worth) for worth in advice.kept]


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
