"""Conformance of learners that buy step by step, property by property.

Learners without `next` are asked nothing. Some examples are stopped by the check itself, wherever
they are: whoever buys may stop at any moment, and what was not bought stays unknown.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from keyhole.game import sell
from keyhole.game.audit import poisoned
from keyhole.problem import DataError, Floats, Observation, Ticket, TicketError
from keyhole.problem.state import has_state
from keyhole.problem.step import Step
from keyhole.saving.api import from_bytes, to_bytes
from keyhole.testing.helpers import LearnerMaker, make, refused, require
from keyhole.testing.prices import on_prices

SHAPE = (12, 3, 6)
STEPS_SHAPES = [(1, 1, 1), (4, 4, 4), SHAPE]
STOPPED = 0.2  # the share of steps that the check does not make
Transcript = list[tuple[list[tuple[int, ...]], float]]  # of each round: what each step bought


def _buys_in_steps(factory: LearnerMaker, shape: tuple[int, int, int] = SHAPE) -> Any:
    """A learner, None if it has no `next`."""
    learner = make(factory, shape)
    return learner if hasattr(learner, "next") else None


def _data(d: int, n: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([17, d])
    X = rng.uniform(-1, 1, (n, d))
    y = 0.4 + X[:, 0] + 0.5 * X[:, -1] * (X[:, 0] > 0) + 0.1 * rng.standard_normal(n)
    return X, y


def _steps(learner: Any, x: Floats) -> Iterator[tuple[Observation, Step | None]]:
    """What was seen after each step, and the step that led there; the referee raises on fraud."""
    problem, coin = learner.problem, np.random.default_rng(learner.round)
    seen, step = sell(problem, learner.ask(steps=True), x), None
    while True:
        yield seen, step
        step = learner.next(seen)
        require(isinstance(step, Step), f"next must return a Step, got {step!r}")
        if not step or coin.random() < STOPPED:
            return
        grown, before = step.ticket, seen.ticket.features
        more = grown.round == seen.round and bool(np.isin(before, grown.features).all())
        require(more, f"a step goes on with its ticket, round {seen.round}: {seen.ticket}, {grown}")
        require(len(grown.features) > len(before), f"a step buys something, round {seen.round}")
        seen = sell(problem, grown, x)


def _one(learner: Any, x: Floats) -> tuple[Observation, list[tuple[int, ...]]]:
    """An example, and what each of its steps was for in the end."""
    bought = []
    for seen, _ in _steps(learner, x):
        bought.append(tuple(seen.ticket.features.tolist()))
    return seen, bought


def _transcript(learner: Any, X: Floats, y: Floats) -> Transcript:
    found: Transcript = []
    for x, label in zip(X, y.tolist(), strict=True):
        seen, bought = _one(learner, x)
        found.append((bought, learner.predict(seen)))
        learner.tell(seen, label)
    return found


def _same(ours: Transcript, theirs: Transcript, promise: str) -> None:
    for t, (a, b) in enumerate(zip(ours, theirs, strict=True), start=1):
        require(a == b, f"{promise}: round {t} differs, {a} against {b}")


def steps_keep_to_the_budget(factory: LearnerMaker) -> None:
    """If there is `next`: steps stay within the budget, each says what it adds, panels paid once.

    Costs are counted here, whatever the learner says. Predictions are finite after each step.
    """
    for maker in (factory, on_prices(factory)):
        for shape in STEPS_SHAPES:
            try:
                learner = _buys_in_steps(maker, shape)
            except Exception:
                if maker is factory:
                    raise
                continue  # it takes no prices
            if learner is None:
                return
            for x, label in zip(*_data(shape[0], 60), strict=True):
                paid = 0
                for seen, step in _steps(learner, x):
                    paid = _pays_for_what_is_new(learner, seen, step, paid)
                    guess = learner.predict(seen)
                    require(math.isfinite(guess), f"a prediction is finite, {seen}, got {guess}")
                learner.tell(seen, float(label))


def _pays_for_what_is_new(learner: Any, seen: Observation, step: Step | None, before: int) -> int:
    """The units that were paid by now."""
    problem, features = learner.problem, seen.ticket.features.tolist()
    prices = problem.prices
    paid: int = problem.units(features)
    if step is not None:
        more = float(paid - before) if prices is None else prices.money(paid - before)
        about = f"round {seen.round}, {step}"
        require(step.cost == more, f"a step costs what it adds, {more}, not {step.cost}, {about}")
        known = set(step.seen.ticket.items)
        require(not known & set(step.items), f"what is paid is not ordered again, {about}")
    return paid


def steps_see_only_what_they_bought(factory: LearnerMaker) -> None:
    """If there is `next`: what was not bought by the end of an example changes nothing of it.

    What a step saw is copied out of the row when it is bought, so nothing of a later step can be
    known before. Rows are poisoned by NaN and by numbers.
    """
    learner = _buys_in_steps(factory)
    if learner is None:
        return
    X, y = _data(12, 90)
    first = _transcript(learner, X, y)
    bought = np.full((len(X), learner.problem.width), -1, dtype=np.int32)
    for t, (steps, _) in enumerate(first):
        bought[t, : len(steps[-1])] = steps[-1]
    for poison in (None, np.random.default_rng(5)):
        again = _transcript(make(factory, SHAPE), poisoned(X, bought, poison), y)
        _same(first, again, "what was not bought does not matter")


def steps_leave_no_trace(factory: LearnerMaker) -> None:
    """If there is `next`: it says the same when asked again, and asking changes nothing.

    What is refused changes nothing either: foreign tickets, those that did not grow as the
    learner's own, what is no observation.
    """
    silent, curious = _buys_in_steps(factory), _buys_in_steps(factory)
    if silent is None:
        return
    X, y = _data(12, 70)
    asked: Transcript = []
    for x, label in zip(X, y.tolist(), strict=True):
        bought = list[tuple[int, ...]]()
        for seen, _ in _steps(curious, x):
            known = to_bytes(curious) if has_state(curious) and seen.round > 60 else b""
            said = {(repr(step), step.reason) for step in (curious.next(seen) for _ in range(3))}
            require(len(said) == 1, f"next says the same again, round {seen.round}: {said}")
            _refuses(curious, seen, bought[0] if bought else seen.ticket.features)
            same = not known or to_bytes(curious) == known
            require(same, f"asking for the next step changes nothing, round {seen.round}")
            bought.append(tuple(seen.ticket.features.tolist()))
        asked.append((bought, curious.predict(seen)))
        curious.tell(seen, label)
        refused(TicketError, "the next step of what was told", curious.next, seen)
    _same(_transcript(silent, X, y), asked, "asking changes nothing")


def _refuses(learner: Any, seen: Observation, first: Any) -> None:
    ticket = seen.ticket
    refused(DataError, "next of a ticket", learner.next, ticket)
    others = np.setdiff1d(np.arange(learner.problem.d), ticket.features)
    fakes = [Ticket(ticket.round + 1, ticket.features, memo=ticket.memo)]
    if len(ticket.features):
        less = np.setdiff1d(ticket.features, first[:1])  # of the first step, which comes at once
        fakes.append(Ticket(ticket.round, less, memo=ticket.memo))
    if len(others):
        wrong = np.union1d(ticket.features[1:], others[-1:])
        fakes.append(Ticket(ticket.round, wrong, memo={**ticket.memo, "more": np.zeros(1)}))
    for fake in fakes:
        forged = Observation(fake, np.zeros(len(fake.features)))
        for verb in (learner.next, learner.predict):
            refused(TicketError, f"{verb.__name__} of {fake}", verb, forged)


def steps_go_on_from_a_file(factory: LearnerMaker) -> None:
    """If there are `next` and `state`: saved in the midst of examples, they go on, to the bit.

    So does a copy. Labels come late, in another order, and some never.
    """
    X, y = _data(12, 130)
    for t in (0, 1, 6, 70):
        learner = _buys_in_steps(factory)
        if learner is None:
            return
        _transcript(learner, X[:t], y[:t])
        waiting = [next(_steps(learner, x))[0] for x in X[t : t + 4]]  # only their first steps
        players, data = [learner, copy.deepcopy(learner)], b""
        if has_state(learner):
            data = to_bytes(learner)
            players.append(from_bytes(data, type(learner)))
            require(to_bytes(players[-1]) == data, f"loaded and saved again is the same, round {t}")
        found = [_goes_on(player, waiting, X, y, t) for player in players]
        for other in found[1:]:
            _same(found[0], other, f"copied or saved after {t} rounds")
        if data:
            same = to_bytes(players[0]) == to_bytes(players[-1])
            require(same, f"the same state in the end, saved after {t} rounds")


def _goes_on(learner: Any, waiting: list[Observation], X: Floats, y: Floats, t: int) -> Transcript:
    found: Transcript = []
    for i, first in enumerate(reversed(waiting)):
        seen, bought = Observation(Ticket.from_json(first.ticket.to_json()), first.values), []
        while step := learner.next(seen):
            seen = sell(learner.problem, step.ticket, X[seen.round - 1])
            bought.append(tuple(seen.ticket.features.tolist()))
        found.append((bought, learner.predict(seen)))
        if i == 1:
            learner.drop(seen.ticket)
        else:
            learner.tell(seen, float(y[seen.round - 1]))
    return found + _transcript(learner, X[t + 4 : t + 44], y[t + 4 : t + 44])


STEP_CHECKS: tuple[Callable[[LearnerMaker], None], ...] = (
    steps_keep_to_the_budget,
    steps_see_only_what_they_bought,
    steps_leave_no_trace,
    steps_go_on_from_a_file,
)
