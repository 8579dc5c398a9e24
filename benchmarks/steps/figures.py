"""Loss against mean spending, a panel for each source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from benchmarks.common import Row
from benchmarks.common.figures import BLUE, GREEN, ORANGE, begin, save
from benchmarks.steps.curves import curve, of_trees
from benchmarks.steps.offline import TREES
from benchmarks.steps.parts import AT_ONCE, STEPS

ACROSS = 4


def draw(found: Mapping[str, list[Row]], target: Path) -> None:
    """At once, step by step, and trees that stop early offline; in the second half of the rounds.

    With history the lines are broken.
    """
    begin(9)
    across = min(ACROSS, len(found))
    down = -(-len(found) // across)
    figure, grid = plt.subplots(
        down, across, figsize=(3.0 * across, 2.6 * down), squeeze=False, layout="constrained"
    )
    for axes in grid.flat[len(found) :]:
        axes.set_visible(False)
    for axes, (name, rows) in zip(grid.flat, found.items(), strict=False):
        _panel(axes, name, rows)
    grid.flat[0].legend(frameon=False, fontsize=8)
    save(figure, target)


def _panel(axes: Axes, name: str, rows: list[Row]) -> None:
    games = [row for row in rows if row["way"] != TREES]
    for history in sorted({row["history"] for row in games}):
        for way, colour in ((AT_ONCE, ORANGE), (STEPS, BLUE)):
            at, dashes = curve(games, way, history, "late loss"), "--" if history else "-"
            label = way if history == 0 else None
            axes.plot(at.spent, at.loss, dashes, color=colour, marker=".", label=label)
    if len(games) < len(rows):
        early = of_trees(rows)[1]
        axes.plot(early.spent, early.loss, ":", color=GREEN, marker=".", label=TREES)
    axes.set(title=name, xlabel="money per example", ylabel="loss / variance", ylim=(0.0, None))
