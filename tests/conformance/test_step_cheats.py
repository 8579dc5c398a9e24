"""The checks of steps have teeth: each catches a learner that breaks its promise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.problem.step import PLAN, Step
from keyhole.testing import steps as checks

ROWS: dict[str, Floats] = {}


class PeeksAhead(kh.AutoLearner):
    """Gets hold of the rows behind the referee's back, and stops where a value is small."""

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        if step and not abs(ROWS["X"][(seen.round - 1) % len(ROWS["X"]), -1]) > 0.4:
            return Step(seen, seen.ticket, 0.0, "it will be small")
        return step


class NeverStops(kh.AutoLearner):
    """Goes on with what it has bought."""

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        nothing = kh.Ticket(seen.round, np.arange(0))
        return step or Step(nothing.fill([]), seen.ticket, 0.0, "there may be more")


class PaysTwice(kh.AutoLearner):
    """Pays a panel again for each of its members."""

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        whole = self.problem.cost(step.features)  # as if nothing had been paid
        return replace(step, cost=whole) if step else step


class OrdersTwice(kh.AutoLearner):
    """A ticket says what its steps cost one by one."""

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        if not step:
            return step
        dear = replace(step.ticket, cost=step.ticket.cost + self.problem.cost(step.features[:1]))
        return replace(step, ticket=dear)


class BuysBeyond(kh.AutoLearner):
    """Buys everything in the end."""

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        if step or len(seen.ticket.features) == self.problem.d:
            return step
        whole = kh.Ticket(seen.round, np.arange(self.problem.d), memo=seen.ticket.memo)
        return Step(seen, whole, 1.0, "all that there is")


class SwapsFeatures(kh.AutoLearner):
    """A step forgets what was bought before."""

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        others = np.setdiff1d(np.arange(self.problem.d), seen.ticket.features)
        many = len(step.ticket.features)
        if not step or len(others) < many:
            return step
        return Step(seen, kh.Ticket(seen.round, others[:many]), step.cost, step.reason)


class LearnsFromQuestions(kh.AutoLearner):
    """Goes on the first time it is asked, and not the second."""

    asked: ClassVar[set[int]] = set()

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        key = hash((id(self), seen.round, seen.ticket))
        if step and key in self.asked:
            return Step(seen, seen.ticket, 0.0, "that was asked")
        self.asked.add(key)
        return step


class Counts(kh.AutoLearner):
    """Takes a question for an example that went on."""

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        if self._stepwise is not None:
            self._stepwise.went[0] += 1.0
        return step


class Gullible(kh.AutoLearner):
    """Has a next step for any ticket."""

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        try:
            return super().next(seen, stop_at=stop_at)
        except kh.TicketError:
            return Step(seen, seen.ticket, 0.0, "whatever")


class ForgetsTheSteps(kh.AutoLearner):
    """Loaded without the steps of its batch, which it makes anew in another order."""

    def _resume(self) -> None:
        super()._resume()
        if self._stepwise is not None:
            self._stepwise.step[:] = 0


class ForgetsOpenExamples(kh.AutoLearner):
    """Examples that were on their way when it was saved are at an end."""

    SAVED = ("_desk",)
    _met: frozenset[int] = frozenset()

    def ask(self, **terms: Any) -> kh.Ticket:
        ticket: kh.Ticket = super().ask(**terms)
        self._met = self._met | {ticket.round}
        return ticket

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        if step and seen.round not in self._met:
            return Step(seen, seen.ticket, 0.0, "that was before")
        return step


class NoNumber(kh.AutoLearner):
    """Predicts nothing before the last step."""

    def predict(self, seen: kh.Observation) -> float:
        guess = super().predict(seen)
        plan = seen.ticket.memo.get(PLAN, seen.ticket.features)
        return guess if len(plan) == len(seen.ticket.features) else math.nan


CHEATS = [
    (PeeksAhead, checks.steps_see_only_what_they_bought),
    (NeverStops, checks.steps_keep_to_the_budget),
    (PaysTwice, checks.steps_keep_to_the_budget),
    (OrdersTwice, checks.steps_keep_to_the_budget),
    (BuysBeyond, checks.steps_keep_to_the_budget),
    (SwapsFeatures, checks.steps_keep_to_the_budget),
    (NoNumber, checks.steps_keep_to_the_budget),
    (LearnsFromQuestions, checks.steps_leave_no_trace),
    (Counts, checks.steps_leave_no_trace),
    (Gullible, checks.steps_leave_no_trace),
    (ForgetsTheSteps, checks.steps_go_on_from_a_file),
    (ForgetsOpenExamples, checks.steps_go_on_from_a_file),
]


@pytest.fixture
def peeking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a cheat see what is sold, as a global variable would."""
    transcript = checks._transcript

    def spied(learner: Any, X: Floats, y: Floats) -> Any:
        ROWS["X"] = X
        return transcript(learner, X, y)

    monkeypatch.setattr(checks, "_transcript", spied)


@pytest.mark.parametrize(("cheat", "check"), CHEATS, ids=lambda thing: str(thing.__name__))
@pytest.mark.usefixtures("peeking")
def test_the_cheat_is_caught(cheat: type[Any], check: Any) -> None:
    with pytest.raises((AssertionError, kh.BudgetError)):
        check(cheat)


@pytest.mark.parametrize("check", checks.STEP_CHECKS)
@pytest.mark.parametrize("given", [{}, {"worth": 3.0}, {"purse": 300, "horizon": 130}])
def test_a_learner_with_money_keeps_every_promise(check: Any, given: dict[str, Any]) -> None:
    on_prices = kh.testing.on_prices if given else (lambda factory: factory)
    check(on_prices(lambda problem: _honest(problem, given)))


def _honest(problem: kh.Problem, given: dict[str, Any]) -> kh.AutoLearner:
    return kh.AutoLearner(problem, seed=2, **given)


def test_every_check_has_a_cheat() -> None:
    assert {check for _, check in CHEATS} == {*checks.STEP_CHECKS}


def test_learners_without_steps_are_not_asked() -> None:
    class Plain(kh.Zero):
        next = property()

    for check in checks.STEP_CHECKS:
        check(Plain)


def test_the_share_that_the_check_stops_is_not_all_there_is() -> None:
    """Examples of a check stop at once, on the way, and go to the end."""
    X, y = checks._data(12, 60)
    found = checks._transcript(kh.AutoLearner(kh.Problem(*checks.SHAPE), seed=1), X, y)
    lengths = np.bincount([len(steps) for steps, _ in found])
    assert np.count_nonzero(lengths) > 3
