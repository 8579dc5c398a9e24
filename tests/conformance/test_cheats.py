"""The conformance suite has teeth: each check catches a learner that breaks its promise.

Every cheat below is a working learner with one fault, and is caught by the named check.
"""

import random
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.learners.doubts import Doubt
from keyhole.problem import Floats
from keyhole.problem.rows import bought_for
from keyhole.testing import extremes
from keyhole.testing import history as studying
from keyhole.testing import learners as checks
from keyhole.testing import prices as priced
from keyhole.testing import streams as stream_checks
from keyhole.testing.doubts import doubts_leave_no_trace
from keyhole.testing.intervals import INTERVAL_CHECKS
from keyhole.testing.steps import STEP_CHECKS

PEEKED: dict[str, Any] = {}


class Overspends(kh.Zero):
    """Buys one feature more than the budget when it can."""

    def ask(self, *, steps: bool = False) -> kh.Ticket:
        return self._desk.issue(np.arange(min(self.problem.budget + 1, self.problem.d)))


class Infinite(kh.Zero):
    """Predicts NaN after a while."""

    def predict(self, seen: kh.Observation) -> float:
        return float("nan") if self.round > 50 else 0.0


class ShortWeights(kh.Zero):
    """Reports weights of the wrong length."""

    @property
    def weights(self) -> Floats:
        return np.zeros(1)


class AsksAgain(kh.Zero):
    """Uses up a second ticket on the sly."""

    def ask(self, *, steps: bool = False) -> kh.Ticket:
        super().ask()
        return super().ask()


class Unseeded(kh.FixedSubset):
    """Draws from a generator that nobody seeded."""

    def ask(self, *, steps: bool = False) -> kh.Ticket:
        return self._desk.issue([random.randrange(self.problem.d)])

    def predict(self, seen: kh.Observation) -> float:
        return random.random()

    def tell(self, seen: kh.Observation, y: float) -> None:
        self._desk.settle(seen, y)


class Shared(kh.RunningMean):
    """Keeps its state in the class."""

    labels: ClassVar[list[float]] = []

    def tell(self, seen: kh.Observation, y: float) -> None:
        super().tell(seen, y)
        Shared.labels.append(y)

    def predict(self, seen: kh.Observation) -> float:
        return float(np.mean(Shared.labels)) if Shared.labels else 0.0


class Forgets(kh.RunningMean):
    """Saves the number of labels and not their sum."""

    SAVED = ("_desk", "_n")


class LearnsWhilePredicting(kh.RunningMean):
    """Changes when it predicts."""

    def predict(self, seen: kh.Observation) -> float:
        self._y += 0.01
        return super().predict(seen)


class HalfTold(kh.RunningMean):
    """Adds the label before it looks at the ticket."""

    def tell(self, seen: kh.Observation, y: float) -> None:
        self._y += y if np.isfinite(y) else 0.0
        self._n += 1
        self._desk.settle(seen, y)


class Gullible(kh.RunningMean):
    """Takes any label for any ticket."""

    def tell(self, seen: kh.Observation, y: float) -> None:
        self._n += 1
        self._y += y

    def drop(self, ticket: kh.Ticket) -> None:
        pass


class InOrder(kh.RunningMean):
    """Insists that labels come in order."""

    def tell(self, seen: kh.Observation, y: float) -> None:
        if seen.round != self._n + 1:
            raise RuntimeError("out of order")
        super().tell(seen, y)


class NoAbsence(kh.FixedSubset):
    """Uses absent values as numbers."""

    def predict(self, seen: kh.Observation) -> float:
        return float(np.append(seen.values, 1.0) @ self._vaw.theta)  # NaN included


class NoRidge(kh.FixedSubset):
    """Inverts a singular matrix."""

    def predict(self, seen: kh.Observation) -> float:
        with np.errstate(all="ignore"):
            A = self._vaw.A
            return float(seen.values @ seen.values / np.linalg.det(A)) if self.round > 50 else 0.0


class Hoards(kh.RunningMean):
    """Keeps every label."""

    def __init__(self, problem: kh.Problem, *, seed: int = 0) -> None:
        super().__init__(problem)
        self._all: list[float] = []

    def tell(self, seen: kh.Observation, y: float) -> None:
        super().tell(seen, y)
        self._all.append(y)


class OtherBlocks(kh.RunningMean):
    """Block play that forgets the first label of a block."""

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        return super().advance(X, np.append(0.0, y[1:]), bought)


class Peeks(kh.Zero):
    """Block play that reads a feature it does not admit to."""

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        super().advance(X, y)
        return X[:, 0].astype(np.float64)


