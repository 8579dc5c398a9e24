"""Every learner on a few rounds: blocks of any length are single rounds, to the last bit."""

import itertools

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.base import LearnerBase
from keyhole.testing.helpers import RowsOnly

RNG = np.random.default_rng(2)
X = RNG.uniform(-1, 1, (40, 6)) * [1, 1, 2, 1, 1, 3]
X[RNG.random(X.shape) < 0.05] = np.nan
Y = np.nan_to_num(X[:, 2]) - 0.5 + 0.1 * RNG.standard_normal(40)


def made(name: str, budget: int) -> LearnerBase:
    entry = kh.LEARNERS[name]
    learner = entry(kh.Problem(6, 2, 6 if entry.reads_everything else budget), seed=3)
    assert isinstance(learner, LearnerBase)
    return learner


# Every budget with block play of a learner's own, one with a loop over rounds.
GAMES = [
    (name, budget)
    for i, name in enumerate(sorted(kh.LEARNERS))
    for budget in (4, 5, 6)
    if type(made(name, budget))._play is not LearnerBase._play or budget == 4 + i % 3
]


@pytest.mark.parametrize(("name", "budget"), GAMES)
def test_a_short_game_by_blocks_is_one_by_rows(name: str, budget: int) -> None:
    whole, parts, rows = (made(name, budget) for _ in range(3))
    stream = kh.streams.ArrayStream(X, Y)
    one = kh.play(rows, RowsOnly(stream))
    many = kh.play(whole, stream)
    np.testing.assert_array_equal(many.predictions, one.predictions)
    np.testing.assert_array_equal(many.reads, one.reads)
    np.testing.assert_array_equal(whole.weights, rows.weights)
    assert whole.intercept == rows.intercept
    cuts = [0, 7, 8, 25, 40]
    pieces = [
        kh.play(parts, kh.streams.ArrayStream(X[a:b], Y[a:b])).predictions
        for a, b in itertools.pairwise(cuts)
    ]
    np.testing.assert_array_equal(np.concatenate(pieces), one.predictions)


@pytest.mark.parametrize("name", sorted({*kh.LEARNERS} - {"zero", "mean", "last-value"}))
def test_a_value_too_large_to_be_squared_ends_a_block_before_its_round(name: str) -> None:
    """Of those that read something."""
    large = X.copy()
    large[20] = 1e200
    learner, alone = made(name, 4), made(name, 4)
    with pytest.raises(kh.DataError):
        kh.play(learner, kh.streams.ArrayStream(large, Y))
    kh.play(alone, kh.streams.ArrayStream(X[:20], Y[:20]))
    assert learner.round == alone.round == 20
    rest = kh.streams.ArrayStream(X[21:], Y[21:])
    future = [kh.play(each, rest).predictions for each in (learner, alone)]
    np.testing.assert_array_equal(future[0], future[1])


class Stumbles(kh.RunningMean):
    """Plays blocks round by round, and fails at the label 9 before it learns it."""

    _play = LearnerBase._play

    def tell(self, seen: kh.Observation, y: float) -> None:
        if y == 9.0:
            raise ArithmeticError
        super().tell(seen, y)


def test_what_was_told_before_an_error_is_heard_once() -> None:
    labels = np.array([1.0, 3.0, 9.0, 5.0])
    learner, twin = (Stumbles(kh.Problem(6, 2, 4)) for _ in range(2))
    with pytest.raises(ArithmeticError):
        learner.advance(X[:4], labels)
    assert learner.residuals().told == 2
    assert learner.round == 3
    assert [ticket.round for ticket in learner._desk.open] == [3]
    twin.advance(X[:2], labels[:2])
    assert learner.error_range(0.5) == twin.error_range(0.5)
    ticket = twin.ask()
    twin.tell(ticket.fill([]), 5.0)  # heard by itself again
    assert twin.residuals().told == 3
