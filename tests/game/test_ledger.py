"""The ledger: sums that add, checkpoints, and block entries equal to single ones to the bit."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.game.ledger import Ledger, next_checkpoint
from keyhole.game.read_counts import ReadCounts
from keyhole.problem import DataError, Problem, Round

PROBLEM = Problem(d=6, k=1, budget=3)


def played(n: int, seed: int = 0) -> list[Round]:
    rng = np.random.default_rng(seed)
    return [
        Round(
            t,
            np.sort(rng.choice(6, size=rng.integers(0, 4), replace=False)),
            rng.normal(),
            rng.normal(),
        )
        for t in range(1, n + 1)
    ]


def book(rounds: list[Round]) -> Ledger:
    ledger = Ledger(PROBLEM)
    for r in rounds:
        ledger.add(r)
        if r.round % 5 == 0:
            ledger.mark(np.where(np.arange(6) == r.round % 3, 1.0, 0.0))
    return ledger


def test_books() -> None:
    rounds = played(40)
    ledger = book(rounds)
    assert ledger.loss == pytest.approx(sum(r.loss for r in rounds))
    assert ledger.reads.tolist() == [sum(j in r.features for r in rounds) for j in range(6)]
    assert ledger.mean_reads == sum(len(r.features) for r in rounds) / 40
    assert ledger.most_reads == max(len(r.features) for r in rounds)
    assert ledger.predictions.tolist() == [r.y_hat for r in rounds]
    assert ledger.mean_loss == ledger.loss / 40
    assert [c.round for c in ledger.checkpoints] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert ledger.checkpoints[1].support == (1,)
    # round % 3 at the checkpoints: 2 1 0 2 1 0 2 1, a change every time
    assert ledger.support_changes == 7
    assert "40 rounds" in str(ledger)
    assert str(Ledger(PROBLEM)) == "no rounds yet"


@given(st.integers(0, 30), st.integers(0, 30))
def test_ledgers_of_consecutive_parts_add(cut: int, more: int) -> None:
    rounds = played(cut + more)
    whole, sum_ = book(rounds), book(rounds[:cut]) + book(rounds[cut:])
    assert (sum_.first_round, sum_.rounds) == (1, cut + more)
    assert sum_.loss == pytest.approx(whole.loss, rel=1e-12)
    assert sum_.reads.tolist() == whole.reads.tolist()
    assert sum_.most_reads == whole.most_reads
    assert sum_.predictions.tolist() == whole.predictions.tolist()
    assert sum_.support_changes == whole.support_changes
    for ours, theirs in zip(sum_.checkpoints, whole.checkpoints, strict=True):
        assert (ours.round, ours.support) == (theirs.round, theirs.support)
        assert ours.loss == pytest.approx(theirs.loss, rel=1e-12)
        assert ours.reads.tolist() == theirs.reads.tolist()


def test_only_consecutive_ledgers_of_one_problem_add() -> None:
    rounds = played(10)
    with pytest.raises(DataError, match="ends with round 4, the second begins with round 6"):
        book(rounds[:4]) + book(rounds[5:])
    with pytest.raises(DataError, match="different problems"):
        book(rounds) + Ledger(Problem(7, 1, 3))
    with pytest.raises(DataError, match="round 3 cannot follow round 1"):
        book([rounds[0], rounds[2]])


@given(st.lists(st.integers(1, 9), max_size=6))
def test_block_entries_equal_single_ones_to_the_bit(sizes: list[int]) -> None:
    rounds = played(sum(sizes), seed=1)
    single, blocks = Ledger(PROBLEM), Ledger(PROBLEM)
    for r in rounds:
        single.add(r)
    for stop, size in zip(itertools.accumulate(sizes), sizes, strict=True):
        part = rounds[stop - size : stop]
        bought = np.full((size, 3), -1, dtype=np.int32)
        for row, r in zip(bought, part, strict=True):
            row[: len(r.features)] = r.features
        y, y_hat = np.array([r.y for r in part]), np.array([r.y_hat for r in part])
        blocks.add_block(part[0].round, bought, y, y_hat)
    assert blocks.loss == single.loss
    assert blocks.reads.tolist() == single.reads.tolist()
    assert blocks.most_reads == single.most_reads
    assert blocks.predictions.tobytes() == single.predictions.tobytes()


def test_without_predictions_a_ledger_stays_small() -> None:
    ledger = Ledger(PROBLEM, keep_predictions=False)
    for r in played(100):
        ledger.add(r)
    assert len(ledger.predictions) == 0
    assert ledger.rounds == 100


@given(st.integers(0, 10**12))
def test_checkpoints_are_log_spaced(t: int) -> None:
    after = next_checkpoint(t)
    assert t < after <= max(t + 1, np.ceil(t * 2 ** (1 / 8)))
    assert next_checkpoint(after - 1) == after, "the schedule does not depend on where one starts"


def test_an_empty_ledger_and_one_by_hand() -> None:
    ledger = Ledger(PROBLEM)
    assert (ledger.first_round, ledger.last_round) == (1, 0)
    assert (ledger.rounds, ledger.loss, ledger.seconds, ledger.most_reads) == (0, 0.0, 0.0, 0)
    assert not ledger.reads.any()
    ledger.add(Round(3, np.array([], dtype=np.int64), 1.0, 1.0))
    assert (ledger.first_round, ledger.last_round, ledger.most_reads) == (3, 3, 0)
    ledger.add(Round(4, np.array([0, 2, 5]), 3.0, 1.0))
    assert (ledger.most_reads, ledger.mean_reads, ledger.mean_loss) == (3, 1.5, 2.0)
    # 1.5 of 6 features: a quarter is read, three quarters are saved
    assert str(ledger) == (
        "2 rounds, mean squared loss 2, 1.5 of 6 features read per example (75% saved)"
    )
    wide = Ledger(Problem(d=20_000, k=2, budget=3))
    wide.add(Round(1, np.array([7]), 1.0, 1.0))
    assert "1.0 of 20,000 features" in str(wide)


def test_a_block_must_follow_and_counts_its_own_most_reads() -> None:
    bought = np.array([[-1, -1, -1], [4, -1, -1]], dtype=np.int32)
    ledger = Ledger(PROBLEM)
    ledger.add_block(1, bought[:1], np.zeros(1), np.zeros(1))
    assert ledger.most_reads == 0
    with pytest.raises(DataError, match="round 1 cannot follow round 1"):
        ledger.add_block(1, bought, np.zeros(2), np.zeros(2))
    with pytest.raises(DataError, match="round 3 cannot follow round 1"):
        ledger.add_block(3, bought, np.zeros(2), np.zeros(2))
    assert ledger.rounds == 1
    ledger.add_block(2, bought, np.ones(2), np.zeros(2))
    assert (ledger.rounds, ledger.most_reads, ledger.loss) == (3, 1, 2.0)
    assert ledger.reads.tolist() == [0, 0, 0, 0, 1, 0]
    ledger.add_block(4, bought[:0], np.empty(0), np.empty(0))
    assert (ledger.rounds, ledger.most_reads) == (3, 1)


def test_sums_of_ledgers_add_seconds_and_keep_what_both_kept() -> None:
    rounds = played(4)
    for keeps in itertools.product([True, False], repeat=2):
        parts = [Ledger(PROBLEM, keep_predictions=keep) for keep in keeps]
        for ledger, some in zip(parts, (rounds[:2], rounds[2:]), strict=True):
            for r in some:
                ledger.add(r)
        parts[0].seconds, parts[1].seconds = 2.0, 0.5
        both = parts[0] + parts[1]
        assert both.seconds == 2.5
        assert both.keep_predictions == all(keeps)
        assert len(both.predictions) == (4 if all(keeps) else 0)


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=8), st.integers(0, 99))
def test_checkpoints_have_the_reads_of_their_time(steps: list[tuple[int, bool]], seed: int) -> None:
    """Kept as differences, few or many of them, they are what copies would be."""
    rng, counts = np.random.default_rng(seed), ReadCounts(20)
    marks, copies = [], []
    for many, marked in steps:
        counts.add(rng.integers(0, 20, many).astype(np.int32))
        if marked:
            marks.append(counts.mark())
            copies.append(counts.now.copy())
    assert [counts.at(mark).tolist() for mark in marks] == [copy.tolist() for copy in copies]
    later = ReadCounts(20)
    later.add(rng.integers(0, 20, 5))
    mark = later.mark()
    later.add(rng.integers(0, 20, 30))
    both, moved = counts.then(later)
    assert both.at(moved + mark).tolist() == (counts.now + later.at(mark)).tolist()
    assert both.at(both.mark()).tolist() == both.now.tolist()
    assert both.total == counts.total + later.total == both.now.sum()


def test_books_of_very_many_features_grow_with_what_is_read() -> None:
    d, rounds, budget = 300_000, 200, 4
    ledger, rng = Ledger(Problem(d, 1, budget)), np.random.default_rng(0)
    weights = np.zeros(d)
    ledger.mark(weights)
    tracemalloc.start()
    try:
        for t in range(1, rounds + 1):
            ledger.add(Round(t, np.sort(rng.choice(1_000, budget, replace=False)), 0.0, 0.0))
            ledger.mark(weights)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    # Of each checkpoint four features and their counts, 12 bytes each, and a few objects.
    assert kept < rounds * 2_000
    assert kept < 8 * d  # broken twin: less than one copy of all counts, let alone one each
    assert ledger.checkpoints[150].reads.sum() == 150 * budget


def test_the_first_round_is_known_apart() -> None:
    problem = Problem(d=2, k=1, budget=1)
    bought = np.full((3, 1), -1, dtype=np.int32)
    y, y_hat = np.array([10.0, 2.0, 5.0]), np.array([0.0, 1.0, 3.0])
    block, single, parts = Ledger(problem), Ledger(problem), Ledger(problem)
    assert block.first_loss == 0.0
    assert math.isnan(block.later_mean_loss)
    block.add_block(1, bought[:0], y[:0], y_hat[:0])
    block.add_block(1, bought, y, y_hat)
    for t in range(3):
        one = Ledger(problem)
        single.add(Round(t + 1, np.array([], dtype=np.int64), float(y[t]), float(y_hat[t])))
        one.add_block(t + 1, bought[t : t + 1], y[t : t + 1], y_hat[t : t + 1])
        parts = parts + one
    for ledger in (block, single, parts):
        assert ledger.first_loss == 100.0
        assert ledger.later_loss == 5.0
        assert ledger.later_mean_loss == 2.5
