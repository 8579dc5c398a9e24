"""How AutoLearner spends money: prices, an exchange rate if there is one, a purse."""

from __future__ import annotations

from typing import NamedTuple

from keyhole.errors import shortened
from keyhole.learners.blocks.fit.purchase import Market, market
from keyhole.problem import Problem, ProblemError, whole_number
from keyhole.problem.prices import MAX_AMOUNT as MOST
from keyhole.problem.prices import Money, exchange_rate, money

COMPLETE_SHARE = 10  # one part in so many of a purse buys complete rows at the beginning,
MIN_COMPLETE_ROWS = 25  # if it buys at least so many
MAX_HORIZON = 1 << 62  # no game gets there, and compiled code takes no more


class Spending(NamedTuple):
    """What compiled code knows of money; where features are counted the market lists none.

    `rate`: the gain in mean squared error that one unit must bring, 0 without an exchange rate;
    `horizon`: the rounds that the purse must last, 0 without a purse; `complete`: the rounds at the
    beginning that read everything.

    On each example of a batch that begins after t rounds the market's limit may be spent, and of a
    purse no more than what is left of it over the rounds that are left; over those of the batch
    alone while rows are complete.
    """

    shop: Market
    rate: float
    horizon: int
    complete: int


def counts(problem: Problem, worth: float | None, purse: Money | None) -> bool:
    """Whether the budget is a number of features, at whatever price they have in common."""
    return problem.counted and worth is None and purse is None


def spending(
    problem: Problem, worth: float | None, purse: Money | None, horizon: int | None
) -> Spending:
    """The spending of a problem, or a ProblemError that names what does not go together."""
    prices = problem.prices
    given = {"worth": worth, "purse": purse, "horizon": horizon}
    if prices is None:
        for name, value in given.items():
            if value is not None:
                raise ProblemError(
                    f"{name}={shortened(value)} is about money: give the problem prices, "
                    "Problem(..., prices=...)"
                )
    if (purse is None) != (horizon is None):
        raise ProblemError(
            f"a purse needs a horizon, the number of examples it must last for, and a horizon a "
            f"purse; got purse={shortened(purse)}, horizon={shortened(horizon)}"
        )
    if prices is None or counts(problem, worth, purse):
        return Spending(market([], [], problem.width), 0.0, 0, 0)
    if worth is not None and purse is not None:
        raise ProblemError("worth and purse are two ways to spend money: give one of them")
    unit = 10.0**-prices.decimals
    rate = 0.0 if worth is None else unit / exchange_rate("worth", worth)
    shop = market(prices.units, prices.needs, prices.limit(problem.budget))
    if purse is None or horizon is None:
        return Spending(shop, rate, 0, 0)
    rounds = min(whole_number("horizon", horizon, 1), MAX_HORIZON)
    full, whole = prices.count(range(problem.d)), purse_units(problem, purse)
    complete = whole // (COMPLETE_SHARE * full) if 0 < full <= shop.limit else 0
    return Spending(shop, rate, rounds, complete if complete >= MIN_COMPLETE_ROWS else 0)


def purse_units(problem: Problem, purse: Money | None) -> int:
    """A purse in the smallest unit of the prices; 0 if there is none."""
    if purse is None or problem.prices is None:
        return 0
    if money("purse", purse).scaleb(problem.prices.decimals) > MOST:
        raise ProblemError(
            f"a purse of {shortened(purse)} is more than {MOST:.0e} times "
            f"{problem.prices.money(1):g}, the unit of the prices, too much to count exactly: give "
            "less, or prices of fewer decimals"
        )
    return problem.prices.limit(purse, "purse")
