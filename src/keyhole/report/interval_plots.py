"""Pictures of intervals: what they covered over time, how wide they were, predicted and actual."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.problem import ProblemError
from keyhole.report.interval_trace import IntervalTrace
from keyhole.report.plots import BLUE, GREEN, INK, ORANGE, new_figure, style
from keyhole.report.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def coverage_over_time(run: Run) -> Figure:
    """The share of labels within their intervals, stretch by stretch, beside what it should be.

    The band is where nine of ten stretches would be if misses came independently.
    """
    trace = _trace(run)
    with style():
        figure, axes = new_figure(2.6)
        edges, rounds = np.append(0, trace.ends), np.diff(trace.ends, prepend=0)
        meant = trace.coverage
        spread = 1.645 * np.sqrt(meant * (1.0 - meant) / rounds)
        low, high = np.maximum(meant - spread, 0.0), np.minimum(meant + spread, 1.0)
        axes.stairs(high, edges, baseline=low, fill=True, color=INK, alpha=0.1, label="by chance")
        axes.axhline(meant, color=INK, ls=":", lw=1.4, label=f"{100 * meant:g} %")
        label = "labels within their intervals"
        axes.stairs(trace.covered, edges, baseline=None, color=BLUE, lw=2.0, label=label)
        axes.set_xlim(0, int(trace.ends[-1]))
        bottom = float(np.nanmin(np.append(trace.covered, low)))
        axes.set_ylim(max(0.0, bottom - 0.03), 1.01)
        axes.set_ylabel("share of rounds")
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=3)
        return figure


def widths_over_time(run: Run) -> Figure:
    """How wide the intervals were on average, stretch by stretch."""
    trace = _trace(run)
    with style():
        figure, axes = new_figure(2.4)
        edges = np.append(0, trace.ends)
        label = f"mean width of the {100 * trace.coverage:g} % intervals"
        axes.stairs(trace.width, edges, baseline=None, color=BLUE, lw=2.0, label=label)
        axes.set_xlim(0, int(trace.ends[-1]))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("width")
        axes.grid(True)
        figure.legend(loc="outside upper left")
        return figure


def predicted_and_actual(run: Run) -> Figure:
    """Some rounds as points, prediction and label; those outside of their intervals marked."""
    points = _trace(run).points
    with style():
        figure, axes = new_figure(4.2)
        y_hat, y, low, high = points.T
        inside = (low <= y) & (y <= high)
        ends = [float(f(points[:, :2])) for f in (np.min, np.max)] if len(points) else [0.0, 1.0]
        axes.plot(ends, ends, color=INK, lw=0.8, label="as predicted")
        axes.plot(
            *(y_hat[inside], y[inside], "o"), ms=3, color=BLUE, alpha=0.5, label="within", mew=0
        )
        axes.plot(*(y_hat[~inside], y[~inside], "x"), ms=4, color=ORANGE, label="outside")
        order = np.argsort(y_hat, kind="stable")
        order = order[np.isfinite(high - low)[order]]
        for end in (low, high):
            axes.plot(y_hat[order], end[order], ",", color=GREEN)
        axes.set_xlabel("predicted")
        axes.set_ylabel(f"actual: {run.target}" if run.target.isprintable() else "actual")
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=3)
        return figure


def interval_pictures(run: Run) -> list[tuple[str, str, Figure]]:
    """Heading, words and figure of each, for the page; none where there were no intervals."""
    if run.intervals is None or not run.ledger.bounded:
        return []
    share = f"{100 * run.intervals.coverage:g} %"
    said = f"{run.ledger.covered_share:.2%} of all labels were within their intervals"
    covered = (
        f"Every prediction came with an interval meant to hold the label in {share} of rounds; "
        f"{said}. A stretch far below the line was harder than those before it."
    )
    widths = (
        f"How wide the {share} intervals were. They follow the learner's own errors: narrower as "
        "it learns, wider when the world changes."
    )
    points = (
        f"{len(run.intervals.points):,} rounds, evenly over the game. On the line: exactly as "
        "predicted. Crosses: outside of their intervals, whose ends are the fine dots."
    )
    return [
        ("Do the intervals hold", covered, coverage_over_time(run)),
        ("How wide the intervals were", widths, widths_over_time(run)),
        ("Predicted and actual", points, predicted_and_actual(run)),
    ]


def _trace(run: Run) -> IntervalTrace:
    if run.intervals is None:
        raise ProblemError("the run has no intervals: record it with coverage=0.9")
    return run.intervals
