"""Games of sparse streams are those of the same rows written out, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import keyhole as kh
from keyhole.game import Audit, Observer, PlayedBlock, RunningGame, playing, referee
from keyhole.game.referee import RowBuffer, sell
from keyhole.learners.registry import make_learner
from keyhole.problem import Floats, Learner
from keyhole.problem.rows import LazyRows
from keyhole.streams import ArrayStream, SparseStream
from keyhole.streams.sparse import SparseRow

D, N = 12, 500
PROBLEM = kh.Problem(d=D, k=2, budget=5)


def rows(seed: int = 0, dtype: type = np.float64) -> tuple[Any, Floats]:
    rng = np.random.default_rng(seed)
    X: Any = np.where(rng.random((N, D)) < 0.4, rng.standard_normal((N, D)), 0.0).astype(dtype)
    return X, X[:, 3] - X[:, 7] + 0.1 * rng.standard_normal(N)


def streams(absent: str, dtype: type = np.float64) -> tuple[ArrayStream, SparseStream]:
    X, y = rows(dtype=dtype)
    full = np.where(X == 0, np.nan, X).astype(dtype) if absent == "unknown" else X
    return ArrayStream(full, y), SparseStream(scipy.sparse.csr_array(X), y, absent=absent)


@pytest.fixture
def small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer of seven rows: blocks are cut where nobody expects it."""
    monkeypatch.setattr(referee, "BUFFER_VALUES", 7 * D)
    monkeypatch.setattr(referee, "GOOD_BLOCK_ROWS", 1)


@pytest.mark.usefixtures("small_buffer")
@pytest.mark.parametrize("absent", ["zero", "unknown"])
@pytest.mark.parametrize("name", ["auto", "dual-averaging", "random", "mean"])
def test_the_same_game_to_the_bit(name: str, absent: str) -> None:
    full, sparse = streams(absent)
    ours, theirs = make_learner(name, PROBLEM, 3), make_learner(name, PROBLEM, 3)
    ledger = kh.play(ours, sparse, audit=1.0)
    expected = kh.play(theirs, full)
    assert np.array_equal(ledger.predictions, expected.predictions)
    assert np.array_equal(ledger.reads, expected.reads)
    assert np.array_equal(ours.weights, theirs.weights)


def test_single_rounds_and_blocks_are_the_same_game_of_float32() -> None:
    full, sparse = streams("zero", np.float32)
    singles, blocks = (
        RunningGame(kh.AutoLearner(PROBLEM), in_blocks=False),
        RunningGame(kh.AutoLearner(PROBLEM)),
    )
    for X, y in sparse.lazy_blocks(60):
        singles.play_block(X, y)
        blocks.play_block(X, y)
    expected = kh.play(kh.AutoLearner(PROBLEM), full)
    for game in (singles, blocks):
        assert np.array_equal(game.ledger.predictions, expected.predictions)
    played = list(kh.rounds(kh.AutoLearner(PROBLEM), sparse))
    assert [r.y_hat for r in played] == expected.predictions.tolist()


def test_rows_too_wide_for_a_board_are_played_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    full, sparse = streams("zero")
    monkeypatch.setattr(playing, "buffer_rows", lambda d: 0)
    monkeypatch.setattr(playing, "play_rounds", None)
    ledger = kh.play(kh.AutoLearner(PROBLEM), sparse)
    expected = kh.play(kh.AutoLearner(PROBLEM), RowsFrom(full))
    assert np.array_equal(ledger.predictions, expected.predictions)


class RowsFrom:
    """The rows of a stream, without blocks."""

    def __init__(self, stream: ArrayStream) -> None:
        self.d, self.names, self.rounds, self._stream = stream.d, None, stream.rounds, stream

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return iter(self._stream)


class Unwiped(RowBuffer):
    """The broken twin: what the rows before left is still there."""

    @contextmanager
    def filled_with(self, rows: LazyRows) -> Iterator[NDArray[np.floating]]:
        if not len(self._memory):
            self._memory = np.zeros((len(rows), D))
        rows.write_into(self._memory[: len(rows)])
        yield self._memory[: len(rows)]


@pytest.mark.usefixtures("small_buffer")
def test_a_board_that_is_not_wiped_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "RowBuffer", Unwiped)
    with pytest.raises(kh.BudgetError, match="in block play"):
        kh.play(kh.AutoLearner(PROBLEM), streams("zero")[1], audit=Audit(1.0, seed=0))


class Keeps(kh.RandomSubset):
    """Looks, in each block, whether rows of another block are on the board it was given."""

    board: NDArray[np.floating] | None = None
    left = 0.0

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        base = X if X.base is None else X.base
        assert isinstance(base, np.ndarray)
        self.left += float(np.abs(base[len(X) :]).sum())
        return super().advance(X, y, bought)


@pytest.mark.usefixtures("small_buffer")
def test_a_board_holds_no_rows_but_those_of_the_block() -> None:
    learner = Keeps(PROBLEM)
    kh.play(learner, streams("zero")[1])
    assert learner.left == 0.0


class Raises(kh.RandomSubset):
    """Cannot play its third block."""

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        if self.round > 3:
            raise kh.DataError("no more")
        return super().advance(X, y, bought)


def test_the_board_is_wiped_after_an_error() -> None:
    game, stream = RunningGame(Raises(PROBLEM)), streams("zero")[1]
    X, y = next(stream.lazy_blocks())
    with pytest.raises(kh.DataError, match="no more"):
        game.play_block(X, y)
    assert game._buffer._memory.size
    assert not game._buffer._memory.any()


class Rows(Observer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.X: list[NDArray[np.floating]] = []

    @property
    def room(self) -> int:
        return 9

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        self.X.append(played.X)


def test_observers_are_told_the_rows() -> None:
    full, sparse = streams("zero")
    seen = Rows()
    kh.play(kh.AutoLearner(PROBLEM), sparse, observers=[seen])
    assert np.array_equal(np.concatenate(seen.X), full.X)


def test_selling_a_sparse_row_checks_its_shape_and_the_ticket() -> None:
    row = SparseRow(np.array([4], np.int32), np.array([2.0]), D)
    ticket = kh.RandomSubset(PROBLEM).ask()
    values = sell(PROBLEM, ticket, row).values
    assert values.tolist() == [2.0 if j == 4 else 0.0 for j in ticket.features]
    with pytest.raises(kh.DataError, match="must have 12 features"):
        sell(PROBLEM, ticket, SparseRow(row._indices, row._values, D + 1))
    with pytest.raises(kh.DataError, match="a block needs 12 features"):
        RunningGame(kh.AutoLearner(PROBLEM)).play_block(streams("zero")[1]._rows[:3], np.zeros(2))
