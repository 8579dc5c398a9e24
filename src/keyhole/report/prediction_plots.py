"""Plots of predictions: errors, residuals, intervals, and the reliability of probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from keyhole.game.probability_scores import ProbabilityScores
from keyhole.problem import Floats, ProblemError
from keyhole.problem.optional_imports import extra
from keyhole.report.chart_scale import scale_of
from keyhole.report.number_format import Fact, number
from keyhole.report.plots import (
    BARS,
    BASELINE_STYLES,
    BLUE,
    GREEN,
    INK,
    ORANGE,
    STYLE,
    finished,
    new_figure,
    shown,
    style,
)
from keyhole.report.run import FULL, LAST, Run
from keyhole.report.traces import ACTUAL, HIGH, LOW, PREDICTED, ROUND, IntervalTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RELIABILITY_CAPTION = (
    "Rounds in ten groups of about equal size, by the probability that was predicted. On the "
    "dashed line the share of yes is what was predicted; bars are 95% intervals of that share."
)


def predicted_and_actual(run: Run) -> Figure:
    """Some rounds as points, prediction and label; with intervals, those outside are marked."""
    points = run.predictions.points
    with style():
        figure, axes = new_figure(4.2)
        y_hat, y, low, high = (points[:, i] for i in (PREDICTED, ACTUAL, LOW, HIGH))
        ends = [float(f(points[:, 1:3])) for f in (np.min, np.max)] if len(points) else [0.0, 1.0]
        axes.plot(ends, ends, color=INK, lw=0.8, label="as predicted")
        bounded = np.isfinite(high - low)
        outside = bounded & ((y < low) | (high < y))
        label = "within its interval" if bounded.any() else "a round"
        inside = ~outside
        axes.plot(*(y_hat[inside], y[inside], "o"), ms=3, color=BLUE, alpha=0.5, label=label, mew=0)
        if bounded.any():
            axes.plot(*(y_hat[outside], y[outside], "x"), ms=4, color=ORANGE, label="outside")
            for end in (low, high):
                axes.plot(y_hat[bounded], end[bounded], ",", color=GREEN)
        axes.set_xlabel(f"predicted {shown(run.target)}")
        return finished(figure, axes, f"actual {shown(run.target)}", 3)


def error_over_time(run: Run, width: float = 8.6, height: float = 3.0) -> Figure:
    """The typical error by stretches of rounds, beside those of the baselines.

    The last value of the label is left out where it says less than their mean.
    Where it is known, what the best model in hindsight is off by on average is a line across.
    """
    with style():
        figure, axes = new_figure(height, width)
        edges, drawn = np.append(0, run.ends), list[Floats]()
        for other in run.baselines:
            if other.name == LAST and not run.last_value_helps:
                continue
            colour, dashes = BASELINE_STYLES[other.name]
            drawn.append(_typical(run, other.loss, other.first_loss))
            label = "everything read" if other.name == FULL else other.name
            axes.stairs(
                drawn[-1], edges, baseline=None, color=colour, ls=dashes, lw=1.4, label=label
            )
        if run.knows_hindsight:
            off = math.sqrt(run.best.loss.high / run.best.rounds)
            axes.axhline(off, color=GREEN, ls="--", lw=1.4, label="best in hindsight")
        drawn.append(_typical(run, run.loss, run.ledger.first_loss))
        label = shown(run.learner)
        axes.stairs(drawn[-1], edges, baseline=None, color=BLUE, lw=2.2, label=label)
        axes.set_xlim(0, int(run.ends[-1]))
        _cut_off(axes, *drawn)
        return finished(figure, axes, "typical error", 2 if width < 8 else 4)


def _cut_off(axes: Axes, *drawn: Floats) -> None:
    """The scale of later stretches; the title says what is beyond it."""
    scale = scale_of(*drawn)
    axes.set_ylim(0.0, 1.06 * scale.high or 1.0)
    if scale.beyond:
        axes.set_title(scale.words("stretches").replace("1 stretche ", "1 stretch "), loc="right")


def residuals_over_time(run: Run) -> Figure:
    """Actual less predicted, of some rounds; the mean of each stretch shows what is missed."""
    trace = run.predictions
    with style():
        figure, axes = new_figure(2.9)
        rounds = trace.points[:, ROUND]
        residuals = trace.points[:, ACTUAL] - trace.points[:, PREDICTED]
        axes.plot(*(rounds, residuals, "o"), ms=2.5, color=BLUE, alpha=0.4, mew=0, label="a round")
        axes.axhline(0, color=INK, lw=0.8)
        label = "mean of a stretch"
        edges = np.append(0, trace.ends)
        axes.stairs(trace.residual, edges, baseline=None, color=ORANGE, lw=2.0, label=label)
        axes.set_xlim(0, int(trace.ends[-1]))
        # A few wild rounds should not flatten all others.
        most = float(np.quantile(np.abs(residuals), 0.99)) if len(residuals) else 1.0
        wide = 1.5 * most if most > 0 else 1.0
        axes.set_ylim(-wide, wide)
        beyond = int((np.abs(residuals) > wide).sum())
        if beyond:
            axes.set_title(f"{beyond:,} of {len(residuals):,} points are beyond", loc="right")
        return finished(figure, axes, "actual − predicted", 2)


def prediction_pictures(run: Run) -> list[tuple[str, str, Figure]]:
    """Heading, words and figure of each, for the page; none of probabilities."""
    points = run.predictions.points
    if not len(points):
        return []
    evenly = "" if len(points) == run.ledger.rounds - 1 else ", evenly over the game"
    some = f"{len(points):,} rounds{evenly}"
    outside = " Crosses: outside of their intervals, whose ends are the fine dots."
    scatter = f"{some}. On the line: exactly as predicted.{outside if run.ledger.bounded else ''}"
    residuals = (
        "The error of each round. If the line stays away from 0, predictions are too low (above) "
        "or too high (below), and something is changing that the features do not show."
    )
    if run.probabilities is not None:
        return []
    return [
        ("Predicted and actual", scatter, predicted_and_actual(run)),
        ("Residuals over time", residuals, residuals_over_time(run)),
    ]


def _typical(run: Run, loss: Floats, first_loss: float) -> Floats:
    """The root of the mean squared loss of each bin, from cumulative loss; round 1 left out."""
    rounds = np.diff(run.ends, prepend=0).astype(np.float64)
    lost = np.diff(loss, prepend=0.0)
    if run.ledger.rounds > 1:
        rounds[0] -= 1
        lost[0] -= first_loss
    with np.errstate(invalid="ignore", divide="ignore"):
        each: Floats = np.sqrt(np.maximum(lost, 0.0) / rounds)
    return each


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
        return finished(figure, axes, "share of rounds", 3)


def widths_over_time(run: Run) -> Figure:
    """How wide the intervals were on average, stretch by stretch."""
    trace = _trace(run)
    with style():
        figure, axes = new_figure(2.4)
        edges = np.append(0, trace.ends)
        label = f"mean width of the {100 * trace.coverage:g} % intervals"
        axes.stairs(trace.width, edges, baseline=None, color=BLUE, lw=2.0, label=label)
        axes.set_xlim(0, int(trace.ends[-1]))
        _cut_off(axes, trace.width)
        return finished(figure, axes, "width")


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


def reliability(scores: ProbabilityScores) -> Figure:
    """The share of yes by predicted probability, in ten groups of rounds."""
    with extra("matplotlib", "report").rc_context(STYLE):
        figure: Figure = extra("matplotlib.figure", "report").Figure(
            (8.6, 4.4), layout="constrained"
        )
        axes = figure.add_subplot()
        groups = scores.reliability()
        predicted = np.array([g.predicted for g in groups])
        came = np.array([g.yes for g in groups])
        bars = np.array([[g.yes - g.low for g in groups], [g.high - g.yes for g in groups]])
        axes.plot([0, 1], [0, 1], color=INK, ls="--", lw=1.2, label="as predicted")
        yerr = np.maximum(bars, 0.0)
        axes.errorbar(predicted, came, yerr=yerr, ms=5, label="what came", **BARS)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("predicted probability of yes")
        return finished(figure, axes, "share of yes", 2)


def probability_facts(scores: ProbabilityScores) -> list[Fact]:
    """The large numbers of a run whose predictions are probabilities."""
    auc = scores.auc
    shown = "not known" if auc.width == 1.0 else f"{(auc.low + auc.high) / 2:.3f}"
    return [
        Fact("log loss", number(scores.log_loss), f"share of yes {number(scores.base_log_loss)}"),
        Fact("Brier score", number(scores.brier), f"share of yes {number(scores.base_brier)}"),
        Fact("AUC", shown, "a yes before a no; by chance 0.5"),
    ]
