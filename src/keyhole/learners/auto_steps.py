"""AutoLearner step by step: in which order a batch is bought, and for whom going on pays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from keyhole.learners.blocks.auto import engine
from keyhole.learners.blocks.auto.advice import StepLine
from keyhole.learners.blocks.auto.spending import Spending
from keyhole.learners.blocks.auto.steps import (
    MOST_STEPS,
    Steps,
    expected_error,
    gain_of_going_on,
    learn,
    new_steps,
    numbered,
)
from keyhole.learners.blocks.draw.philox import uniform
from keyhole.problem import Floats, Indices, Observation, Problem, Ticket
from keyhole.problem.state import AT_LEAST_0, Holds
from keyhole.problem.step import PLAN, STEP, steps_made

if TYPE_CHECKING:
    from keyhole.learners.auto import AutoLearner
    from keyhole.learners.blocks.auto.batch import Batch

WARM, WARM_AFTER_HISTORY = 300, 100  # examples that go on, before anything is known
SHARE = 0.05  # of all later ones that go on whatever is known, by a draw of their own
PURPOSE = (1 << 20) + 24  # keeps these draws apart from all others
AHEAD = 4.0  # with a purse, one example may cost so many times what it lasts for on average
MOST_GO_ON, KNOWN = 0.9, 64.0  # a step that this share goes on from is none: it is made at once
AGAIN = 0.25  # what is known of steps made at once counts so much less with each batch
PACE = 0.05  # by which the exchange rate of a purse follows what is spent


class Stepwise(NamedTuple):
    """What is known of examples bought step by step, and the steps of the current batch.

    Sums, fading: `table`, `went` (by step: how many would have gone on, of how many). `rate`: with
    a purse, the squared error that a unit of money must save. `batch`: the number of the batch that
    `step` is of (the step of each of its features, in their order; 0 beyond). `wide`: whether that
    batch was chosen for steps.
    """

    table: Steps
    rate: Annotated[Floats, AT_LEAST_0, "1"]
    went: Annotated[Floats, AT_LEAST_0, "steps 2"]
    batch: Annotated[Indices, Holds(most="begun"), "1"]
    wide: Annotated[Indices, Holds(most=1), "1"]
    step: Annotated[Indices, Holds(most=MOST_STEPS - 1), "width"]


def new_stepwise(width: int) -> Stepwise:
    """Nothing is known yet."""
    return Stepwise(
        new_steps(),
        np.zeros(1),
        np.zeros((MOST_STEPS, 2)),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(width, dtype=np.int64),
    )


def wider(spending: Spending, round: int) -> Spending:
    """What a batch that is bought step by step may cost: what those examples need that go on.

    With `worth` all that the budget buys: each step is asked whether it is worth its price.
    """
    if spending.horizon:
        left = max(int((spending.horizon - round) / AHEAD), 1)
        return spending._replace(horizon=round + left)
    return spending._replace(rate=0.0)


def in_order(problem: Problem, kept: Indices, gains: Floats, batch: Batch) -> list[list[int]]:
    """The features of a batch in groups that one price buys: most gained for the money first."""
    S, prices = batch.S.tolist(), problem.prices
    worth = dict.fromkeys(S, 0.0)
    worth.update({j: g for j, g in zip(kept.tolist(), gains.tolist(), strict=True) if j in worth})
    by_why = dict(zip(S, batch.why.tolist(), strict=True))
    first = {j: at for at, j in enumerate(kept.tolist())}
    left = sorted(S, key=lambda j: (first.get(j, len(first)), by_why[j], j))
    if prices is None:
        return [[j] for j in left]
    groups, bought, paid = list[list[int]](), list[int](), 0
    while left:
        more = {j: prices.count([*bought, j]) - paid for j in left}
        best = max(left, key=lambda j: (worth[j] / more[j] if more[j] else math.inf, -more[j]))
        paid += more[best]
        group = [j for j in left if prices.count([*bought, best, j]) == paid]
        bought += group
        left = [j for j in left if j not in group]
        if more[best] or not groups:
            groups.append(group)
        else:
            groups[-1] += group
    return groups


def plan(learner: AutoLearner, own: Stepwise, number: int, batch: Batch) -> Indices:
    """The step of each feature of the current batch, made once."""
    if int(own.batch[0]) != number:
        kept = engine.affordable(learner._auto)
        gains = learner._state.space.gains[learner._leader(), : len(kept)]
        step = numbered(in_order(learner.problem, kept, gains, batch), batch.S)
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


def _counted(problem: Problem, features: Indices) -> int:
    return len(features) if problem.prices is None else problem.prices.count(features.tolist())


def _prices(problem: Problem, ticket: Ticket, later: Indices, rate: float) -> Floats:
    """What it costs to go on to each of these steps, as squared error."""
    if rate == 0.0:
        return np.zeros(len(later))
    memo, paid = ticket.memo, _counted(problem, ticket.features)
    ends = [_counted(problem, memo[PLAN][memo[STEP] <= s]) - paid for s in later.tolist()]
    return rate * np.array(ends, dtype=np.float64)


def _later(ticket: Ticket, made: int) -> Indices:
    step = ticket.memo[STEP]
    later: Indices = np.unique(step[step > made])
    return later


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
    guess, later = learner._predict(seen), _later(ticket, here)
    price = _prices(learner.problem, ticket, later, rate)
    error, gain = expected_error(own.table, here, guess), 0.0
    gain = gain_of_going_on(own.table, here, guess, later, price)
    now = f"the squared error is expected to be {error:.3g} now"
    if gain > 0.0:
        return True, f"{now}, and going on to be worth its price"
    return False, f"enough is known: {now}, and going on not to be worth its price"


def learn_steps(
    learner: AutoLearner, own: Stepwise, seen: Observation, batch: Batch, y: float
) -> None:
    """What was predicted after each step, judged by the label; with what is known before it."""
    ticket, made = seen.ticket, steps_made(seen.ticket)
    memo, values = ticket.memo, seen.at(batch.S)
    guesses = np.empty(len(made))
    for i, s in enumerate(made.tolist()):
        there = np.isin(batch.S, memo[PLAN][memo[STEP] <= s])
        guesses[i] = learner._guess(ticket, batch, np.where(there, values, np.nan))
    _note_who_goes_on(learner, own, ticket, made, guesses)
    learn(own.table, made, guesses, y)


def _note_who_goes_on(
    learner: AutoLearner, own: Stepwise, ticket: Ticket, made: Indices, guesses: Floats
) -> None:
    rate = _rate(learner, own)
    if rate == 0.0 or int(own.table.many.max()) < _warm(learner):
        return
    step, plan = ticket.memo[STEP], ticket.memo[PLAN]
    for s, guess in zip(made.tolist(), guesses.tolist(), strict=True):
        later = np.unique(step[step > s])
        if not len(later):
            continue
        then = Ticket(ticket.round, plan[step <= s], memo={PLAN: plan, STEP: step})
        price = _prices(learner.problem, then, later, rate)
        gain = gain_of_going_on(own.table, s, guess, later, price)
        own.went[s] *= 0.99
        own.went[s] += (1.0 if gain > 0.0 else 0.0), 1.0


def step_lines(learner: AutoLearner) -> tuple[StepLine, ...]:
    """The steps of the current batch and what is known of each; none if it is bought at once."""
    own, current = learner._stepwise, learner._batches.current
    if own is None or current is None or int(own.batch[0]) != current.number:
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
    spent = _counted(learner.problem, ticket.features)
    if own.rate[0] > 0.0:
        own.rate[0] *= math.exp(PACE * (min(spent / target, AHEAD) - 1.0))
        return
    last = int(ticket.memo[STEP].max())
    less, _, pairs = table.saved[0, last].tolist()
    whole = _counted(learner.problem, ticket.memo[PLAN])
    if pairs >= WARM_AFTER_HISTORY and less > 0.0 and whole:
        own.rate[0] = less / pairs / whole
