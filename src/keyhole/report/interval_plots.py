"""Pictures of intervals: what they covered over time, how wide they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.problem import ProblemError
from keyhole.report.interval_trace import IntervalTrace
from keyhole.report.plots import BLUE, INK, new_figure, style
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


def interval_pictures(run: Run) -> list[tuple[str, str, Figure]]:
    """Heading, words and figure of each, for the page; none where there were no intervals."""
    if run.intervals is None or not run.ledger.bounded:
        return []
    share = f"{100 * run.intervals.coverage:g} %"
    said = f"{run.ledger.covered_share:.2%} of all labels were within their intervals"
    covered = (
        f"Every prediction came with an interval meant to contain the label in {share} of rounds; "
        f"{said}. A stretch far below the line was harder than those before it."
    )
    widths = (
        f"How wide the {share} intervals were. They follow the learner's own errors: narrower as "
        "it learns, wider when the world changes."
    )
    return [
        ("Do the intervals hold", covered, coverage_over_time(run)),
        ("How wide the intervals were", widths, widths_over_time(run)),
    ]


def _trace(run: Run) -> IntervalTrace:
    if run.intervals is None:
        raise ProblemError("the run has no intervals: record it with coverage=0.9")
    return run.intervals
