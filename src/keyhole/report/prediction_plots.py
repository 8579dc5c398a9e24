"""Pictures of predictions: predicted and actual, errors over time, residuals over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.problem import Floats
from keyhole.report.plots import BLUE, GREEN, INK, ORANGE, STYLES, new_figure, shown, style
from keyhole.report.prediction_trace import ACTUAL, HIGH, LOW, PREDICTED, ROUND
from keyhole.report.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        axes.set_ylabel(f"actual {shown(run.target)}")
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=3)
        return figure


def error_over_time(run: Run) -> Figure:
    """The typical error by stretches of rounds, beside those of the baselines."""
    with style():
        figure, axes = new_figure(3.0)
        edges = np.append(0, run.ends)
        for other in run.baselines:
            colour, dashes = STYLES[other.name]
            error = _typical(run, other.loss, other.first_loss)
            axes.stairs(error, edges, baseline=None, color=colour, ls=dashes, label=other.name)
        error = _typical(run, run.loss, run.ledger.first_loss)
        label = shown(run.learner)
        axes.stairs(error, edges, baseline=None, color=BLUE, lw=2.2, label=label)
        axes.set_xlim(0, int(run.ends[-1]))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("typical error")
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=4)
        return figure


def residuals_over_time(run: Run) -> Figure:
    """Actual less predicted, of some rounds; the mean of each stretch shows what is missed."""
    trace = run.predictions
    with style():
        figure, axes = new_figure(2.9)
        rounds, residuals = (
            trace.points[:, ROUND],
            trace.points[:, ACTUAL] - trace.points[:, PREDICTED],
        )
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
        axes.set_ylabel("actual − predicted")
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=2)
        return figure


def prediction_pictures(run: Run) -> list[tuple[str, str, Figure]]:
    """Heading, words and figure of each, for the page; of probabilities the errors alone."""
    points = run.predictions.points
    if not len(points):
        return []
    some = f"{len(points):,} rounds" + (
        "" if len(points) == run.ledger.rounds - 1 else ", evenly over the game"
    )
    outside = " Crosses: outside of their intervals, whose ends are the fine dots."
    scatter = f"{some}. On the line: exactly as predicted.{outside if run.ledger.bounded else ''}"
    recent = (
        "The root of the mean squared error over each stretch of rounds, in the units of what is "
        "predicted. The right end says what to expect from now on."
    )
    residuals = (
        "The error of each round. If the line stays away from 0, predictions are too low (above) "
        "or too high (below), and something is changing that the features do not show."
    )
    error = ("Error over time", recent, error_over_time(run))
    if run.probabilities is not None:
        return [error]
    return [
        ("Predicted and actual", scatter, predicted_and_actual(run)),
        error,
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
