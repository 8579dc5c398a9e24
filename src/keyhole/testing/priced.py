"""Prices for the conformance suite: what every learner that plays a priced problem must keep to.

The checks are those of any learner, on problems with panels, free and derived features and odd
cents, and one more: every ticket costs what its features cost, and that is within the limit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyhole.game import play, rounds
from keyhole.learners.base import enough_for
from keyhole.problem import Learner, Problem, Round
from keyhole.streams.arrays import ArrayStream
from keyhole.testing import learners as any_learner
from keyhole.testing.learners import SHAPES, LearnerMaker
from keyhole.testing.require import require

FEE, PAIR = "0.23", "0.31"  # of the panels


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
    panels = {"members": (FEE, [j for j in range(d) if j % 3 == 1 and j not in free])}
    if d > 3:
        panels["both"] = (PAIR, [0, 2])
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


def check_prices(factory: LearnerMaker, *, tight: bool = False) -> None:
    """Run every check of PRICED_CHECKS on problems with prices; `factory` as in `check_learner`."""
    for check in PRICED_CHECKS:
        check(on_prices(factory, tight=tight))


def spends_within_the_limit(factory: LearnerMaker) -> None:
    """Tickets say what they cost, which is within the limit to the unit, in rounds and in blocks.

    Costs are added up here item by item, whatever the problem says.
    """
    for shape in SHAPES:
        learner = any_learner.make(factory, shape)
        problem = learner.problem
        rng = np.random.default_rng([11, *shape])
        X = rng.standard_normal((120, problem.d))
        y = X[:, 0] + X[:, -1] + 0.1 * rng.standard_normal(120)
        spent = sum(_bill(problem, played) for played in rounds(learner, ArrayStream(X, y)))
        _bills_itself(learner)
        twin = any_learner.make(factory, shape)
        ledger = play(twin, ArrayStream(X, y))
        counted = spent if problem.prices is None else problem.prices.money(spent)
        require(ledger.spent == counted, f"the books say {ledger.spent}, spent {counted}, {shape}")


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


PRICED_CHECKS: tuple[Callable[[LearnerMaker], None], ...] = (
    spends_within_the_limit,
    any_learner.keeps_to_the_budget,
    any_learner.sees_only_what_it_bought,
    any_learner.repeats_itself,
    any_learner.goes_on_from_a_file,
    any_learner.takes_labels_in_any_order,
    any_learner.copes_with_absent_values,
    any_learner.plays_blocks_as_it_plays_rounds,
    any_learner.sees_only_what_it_bought_in_blocks,
)
