"""Merging adds what is sums, and refuses the rest by name."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.draw.sampling import uniform_subset
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.problem import Floats
from keyhole.saving import api as state
from tests.helpers.rounds import sparse_rows

PROBLEM = kh.Problem(d=10, k=2, budget=6)


def rows(n: int, seed: int) -> tuple[Floats, Floats]:
    return sparse_rows(n, 10, {3: 1.0, 7: -1.0}, seed=seed)


def shard(seed: int, n: int = 300, noise_sd: float = 0.1) -> kh.DantzigLearner:
    """A learner that has played rows of its own, drawn by its seed."""
    learner = kh.DantzigLearner(PROBLEM, seed=seed, noise_sd=noise_sd, threshold_scale=0.05)
    kh.play(learner, kh.streams.ArrayStream(*rows(n, seed)))
    return learner


def same(a: Moments, b: Moments) -> bool:
    sums = all(
        np.allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-12)
        for name in ("XX", "Xy", "X", "Y", "y", "yy")
    )
    return sums and np.array_equal(a.N, b.N) and a.n == b.n


def union(shards: dict[int, int]) -> Moments:
    """The moments of every explored row of all shards, added one by one."""
    moments = Moments(10)
    for seed, n in shards.items():
        X, y = rows(n, seed)
        for t in range(n):
            S = uniform_subset(seed, t + 1, 10, 4)
            moments.add(S, X[t, S], float(y[t]))
    return moments


def test_moments_of_a_merger_are_those_of_the_union() -> None:
    sizes = {4: 300, 9: 120, 2: 57}
    a, b, c = (shard(seed, n) for seed, n in sizes.items())
    before = state.to_bytes(a)
    merged = kh.merge(kh.merge(a, b), c)
    assert isinstance(merged, kh.DantzigLearner)
    assert same(merged.moments, union(sizes))
    assert not same(merged.moments, union({4: 300, 9: 120, 2: 56}))
    assert merged.round == 477
    assert np.array_equal(merged._asked, a._asked + b._asked + c._asked)
    assert state.to_bytes(a) == before
    assert set(np.flatnonzero(merged.weights)) == {3, 7}  # solved at once, from all of it
    assert merged.diagnostics.round == 477


def test_merging_is_commutative_and_associative() -> None:
    a, b, c = shard(4), shard(9, 120), shard(2, 57)
    assert state.to_bytes(kh.merge(a, b)) == state.to_bytes(kh.merge(b, a))
    one, two = kh.merge(kh.merge(a, b), c), kh.merge(a, kh.merge(b, c))
    assert isinstance(one, kh.DantzigLearner)
    assert isinstance(two, kh.DantzigLearner)
    assert same(one.moments, two.moments)
    assert one.round == two.round
    assert one.seed == two.seed == 2
    assert one._shards == two._shards == [[2, 1, 57], [4, 1, 300], [9, 1, 120]]
    assert np.allclose(one.weights, two.weights, rtol=1e-6, atol=1e-9)
    future = [kh.play(x, kh.streams.ArrayStream(*rows(80, 77))).predictions for x in (one, two)]
    assert np.allclose(future[0], future[1], rtol=1e-6, atol=1e-9)


def test_a_merged_learner_can_be_saved_and_plays_on() -> None:
    merged = kh.merge(shard(1), shard(2))
    again = state.from_bytes(state.to_bytes(merged))
    games = [kh.play(x, kh.streams.ArrayStream(*rows(90, 5))).predictions for x in (merged, again)]
    assert np.array_equal(games[0], games[1])
    assert state.to_bytes(merged) == state.to_bytes(again)


def test_overlapping_shards_are_refused() -> None:
    a, b = shard(1, 60), shard(2, 40)
    with pytest.raises(kh.StateError, match="both have rounds 1 to 40 of seed 2; give every shard"):
        kh.merge(kh.merge(a, b), shard(2, 50))
    with pytest.raises(kh.StateError, match="both have rounds 1 to 60 of seed 1"):
        kh.merge(a, a)
    one = shard(1, 1)
    with pytest.raises(kh.StateError, match="both have rounds 1 to 1 of seed 1"):
        kh.merge(one, shard(1, 1))
    with pytest.raises(kh.StateError, match="both have rounds 1 to 1 of seed 1"):
        kh.merge(one, a)
    both = kh.merge(one, shard(3, 1))
    assert isinstance(both, kh.DantzigLearner)
    assert (both.round, both._shards) == (2, [[1, 1, 1], [3, 1, 1]])
    with pytest.raises(kh.StateError, match="both have rounds 1 to 1 of seed 3"):
        kh.merge(both, shard(3, 1))
    merged = kh.merge(a, b)  # 100 rounds, so that it draws 101 to 130 of the smaller seed now
    kh.play(merged, kh.streams.ArrayStream(*rows(30, 5)))
    late = shard(1, 0)
    late._desk.skip(110)
    kh.play(late, kh.streams.ArrayStream(*rows(9, 5)))
    late._shards.append([3, 1, 110])  # as if it had been merged from another shard before
    with pytest.raises(kh.StateError, match="both have rounds 111 to 119 of seed 1"):
        kh.merge(merged, late)
    fresh = kh.DantzigLearner(PROBLEM, seed=1, noise_sd=0.1, threshold_scale=0.05)
    assert kh.merge(a, fresh).round == 60  # nothing drawn yet: nothing shared


def test_what_does_not_fit_is_refused() -> None:
    a = shard(1, 60)
    other = kh.DantzigLearner(kh.Problem(10, 2, 7), seed=2, noise_sd=0.1, threshold_scale=0.05)
    with pytest.raises(kh.StateError, match="different problems"):
        kh.merge(a, other)
    with pytest.raises(kh.StateError, match=r"different noise_sd: 0\.1, 0\.2"):
        kh.merge(a, shard(2, 60, noise_sd=0.2))
    waiting = shard(2, 60)
    waiting.ask()
    with pytest.raises(kh.StateError, match="1 open tickets: tell or drop them"):
        kh.merge(a, waiting)
    with pytest.raises(kh.StateError, match="a DantzigLearner and a Zero cannot be merged"):
        kh.merge(a, kh.Zero(PROBLEM))


@pytest.mark.parametrize("name", sorted({*kh.LEARNERS} - {"dantzig", "dantzig-printed"}))
def test_other_learners_are_refused_by_name(name: str) -> None:
    problem = kh.Problem(10, 2, 10 if kh.LEARNERS[name].reads_everything else 6)
    a, b = (kh.LEARNERS[name](problem, seed=seed) for seed in (1, 2))
    with pytest.raises(kh.StateError, match=f"{type(a).__name__} cannot be merged"):
        kh.merge(a, b)


def test_a_subclass_is_refused() -> None:
    class Odd(kh.DantzigLearner):
        """May keep more than sums."""

    with pytest.raises(kh.StateError, match="Odd cannot be merged"):
        kh.merge(Odd(PROBLEM, seed=1, noise_sd=1.0), Odd(PROBLEM, seed=2, noise_sd=1.0))


def test_ledgers_of_consecutive_rounds() -> None:
    learner = kh.RunningMean(PROBLEM)
    X, y = rows(90, 1)
    parts = [
        kh.play(learner, kh.streams.ArrayStream(X[i : i + 30], y[i : i + 30])) for i in (0, 30, 60)
    ]
    whole = kh.play(kh.RunningMean(PROBLEM), kh.streams.ArrayStream(X, y))
    one = kh.merge(kh.merge(parts[1], parts[0]), parts[2])
    two = kh.merge(parts[0], kh.merge(parts[2], parts[1]))
    for both in (one, two):
        assert np.array_equal(both.predictions, whole.predictions)
        assert both.loss == pytest.approx(whole.loss, rel=1e-14)
        assert (both.first_round, both.rounds) == (1, 90)
    with pytest.raises(kh.StateError, match="both have rounds 31 to 60"):
        kh.merge(one, parts[1])
    with pytest.raises(kh.DataError, match="consecutive"):
        kh.merge(parts[0], parts[2])


def test_diagnostics_of_a_merger_count_the_programs_of_both() -> None:
    a, b = shard(4), shard(9, 120)
    merged = kh.merge(a, b)
    assert isinstance(merged, kh.DantzigLearner)
    assert a.diagnostics.solves > 0 < b.diagnostics.solves
    # one more: the merged learner solves its program at once
    assert merged.diagnostics.solves == a.diagnostics.solves + b.diagnostics.solves + 1
