"""Bins of time: what is entered is what is there, however long the game gets."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import keyhole as kh
from keyhole.problem import Floats
from keyhole.report.traces import Trace
from tests.helpers.one_by_one import OneByOne


@given(
    rounds=st.integers(0, 300),
    bins=st.integers(2, 12),
    seed=st.integers(0, 99),
    most=st.integers(1, 40),
)
def test_a_trace_is_the_whole_game_in_bins(rounds: int, bins: int, seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    bought, losses = rng.integers(0, 5, rounds), rng.random(rounds)
    trace, start = Trace(5, bins), 0
    while start < rounds:
        stop = min(rounds, start + trace.room, start + int(rng.integers(1, most + 1)))
        after = functools.partial(np.full, 5, float(stop))
        trace.add(bought[start:stop], losses[start:stop], after)
        start = stop
    trace.close(np.full(5, float(rounds)))
    ends = trace.ends
    most_bins = bins + bins % 2
    assert trace.rounds == rounds
    assert len(ends) <= most_bins
    assert rounds < most_bins // 2 or len(ends) >= most_bins // 2
    assert ends.tolist() == sorted({*range(trace.width, rounds + 1, trace.width), rounds} - {0})
    starts = [0, *ends[:-1]]
    expected = [np.bincount(bought[a:b], minlength=5) for a, b in zip(starts, ends, strict=False)]
    assert trace.reads.T.tolist() == [counts.tolist() for counts in expected]
    assert trace.loss.tolist() == [float(np.cumsum(losses)[end - 1]) for end in ends]
    assert (trace.models == ends).all()


def traced(learner: kh.Learner, stream: kh.Stream, bins: int) -> tuple[kh.Ledger, Trace]:
    """The books of a game and its trace."""
    trace = Trace(learner.problem.d, bins)
    return kh.play(learner, stream, keep_predictions=False, observers=[trace]), trace


@pytest.mark.parametrize("name", ["auto", "online-greedy", "random", "mean"])
@pytest.mark.parametrize("blocks", [True, False])
def test_looking_over_the_shoulder_changes_nothing(name: str, blocks: bool) -> None:
    stream, _ = kh.streams.realizable(d=12, k=2, n=500, seed=2)
    problem = kh.Problem(d=12, k=2, budget=5)
    make = kh.LEARNERS[name]
    alone, learner = make(problem, seed=4), make(problem, seed=4)
    plain = kh.play(alone, stream, keep_predictions=False)
    if blocks:
        ledger, trace = traced(learner, stream, bins=20)
    else:
        ledger, trace = traced(OneByOne(learner), stream, bins=20)
    assert ledger.loss == plain.loss == trace.loss[-1]
    assert (ledger.rounds, ledger.most_reads) == (plain.rounds, plain.most_reads)
    assert np.array_equal(ledger.reads, plain.reads)
    assert [c.support for c in ledger.checkpoints] == [c.support for c in plain.checkpoints]
    assert np.array_equal(trace.reads.sum(axis=1), plain.reads)
    assert np.array_equal(trace.models[:, -1], alone.weights)
    marks = {c.round: c for c in plain.checkpoints}
    common = [i for i, end in enumerate(trace.ends.tolist()) if end in marks]
    assert common
    for i in common:
        mark = marks[int(trace.ends[i])]
        assert trace.loss[i] == mark.loss
        assert np.array_equal(trace.reads[:, : i + 1].sum(axis=1), mark.reads)
        assert tuple(np.flatnonzero(trace.models[:, i])) == mark.support


def test_a_cheat_is_still_caught() -> None:
    class Cheat(kh.RunningMean):
        def advance(
            self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
        ) -> Floats:
            assert bought is not None
            predictions = super().advance(X, y, bought)
            bought[:, 0] = 99
            return predictions

    stream, _ = kh.streams.realizable(d=4, k=1, n=50, seed=0)
    with pytest.raises(kh.BudgetError, match="bought"):
        traced(Cheat(kh.Problem(4, 1, 2)), stream, bins=10)
