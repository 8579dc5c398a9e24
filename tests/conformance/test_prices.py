"""Each cheat below breaks one rule of money, and the named check, or the referee, catches it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.game.playing import RunningGame
from keyhole.learners.base import LearnerBase
from keyhole.problem import Floats
from keyhole.problem.prices import Prices
from keyhole.testing import learners as checks
from keyhole.testing import prices as priced
from keyhole.testing.helpers import LearnerMaker


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_what_the_registry_says_is_what_classes_do(name: str) -> None:
    row = kh.LEARNERS[name]
    cls: Any = row.cls
    assert issubclass(cls, LearnerBase)
    if row.prices != "refuses":
        assert (row.prices != "any reads") == cls.HANDLES_PRICES
        assert row.reads_everything == (row.prices == "reads all")


# Cheats. Nine features of 0.10 and one of 0.11, all of a panel of 1.00, and two that are free.
CENTS = kh.Problem(
    12,
    2,
    "1.30",
    prices=["0.10"] * 9 + ["0.11", "0", "0"],
    panels={"blood": ("1.00", list(range(10)))},
)


class Cheat(kh.Zero):
    """Buys `features`, and writes a bill of its own."""

    features: tuple[int, ...] = ()
    bill: Mapping[str, Any] = {}

    def ask(self, *, steps: bool = False) -> kh.Ticket:
        honest = self._desk.issue(self.features)
        return kh.Ticket(honest.round, honest.features, **self.bill) if self.bill else honest

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        predictions = super().advance(X, y, bought)
        if bought is not None:
            bought[:, : len(self.features)] = self.features
        return predictions


class OverByACent(Cheat):
    """Has a limit of 1.29 and spends 1.30."""

    features = (0, 1, 2)

    def __init__(self, problem: kh.Problem, *, seed: int = 0) -> None:
        super().__init__(CENTS.replace(budget="1.29"), seed=seed)


class WithoutThePanel(Cheat):
    """Takes the members for what they cost themselves: thirteen dimes buy all of them."""

    features = tuple(range(10))

    def __init__(self, problem: kh.Problem, *, seed: int = 0) -> None:
        super().__init__(CENTS, seed=seed)


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("cheat", [OverByACent, WithoutThePanel])
def test_what_is_too_dear_is_caught(cheat: type[Cheat], in_blocks: bool) -> None:
    learner = cheat(CENTS)
    assert in_blocks or learner.problem.width < len(learner.features) or cheat is OverByACent
    game = RunningGame(learner, in_blocks=in_blocks)
    if learner.problem.width < len(learner.features) and in_blocks:
        return  # `bought` has no room for it
    with pytest.raises(kh.BudgetError, match=r"cost .*, the budget is 1\.\d+ per example"):
        game.play_block(np.ones((3, 12)), np.zeros(3))
    assert game.ledger.rounds == 0


@pytest.mark.parametrize(
    ("what", "features", "bill", "message"),
    [
        ("a panel paid twice", (0, 1), {"cost": 2.2}, r"cost 2\.2, they cost 1\.2"),
        ("a free feature charged", (0, 10), {"cost": 1.2}, r"cost 1\.2, they cost 1\.1"),
        ("a feature for nothing", (0,), {"cost": 0.0}, r"cost 0\.0, they cost 1\.1"),
        (
            "a member without its panel",
            (0,),
            {"cost": 1.1, "order": ("feature 0",)},
            r"orders \('feature 0',\) for \['feature 0'\], which need .*'blood'",
        ),
        (
            "a free feature ordered",
            (0, 10),
            {"cost": 1.1, "order": ("feature 0", "feature 10", "blood")},
            r"orders .*'feature 10'.* which need",
        ),
    ],
)
def test_a_wrong_bill_is_caught(
    what: str, features: tuple[int, ...], bill: dict[str, Any], message: str
) -> None:
    learner = Cheat(CENTS)
    learner.features, learner.bill = features, bill
    game = RunningGame(learner, in_blocks=False)
    with pytest.raises(kh.BudgetError, match=message):
        game.play_block(np.ones((3, 12)), np.zeros(3))
    with pytest.raises((AssertionError, kh.BudgetError)):
        priced.spends_within_the_limit(lambda problem: _cheat(features, bill))
    honest = Cheat(CENTS)
    honest.features = features
    RunningGame(honest, in_blocks=False).play_block(np.ones((3, 12)), np.zeros(3))
    plain = Cheat(CENTS)  # a ticket that says nothing is as good
    plain.features, plain.bill = features, {"names": None}
    RunningGame(plain, in_blocks=False).play_block(np.ones((3, 12)), np.zeros(3))


def _cheat(features: tuple[int, ...], bill: dict[str, Any]) -> Cheat:
    learner = Cheat(CENTS)
    learner.features, learner.bill = features, bill
    return learner


class BooksAnother(Cheat):
    """Writes down one panel's member in blocks, and reads another too."""

    features = (0,)

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        super().advance(X, y, bought)
        return X[:, -1].astype(np.float64)


def test_a_member_read_without_being_bought_is_caught() -> None:
    with pytest.raises(AssertionError, match="poisoned rows"):
        checks.sees_only_what_it_bought_in_blocks(kh.testing.on_prices(BooksAnother))
    X = np.random.default_rng(0).standard_normal((50, 12))
    with pytest.raises(kh.BudgetError, match=r"in block play and 0\.0"):
        kh.play(BooksAnother(CENTS), kh.streams.ArrayStream(X, X[:, -1]), audit=1.0)


@pytest.mark.parametrize(
    ("cheat", "check"),
    [
        (OverByACent, priced.spends_within_the_limit),
        (WithoutThePanel, priced.spends_within_the_limit),
    ],
)
def test_the_cheat_is_caught_by_the_check(
    cheat: type[Cheat], check: Callable[[LearnerMaker], None]
) -> None:
    with pytest.raises((AssertionError, kh.BudgetError)):
        check(kh.testing.on_prices(cheat))


class Doubles(Prices):
    """A broken twin of the arithmetic: pays for an item as often as it is needed."""

    def count(self, features: Any) -> int:
        return sum(self.units[i] for j in features for i in self.needs[int(j)])


def test_a_learner_that_pays_a_panel_twice_buys_less_than_it_could() -> None:
    """With the right arithmetic three members fit into 1.30; with the twin's one does."""
    honest = CENTS.prices
    assert honest is not None
    twin = Doubles(honest.items, honest.units, honest.needs, honest.decimals)
    assert honest.count([0, 1, 2]) == 130
    assert twin.count([0, 1]) == 220
    learner = kh.RandomSubset(CENTS, seed=0)
    members = learner.ask().features
    assert 1.21 <= CENTS.cost(members) <= 1.3
    assert len(members) >= 4  # at least two of the panel, and both free ones
