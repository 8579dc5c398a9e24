"""Intervals in a report: sums by bin, points, pictures, figures; nothing where none was asked."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import ProblemError
from keyhole.report import page
from keyhole.report.plots import svg
from keyhole.report.prediction_plots import (
    coverage_over_time,
    interval_pictures,
    predicted_and_actual,
)
from keyhole.report.traces import MAX_KEPT_POINTS, IntervalTrace, PredictionTrace

PROBLEM = kh.Problem(d=5, k=1, budget=3)


def stream(n: int) -> kh.streams.ArrayStream:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, 5))
    return kh.streams.ArrayStream(X, X[:, 2] + 0.5 * rng.standard_normal(n))


def recorded(coverage: float | None, n: int = 700) -> kh.report.Run:
    learner = kh.RandomSubset(PROBLEM, seed=1)
    return kh.report.record(learner, stream(n), diagnosed=False, full=False, coverage=coverage)


def test_bins_are_sums_over_their_rounds() -> None:
    source, trace, some = stream(2500), IntervalTrace(0.9, bins=8), PredictionTrace(bins=8)
    learner = kh.RandomSubset(PROBLEM, seed=1)
    ledger = kh.play(learner, source, observers=[trace, some], coverage=0.9)
    low, high = ledger.intervals.T
    inside, first = (low <= source.y) & (source.y <= high), 0
    for i, end in enumerate(trace.ends.tolist()):
        known = slice(max(first, 1), end)  # the first interval is infinite
        assert trace.covered[i] == pytest.approx(inside[known].mean())
        assert trace.width[i] == pytest.approx((high - low)[known].mean())
        first = end
    assert trace.ends[-1] == 2500
    every = 4  # 2,499 rounds, all but the first, in at most 1,024 points
    assert len(some.points) == 625 <= MAX_KEPT_POINTS
    rounds = np.arange(1, 2501)
    expected = np.column_stack([rounds, ledger.predictions, source.y, low, high])[1::every]
    np.testing.assert_array_equal(some.points, expected)


@pytest.mark.usefixtures("blank_pictures")
def test_the_page_shows_them() -> None:
    run, plain = recorded(0.8), recorded(None)
    pictures = interval_pictures(run)
    assert all("<text" in svg(figure, "drawn") for _, _, figure in pictures)
    for one, bounded in ((run, True), (plain, False)):
        drawn = svg(predicted_and_actual(one), "drawn")
        assert ("within its interval" in drawn) == bounded
    headings = [heading for heading, _, _ in pictures]
    text, without = page.page(run), page.page(plain)
    for heading in headings:
        assert heading in text
        assert heading not in without
    assert len(headings) == 2
    assert text.count("<svg") == without.count("<svg") + 2
    assert "within 80 % intervals" in text
    assert f"{run.ledger.covered_share:.1%}" in text
    told = run.summary()["intervals"]
    assert isinstance(told, dict)
    assert told["covered"] == run.ledger.covered
    assert "intervals" not in plain.summary()
    assert run.ledger.loss == plain.ledger.loss


@pytest.mark.usefixtures("blank_pictures")
def test_one_round_is_a_page_too() -> None:
    run = recorded(0.9, n=1)
    assert interval_pictures(run) == []
    assert "intervals" in run.summary()
    assert "Do the intervals hold" not in page.page(run)
    assert coverage_over_time(recorded(0.9, n=2)).axes


def test_a_run_without_intervals_says_so() -> None:
    with pytest.raises(ProblemError, match=r"coverage=0\.9"):
        coverage_over_time(recorded(None))
    with pytest.raises(ProblemError, match="coverage"):
        recorded(90.0)
