"""Scales of charts: no first round and no far one flattens the rest; what is cut off is said."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.counter.service.pages.dashboard import CHART_HEIGHT, lines
from keyhole.report import Run, plots
from keyhole.report.chart_scale import scale_of
from keyhole.report.overview_plots import money_and_error
from keyhole.report.prediction_plots import error_over_time


def test_what_is_usual_later_on_is_never_cut_off() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        steady = rng.uniform(1.0, 2.0, size=int(rng.integers(2, 60)))
        for first in (1.0, 1e6):
            line = np.append(first * steady[:1], steady[1:])
            scale = scale_of(line, 0.5 * steady)
            assert scale.high >= steady[len(steady) // 2 :].max()
            assert scale.beyond == (first > 1.0)
            assert scale.largest == line.max()
            assert 2.0 * steady.max() >= scale.high


def test_a_line_that_rises_is_shown_in_full() -> None:
    rising = np.linspace(0.0, 100.0, 50)
    assert scale_of(rising) == (100.0, 0, 100.0)
    assert scale_of([0.0, 0.0]).words() == ""
    assert scale_of() == (0.0, 0, 0.0)
    assert scale_of([np.nan, 2.0, np.inf, 1.0]).largest == 2.0


def test_sparks_of_pages_keep_their_height() -> None:
    """The twin: on a scale up to the first value, the rest would be flat."""
    later = [4.0, 1.0, 4.0, 1.0, 4.0, 1.0, 4.0, 1.0]
    [line] = lines([5000.0, *later])
    heights = [float(point.split(",")[1]) for point in line.split()]
    assert max(heights[1:]) - min(heights[1:]) > CHART_HEIGHT / 4
    assert (CHART_HEIGHT - 4) * 3.0 / 5000.0 < 0.1


def flattened(run: Run) -> Run:
    """The same run, which lost a lot in its second round, and so did everybody."""
    lost = 1e6
    others = tuple(replace(b, loss=b.loss + lost) for b in run.baselines)
    return replace(run, loss=run.loss + lost, baselines=others)


def test_pictures_are_of_the_later_rounds(run: Run) -> None:
    wild = flattened(run)
    plain, cut = error_over_time(run).axes[0], error_over_time(wild).axes[0]
    assert "cut off" in cut.get_title("right")
    assert cut.get_ylim()[1] < 4.0 * plain.get_ylim()[1]
    assert plots.cumulative_loss(run).axes[0].get_title("right") == ""
    axes = plots.cumulative_loss(wild).axes[0]
    first = round(0.1 * run.ledger.rounds)
    assert f"the first {first:,} rounds are cut off" in axes.get_title("right")
    low, high = axes.get_ylim()
    assert 0.9 * 1e6 < low < 1e6 < high


def test_this_run_stands_where_its_books_say(run: Run) -> None:
    axes = money_and_error(run).axes[0]
    points = {line.get_label(): np.asarray(line.get_xydata())[0] for line in axes.get_lines()}
    assert points["this run"] == pytest.approx(
        [run.ledger.mean_reads, np.sqrt(run.ledger.later_mean_loss)]
    )
    assert points["everything read"][0] == run.problem.d
    assert points["running mean"][0] == 0.0
    assert points["best in hindsight"][1] == pytest.approx(
        np.sqrt(run.best.loss.high / run.ledger.rounds)
    )
