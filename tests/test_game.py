"""The referee: sells what the budget allows, catches cheats, plays rounds and blocks alike."""

import io
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.problem import Floats
from keyhole.testing.tools import RowsOnly

PROBLEM = kh.Problem(d=5, k=1, budget=2)
X = np.arange(40.0).reshape(8, 5)
Y = np.linspace(-1, 1, 8)
STREAM = kh.streams.ArrayStream(X, Y)


class Buyer(kh.Zero):
    """Asks for what it is told to ask for."""

    def __init__(self, features: list[int], problem: kh.Problem = PROBLEM) -> None:
        super().__init__(problem)
        self.features = features
        self.seen: list[kh.Observation] = []

    def ask(self) -> kh.Ticket:
        return self._desk.issue(self.features)

    def tell(self, seen: kh.Observation, y: float) -> None:
        super().tell(seen, y)
        self.seen.append(seen)


class BlockBuyer(Buyer):
    """Says it bought the given rows in block play."""

    def __init__(self, rows: list[list[int]]) -> None:
        super().__init__([])
        self.rows = rows

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        assert bought is not None
        bought[:] = np.array(self.rows[: len(y)])
        return super().advance(X, y)


def test_sell_hands_over_a_copy_of_what_was_bought_and_nothing_else() -> None:
    row = X[3].copy()
    seen = kh.sell(PROBLEM, kh.Ticket(1, np.array([1, 4])), row)
    row[:] = -1
    assert seen.values.tolist() == [16.0, 19.0]
    base = seen.values.base
    assert base is None or base.size == 2, "no way back to the row"


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([0, 1, 2], "round 1: the ticket asks for 3 features, the budget is 2"),
        ([0, 5], "features run from 0 to 4, the ticket asks for [0, 5]"),
    ],
)
def test_an_overspending_or_out_of_range_ticket_is_refused(
    features: list[int], message: str
) -> None:
    for stream in (STREAM, RowsOnly(STREAM)):
        learner = Buyer(features)
        with pytest.raises(kh.BudgetError, match=re.escape(message)):
            list(kh.rounds(learner, stream))
        assert not learner.seen


def test_a_ticket_with_duplicates_is_refused_even_when_smuggled_past_the_constructor() -> None:
    with pytest.raises(kh.BudgetError, match="feature 3 twice"):
        Buyer([3, 3]).ask()
    ticket = kh.Ticket(1, np.array([3, 4]))
    object.__setattr__(ticket, "features", np.array([3, 3]))
    with pytest.raises(kh.BudgetError, match="each once"):
        kh.sell(PROBLEM, ticket, X[0])


def test_asking_twice_for_one_example_is_caught() -> None:
    class AsksTwice(Buyer):
        def ask(self) -> kh.Ticket:
            super().ask()
            return super().ask()

    with pytest.raises(kh.BudgetError, match="round 1 says it is of round 2"):
        list(kh.rounds(AsksTwice([0]), STREAM))


def test_keeping_what_was_handed_over_gives_no_access_to_the_row() -> None:
    learner = Buyer([0, 2])
    list(kh.rounds(learner, STREAM))
    for seen in learner.seen:
        assert seen.values.shape == (2,)
        assert seen.values.base is None or seen.values.base.size == 2
        assert not seen.values.flags.writeable


@pytest.mark.parametrize(
    "row", [[0, 0], [1, 0], [-1, 2], [5, -1], [-2, -1]], ids=lambda row: str(row)
)
def test_block_play_is_audited(row: list[int]) -> None:
    good = [[0, 3], [2, -1], [-1, -1], [4, -1]]
    kh.play(BlockBuyer(good), STREAM, rounds=4)
    with pytest.raises(kh.BudgetError, match=r"round \d: block play bought"):
        kh.play(BlockBuyer([row] * 8), STREAM)


def test_block_play_keeps_books_of_what_was_bought() -> None:
    class Always(BlockBuyer):
        def __init__(self) -> None:
            super().__init__([[0, 3]] * 8)

    ledger = kh.play(Always(), STREAM)
    assert ledger.reads.tolist() == [8, 0, 0, 8, 0]
    assert (ledger.mean_reads, ledger.most_reads) == (2.0, 2)


@pytest.mark.parametrize("stream", [STREAM, RowsOnly(STREAM)], ids=["blocks", "rows"])
@pytest.mark.parametrize("n", [0, 1, 5, 8, None])
def test_play_stops_after_the_given_rounds(stream: Any, n: int | None) -> None:
    learner = kh.RunningMean(PROBLEM)
    ledger = kh.play(learner, stream, rounds=n)
    assert ledger.rounds == learner.round == (8 if n is None else n)


def test_a_second_call_plays_the_next_part() -> None:
    whole_learner, learner = kh.RunningMean(PROBLEM), kh.RunningMean(PROBLEM)
    whole = kh.play(whole_learner, STREAM)
    first = kh.play(learner, kh.streams.ArrayStream(X[:3], Y[:3]))
    second = kh.play(learner, kh.streams.ArrayStream(X[3:], Y[3:]))
    assert second.first_round == 4
    both = first + second
    assert both.predictions.tolist() == whole.predictions.tolist()
    assert [c.round for c in both.checkpoints] == [c.round for c in whole.checkpoints]
    assert both.loss == pytest.approx(whole.loss, rel=1e-12)


def test_learner_and_stream_must_fit() -> None:
    with pytest.raises(kh.ProblemError, match="problem has 5 features, the stream 2"):
        kh.play(kh.Zero(PROBLEM), kh.streams.ArrayStream(X[:, :2], Y))
    named = kh.Problem(5, 1, 2, names=list("abcde"))
    other = kh.streams.ArrayStream(X, Y, names=list("abxde"))
    with pytest.raises(kh.ProblemError, match="'c' against 'x'"):
        kh.play(kh.Zero(named), other)
    assert kh.play(kh.Zero(named), STREAM).rounds == 8, "a stream without names goes with any"


def test_predictions_must_be_finite() -> None:
    class Wild(kh.Zero):
        def predict(self, seen: kh.Observation) -> float:
            return float("nan")

        def advance(
            self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
        ) -> Floats:
            super().advance(X, y)
            return np.full(len(y), np.nan)

    for stream in (STREAM, RowsOnly(STREAM)):
        with pytest.raises(kh.DataError, match="round 1: the learner predicted nan"):
            kh.play(Wild(PROBLEM), stream)


def test_progress_is_called_with_the_ledger() -> None:
    calls: list[int] = []
    kh.play(kh.Zero(PROBLEM), STREAM, progress=lambda ledger: calls.append(ledger.rounds))
    assert calls[-1] == 8


def test_the_progress_line_is_for_terminals_and_patient() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    ledger = kh.play(kh.Zero(PROBLEM), STREAM)
    screen, file = Terminal(), io.StringIO()
    line, silent = kh.ProgressLine(8, screen), kh.ProgressLine(8, file)
    line(ledger)
    assert screen.getvalue() == "", "nothing in the first two seconds"
    line._start -= 10
    silent._start -= 10
    line(ledger)
    silent(ledger)
    assert "8 of 8 rounds" in screen.getvalue()
    assert screen.getvalue().endswith("\n")
    assert file.getvalue() == ""
