"""What may be written down as bought, and what the audit hides behind: at the edges."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.game.audit import poisoned
from keyhole.game.observer import Observer, PlayedBlock
from keyhole.game.playing import RunningGame, _due
from keyhole.game.referee import _check_purchases

PROBLEM = kh.Problem(6, 2, 3)


@pytest.mark.parametrize("row", [[-1, -1, -1], [0, -1, -1], [0, 5, -1], [3, 4, 5], [5, -1, -1]])
def test_ascending_features_and_then_minus_one(row: list[int]) -> None:
    _check_purchases(PROBLEM, 1, np.array([row, row], dtype=np.int32))


@pytest.mark.parametrize(
    "row", [[6, -1, -1], [-2, -1, -1], [0, 0, -1], [1, 0, -1], [-1, 0, -1], [0, -1, 5], [0, 5, 6]]
)
def test_anything_else_is_refused_with_its_round(row: list[int]) -> None:
    fine = [0, 1, 2]
    for place in (0, 1, 2):
        rows = [fine, fine, fine]
        rows[place] = row
        with pytest.raises(kh.BudgetError, match=rf"round {7 + place}: .*from 0 to 5, ascending"):
            _check_purchases(PROBLEM, 7, np.array(rows, dtype=np.int32))


def test_a_block_of_a_budget_of_one() -> None:
    one = kh.Problem(6, 1, 1)
    _check_purchases(one, 1, np.array([[5], [-1], [0]], dtype=np.int32))
    with pytest.raises(kh.BudgetError, match="round 2"):
        _check_purchases(one, 1, np.array([[5], [6], [0]], dtype=np.int32))


def test_poison_is_of_any_size_and_either_sign() -> None:
    """Of 40,000 cells a quarter is NaN, the sizes are 10^U(-3, 30), half of them negative.

    Hoeffding: a share is off by 0.0135 with probability 2 exp(-2 40,000 0.0135^2) < 10^-6; of the
    30,000 others, by 0.0156.
    """
    X = np.zeros((200, 200))
    nothing = np.full((200, 1), -1, dtype=np.int32)
    hidden = poisoned(X, nothing, np.random.default_rng(0))
    absent = np.isnan(hidden)
    assert absent.mean() == pytest.approx(0.25, abs=0.0135)
    found = hidden[~absent]
    assert (found < 0).mean() == pytest.approx(0.5, abs=0.0156)
    sizes = np.log10(np.abs(found))
    assert sizes.min() >= -3.0
    assert sizes.max() <= 30.0
    for edge, share in ((0.3, 0.1), (13.5, 0.5), (26.7, 0.9)):
        assert (sizes < edge).mean() == pytest.approx(share, abs=0.0156)
    assert np.isnan(poisoned(X, nothing)).all()
    single = poisoned(X.astype(np.float32), nothing, np.random.default_rng(0))
    assert single.dtype == np.float32
    assert np.isfinite(single[~np.isnan(single)]).all()


class Wants(Observer):
    """Wants to be told after so many rounds."""

    def __init__(self, room: int | None) -> None:
        self._room = room

    @property
    def room(self) -> int | None:
        return self._room

    def after_block(self, played: PlayedBlock, learner: kh.Learner) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("room", "told", "due"),
    [(None, 0, 10), (None, 4, 10), (3, 0, 3), (3, 4, 7), (3, 8, 10), (0, 4, 5), (-2, 4, 5)],
)
def test_when_an_observer_is_told(room: int | None, told: int, due: int) -> None:
    assert _due(Wants(room), told, 10) == due


def test_an_observer_has_no_wishes_by_itself() -> None:
    class Plain(Observer):
        def after_block(self, played: PlayedBlock, learner: kh.Learner) -> None:
            """Nothing."""

    assert Plain().room is None
    assert not Plain().enough()


def test_a_part_of_a_block() -> None:
    bought = np.arange(12, dtype=np.int32).reshape(4, 3)
    block = PlayedBlock(5, np.arange(8.0).reshape(4, 2), np.arange(4.0), np.ones(4), bought)
    part = block.part(1, 3)
    assert part.first_round == 6
    assert part.X.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert part.y.tolist() == [1.0, 2.0]
    assert part.losses.tolist() == [0.0, 1.0]
    assert part.bought.tolist() == [[3, 4, 5], [6, 7, 8]]
    part.y_hat[0] = 7.0
    assert block.y_hat[1] == 7.0  # a view


@pytest.mark.parametrize("in_blocks", [True, False])
def test_rounds_that_buy_less_than_the_budget_end_in_minus_one(in_blocks: bool) -> None:
    told: list[list[int]] = []

    class Notes(Observer):
        def after_block(self, played: PlayedBlock, learner: kh.Learner) -> None:
            told.extend(played.bought.tolist())

    learner = kh.FixedSubset(PROBLEM, support=[1, 4])
    game = RunningGame(learner, [Notes()], in_blocks=in_blocks)
    game.play_block(np.ones((4, 6)), np.ones(4))
    assert told == [[1, 4, -1]] * 4


def test_a_game_is_in_blocks_keeps_predictions_and_has_no_audit_unless_told() -> None:
    class Once(kh.Zero):
        def __deepcopy__(self, memo: object) -> "Once":
            raise AssertionError("an audit copies the learner")

        def ask(self, *, steps: bool = False) -> kh.Ticket:
            raise AssertionError("blocks need no tickets")

    game = RunningGame(Once(PROBLEM))
    game.play_block(np.ones((4, 6)), np.ones(4))
    assert game.ledger.predictions.tolist() == [0.0] * 4
    ledger = kh.play(Once(PROBLEM), kh.streams.ArrayStream(np.ones((4, 6)), np.ones(4)))
    assert ledger.predictions.tolist() == [0.0] * 4
