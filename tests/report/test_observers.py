"""Whoever watches a game finds out what it would have found out in a pass of its own."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.analysis.hindsight import best_of_prefixes
from keyhole.game import Observer, PlayedBlock
from keyhole.problem import BlockStream, Floats
from keyhole.report import About, Recorder, Run, Scope, record
from keyhole.report.observers import PrefixObserver, Rival
from keyhole.testing.helpers import size_of
from tests.helpers.one_by_one import OneByOne

PROBLEM = kh.Problem(d=12, k=2, budget=5)


class Counted:
    """A stream that counts how often it is gone through, and may not say how long it is."""

    def __init__(self, stream: BlockStream, *, known: bool = True) -> None:
        self.d, self.names = stream.d, stream.names
        self.rounds = stream.rounds if known else None
        self.passes = 0
        self._stream = stream

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        raise AssertionError("blocks are there to be used")

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.floating], Floats]]:
        self.passes += 1
        return self._stream.blocks(rows)


class StopsAfter(Observer):
    """Ends a game after so many rounds, or in the block that has them."""

    def __init__(self, rounds: int) -> None:
        self.left = rounds

    def enough(self) -> bool:
        return self.left <= 0

    def after_block(self, played: PlayedBlock, learner: kh.Learner) -> None:
        self.left -= len(played.y)


def stream(n: int = 900) -> kh.streams.ArrayStream:
    """Rows with gaps, far from zero, in blocks of 64."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 12)) + 50.0
    y = X[:, 3] - 2 * X[:, 7] + rng.normal(size=n)
    X[rng.random(X.shape) < 0.02] = np.nan
    return kh.streams.ArrayStream(X, y)


def in_blocks(n: int = 900, rows: int = 64) -> kh.streams.GeneratedStream:
    whole = stream(n)
    return kh.streams.GeneratedStream(12, n, lambda: whole.blocks(rows))


def same(one: Run, other: Run) -> None:
    """Two runs of the same numbers, to the last bit."""
    for name in ("ends", "loss", "reads", "models", "spread"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert one.best.weights.tobytes() == other.best.weights.tobytes()
    assert (one.best.loss, one.best.intercept) == (other.best.loss, other.best.intercept)
    for name in ("rounds", "low", "high"):
        assert getattr(one.regret, name).tobytes() == getattr(other.regret, name).tobytes(), name
    assert one.best_with_past is not None
    assert other.best_with_past is not None
    assert one.best_with_past.loss == other.best_with_past.loss
    for ours, theirs in zip(one.baselines, other.baselines, strict=True):
        assert (ours.name, ours.reads) == (theirs.name, theirs.reads)
        assert ours.loss.tobytes() == theirs.loss.tobytes()
    assert str(one.diagnosis) == str(other.diagnosis)


@pytest.mark.parametrize("singly", [False, True])
def test_a_rival_plays_the_game_it_would_play_alone(singly: bool) -> None:
    alone = kh.RandomSubset(PROBLEM, seed=3)
    ledger = kh.play(alone, in_blocks(), keep_predictions=False)
    learner: kh.Learner = kh.RandomSubset(PROBLEM, seed=3)
    rival = Rival(OneByOne(learner) if singly else learner, bins=20)
    kh.play(kh.Zero(PROBLEM), in_blocks(), observers=[rival])
    assert rival.ledger.loss == ledger.loss == rival.trace.loss[-1]
    assert rival.ledger.reads.tolist() == ledger.reads.tolist()
    assert [c.support for c in rival.ledger.checkpoints] == [c.support for c in ledger.checkpoints]
    assert rival.trace.models[:, -1].tobytes() == alone.weights.tobytes()
    assert learner.weights.tobytes() == alone.weights.tobytes()


def test_a_rival_gives_up() -> None:
    for most, gives_up in ((899, True), (900, False)):
        rival = Rival(kh.RunningMean(PROBLEM), bins=20, most_rounds=most)
        kh.play(kh.Zero(PROBLEM), in_blocks(), observers=[rival])
        assert rival.gave_up == gives_up
        assert (rival.ledger.rounds == 900) == (not gives_up)


@pytest.mark.parametrize("intercept", [False, True])
def test_prefixes_are_those_of_a_pass_of_their_own(intercept: bool) -> None:
    ends = [1, 5, 64, 65, 400, 900]
    expected = kh.hindsight_curve(in_blocks(), 2, ends, intercept=intercept)
    watched = PrefixObserver(12, ends, intercept=intercept)
    kh.play(kh.RandomSubset(PROBLEM, seed=1), in_blocks(), observers=[watched])
    found = best_of_prefixes(watched.prefixes, len(ends), 2, 10.0)
    assert [best.rounds for best in found] == ends
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.loss == theirs.loss
        assert ours.weights.tobytes() == theirs.weights.tobytes()


def test_without_ends_there_is_the_whole() -> None:
    whole = PrefixObserver(12, intercept=True)
    kh.play(kh.Zero(PROBLEM), in_blocks(), observers=[whole])
    best = whole.prefixes[-1].best(2, 10.0)
    assert best.loss == kh.hindsight(in_blocks(), 2, intercept=True).loss
    beside = whole.beside_past().best(2, 10.0)
    assert beside.loss == kh.hindsight(in_blocks(), 2, intercept=True, past=True).loss


def test_a_report_takes_one_pass() -> None:
    counted = Counted(in_blocks())
    run = record(kh.RandomSubset(PROBLEM, seed=1), counted, seconds=30.0)
    assert counted.passes == 1
    assert str(run.diagnosis) == str(kh.diagnose(in_blocks(), 2, 5, seconds=18.0))


def test_a_stream_that_does_not_say_how_long_it_is_is_read_once_more() -> None:
    counted = Counted(in_blocks(), known=False)
    run = record(kh.RandomSubset(PROBLEM, seed=1), counted, seconds=30.0)
    assert counted.passes == 2
    same(run, record(kh.RandomSubset(PROBLEM, seed=1), in_blocks(), seconds=30.0))


def test_a_game_that_was_ended_is_a_run_of_what_was_played() -> None:
    counted = Counted(in_blocks())
    scope, learner = Scope(seconds=30.0), kh.RandomSubset(PROBLEM, seed=1)
    recorder = Recorder(learner, counted, About(), scope)
    run = recorder.record(observers=[StopsAfter(100)])
    assert run.ledger.rounds == recorder.mean.ledger.rounds == 128
    assert recorder.last.ledger.rounds == 128
    part = kh.streams.take(in_blocks(), 128)
    same(run, record(kh.RandomSubset(PROBLEM, seed=1), part, seconds=30.0))


def test_memory_does_not_grow_with_the_rounds() -> None:
    sizes = []
    for n in (4_096, 16_384):
        rows, _ = kh.streams.realizable(d=12, k=2, n=n, seed=0)
        recorder = Recorder(kh.RunningMean(PROBLEM), rows, About(), Scope(diagnosed=False))
        recorder.record()
        sizes.append(size_of(recorder))
    # Two doublings: eight checkpoints for each in three ledgers, of 12 reads and a few numbers.
    # Four bytes a round would be 49,152.
    assert sizes[1] - sizes[0] < 2 * 3 * 8 * 1_000