class Clairvoyant(kh.Zero):
    """Block play that predicts from labels that have not come yet."""

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        super().advance(X, y)
        return np.full(len(y), y.mean())


class Foreseeing(kh.Zero):
    """Gets hold of the labels behind the referee's back."""

    def predict(self, seen: kh.Observation) -> float:
        labels: Floats = PEEKED["y"]
        return float(labels[min(seen.round, len(labels) - 1)])


class Leaky(kh.Zero):
    """Gets hold of the rows behind the referee's back."""

    def predict(self, seen: kh.Observation) -> float:
        return float(np.nan_to_num(PEEKED["X"][seen.round - 1, -1], nan=-9.0))


class Overflows(kh.RunningMean):
    """Squares what it is told, twice."""

    @property
    def intercept(self) -> float:
        with np.errstate(all="ignore"):
            return float(np.float64(self._y) ** 4)


class BeyondTheLabels(kh.RunningMean):
    """Predicts a little more than any label."""

    def _predict(self, seen: kh.Observation) -> float:
        return super()._predict(seen) + 1.0


class Dense(kh.FullInformation):
    """Says it is sparse, and uses everything."""


class SolvesAfterEachPart(kh.RunningMean):
    """Lets every part of a history count a little more than the one before."""

    def study(self, history: Any, **options: Any) -> int:
        rows = super().study(history, **options)
        self._y *= 1.0 + 1e-9
        return rows


class CountsHistory(kh.RunningMean):
    """Takes rows of history for rounds."""

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        self.advance(X, y)


class DropsTickets(kh.RunningMean):
    """Closes what is open when it studies."""

    def study(self, history: Any, **options: Any) -> int:
        for ticket in list(self._desk.open):
            self._desk.drop(ticket)
        return super().study(history, **options)


class StudiesHalf(kh.RunningMean):
    """Has learnt the first rows by the time it sees that a later one is bad."""

    def study(self, history: Any, **options: Any) -> int:
        kept = self.__dict__
        for X, y in history.blocks() if hasattr(history, "blocks") else ():
            if np.isfinite(y).all() and X.shape == (len(y), self.problem.d):
                kept["_n"] += len(y)
                kept["_y"] += float(y.sum())
        return super().study(history, **options)


class TakesAnything(kh.LastValue):
    """Does not look at what it is given to study."""

    def study(self, history: Any, **options: Any) -> int:
        return 0


class ForgetsWhatItStudied(kh.RunningMean):
    """Does not save how much of what it knows is history, and needs it."""

    def __init__(self, problem: kh.Problem, *, seed: int = 0) -> None:
        super().__init__(problem, seed=seed)
        self._studied = 0

    @property
    def intercept(self) -> float:
        return super().intercept if self._studied == 0 else self._y / (self._n + 1)

    def study(self, history: Any, **options: Any) -> int:
        self._studied += (rows := super().study(history, **options))
        return rows


class OtherBlocksAfterStudy(ForgetsWhatItStudied):
    """Block play that knows nothing of history."""

    SAVED = ("_desk", "_n", "_y", "_studied")


class DoubtsEverything(kh.DualAveragingLearner):
    """Has doubts about all values, however usual."""

    def doubts(self, seen: Any, y: float | None = None) -> Any:
        return tuple(Doubt(f"x{i}", value, 0.0, 1.0) for i, value in enumerate(seen.values))


class LearnsFromDoubts(kh.DualAveragingLearner):
    """Takes values for seen about which it was only asked."""

    def doubts(self, seen: Any, y: float | None = None) -> Any:
        found = super().doubts(seen, y)
        self._see(bought_for(seen), np.zeros(1))
        return found


