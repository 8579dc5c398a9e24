"""The referee: sells what the budget allows, catches cheats, plays rounds and blocks alike."""

import io
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.game import Observer, PlayedBlock
from keyhole.problem import Floats
from keyhole.testing.helpers import RowsOnly
from tests.helpers.one_by_one import OneByOne

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

    def ask(self, *, steps: bool = False) -> kh.Ticket:
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
        def ask(self, *, steps: bool = False) -> kh.Ticket:
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
        with pytest.raises(kh.DataError, match="round 1: Wild predicted nan"):
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


class Diary(Observer):
    """Writes down everything it is told, and how the learner was at the time."""

    def __init__(self, rooms: list[int | None], enough_after: int = 10**9) -> None:
        self.rooms = rooms
        self.enough_after = enough_after
        self.entries: list[PlayedBlock] = []
        self.weights: list[Floats] = []
        self.finished = 0

    @property
    def room(self) -> int | None:
        return self.rooms[len(self.entries) % len(self.rooms)]

    @property
    def played(self) -> int:
        return sum(len(entry.y) for entry in self.entries)

    def enough(self) -> bool:
        return self.played >= self.enough_after

    def after_block(self, played: PlayedBlock, learner: kh.Learner) -> None:
        rows = (played.X.copy(), played.y.copy(), played.y_hat.copy(), played.bought.copy())
        self.entries.append(PlayedBlock(played.first_round, *rows))
        self.weights.append(learner.weights.copy())

    def finish(self, learner: kh.Learner) -> None:
        self.finished += 1


def observed(learner: kh.Learner, stream: kh.Stream, *diaries: Diary) -> kh.Ledger:
    return kh.play(learner, stream, observers=diaries)


def same(a: Diary, b: Diary) -> None:
    """Both were told the same, in the same pieces, to the last bit."""
    assert [e.first_round for e in a.entries] == [e.first_round for e in b.entries]
    for ours, theirs in zip(a.entries, b.entries, strict=True):
        for mine, yours in zip(ours[1:], theirs[1:], strict=True):
            assert np.asarray(mine).tobytes() == np.asarray(yours).tobytes()
    assert [w.tobytes() for w in a.weights] == [w.tobytes() for w in b.weights]


# Blocks of 100 rows, checkpoints everywhere: rooms that fall on neither and on both.
ROOMS: list[list[int | None]] = [[None], [7], [1, 2, 50, None, 3], [100], [0]]


@pytest.mark.parametrize("rooms", ROOMS, ids=str)
def test_observers_are_told_the_same_of_blocks_and_of_single_rounds(
    rooms: list[int | None],
) -> None:
    stream, _ = kh.streams.realizable(d=12, k=2, n=350, seed=2)
    hundreds = kh.streams.GeneratedStream(12, 350, lambda: stream.blocks(100))
    problem = kh.Problem(d=12, k=2, budget=5)
    alone, learner = kh.RandomSubset(problem, seed=4), kh.RandomSubset(problem, seed=4)
    plain = kh.play(alone, hundreds)
    blocks, beside, singles, rows = Diary(rooms), Diary([13]), Diary(rooms), Diary(rooms)
    ledger = observed(learner, hundreds, blocks, beside)
    observed(OneByOne(kh.RandomSubset(problem, seed=4)), hundreds, singles)
    observed(kh.RandomSubset(problem, seed=4), RowsOnly(hundreds), rows)
    same(blocks, singles)

    # Looking changes nothing.
    assert ledger.loss == plain.loss
    assert ledger.predictions.tobytes() == plain.predictions.tobytes()
    assert [(c.round, c.loss, c.support) for c in ledger.checkpoints] == [
        (c.round, c.loss, c.support) for c in plain.checkpoints
    ]
    assert learner.weights.tobytes() == alone.weights.tobytes()

    # And what is told is what happened, however it is cut; a stream of rows is told row by row.
    X, y = kh.streams.collect(stream)
    assert {len(entry.y) for entry in rows.entries} == {1}
    for diary in (blocks, beside, singles, rows):
        assert {entry.ends for entry in diary.entries} == {None}  # nobody asked for intervals
        parts = zip(*(entry[1:5] for entry in diary.entries), strict=True)
        whole = [np.concatenate(part) for part in parts]
        assert diary.entries[0].first_round == 1
        assert whole[0].tobytes() == X.tobytes()
        assert whole[1].tobytes() == y.tobytes()
        assert whole[2].tobytes() == plain.predictions.tobytes()
        assert np.bincount(whole[3][whole[3] >= 0], minlength=12).tolist() == plain.reads.tolist()
        assert diary.finished == 1


def test_an_observer_without_wishes_is_told_of_blocks_as_the_stream_has_them() -> None:
    stream = kh.streams.GeneratedStream(5, 8, lambda: iter([(X[:5], Y[:5]), (X[5:], Y[5:])]))
    calm, hurried = Diary([None]), Diary([2])
    observed(kh.RunningMean(PROBLEM), stream, calm, hurried)
    assert [len(entry.y) for entry in calm.entries] == [5, 3]
    assert [len(entry.y) for entry in hurried.entries] == [2, 2, 1, 2, 1]
    limited = Diary([None])
    kh.play(kh.RunningMean(PROBLEM), stream, rounds=6, observers=[limited])
    assert [len(entry.y) for entry in limited.entries] == [5, 1]


def test_observers_see_the_learner_as_it_was_after_their_rounds() -> None:
    stream, _ = kh.streams.realizable(d=6, k=2, n=64, seed=2)
    problem = kh.Problem(d=6, k=2, budget=3)
    diary = Diary([10])
    observed(kh.FixedSubset(problem, support=[1, 4]), stream, diary)
    for entry, weights in zip(diary.entries, diary.weights, strict=True):
        learner = kh.FixedSubset(problem, support=[1, 4])
        kh.play(learner, stream, rounds=entry.first_round + len(entry.y) - 1)
        assert learner.weights.tobytes() == weights.tobytes()


@pytest.mark.parametrize("rows_only", [False, True])
def test_an_observer_can_end_the_game_between_two_blocks(rows_only: bool) -> None:
    stream = kh.streams.GeneratedStream(5, 8, lambda: iter([(X[:5], Y[:5]), (X[5:], Y[5:])]))
    for enough_after, in_blocks in ((0, 0), (1, 5), (5, 5), (6, 8), (8, 8)):
        diary = Diary([1], enough_after)
        learner = kh.RunningMean(PROBLEM)
        ledger = observed(learner, RowsOnly(stream) if rows_only else stream, diary)
        expected = enough_after if rows_only else in_blocks
        assert ledger.rounds == learner.round == diary.played == expected
        assert diary.finished == 1


@pytest.mark.parametrize("stream", [STREAM, RowsOnly(STREAM)], ids=["blocks", "rows"])
def test_the_ledger_says_how_long_the_learner_took(
    stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)

    class Slow(kh.Zero):
        def _predict(self, seen: kh.Observation) -> float:
            nonlocal now
            now += 1.0
            return 0.0

    class Slower(Observer):
        def after_block(self, played: PlayedBlock, learner: kh.Learner) -> None:
            nonlocal now
            now += 100.0

    ledger = kh.play(OneByOne(Slow(PROBLEM)), stream, observers=[Slower()])
    assert ledger.seconds == 8.0, "observers take their time, not the learner's"
    assert (ledger + kh.Ledger(PROBLEM)).seconds == 8.0
