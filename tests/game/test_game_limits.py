"""How many rounds are played: limits inside a block, at its end, beyond the stream."""

import io
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.game import PlayedBlock
from keyhole.game.ledger import Ledger
from keyhole.game.observer import ten_times_a_second
from keyhole.problem import Floats
from keyhole.streams.arrays import LabelledRows
from keyhole.testing.helpers import RowsOnly

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2_500, 6))
Y = X[:, 2] + RNG.standard_normal(2_500)
PROBLEM = kh.Problem(d=6, k=2, budget=3)


class Blocks(kh.streams.ArrayStream):
    """Rows in blocks of 700, so that limits fall inside of blocks and at their ends."""

    def blocks(self, rows: int | None = None) -> Iterator[LabelledRows]:
        """Blocks of 700 rows."""
        return super().blocks(700)


@pytest.mark.parametrize("rounds", [0, 1, 699, 700, 701, 1000, 1400, 2500, 9999])
def test_a_limit_is_kept_by_blocks_and_by_rows(rounds: int) -> None:
    expected = min(rounds, 2_500)
    for stream in (Blocks(X, Y), RowsOnly(Blocks(X, Y))):
        learner = kh.RunningMean(PROBLEM)
        ledger = kh.play(learner, stream, rounds=rounds)
        assert (ledger.rounds, learner.round) == (expected, expected)
        before = np.append(0.0, np.cumsum(Y) / np.arange(1, 2_501))[:expected]
        np.testing.assert_allclose(ledger.predictions, before, atol=1e-12)
        loss = float(((Y[:expected] - before) ** 2).sum())
        assert ledger.loss == pytest.approx(loss, rel=1e-9)


def test_a_limit_counts_the_rounds_of_this_game_alone() -> None:
    learner = kh.RunningMean(PROBLEM)
    kh.play(learner, Blocks(X, Y), rounds=300)
    later = kh.play(learner, Blocks(X, Y), rounds=1000)
    assert (later.first_round, later.rounds, learner.round) == (301, 1000, 1300)


class Screen(io.StringIO):
    """A terminal that counts how often it was flushed."""

    flushed = 0

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.flushed += 1


def at(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr("time.perf_counter", lambda: seconds)


def test_progress_is_told_at_most_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    told, ledger = list[Ledger](), Ledger(PROBLEM)
    at(monkeypatch, 50.0)
    report = ten_times_a_second(told.append, ledger)
    for now, calls in [(50.0, 0), (50.09, 0), (50.125, 1), (50.2, 1), (50.25, 2), (51.0, 3)]:
        at(monkeypatch, now)
        report()
        assert len(told) == calls
    assert told[0] is ledger
    ten_times_a_second(None, ledger)()


def test_the_line_begins_with_the_third_second(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, ledger = Screen(), kh.play(kh.Zero(PROBLEM), kh.streams.ArrayStream(X[:8], Y[:8]))
    at(monkeypatch, 100.0)
    line, open_end = kh.ProgressLine(8, screen), kh.ProgressLine(file=screen)
    at(monkeypatch, 101.9)
    line(ledger)
    assert (screen.getvalue(), screen.flushed) == ("", 0)
    at(monkeypatch, 102.0)
    line(ledger)
    text = f"8 of 8 rounds, 4/s, mean loss {ledger.mean_loss:.4g}"
    assert screen.getvalue() == f"\r\x1b[2K{text}\n"
    assert screen.flushed == 1
    open_end(ledger)
    rest = screen.getvalue().removeprefix(f"\r\x1b[2K{text}\n")
    assert rest == f"\r\x1b[2K8 rounds, 4/s, mean loss {ledger.mean_loss:.4g}"


@pytest.mark.parametrize("shape", [(5,), (7,), (6, 1), (1, 6), ()])
def test_a_row_of_another_shape_is_not_sold(shape: tuple[int, ...]) -> None:
    ticket = kh.Ticket(1, np.array([0, 2]))
    with pytest.raises(kh.DataError, match="a row must have 6 features, got shape"):
        kh.sell(PROBLEM, ticket, np.zeros(shape))
    assert kh.sell(PROBLEM, ticket, np.arange(6.0)).values.tolist() == [0.0, 2.0]


class BadLabel(Blocks):
    """Hands out a label that is not a number in the third round."""

    def blocks(self, rows: int | None = None) -> Iterator[LabelledRows]:
        for block, labels in super().blocks(rows):
            told = labels.copy()
            told[[2, 4]] = np.nan, np.inf
            yield block, told


class Infinite(kh.RunningMean):
    """Predicts something infinite in round 13, and in no block before."""

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        first = self.round + 1
        predictions = super().advance(X, y, bought).copy()
        predictions[first + np.arange(len(y)) >= 13] = np.inf
        return predictions


def test_labels_and_predictions_of_blocks_must_be_finite() -> None:
    learner = kh.RunningMean(PROBLEM)
    with pytest.raises(kh.DataError, match="label"):
        kh.play(learner, BadLabel(X, Y))
    with pytest.raises((kh.DataError, kh.BudgetError), match=r"round 13\b"):
        kh.play(Infinite(PROBLEM), Blocks(X, Y))


def test_losses_of_a_played_block_are_squared_errors() -> None:
    y, y_hat = np.array([1.0, 2.0, -1.0]), np.array([1.0, -1.0, 1.0])
    block = PlayedBlock(4, np.zeros((3, 6)), y, y_hat, np.full((3, 3), -1, dtype=np.int32))
    assert block.losses.tolist() == [0.0, 9.0, 4.0]
    part = block.part(1, 3)
    assert (part.first_round, part.losses.tolist()) == (5, [9.0, 4.0])
