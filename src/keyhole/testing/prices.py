"""Conformance with prices: what every learner that plays a priced problem must keep to.

The checks are those of any learner, on problems with panels, free and derived features and odd
cents, and one more: every ticket costs what its features cost, and that is within the limit.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np

from keyhole.game import play, rounds
from keyhole.learners.base import enough_for
from keyhole.problem import Learner, Problem, ProblemError, Round
from keyhole.streams.arrays import ArrayStream
from keyhole.testing import learners as any_learner
from keyhole.testing.helpers import DEFAULT_SHAPE, LearnerMaker, make, require
from keyhole.testing.learners import Shapes

PRICED_SHAPES: Shapes = [(1, 1, 1), (3, 2, 2), DEFAULT_SHAPE]  # d, k, budget
MEMBERS_FEE, PAIR_FEE = "0.23", "0.31"  # of the panels
BY_PRICE = ("by price", "reads nothing")  # of which problems that buy little are no refusal


def with_prices(problem: Problem, *, tight: bool = False) -> Problem:
    """The problem with prices, panels, free and derived features.

    The budget buys any `problem.budget` features, whichever they are. A tight one buys the k that
    are cheapest, and no more than they cost: learners that know no prices refuse most of these.

    >>> priced = with_prices(Problem(12, 3, 6))
    >>> priced.budget, priced.reads, priced.width, priced.cost([4]), priced.cost([1, 4])
    (9.61, 6, 11, 0.0, 1.36)
    >>> tight = with_prices(Problem(12, 3, 6), tight=True)
    >>> tight.budget, tight.reads, tight.width
    (1.83, 0, 5)
    """
    d, k = problem.d, problem.k
    low, span = (11, 190) if tight else (80, 41)
    own = [f"{(low + 37 * (j + 1) % span) / 100:.2f}" for j in range(d)]
    free = [j for j in range(1, d) if j % 7 == 4] + [d - 1] * (d > 2)
    own = ["0" if j in free else price for j, price in enumerate(own)]
    panels = {"members": (MEMBERS_FEE, [j for j in range(d) if j % 3 == 1 and j not in free])}
    if d > 3:
        panels["both"] = (PAIR_FEE, [0, 2])
    panels = {name: panel for name, panel in panels.items() if panel[1]}
    derived = {d - 1: [0, 1]} if d > 2 else {}
    whole = Problem(d, 1, 1000, prices=own, panels=panels, derived=derived)
    if tight:
        dear = [j for j in range(d) if whole.cost([j]) > 0]
        budget = whole.cost(sorted(dear, key=lambda j: whole.cost([j]))[:k])
    else:
        budget = enough_for(whole, problem.reads)
    return whole.replace(k=k, budget=budget)


def on_prices(factory: LearnerMaker, *, tight: bool = False) -> LearnerMaker:
    """A factory that makes its learners for problems with prices: see `with_prices`."""
    return lambda problem: factory(with_prices(problem, tight=tight))


def spends_within_the_limit(factory: LearnerMaker) -> None:
    """Tickets say what they cost, which is within the limit to the unit, in rounds and in blocks.

    Costs are added up here item by item, whatever the problem says.
    """
    for shape in PRICED_SHAPES:
        learner = make(factory, shape)
        problem = learner.problem
        rng = np.random.default_rng([11, *shape])
        X = rng.standard_normal((80, problem.d))
        y = X[:, 0] + X[:, -1] + 0.1 * rng.standard_normal(80)
        spent = sum(_bill(problem, played) for played in rounds(learner, ArrayStream(X, y)))
        _bills_itself(learner)
        twin = make(factory, shape)
        ledger = play(twin, ArrayStream(X, y))
        counted = spent if problem.prices is None else problem.prices.money(spent)
        require(ledger.spent == counted, f"the books say {ledger.spent}, spent {counted}, {shape}")


def refuses_prices(factory: LearnerMaker) -> None:
    """Problems with prices are refused with ProblemError, however much money there is."""
    whole = Problem(*DEFAULT_SHAPE)
    for problem in (with_prices(whole), with_prices(whole, tight=True), with_prices(whole).whole()):
        require(_refusal(factory, problem) is not None, f"prices must be refused, got {problem}")


def says_what_would_be_enough(factory: LearnerMaker) -> None:
    """Where any k features cost more than the budget, the error names one that is just enough."""
    tight = Problem(8, 2, "5.99", prices=["3.00"] * 2 + ["0.50"] * 6)
    refused = _refusal(factory, tight)
    require(refused is not None, "a learner without prices must refuse what buys no k of features")
    enough = tight
    for _ in range(3):  # some need more than k features, and say so when there is money for k
        named = re.search(r"at least ([\d.]+[\d])", refused or "")
        if named is None:
            break
        enough = tight.replace(budget=named[1])
        refused = _refusal(factory, enough)
    require(refused is None, f"an error must name a budget that is enough, got {refused!r}")
    less = tight.replace(budget=round(enough.budget - 0.01, 2))
    require(_refusal(factory, less) is not None, f"{less.budget} must be refused: {enough.budget}")


def _refusal(factory: LearnerMaker, problem: Problem) -> str | None:
    try:
        factory(problem)
    except ProblemError as error:
        return str(error)
    return None


def _bill(problem: Problem, played: Round) -> int:
    """What a round cost in units."""
    prices, features = problem.prices, played.features.tolist()
    if prices is None:
        return len(features)
    bill = {item: prices.units[item] for j in features for item in prices.needs[j]}
    cost = sum(bill.values())
    limit = prices.limit(problem.budget)
    require(cost <= limit, f"round {played.round} costs {cost} units, the limit is {limit}")
    return cost


def _bills_itself(learner: Learner) -> None:
    ticket, problem = learner.ask(), learner.problem
    cost = problem.cost(ticket.features)
    require(ticket.cost == cost, f"a ticket says what it costs: {cost}, this one {ticket.cost}")
    if problem.prices is not None:
        order = problem.prices.to_order(ticket.features.tolist())
        require(ticket.items == order, f"a ticket orders {order}, this one {ticket.items}")
    learner.drop(ticket)


def _of_few_shapes(check: Callable[..., None]) -> Callable[[LearnerMaker], None]:
    """Other shapes are checked without prices: a pair of the two that fails is seen here too."""

    @functools.wraps(check)
    def checked(factory: LearnerMaker) -> None:
        check(factory, PRICED_SHAPES)

    return checked


PRICED_CHECKS: tuple[Callable[[LearnerMaker], None], ...] = (
    spends_within_the_limit,
    _of_few_shapes(any_learner.sees_only_what_it_bought),
    any_learner.goes_on_from_a_file,
    any_learner.takes_labels_in_any_order,
    any_learner.copes_with_absent_values,
    _of_few_shapes(any_learner.plays_blocks_as_it_plays_rounds),
    _of_few_shapes(any_learner.sees_only_what_it_bought_in_blocks),
)