@pytest.fixture
def peeking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the last two cheats see what the suite plays, as a global variable would."""
    original = kh.streams.ArrayStream

    def spied(X: Floats, y: Floats) -> Any:
        PEEKED.update(X=X, y=y)
        return original(X, y)

    monkeypatch.setattr(checks, "ArrayStream", spied)


@pytest.mark.parametrize(
    ("cheat", "check"),
    [
        (Overspends, checks.keeps_to_the_budget),
        (Infinite, checks.keeps_to_the_budget),
        (ShortWeights, checks.keeps_to_the_budget),
        (AsksAgain, checks.keeps_to_the_budget),
        (Leaky, checks.sees_only_what_it_bought),
        (Foreseeing, checks.cannot_see_the_future),
        (Unseeded, checks.repeats_itself),
        (Shared, checks.goes_on_from_a_copy),
        (Forgets, checks.goes_on_from_a_file),
        (LearnsWhilePredicting, checks.predicts_without_a_trace),
        (HalfTold, checks.refuses_without_a_trace),
        (Gullible, checks.refuses_without_a_trace),
        (InOrder, checks.takes_labels_in_any_order),
        (NoAbsence, checks.copes_with_absent_values),
        (NoRidge, checks.copes_with_odd_columns),
        (Overflows, extremes.copes_with_any_scale),
        (BeyondTheLabels, extremes.stays_within_the_labels),
        (Dense, checks.has_a_sparse_model),
        (kh.FixedSubset, priced.refuses_prices),
        (kh.FixedSubset, priced.says_what_would_be_enough),
        (Hoards, checks.stays_small),
        (OtherBlocks, checks.plays_blocks_as_it_plays_rounds),
        (Clairvoyant, checks.plays_blocks_as_it_plays_rounds),
        (Peeks, checks.sees_only_what_it_bought_in_blocks),
        (SolvesAfterEachPart, studying.studies_in_any_parts),
        (CountsHistory, studying.studies_beside_the_game),
        (DropsTickets, studying.studies_beside_the_game),
        (StudiesHalf, studying.refuses_history_without_a_trace),
        (TakesAnything, studying.refuses_history_without_a_trace),
        (ForgetsWhatItStudied, studying.goes_on_from_a_file_after_study),
        (OtherBlocksAfterStudy, studying.plays_blocks_after_study),
        (DoubtsEverything, doubts_leave_no_trace),
        (LearnsFromDoubts, doubts_leave_no_trace),
    ],
    ids=lambda thing: str(thing.__name__),
)
@pytest.mark.usefixtures("peeking")
def test_the_cheat_is_caught(cheat: Any, check: Any) -> None:
    with pytest.raises((AssertionError, kh.KeyholeError, RuntimeError)):
        check(cheat)


@pytest.mark.parametrize("idle", ["zero", "mean", "fixed"])
def test_a_learner_that_does_not_learn_is_caught(idle: str) -> None:
    row = kh.LEARNERS[idle]
    with pytest.raises(AssertionError, match="learns an easy stream by round 512"):
        kh.testing.learner_checks(**row.promises | {"learns_by": 512})["learns_an_easy_stream"](row)


def test_every_check_has_a_cheat() -> None:
    marks = test_the_cheat_is_caught.pytestmark
    caught = {check for mark in marks if mark.name == "parametrize" for _, check in mark.args[1]}
    elsewhere = {*INTERVAL_CHECKS, *STEP_CHECKS}  # test_interval_cheats.py, test_step_cheats.py
    optional = {extremes.stays_within_the_labels, checks.has_a_sparse_model}
    optional |= {priced.refuses_prices, priced.says_what_would_be_enough}
    assert caught | elsewhere == set(kh.testing.LEARNER_CHECKS) | optional


def test_the_whole_kit_catches_what_a_check_does() -> None:
    with pytest.raises(AssertionError, match="learns an easy stream"):
        kh.testing.check_learner(kh.LEARNERS["mean"], prices="reads nothing", learns_by=64)


class Forgetful:
    """A stream that can be read only once."""

    d, names, rounds = 2, None, 3

    def __init__(self) -> None:
        self._rows = iter([(np.zeros(2), float(i)) for i in range(3)])

    def __iter__(self) -> Any:
        return self._rows


class Miscounts(kh.streams.ArrayStream):
    """A stream that claims more rows than it has."""

    def __init__(self) -> None:
        super().__init__(np.zeros((3, 2)), np.zeros(3))
        self.rounds = 4


class DropsTheRest(kh.streams.ArrayStream):
    """A stream whose blocks leave out an incomplete last one."""

    def __init__(self) -> None:
        super().__init__(np.zeros((10, 2)), np.arange(10.0))

    def __iter__(self) -> Any:
        return iter([(x, float(y)) for x, y in zip(self.X, self.y, strict=True)])

    def blocks(self, rows: int | None = None) -> Any:
        size = rows or 4
        return (b for b in super().blocks(size) if len(b[1]) == size)


@pytest.mark.parametrize(
    ("stream", "check"),
    [
        (Forgetful, stream_checks.gives_the_same_rows_again),
        (Miscounts, stream_checks.says_what_it_holds),
        (DropsTheRest, stream_checks.gives_the_same_rows_in_blocks),
    ],
    ids=lambda thing: str(thing.__name__),
)
def test_the_broken_stream_is_caught(stream: Any, check: Any) -> None:
    broken = stream()
    with pytest.raises((AssertionError, StopIteration)):
        check(lambda: broken)
