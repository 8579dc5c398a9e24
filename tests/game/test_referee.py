"""What a learner is handed, what it hands back, and what it says about itself: nobody is fooled."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.game import Observer, PlayedBlock, RunningGame
from keyhole.problem import Floats
from keyhole.testing.helpers import RowsOnly

PROBLEM = kh.Problem(d=5, k=1, budget=2)
X = np.random.default_rng(0).standard_normal((300, 5))
Y = X[:, 2] + 1.0
Bought = NDArray[np.int32] | None
Advance = Callable[["Puppet", NDArray[np.floating], Floats, NDArray[np.int32]], Any]


def stream() -> kh.streams.ArrayStream:
    return kh.streams.ArrayStream(X.copy(), Y.copy())


class Puppet(kh.Zero):
    """Plays blocks by a function; predicts and asks by one if there is one."""

    def __init__(self, advance: Advance | None = None, predict: Any = 0.0) -> None:
        super().__init__(PROBLEM)
        self.plays, self.says = advance, predict
        self.kept: list[Any] = []

    def honest(self, X: NDArray[np.floating], y: Floats, bought: Bought) -> Floats:
        return super().advance(X, y, bought)

    def advance(self, X: NDArray[np.floating], y: Floats, bought: Bought = None) -> Floats:
        assert bought is not None
        predictions = self.honest(X, y, bought)
        answer: Floats = predictions if self.plays is None else self.plays(self, X, y, bought)
        return answer

    def predict(self, seen: kh.Observation) -> float:
        answer: float = self.says
        return answer


class Told(Observer):
    """Keeps copies of what it was told."""

    def __init__(self) -> None:
        self.blocks: list[PlayedBlock] = []

    def after_block(self, played: PlayedBlock, learner: kh.Learner) -> None:
        copies = (played.X.copy(), played.y.copy(), played.y_hat.copy(), played.bought.copy())
        self.blocks.append(PlayedBlock(played.first_round, *copies))


def test_writing_to_the_labels_is_caught_and_changes_nothing() -> None:
    def erase(_: Puppet, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]) -> Floats:
        y[:] = 0.0
        return np.zeros(len(y))

    game = stream()
    with pytest.raises(kh.BudgetError, match=r"rounds 1 to 1: Puppet.advance changed the labels"):
        kh.play(Puppet(erase), game)
    assert game.y.tobytes() == Y.tobytes()


def test_what_is_handed_out_owns_its_memory_and_is_exactly_the_block() -> None:
    def keep(me: Puppet, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]) -> Floats:
        for array in (X, y, bought):
            assert type(array) is np.ndarray
            assert array.base is None
            assert array.flags.c_contiguous
            assert array.flags.owndata
            assert len(array) == len(y)
        me.kept.append((X.copy(), y.copy()))
        X[:] = 7.0  # rows are copies: nobody else notices
        return np.zeros(len(y))

    game, told, learner = stream(), Told(), Puppet(keep)
    kh.play(learner, game, observers=[told])
    assert np.concatenate([rows for rows, _ in learner.kept]).tobytes() == X.tobytes()
    assert np.concatenate([block.X for block in told.blocks]).tobytes() == X.tobytes()
    assert game.X.tobytes() == X.tobytes()
    for order in ("F", "C"):
        kh.play(Puppet(keep), kh.streams.ArrayStream(np.array(X, order=order)[:, ::-1], Y))


def test_what_was_handed_back_is_copied() -> None:
    def keep(me: Puppet, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]) -> Floats:
        for kept_y_hat, kept_bought, kept_y in me.kept:  # of blocks that are over
            kept_y_hat[:], kept_bought[:], kept_y[:] = Y[0], 4, -1.0
        y_hat = np.zeros(len(y))
        me.kept.append((y_hat, bought, y))
        return y_hat

    told = Told()
    ledger = kh.play(Puppet(keep), stream(), observers=[told])
    assert ledger.loss == pytest.approx(Y @ Y)
    assert not ledger.predictions.any()
    assert ledger.reads.tolist() == [0] * 5
    assert np.concatenate([block.y for block in told.blocks]).tobytes() == Y.tobytes()
    assert all((block.bought == -1).all() for block in told.blocks)


class Agrees(np.ndarray):
    """An array that claims to have any length it is asked for."""

    def __len__(self) -> int:
        return 1

    shape = property(lambda self: (1,))

    @property
    def size(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n + 1), "shape (2,)"),
        (lambda n: np.zeros((n, 1)), "shape (1, 1)"),
        (lambda n: np.zeros(n, dtype=complex), "complex128"),
        (lambda n: np.zeros(n, dtype=int), "int64"),
        (lambda n: np.array(["0"] * n), "<U1"),
        (lambda n: np.array([None] * n), "dtype object"),
        (lambda n: [0.0] * n, "[0.0]"),
        (lambda n: 0.0, "0.0"),
        (lambda n: None, "None"),
        (lambda n: np.zeros(n + 5).view(Agrees), "shape (6,)"),
    ],
)
def test_what_advance_returns_is_one_real_prediction_per_row(answer: Any, message: str) -> None:
    learner = Puppet(lambda _, X, y, bought: answer(len(y)))
    with pytest.raises(kh.DataError, match=r"rounds 1 to 1: Puppet.advance must return") as refused:
        kh.play(learner, stream())
    assert message in str(refused.value)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_predictions_of_a_block_are_finite(value: float) -> None:
    def late(_: Puppet, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]) -> Floats:
        return np.where(y == Y[20], value, 0.0)

    with pytest.raises(kh.DataError, match=f"round 21: Puppet predicted {value}"):
        kh.play(Puppet(late), stream())


def test_purchases_cannot_change_their_shape() -> None:
    def reshape(_: Puppet, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]) -> Floats:
        bought.resize((len(y), 1), refcheck=False)
        return np.zeros(len(y))

    with pytest.raises(kh.BudgetError, match="changed the shape of `bought`"):
        kh.play(Puppet(reshape), stream())


def test_a_block_counts_its_rounds() -> None:
    def again(me: Puppet, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32]) -> Floats:
        return me.honest(X, y, bought)

    with pytest.raises(kh.BudgetError, match="played rounds 1 to 1 and says it is in round 2"):
        kh.play(Puppet(again), stream())


@pytest.mark.parametrize(
    "said", [1j, np.complex128(1), "1", b"1", None, np.zeros(2), np.zeros(0), [[1.0, 2.0]], {}]
)
def test_what_predict_returns_is_one_real_number(said: Any) -> None:
    with pytest.raises(kh.DataError, match=r"round 1: Puppet.predict must return one real number"):
        kh.play(Puppet(predict=said), RowsOnly(stream()))


@pytest.mark.parametrize(
    "said", [1, True, np.float32(1), np.array(1.0), np.array([1.0]), np.int8(1)]
)
def test_any_real_number_is_a_prediction(said: Any) -> None:
    ledger = kh.play(Puppet(predict=said), RowsOnly(stream()))
    assert ledger.predictions.tolist() == [1.0] * 300


def test_a_number_that_lies_in_its_arithmetic_is_taken_by_its_value() -> None:
    class Perfect(float):
        def __rsub__(self, other: float) -> float:
            return 0.0

    ledger = kh.play(Puppet(predict=Perfect(0.0)), RowsOnly(stream()))
    assert ledger.loss == pytest.approx(Y @ Y)


class Short(np.ndarray):
    """Features that say they are few."""

    def __len__(self) -> int:
        return 1

    shape = property(lambda self: (1,))


def test_a_ticket_whose_features_lie_about_their_number_is_refused() -> None:
    class Liar(Puppet):
        def ask(self, *, steps: bool = False) -> kh.Ticket:
            ticket = super().ask()
            object.__setattr__(ticket, "features", np.arange(5).view(Short))
            return ticket

    ticket = kh.Ticket(1, np.arange(5).view(Short))
    assert type(ticket.features) is np.ndarray
    with pytest.raises(kh.BudgetError, match="asks for 5 features, the budget is 2"):
        kh.play(Liar(), RowsOnly(stream()))


def test_a_ticket_is_looked_at_once() -> None:
    class Shifty(kh.Ticket):
        looks = 0

        @property
        def features(self) -> Any:
            Shifty.looks += 1
            return np.arange(1 if Shifty.looks % 2 else 5)

        @features.setter
        def features(self, value: Any) -> None:
            pass

    class Asks(Puppet):
        def ask(self, *, steps: bool = False) -> kh.Ticket:
            issued = super().ask()
            ticket = object.__new__(Shifty)
            object.__setattr__(ticket, "round", issued.round)
            Shifty.looks = 0
            return ticket

        def tell(self, seen: kh.Observation, y: float) -> None:
            assert seen.values.shape == (1,)

    with pytest.raises(kh.DataError, match="5 features, got values of shape"):
        kh.play(Asks(), RowsOnly(stream()))


@pytest.mark.parametrize("features", [[0.7], ["3"], [True], [1j], [None], [[1, 2]], "a", [2**70]])
def test_features_of_a_ticket_are_whole_numbers(features: Any) -> None:
    with pytest.raises(kh.BudgetError):
        kh.Ticket(1, features)


def test_a_learner_that_asks_with_something_else_is_refused() -> None:
    class Asks(Puppet):
        def ask(self, *, steps: bool = False) -> kh.Ticket:
            return (1, [0])  # type: ignore[return-value]

    with pytest.raises(kh.BudgetError, match="ask must return a Ticket"):
        kh.play(Asks(), RowsOnly(stream()))


@pytest.mark.parametrize("wrap", [lambda s: s, RowsOnly], ids=["blocks", "rows"])
def test_the_problem_of_a_game_is_the_one_it_began_with(wrap: Any) -> None:
    class Grows(Puppet):
        @property
        def problem(self) -> kh.Problem:
            begun = self.round > 0
            return kh.Problem(5, 1, 5) if begun else PROBLEM

        def ask(self, *, steps: bool = False) -> kh.Ticket:
            return self._desk.issue([])

    learner = Grows(lambda me, X, y, bought: np.zeros(len(y)))
    learner.honest = lambda X, y, bought: learner._desk.skip(len(y))  # type: ignore[assignment,method-assign,return-value]
    with pytest.raises(kh.BudgetError, match=r"Grows began the game with .*budget=2.* and now"):
        kh.play(learner, wrap(stream()))


def test_a_problem_that_is_changed_in_place_buys_nothing() -> None:
    problem = kh.Problem(5, 1, 2)

    class Widens(kh.Zero):
        def ask(self, *, steps: bool = False) -> kh.Ticket:
            object.__setattr__(problem, "budget", 5)
            return self._desk.issue(np.arange(5))

    with pytest.raises(kh.BudgetError, match="the budget is 2"):
        kh.play(Widens(problem), RowsOnly(stream()))


BAD_LABELS = [1j, np.complex128(1), np.array(1j), "1", np.str_("1"), np.array("1"), b"1", None]


@pytest.mark.parametrize("label", [*BAD_LABELS, np.timedelta64(1), np.array([1.0, 2.0])])
def test_labels_are_real_numbers(label: Any) -> None:
    learner = kh.RunningMean(PROBLEM)
    ticket = learner.ask()
    with pytest.raises(kh.DataError, match="the label must be a number"):
        learner.tell(ticket.fill(np.zeros(len(ticket.features))), label)
    game = RunningGame(kh.RunningMean(PROBLEM), [Told()])
    with pytest.raises(kh.DataError, match="the label must be a number"):
        game.play_row(X[0], label)


@pytest.mark.parametrize(
    "row",
    [
        np.array(["1"] * 5),
        np.array([1j] * 5),
        np.array([None] * 5),
        np.ma.masked_invalid([np.nan, 1.0, 1.0, 1.0, 1.0]),
    ],
)
@pytest.mark.parametrize("observers", [[], [Told()]], ids=["alone", "observed"])
def test_rows_are_real_numbers(row: Any, observers: Any) -> None:
    learner = kh.FixedSubset(PROBLEM)
    with pytest.raises(kh.DataError, match=r"numbers|masked"):
        RunningGame(learner, observers).play_row(row, 1.0)
    with pytest.raises(kh.DataError, match=r"numbers|masked"):
        RunningGame(learner, observers).play_block(row[None, :], np.ones(1))
    with pytest.raises(kh.DataError, match=r"numbers|masked"):
        kh.sell(PROBLEM, kh.Ticket(1, np.array([0])), row)
    assert learner.round == 0


@pytest.mark.parametrize("y", [np.ones(1, complex), np.array(["1"]), np.ones((1, 1)), np.ones(2)])
def test_blocks_have_a_real_label_for_each_row(y: Any) -> None:
    learner = kh.RunningMean(PROBLEM)
    with pytest.raises(kh.DataError):
        RunningGame(learner).play_block(X[:1], y)
    with pytest.raises(kh.DataError):
        learner.advance(X[:1], y)
    assert learner.round == 0


@pytest.mark.parametrize("dtype", ["U4", complex, object])
def test_advance_refuses_what_is_no_number(dtype: Any) -> None:
    with pytest.raises(kh.DataError, match="X must be numbers"):
        kh.RunningMean(PROBLEM).advance(X.astype(dtype), Y)


@pytest.mark.parametrize("dtype", ["f2", ">f8", "g", "i4"])
def test_advance_converts_what_kernels_do_not_know(dtype: Any) -> None:
    learners = [kh.AutoLearner(PROBLEM, seed=0) for _ in range(2)]
    odd = X.astype(dtype)
    ours, theirs = learners[0].advance(odd, Y), learners[1].advance(odd.astype(np.float64), Y)
    assert ours.tolist() == theirs.tolist()
