"""The clock of a game stands still while kernels are compiled."""

from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.blocks.jit import clock


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A moment that moves when it is told to."""
    moment = [1000.0]
    monkeypatch.setattr("time.perf_counter", lambda: moment[0])
    return moment


def test_it_stands_still_until_the_outermost_is_done(now: list[float]) -> None:
    began = clock.clock()
    now[0] += 1.0
    with clock.stopped():
        now[0] += 10.0
        with clock.stopped():
            now[0] += 100.0
        now[0] += 1000.0
    now[0] += 2.0
    assert clock.clock() - began == 3.0


def test_it_goes_on_after_an_error(now: list[float]) -> None:
    began = clock.clock()
    with pytest.raises(ZeroDivisionError), clock.stopped():
        now[0] += 10.0 + 1 / int("0")
    now[0] += 1.0
    assert clock.clock() - began == 1.0


class InBlocks(kh.RunningMean):
    """Takes 5 seconds of compiling and 1 of playing in every call."""

    moment: list[float]
    calls = 0

    def take(self) -> None:
        self.calls += 1
        with clock.stopped():
            self.moment[0] += 5.0
        self.moment[0] += 1.0

    def advance(self, X: Any, y: Any, bought: Any = None) -> Any:
        self.take()
        return super().advance(X, y, bought)


class Singly(InBlocks):
    """The same, round by round."""

    @property
    def advance(self) -> Any:
        raise AttributeError

    def ask(self) -> kh.Ticket:
        self.take()
        return super().ask()


@pytest.mark.parametrize("kind", [InBlocks, Singly])
def test_a_game_is_not_charged_for_compiling(now: list[float], kind: type[InBlocks]) -> None:
    learner = kind(kh.Problem(2, 1, 1))
    learner.moment = now
    ledger = kh.play(learner, kh.streams.ArrayStream(np.zeros((3, 2)), np.ones(3)))
    assert ledger.rounds == 3
    assert learner.calls > 0
    assert ledger.seconds == learner.calls
