"""AutoLearner step by step: in which order a batch is bought, and for whom going on pays."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from keyhole.learners.blocks.auto import engine
from keyhole.learners.blocks.auto.advice import StepLine
from keyhole.learners.blocks.auto.last_layer import noted, recalled
from keyhole.learners.blocks.auto.ring import rows_since
from keyhole.learners.blocks.auto.spending import Spending
from keyhole.learners.blocks.auto.steps import (
    Steps,
    expected_error,
    gain_of_going_on,
    learn,
    new_steps,
    numbered,
)
from keyhole.learners.blocks.draw.philox import uniform
from keyhole.problem import Floats, Indices, Observation, Problem, Ticket
from keyhole.problem.labels import cut_off_largest
from keyhole.problem.state import AT_LEAST_0, Holds
from keyhole.problem.step import MOST_STEPS, PLAN, STEP, steps_made

if TYPE_CHECKING:
    from keyhole.learners.auto import AutoLearner
    from keyhole.learners.blocks.auto.batch import Batch

WARM, WARM_AFTER_HISTORY = 300, 100  # examples that go on, before anything is known
SHARE = 0.05  # of all later ones that go on whatever is known, by a draw of their own
PURPOSE = (1 << 20) + 24  # keeps these draws apart from all others
AHEAD = 4.0  # with a purse, one example may cost so many times what it lasts for on average
MOST_GO_ON, KNOWN = 0.9, 64.0  # a step that this share goes on from is none: it is made at once
FIRST, ORDERED_BY = 8, 128  # features to begin with, found by so many of the rows told last,
ORDERED_AGAIN = 1.25  # once so many times as many examples were told
MOST_PLANS = 256  # whose costs are kept
NOTHING: Floats = np.empty(0)
PACE = 0.05  # by which the exchange rate of a purse follows what is spent,
LEAST_RATE, MOST_RATE = sys.float_info.min, sys.float_info.max  # and no further
AGAIN = 0.25  # what is known of steps made at once counts so much less with each batch


class Stepwise(NamedTuple):
    """What is known of examples bought step by step, and the steps of the current batch.

    Sums, fading: `table`, `went` (by step: how many would have gone on, of how many). `rate`: with
    a purse, the squared error that a unit of money must save. `batch`: the number of the batch that
    `step` is of (the step of each of its features, in their order; 0 beyond). `wide`: whether that
    batch was chosen for steps. `first`: the features to begin with, as they were found when so many
    examples had been told as `ordered` says; -1 beyond.
    """

    table: Steps
    rate: Annotated[Floats, AT_LEAST_0, "1"]
    went: Annotated[Floats, AT_LEAST_0, "steps 2"]
    batch: Annotated[Indices, Holds(most="begun"), "1"]
    wide: Annotated[Indices, Holds(most=1), "1"]
    step: Annotated[Indices, Holds(most=MOST_STEPS - 1), "width"]
    first: Annotated[Indices, Holds(least=-1, below="d"), f"{FIRST}"]
    ordered: Annotated[Indices, "1"]


def new_stepwise(width: int) -> Stepwise:
    """Nothing is known yet."""
    return Stepwise(
        new_steps(),
        np.zeros(1),
        np.zeros((MOST_STEPS, 2)),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(width, dtype=np.int64),
        np.full(FIRST, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def wider(spending: Spending, round: int) -> Spending:
    """What a batch that is bought step by step may cost: what those examples need that go on.

    With `worth` all that the budget buys: each step is asked whether it is worth its price.
    """
    if spending.horizon:
        left = max(int((spending.horizon - round) / AHEAD), 1)
        return spending._replace(horizon=round + left)
    return spending._replace(rate=0.0)


def in_order(
    problem: Problem, first: list[int], kept: Indices, gains: Floats, batch: Batch
) -> list[list[int]]:
    """The features of a batch in groups that one price buys.

    Those to begin with, then those that are kept, most gained for the money first, then others.
    """
    S = batch.S.tolist()
    worth = dict.fromkeys(S, 0.0)
    worth.update({j: g for j, g in zip(kept.tolist(), gains.tolist(), strict=True) if j in worth})
    by_why = dict(zip(S, batch.why.tolist(), strict=True))
    rank = {j: at for at, j in enumerate(kept.tolist())}
    left = sorted(S, key=lambda j: (rank.get(j, len(rank)), by_why[j], j))
    groups, bought = list[list[int]](), list[int]()
    while left:
        paid = problem.units(bought)
        prices = {j: problem.units([*bought, j]) - paid for j in left}
        best = next((j for j in first if j in left), None)
        if best is None and problem.prices is not None:
            best = max(left, key=lambda j: (worth[j] / max(prices[j], 1e-9), -prices[j]))
        best = left[0] if best is None else best
        group = _comes_along(problem, bought, best, left)
        bought += group
        left = [j for j in left if j not in group]
        if prices[best] or not groups:
            groups.append(group)
        else:
            groups[-1] += group
    if len(groups) > 1 and problem.units(groups[0]) == 0:  # what is free is no step
        groups[:2] = [groups[0] + groups[1]]
    return groups


def _comes_along(problem: Problem, bought: list[int], j: int, left: list[int]) -> list[int]:
    """A feature, and all that costs nothing any more once it is paid."""
    if problem.prices is None:
        return [j]
    paid = problem.units([*bought, j])
    return [i for i in left if problem.units([*bought, j, i]) == paid]


def _find_first(learner: AutoLearner, own: Stepwise, batch: Batch) -> None:
    """What to begin with: one after the other, what most lowers the loss of the rows told last.

    With nothing but the features so far, and in squared error for the money.
    """
    told = int(own.table.many.max())
    if told < max(ORDERED_BY, ORDERED_AGAIN * own.ordered[0]):
        return
    own.ordered[0], own.first[:] = told, -1
    rows = rows_since(learner._state.ring, 0, batch.S)
    often = np.flatnonzero((~np.isnan(rows.X[-4 * ORDERED_BY :])).mean(axis=0) > 0.5)
    X, y = rows.X[:, often], rows.y
    there = np.flatnonzero(~np.isnan(X).any(axis=1))[-ORDERED_BY:]
    if len(there) < ORDERED_BY // 4:
        return
    X, y, past = X[there], y[there], recalled(*noted(learner._last)) if learner.past else NOTHING

    def loss(places: list[int]) -> float:
        values, total = np.full(len(batch.S), np.nan), 0.0
        for x, label in zip(X, y.tolist(), strict=True):
            values[often[places]] = x[places]
            total += (engine.predict_row(learner._auto, batch, values, past) - label) ** 2
        return total

    begun, features = list[int](), batch.S[often].tolist()
    left, now = list(range(len(often))), loss([])
    for position in range(min(FIRST, len(left))):
        bought = [features[a] for a in begun]
        paid = learner.problem.units(bought)
        after = {a: loss([*begun, a]) for a in left}
        price = {a: learner.problem.units([*bought, features[a]]) - paid for a in left}
        best = max(left, key=lambda a: (now - after[a]) / max(price[a], 1e-9))
        if after[best] >= now:
            return
        own.first[position], now = features[best], after[best]
        begun.append(best)
        left.remove(best)


def plan(learner: AutoLearner, own: Stepwise, number: int, batch: Batch) -> Indices:
    """The step of each feature of the current batch, made once."""
    if int(own.batch[0]) != number:
        _find_first(learner, own, batch)
        kept = engine.affordable(learner._auto)
        gains = learner._state.space.gains[learner._leader(), : len(kept)]
        first = own.first[own.first >= 0].tolist()
        step = numbered(in_order(learner.problem, first, kept, gains, batch), batch.S)
        share = own.went[:, 0] >= MOST_GO_ON * own.went[:, 1]
        sure = share & (own.went[:, 1] >= KNOWN)
        at_once = int(np.argmin(sure)) if not sure.all() else MOST_STEPS
        own.step[:] = 0
        own.step[: len(step)] = np.maximum(step, min(at_once, int(step.max(initial=0))))
        own.went[:at_once] *= AGAIN
        own.batch[0] = number
    return own.step[: len(batch.S)].copy()


def _rate(learner: AutoLearner, own: Stepwise) -> float:
    """The squared error that a unit of money must save; 0 where money has no other use."""
    spending = learner._auto.spending
    return float(own.rate[0]) if spending.horizon else spending.rate


def _ends(learner: AutoLearner, ticket: Ticket) -> tuple[Indices, Floats]:
    """The steps of a plan, and what all features up to the end of each cost together, in units."""
    plan, step, known = ticket.memo[PLAN], ticket.memo[STEP], learner._ends_of_plans
    key = plan.tobytes() + step.tobytes()
    if key not in known:
        if len(known) == MOST_PLANS:
            known.clear()
        steps = np.unique(step)
        paid = [learner.problem.units(plan[step <= s]) for s in steps.tolist()]
        known[key] = steps, np.array(paid, dtype=np.float64)
    return known[key]


def _gain(
    learner: AutoLearner, own: Stepwise, ticket: Ticket, made: int, guess: float, rate: float
) -> float:
    """What an example that is predicted so after this step gains beyond its price by going on."""
    steps, paid = _ends(learner, ticket)
    here = int(np.searchsorted(steps, made))
    later, price = steps[here + 1 :], rate * (paid[here + 1 :] - paid[here])
    return gain_of_going_on(own.table, made, guess, later.copy(), price)


def _warm(learner: AutoLearner) -> int:
    """How many examples go on before anything is known."""
    return max(WARM - int(learner._state.studied[0]), WARM_AFTER_HISTORY)


def goes_on(learner: AutoLearner, own: Stepwise, seen: Observation) -> tuple[bool, str]:
    """Whether an example goes on to the next step of its ticket, and why."""
    ticket, told, warm = seen.ticket, int(own.table.many.max()), _warm(learner)
    here = int(steps_made(ticket)[-1])
    drawn = [uniform(learner.seed, ticket.round, PURPOSE, i) for i in range(2)]
    if told < warm:
        if drawn[1] < learner._share_of_purse(ticket):
            return True, f"too little is known yet: {told} of {warm} examples"
        return False, "it must be left for later examples"
    if drawn[0] < SHARE:
        return True, "some examples go on at random, so that what is known stays honest"
    rate = _rate(learner, own)
    if rate == 0.0:
        return True, "it is within the budget, and nothing else needs the money"
    guess = cut_off_largest(learner._predict(seen))
    error = expected_error(own.table, here, guess)
    now = f"the squared error is expected to be {error:.3g} now"
    if _gain(learner, own, ticket, here, guess, rate) > 0.0:
        return True, f"{now}, and going on to be worth its price"
    return False, f"enough is known: {now}, and going on not to be worth its price"


def learn_steps(
    learner: AutoLearner, own: Stepwise, seen: Observation, batch: Batch, y: float
) -> None:
    """What was predicted after each step, judged by the label; with what is known before it."""
    ticket, made = seen.ticket, steps_made(seen.ticket)
    places = np.searchsorted(ticket.memo[PLAN], batch.S)  # all that was bought, if not all of it
    step, values = ticket.memo[STEP][places], seen.at(batch.S)
    guesses = np.empty(len(made))
    for i, s in enumerate(made.tolist()):
        guess = learner._guess(ticket, batch, np.where(step <= s, values, np.nan))
        guesses[i] = cut_off_largest(guess)
    _note_who_goes_on(learner, own, ticket, made, guesses)
    learn(own.table, made, guesses, y)


def _note_who_goes_on(
    learner: AutoLearner, own: Stepwise, ticket: Ticket, made: Indices, guesses: Floats
) -> None:
    rate = _rate(learner, own)
    if rate == 0.0 or int(own.table.many.max()) < _warm(learner):
        return
    last = int(ticket.memo[STEP].max())
    for s, guess in zip(made.tolist(), guesses.tolist(), strict=True):
        if s < last:
            gain = _gain(learner, own, ticket, s, guess, rate)
            own.went[s] = 0.99 * own.went[s] + ((1.0 if gain > 0.0 else 0.0), 1.0)


def step_lines(learner: AutoLearner, own: Stepwise) -> tuple[StepLine, ...]:
    """The steps of the current batch and what is known of each; none if it is bought at once."""
    current = learner._batches.current
    if current is None or int(own.batch[0]) != current.number:
        return ()
    S, lines, before = current.content.S, list[StepLine](), set[int]()
    step, problem = own.step[: len(S)], learner.problem
    made = np.unique(step).tolist()
    if len(made) < 2:
        return ()
    for s in made:
        so_far = S[step <= s].tolist()
        bought = set(so_far) if problem.prices is None else problem.prices.needed(so_far)
        items = tuple(problem.item(i) for i in sorted(bought - before))
        (wanted, asked), (lost, many) = own.went[s].tolist(), own.table.errors[s].sum(axis=0)
        goes_on = wanted / asked if asked and s != made[-1] else None
        lines.append(StepLine(items, goes_on, float(lost / many) if many else None))
        before = bought
    return tuple(lines)


def follow_purse(learner: AutoLearner, own: Stepwise, ticket: Ticket) -> None:
    """The exchange rate follows what is spent: up if that is more than the purse lasts for."""
    spending, table = learner._auto.spending, own.table
    rounds = max(spending.horizon - learner.round, 1)
    target = max(int(learner._state.purse[0]), 1) / rounds
    spent = learner.problem.units(ticket.features)
    if own.rate[0] > 0.0:
        rate = own.rate[0] * math.exp(PACE * (min(spent / target, AHEAD) - 1.0))
        own.rate[0] = min(max(rate, LEAST_RATE), MOST_RATE)
        return
    last = int(ticket.memo[STEP].max())
    less, _, pairs = table.saved[0, last].tolist()
    whole = learner.problem.units(ticket.memo[PLAN])
    if pairs >= WARM_AFTER_HISTORY and less > 0.0 and whole:
        own.rate[0] = less / pairs / whole
