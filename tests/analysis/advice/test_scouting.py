"""Scouting: a random share of the rows is looked at, and nothing of the others."""

import numpy as np

import keyhole as kh
from keyhole.analysis.advice.estimate import Scout
from keyhole.streams import ArrayStream


def clinic(n: int) -> ArrayStream:
    return ArrayStream(*kh.streams.collect(kh.streams.clinic(n).stream))


def picked(stream: ArrayStream, share: float, seed: int) -> list[float]:
    return [y for _, y in Scout(stream, share, seed)]


def test_a_share_of_the_rows_keyed_by_seed_and_round() -> None:
    rows = ArrayStream(np.zeros((4000, 1)), np.arange(1.0, 4001.0))
    found = picked(rows, 0.25, seed=3)
    # 1,000 expected, with a standard deviation of 27.4: five of them.
    assert abs(len(found) - 1000) < 137
    assert found == picked(rows, 0.25, seed=3) != picked(rows, 0.25, seed=4)
    # A row is picked or not by its number, whatever comes after it, and more of them with more.
    assert picked(ArrayStream(rows.X[:500], rows.y[:500]), 0.25, 3) == [
        t for t in found if t <= 500
    ]
    assert set(found) <= set(picked(rows, 0.5, seed=3))
    assert picked(rows, 0.0, seed=3) == []
    assert len(picked(rows, 1.0, seed=3)) == 4000


def test_rows_are_counted_when_a_pass_is_over() -> None:
    scout = Scout(ArrayStream(np.zeros((40, 1)), np.zeros(40)), 0.5, seed=0)
    assert scout.passed == 0
    for _ in range(2):
        assert len(list(scout)) < 40
        assert scout.passed == 40


def test_nothing_else_is_looked_at() -> None:
    stream = clinic(2000)
    curve = kh.budget_curve(stream, scout=0.1, seed=1, most=5)
    kept = np.isin(stream.y, picked(stream, 0.1, seed=1))
    poisoned = ArrayStream(np.where(kept[:, None], stream.X, np.nan), stream.y)
    other = kh.budget_curve(poisoned, scout=0.1, seed=1, most=5)
    np.testing.assert_array_equal(curve.explained, other.explained)
    np.testing.assert_array_equal(curve.error, other.error)


def test_it_says_what_it_cost() -> None:
    stream = clinic(2000)
    curve = kh.budget_curve(stream, scout=0.1, seed=1)
    alone = ArrayStream(*kh.streams.collect(Scout(stream, 0.1, 1)))
    assert curve.rows == alone.rounds
    assert curve.passed == 2000
    assert curve.reads == 42 * curve.rows / 2000
    assert f"{curve.rows} rows of 2,000, {curve.reads:.3g} values per example" in str(curve)
    np.testing.assert_allclose(kh.budget_curve(alone).explained, curve.explained, atol=1e-12)
    everything = kh.budget_curve(stream)
    assert (everything.rows, everything.passed, everything.reads) == (2000, 2000, 42)
