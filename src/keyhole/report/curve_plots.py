"""Plots of curves: what each kept feature adds to predictions, and what two add together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.learners.blocks.auto.curves import Curves, FeatureCurve, PairCurves
from keyhole.problem.optional_imports import extra
from keyhole.report.number_format import brief
from keyhole.report.plots import BLUE, INK, ORANGE, shown, style, tick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CURVES = 9  # in one report
FEW_VALUES = 5  # of a feature: points in place of a line
STRAIGHT = (
    "Curves and trees say nothing of late that straight lines do not: the weights above are all "
    "there is to see."
)


def feature_curve(curve: FeatureCurve) -> Figure:
    """What one feature adds, with what the rows told last say of it."""
    with style():
        figure, axes = _small(shown(curve.name))
        if len(curve.at) <= FEW_VALUES:
            known = np.isfinite(curve.low)
            middle, half = (curve.low + curve.high) / 2.0, (curve.high - curve.low) / 2.0
            bars = (curve.at[known], middle[known], half[known])
            axes.errorbar(*bars, color=BLUE, ls="", elinewidth=7, alpha=0.3)
            axes.plot(curve.at, curve.adds, "o", color=BLUE, ms=5)
            if len(curve.at) == 2:
                axes.set_xticks(curve.at, [brief(value) for value in curve.at])
            axes.margins(x=0.2)
        else:
            axes.fill_between(curve.at, curve.low, curve.high, color=BLUE, alpha=0.25, lw=0)
            axes.plot(curve.at, curve.adds, color=BLUE, lw=1.8, marker="o", ms=3)
        return figure


def pair_curves(pair: PairCurves) -> Figure:
    """What one feature adds where another is low, and where it is high."""
    with style():
        figure, axes = _small(shown(pair.name))
        how = zip(pair.levels, pair.adds, (BLUE, ORANGE), ("-", "--"), strict=True)
        for level, adds, colour, dashes in how:
            label = f"{shown(pair.other)} = {brief(level)}"
            axes.plot(pair.at, adds, color=colour, ls=dashes, marker="o", ms=3, label=label)
        figure.legend(loc="outside upper left", ncols=1)
        return figure


def words(curves: Curves, target: str) -> str:
    """What is to be seen in the curves."""
    left = len(curves.features) - MOST_CURVES
    more = f" {left:,} more curves are not drawn." if left > 0 else ""
    return (
        f"What a feature adds to the predicted {target}, at values that were bought (the points): "
        "the line is the mean prediction with that value in place of the feature's own, for rows "
        "told last. The band is where those rows have it: the line plus the mean of what is missed "
        "in the rows nearest to a point, two standard errors to either side. Where the line leaves "
        "the band, predictions are off by the distance, beyond chance; in one point of twenty that "
        "is chance. Features that move predictions most come first; each picture has a scale of "
        f"its own.{more}"
    )


def pair_words(curves: Curves) -> str:
    """What is to be seen in the interactions."""
    if not curves.pairs:
        return "No two features do much together that they do not do alone."
    return (
        "The strongest interactions: what one feature adds where another is low (a tenth of its "
        "values are below) and where it is high (a tenth are above). Where lines run side by side, "
        "the two only add."
    )


def _small(name: str) -> tuple[Figure, Axes]:
    """A small figure with one pair of axes over the values of a feature."""
    figure: Figure = extra("matplotlib.figure", "report").Figure((3.7, 2.5), layout="constrained")
    axes = figure.add_subplot()
    axes.xaxis.set_major_formatter(lambda value, _: tick(value))
    axes.yaxis.set_major_formatter(lambda value, _: tick(value))
    axes.locator_params(nbins=5)
    axes.axhline(0, color=INK, lw=0.8)
    axes.set_xlabel(name)
    axes.set_ylabel("adds")
    axes.grid(True)
    return figure, axes
