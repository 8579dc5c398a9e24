"""The checks of intervals have teeth: each catches a learner that breaks its promise."""

from typing import Any, Self

import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.learners.residuals import Residuals
from keyhole.problem import Floats
from keyhole.problem.state import LearnerState
from keyhole.testing import intervals as checks


class LearnsFromQuestions(kh.RunningMean):
    """Counts a round whenever it is asked for an interval."""

    def interval(
        self, seen: kh.Observation, coverage: float = 0.9, *, issue: bool = True
    ) -> kh.PredictionInterval:
        interval = super().interval(seen, coverage)
        self._n += 1
        return interval


class TakesPercent(kh.RunningMean):
    """Believes that 90 is a coverage."""

    def interval(
        self, seen: kh.Observation, coverage: float = 0.9, *, issue: bool = True
    ) -> kh.PredictionInterval:
        percent = coverage == 90
        return super().interval(seen, 0.9 if percent else coverage)


class Forgets(kh.RunningMean):
    """Knows no errors after a label but that one."""

    def tell(self, seen: kh.Observation, y: float) -> None:
        super().tell(seen, y)
        self._residuals = Residuals()


class TooShort(kh.RunningMean):
    """Intervals of nine tenths of the width."""

    def interval(
        self, seen: kh.Observation, coverage: float = 0.9, *, issue: bool = True
    ) -> kh.PredictionInterval:
        whole = super().interval(seen, coverage)
        off = 0.05 * whole.width if whole.width < 1e300 else 0.0
        ends = whole.low + off, whole.high - off
        return kh.PredictionInterval(*ends, whole.coverage, whole.prediction)


class PredictsAgain(kh.RunningMean):
    """Judges the prediction of today in place of the one that was issued."""

    def tell(self, seen: kh.Observation, y: float) -> None:
        if seen.prediction is None:
            self._residuals.forget(seen.round)
        super().tell(seen, y)


class StartsAnew(kh.RunningMean):
    """Loaded without what its errors were."""

    @classmethod
    def from_state(cls, state: LearnerState) -> Self:
        learner = super().from_state(state)
        learner._residuals = Residuals()
        return learner


class PlaysUnheard(kh.RunningMean):
    """Its blocks do not count."""

    def advance(self, X: Any, y: Floats, bought: NDArray[Any] | None = None) -> Floats:
        heard, self._residuals = self._residuals, Residuals()
        predictions = super().advance(X, y, bought)
        self._residuals = heard
        return predictions


class KeepsWhatWasDropped(kh.RunningMean):
    """What was issued for a ticket that is dropped stays."""

    def drop(self, ticket: kh.Ticket) -> None:
        self.__dict__.setdefault("_all", []).append(self._residuals._issued.get(ticket.round))
        super().drop(ticket)


CHEATS = [
    (LearnsFromQuestions, checks.intervals_leave_no_trace),
    (TakesPercent, checks.intervals_leave_no_trace),
    (Forgets, checks.intervals_hold),
    (TooShort, checks.intervals_hold),
    (PredictsAgain, checks.intervals_are_judged_as_issued),
    (StartsAnew, checks.intervals_go_on_from_a_file),
    (PlaysUnheard, checks.intervals_follow_blocks),
    (KeepsWhatWasDropped, checks.intervals_stay_small),
]


@pytest.mark.parametrize(("cheat", "check"), CHEATS, ids=lambda thing: str(thing.__name__))
def test_the_cheat_is_caught(cheat: type[Any], check: Any) -> None:
    check(kh.RunningMean)
    with pytest.raises(AssertionError):
        check(cheat)


def test_every_check_has_a_cheat() -> None:
    assert {check for _, check in CHEATS} == {*checks.INTERVAL_CHECKS}


def test_learners_without_intervals_are_not_asked() -> None:
    class Plain(kh.Zero):
        interval = property()

    for check in checks.INTERVAL_CHECKS:
        check(Plain)
