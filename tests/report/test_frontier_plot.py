"""The picture of a frontier: its own numbers, and the learner's point on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Interval
from keyhole.problem.prices import price_list

PRICES = price_list(3, None, [1, 2, 4], None)


def found(low: float = 3.0) -> kh.Frontier:
    points = (
        kh.FrontierPoint(0.0, Interval(10.0, 10.0, "exact"), (), 0.0),
        kh.FrontierPoint(2.0, Interval(5.0, 5.0, "exact"), (1,), 0.5),
        kh.FrontierPoint(6.0, Interval(low, 3.0, "search"), (1, 2), 0.7),
    )
    return kh.Frontier(points, 50, 10.0, True, None, ((np.inf, low),), PRICES)


def test_a_step_line_and_a_point() -> None:
    figure = kh.plots.frontier(found(), point=(4.0, 7.5))
    axes = figure.axes[0]
    line, dots, level, learner = axes.lines
    assert line.get_drawstyle() == "steps-post"
    assert np.asarray(line.get_xdata())[:3].tolist() == [0.0, 2.0, 6.0]
    assert np.asarray(line.get_ydata()).tolist() == [10.0, 5.0, 3.0, 3.0]
    assert np.asarray(dots.get_ydata()).tolist() == [10.0, 5.0, 3.0]
    assert np.asarray(level.get_ydata()).tolist() == [10.0, 10.0]
    assert (learner.get_xdata(), learner.get_ydata()) == ([4.0], [7.5])
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "money per example",
        "squared loss, 50 rounds",
    )
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "the learner: 7.5 lost at 4 per example" in words
    assert not axes.collections


def test_a_long_flat_end_is_cut_off() -> None:
    short = found()
    exact = Interval(2.99, 2.99, "exact")
    tail = (*short.points, kh.FrontierPoint(700.0, exact, (0, 1, 2), 0.71))
    axes = kh.plots.frontier(replace(short, points=tail)).axes[0]
    assert axes.get_xlim()[1] == pytest.approx(1.04 * 9.0)
    assert axes.get_title(loc="right") == "0.01 less up to a cost of 700 is not shown"
    axes = kh.plots.frontier(replace(short, points=tail), point=(500.0, 4.0)).axes[0]
    assert axes.get_xlim()[1] == pytest.approx(550.0)
    assert kh.plots.frontier(short).axes[0].get_title(loc="right") == ""


def test_what_is_not_known_is_a_band() -> None:
    axes = kh.plots.frontier(found(low=2.0)).axes[0]
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    assert np.asarray(corners)[:, 1].min() == 2.0
    assert len(axes.lines) == 3  # no learner
