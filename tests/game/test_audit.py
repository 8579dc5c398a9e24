"""The audit catches what the referee alone cannot see, and never a learner that plays fair."""

import copy
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.game import Audit
from keyhole.game.audit import _same, poisoned
from keyhole.problem import Floats
from keyhole.testing.helpers import RowsOnly

PROBLEM = kh.Problem(d=6, k=2, budget=3)
STREAM, _ = kh.streams.realizable(d=6, k=2, n=400, seed=1)
Bought = NDArray[np.int32] | None


class Peeks(kh.Zero):
    """Reads a feature that it did not buy."""

    def advance(self, X: NDArray[np.floating], y: Floats, bought: Bought = None) -> Floats:
        super().advance(X, y, bought)
        return X[:, 0].astype(np.float64)


class Foresees(kh.RunningMean):
    """Predicts the label that it is about to be told."""

    def advance(self, X: NDArray[np.floating], y: Floats, bought: Bought = None) -> Floats:
        super().advance(X, y, bought)
        return y.copy()


class Hides(kh.RandomSubset):
    """Says it bought less than it did."""

    def advance(self, X: NDArray[np.floating], y: Floats, bought: Bought = None) -> Floats:
        y_hat = super().advance(X, y, bought)
        if bought is not None:
            bought[:, 1:] = -1
        return y_hat


class Invents(kh.Zero):
    """Says it bought what it did not."""

    def advance(self, X: NDArray[np.floating], y: Floats, bought: Bought = None) -> Floats:
        y_hat = super().advance(X, y, bought)
        if bought is not None:
            bought[:, 0] = 3
        return y_hat


class Studies(kh.FixedSubset):
    """Predicts as it should, and learns from what it did not buy."""

    def advance(self, X: NDArray[np.floating], y: Floats, bought: Bought = None) -> Floats:
        y_hat = super().advance(X, y, bought)
        self._vaw.theta[:] += X[:, 5].sum()
        return y_hat


class Remembers(kh.FixedSubset):
    """Predicts as it should, with the model it should have, and keeps what it did not buy."""

    def advance(self, X: NDArray[np.floating], y: Floats, bought: Bought = None) -> Floats:
        y_hat = super().advance(X, y, bought)
        self._vaw.b[:] += X[:, 5].sum()
        return y_hat


class Gives(kh.Zero):
    """Asks for more than the budget when it is alone."""

    def ask(self, *, steps: bool = False) -> kh.Ticket:
        return self._desk.issue(np.arange(6))


@pytest.mark.parametrize(
    ("cheat", "message"),
    [
        (Peeks, r"round 1: Peeks predicted .* in block play and 0.0 when it saw only"),
        (Foresees, r"round 1: Foresees predicted .* in block play and 0.0 when"),
        (Hides, r"round 1: Hides bought \[\d\] in block play and \[\d, \d, \d\] when"),
        (Invents, r"round 1: Invents bought \[3\] in block play and \[\] when"),
        (Studies, r"round \d: Studies (predicted|had the weights) .* in block play and"),
        (Remembers, r"round \d: Remembers had learnt .another vaw. in block play and"),
        (Gives, r"round 1: Gives played it in a block, and its copy cannot .*the budget is 3"),
    ],
)
def test_the_cheat_gets_away_without_an_audit_and_not_with_one(cheat: Any, message: str) -> None:
    assert kh.play(cheat(PROBLEM), STREAM).rounds == 400
    with pytest.raises(kh.BudgetError, match=message):
        kh.play(cheat(PROBLEM), STREAM, audit=1.0)


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_learners_that_play_fair_pass(name: str) -> None:
    problem = kh.Problem(6, 2, 6 if kh.LEARNERS[name].reads_everything else 4)
    X, y = kh.streams.collect(STREAM)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for rows in (X, X.astype(np.float32)):
        audit = Audit(1.0)
        game = kh.streams.ArrayStream(rows[:50], y[:50])
        ledger = kh.play(kh.LEARNERS[name](problem, seed=3), game, audit=audit)
        assert audit.rounds == ledger.rounds == 50
        plain = kh.play(kh.LEARNERS[name](problem, seed=3), game)
        assert ledger.predictions.tobytes() == plain.predictions.tobytes()
        assert ledger.loss == plain.loss


def test_the_share_is_that_of_the_blocks_and_a_seed_repeats_the_draws() -> None:
    blocks = kh.streams.GeneratedStream(6, 400, lambda: STREAM.blocks(1))
    audits = [Audit(0.25, seed=seed) for seed in (1, 1, 2)]
    for audit in audits:
        kh.play(kh.Zero(PROBLEM), blocks, audit=audit)
    same, again, other = (audit.rounds for audit in audits)
    assert same == again
    # Binomial(400, 1/4): mean 100, and 10^-6 is beyond 100 +- 46 (Hoeffding: sqrt(400 ln(2e6)/2)).
    assert 46 <= same <= 154
    assert 46 <= other <= 154
    twins = [Audit(0.5), Audit(0.5)]
    assert twins[0].seed != twins[1].seed, "unless a seed is given nobody can foresee the draws"


