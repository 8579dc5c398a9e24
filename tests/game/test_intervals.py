"""Games with intervals: what is entered is what the learner would have said, and nothing moves."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.game.ledger import Ledger
from keyhole.game.observer import Observer, PlayedBlock
from keyhole.problem import DataError, Floats, Learner, ProblemError
from keyhole.saving.api import to_bytes
from keyhole.testing.helpers import RowsOnly

PROBLEM = kh.Problem(d=8, k=2, budget=5)


def stream(n: int = 300, first: int = 0) -> kh.streams.ArrayStream:
    """The noise depends on x_1, which is bought in most rounds."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((1000, 8))
    y = 2.0 + X[:, 1] + 0.5 * np.abs(X[:, 1]) * rng.standard_normal(1000)
    X[rng.random((1000, 8)) < 0.05] = np.nan
    return kh.streams.ArrayStream(X[first : first + n], y[first : first + n])


class Keeps(Observer):
    """Remembers the ends of all intervals."""

    def __init__(self) -> None:
        self.ends = list[Floats]()

    def after_block(self, played: PlayedBlock, learner: Learner) -> None:
        assert played.ends is not None
        self.ends.extend(played.ends.copy())


@pytest.mark.parametrize("rows_only", [False, True])
def test_the_ledger_has_what_interval_says(rows_only: bool) -> None:
    source, kept = stream(), Keeps()
    told = RowsOnly(source) if rows_only else source
    ledger = kh.play(kh.AutoLearner(PROBLEM), told, coverage=0.8, observers=[kept])
    learner, said = kh.AutoLearner(PROBLEM), list[tuple[float, float]]()
    learner.track_coverage(0.8)
    for x, y in source:
        seen = kh.sell(PROBLEM, learner.ask(), x)
        interval = learner.interval(seen, 0.8)
        said.append((interval.low, interval.high))
        learner.tell(seen, y)
    assert ledger.intervals.tobytes() == np.array(said).tobytes()
    assert (learner.residuals().arrays()["factors"] != 1.0).mean() > 0.25
    assert np.array(kept.ends).tobytes() == ledger.intervals.tobytes()
    low, high = ledger.intervals[1:].T
    assert (ledger.coverage, ledger.bounded) == (0.8, 299)
    assert ledger.covered == ((low <= source.y[1:]) & (source.y[1:] <= high)).sum()
    assert ledger.mean_width == pytest.approx((high - low).mean())
    assert ledger.covered_share == ledger.covered / 299
    assert "within intervals meant for 0.8" in str(ledger)


def test_the_game_itself_does_not_change() -> None:
    plain, watched = kh.AutoLearner(PROBLEM), kh.AutoLearner(PROBLEM)
    ours = kh.play(plain, stream())
    theirs = kh.play(watched, stream(), coverage=0.9)
    assert ours.predictions.tobytes() == theirs.predictions.tobytes()
    assert ours.loss == theirs.loss
    assert ours.coverage is None
    assert ours.intervals.shape == (0, 2)
    assert "interval" not in str(ours)
    states = [dict(learner.state().parts) for learner in (plain, watched)]
    for state in states:
        del state["residuals"]
    assert repr(states[0]) == repr(states[1])


def test_two_parts_are_one_game() -> None:
    whole = kh.play(kh.AutoLearner(PROBLEM), stream(), coverage=0.9)
    learner = kh.AutoLearner(PROBLEM)
    parts = [kh.play(learner, stream(100), coverage=0.9)]
    parts.append(kh.play(learner, stream(200, 100), coverage=0.9))
    both = parts[0] + parts[1]
    assert both.intervals.tobytes() == whole.intervals.tobytes()
    assert (both.covered, both.bounded) == (whole.covered, whole.bounded)
    assert both.width == pytest.approx(whole.width, rel=1e-12)


def test_ledgers_with_and_without_intervals_add() -> None:
    learner = kh.RunningMean(PROBLEM)
    plain = kh.play(learner, stream(40))
    kept = kh.play(learner, stream(60, 40), coverage=0.9)
    late = kh.play(learner, stream(50, 100))
    for both, rows in ((plain + kept, slice(40, 100)), (kept + late, slice(0, 60))):
        assert both.intervals.shape == (both.rounds, 2)
        assert both.intervals[rows].tobytes() == kept.intervals.tobytes()
        assert np.isnan(both.intervals).sum() == 2 * (both.rounds - 60)
        assert (both.coverage, both.covered, both.width) == (0.9, kept.covered, kept.width)
    assert (plain + Ledger(PROBLEM)).coverage is None
    other = kh.play(learner, stream(50, 150), coverage=0.5)
    with pytest.raises(DataError, match="different coverage"):
        kept + late + other


def test_tracking_goes_on_after_the_game() -> None:
    learner = kh.RunningMean(PROBLEM)
    kh.play(learner, stream(700), coverage=0.9)
    calibration = learner.residuals()
    assert calibration.coverages == (0.9,)
    assert calibration.told == 700
    assert calibration is not learner.residuals()


def test_a_learner_without_intervals_gets_them_from_its_errors() -> None:
    class Plain:
        """Predicts 0, and is nothing but a learner."""

        def __init__(self) -> None:
            self._zero = kh.Zero(PROBLEM)
            self.problem, self.weights, self.intercept = PROBLEM, np.zeros(8), 0.0

        @property
        def round(self) -> int:
            return self._zero.round

        def ask(self) -> kh.Ticket:
            return self._zero.ask()

        def predict(self, seen: kh.Observation) -> float:
            return 0.0

        def tell(self, seen: kh.Observation, y: float) -> None:
            self._zero.tell(seen, y)

        def drop(self, ticket: kh.Ticket) -> None:
            self._zero.drop(ticket)

    ours = kh.play(Plain(), stream(), coverage=0.9)
    theirs = kh.play(kh.Zero(PROBLEM), stream(), coverage=0.9)
    assert ours.intervals.tobytes() == theirs.intervals.tobytes()


def test_a_bad_coverage_is_refused_before_the_game() -> None:
    learner = kh.RunningMean(PROBLEM)
    before = to_bytes(learner)
    with pytest.raises(ProblemError, match=r"coverage must be a share .* such as 0.9, got 90"):
        kh.play(learner, stream(), coverage=90)
    assert to_bytes(learner) == before


def test_books_that_do_not_grow_have_the_sums() -> None:
    learner = kh.RunningMean(PROBLEM)
    small = kh.play(learner, stream(), coverage=0.9, keep_predictions=False)
    whole = kh.play(kh.RunningMean(PROBLEM), stream(), coverage=0.9)
    assert small.intervals.shape == (0, 2)
    assert (small.covered, small.width) == (whole.covered, whole.width)


def test_an_audited_game_has_intervals() -> None:
    ledger = kh.play(kh.AutoLearner(PROBLEM), stream(), coverage=0.9, audit=1.0)
    assert ledger.bounded == 299
