"""Plot of several learners with several budgets: the mean loss of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keyhole.errors import DataError
from keyhole.problem.atomic_file import whole_file
from keyhole.problem.optional_imports import extra
from keyhole.report.plots import BLUE, GREEN, INK, ORANGE, PURPLE, STYLE, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE_COLOURS = (BLUE, "#e69f00", PURPLE, "#56b4e9", INK, "#8c6d31")
MARKERS = "osD^vPX*<>hp"  # no two of a dozen learners have the same marker
LEVELS = ("-.", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (8, 3)))
LOGARITHMIC = 5.0  # largest loss over smallest from which on the scale is logarithmic
TICKS = 20  # budgets on the axis; of more than that only some


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """A learner: mean loss per round and its standard error for each budget.

    Parameters
    ----------
    name
        What to call it.
    budgets, means, errors
        One of each for every point; an error that is not known is NaN.
    level
        Whether it is the same whatever the budget, since it reads everything: a level line.
    """

    name: str
    budgets: Sequence[float]
    means: Sequence[float]
    errors: Sequence[float]
    level: bool = False


def loss_by_budget(
    lines: Sequence[BudgetLine],
    *,
    budgets: Sequence[float],
    hindsight: tuple[str, float],
    mean: tuple[str, float],
    features: int,
    target: str,
) -> Figure:
    """Mean loss against budget, a line with error bars per learner.

    Parameters
    ----------
    lines
        The learners.
    budgets
        What is on the axis.
    hindsight, mean
        Level lines to compare with, each with its name: the best sparse model that saw
        everything, and the running mean of the labels, which reads nothing.
    features
        How many there are to read.
    target
        What is predicted.
    """
    with extra("matplotlib", "report").rc_context(STYLE):
        figure: Figure = extra("matplotlib.figure", "report").Figure(
            (8.6, 4.6), layout="constrained", facecolor="white"
        )
        axes = figure.add_subplot(facecolor="white")
        axes.axhline(mean[1], color=ORANGE, ls=":", lw=1.6, label=mean[0])
        for i, line in enumerate(line for line in lines if line.level):
            label = f"{shown(line.name)}, reads all {features}"
            dashes = LEVELS[i % len(LEVELS)]
            axes.axhline(line.means[0], color=INK, ls=dashes, lw=1.2, label=label)
        axes.axhline(hindsight[1], color=GREEN, ls="--", lw=1.6, label=hindsight[0])
        for i, line in enumerate(line for line in lines if not line.level):
            axes.errorbar(
                line.budgets,
                line.means,
                yerr=np.nan_to_num(np.asarray(line.errors, float)),
                color=LINE_COLOURS[i % len(LINE_COLOURS)],
                marker=MARKERS[i % len(MARKERS)],
                ms=6,
                lw=1.8,
                elinewidth=1.2,
                capsize=4,
                label=shown(line.name),
            )
        values = [value for line in lines for value in line.means] + [hindsight[1], mean[1]]
        if min(values) > 0 and max(values) / min(values) > LOGARITHMIC:
            axes.set_yscale("log")
            ticker = extra("matplotlib.ticker", "report")
            axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5)))
            axes.yaxis.set_minor_locator(ticker.NullLocator())
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        axes.set_xticks(list(budgets)[:: -(-len(budgets) // TICKS)])
        axes.set_xlabel(f"budget: features read per example, of {features}")
        axes.set_ylabel(f"mean squared loss, {shown(target)}")
        axes.set_title("bars: standard error over the seeds", loc="right")
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=4)
        return figure


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a Figure on a white background, whole or not at all; the suffix says which format."""
    with extra("matplotlib", "report").rc_context(STYLE), whole_file(Path(path), DataError) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=160, facecolor="white")