def test_nothing_tells_a_learner_that_a_block_is_looked_at() -> None:
    class Watches(kh.Zero):
        copies = 0

        def __deepcopy__(self, memo: Any) -> Any:
            Watches.copies += 1
            return kh.Zero.from_state(self.state())

    audit = Audit(0.3, seed=0)
    kh.play(
        Watches(PROBLEM),
        kh.streams.GeneratedStream(6, 400, lambda: STREAM.blocks(1)),
        audit=audit,
    )
    assert Watches.copies == 400
    assert audit.rounds < 400


def test_no_audit_copies_nothing_and_single_rounds_need_none() -> None:
    class Unique(kh.Zero):
        def __deepcopy__(self, memo: Any) -> Any:
            raise AssertionError("copied")

    kh.play(Unique(PROBLEM), STREAM)
    audit = Audit(1.0)
    kh.play(Unique(PROBLEM), RowsOnly(STREAM), audit=audit)
    assert audit.rounds == 0


def test_a_learner_that_cannot_be_copied_says_so() -> None:
    class Locked(kh.Zero):
        state = None  # type: ignore[assignment]

        def __init__(self, problem: kh.Problem) -> None:
            super().__init__(problem)
            self.lock = threading.Lock()

    with pytest.raises(kh.ProblemError, match=r"Locked cannot be copied .* or play with audit=0"):
        kh.play(Locked(PROBLEM), STREAM, audit=0.5)


def test_one_that_cannot_be_copied_whole_is_made_from_its_state() -> None:
    class Locked(kh.RunningMean):
        def __init__(self, problem: kh.Problem, *, seed: int = 0) -> None:
            super().__init__(problem)
            self.lock = threading.Lock()

    audit = Audit(1.0)
    kh.play(Locked(PROBLEM), STREAM, audit=audit)
    assert audit.rounds == 400


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "much", None])
def test_the_share_is_from_0_to_1(share: Any) -> None:
    with pytest.raises(kh.ProblemError, match="audit must be"):
        kh.play(kh.Zero(PROBLEM), STREAM, audit=share)


def test_poison_leaves_what_was_bought_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    bought = np.full((200, 3), -1, dtype=np.int32)
    bought[:, 0], bought[50:, 1] = 2, 4
    for poison in (None, np.random.default_rng(1)):
        hidden = poisoned(X, bought, poison)
        kept = hidden == X
        assert kept[:, 2].all()
        assert kept[50:, 4].all()
        assert kept.sum() == 200 + 150
        assert np.isnan(hidden).any()
        assert np.isfinite(hidden[~kept]).any() == (poison is not None)


ALIKE: list[Any] = [np.arange(4.0), {"a": [1, {"b": None}], "c": np.zeros(2)}, [], {}, 0.1, "x"]
OTHER: list[tuple[Any, Any]] = [
    (np.zeros(4), np.zeros((2, 2))),
    (np.zeros(2), np.array([0.0, -0.0])),
    (np.zeros(2), [0.0, 0.0]),
    ({"a": 1}, {"a": 2}),
    ({"a": 1, "b": 1}, {"a": 2, "b": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1}, [1]),
    ([1, 2], [1, 3]),
    ([1], [1, 2]),
    ([1, 2], [1]),
    (0.0, -0.0),
    (1, 1.0),
    (1, True),
    (None, 0),
]


def test_trees_are_the_same_to_the_bit_or_not_the_same() -> None:
    nan = float("nan")
    for tree in [*ALIKE, nan, np.array([nan, 1.0])]:
        assert _same(tree, copy.deepcopy(tree))
    for a, b in OTHER:
        assert not _same(a, b)
        assert not _same([0, a, 0], [0, b, 0])
        assert not _same({"x": 0, "y": a}, {"x": 0, "y": b})


def test_an_audit_of_no_blocks_looks_at_none_and_its_seed_is_a_whole_number() -> None:
    audit = Audit(0.0, seed=0)
    kh.play(Peeks(PROBLEM), STREAM, audit=audit)
    assert audit.copy_of(Peeks(PROBLEM)) is None
    assert (audit.rounds, audit.seed, audit.share) == (0, 0, 0.0)
    with pytest.raises(kh.ProblemError, match="seed must be"):
        Audit(0.5, seed=-1)


class Forgets(kh.RunningMean):
    """Has another intercept than it should after a block."""

    @property
    def intercept(self) -> float:
        return super().intercept + float(self.__dict__.get("more", 0.0))

    def advance(self, X: NDArray[np.floating], y: Floats, bought: Bought = None) -> Floats:
        y_hat = super().advance(X, y, bought)
        self.__dict__["more"] = float(self.round == 400)
        return y_hat


def test_the_model_after_the_last_round_is_compared_too() -> None:
    with pytest.raises(kh.BudgetError, match="round 400: Forgets had the intercept"):
        kh.play(Forgets(PROBLEM), STREAM, audit=1.0)
