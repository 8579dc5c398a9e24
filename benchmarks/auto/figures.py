"""Draws docs/algorithms/auto-regret.svg and docs/algorithms/auto-cost.svg.

Regret is against the best k-sparse model of every prefix, AutoLearner beside the recipe it grew
out of; a line is the mean of three seeds, a band their range. Results are kept with those of
`python -m benchmarks.auto`, and what is there is not measured again.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.auto.__main__ import LONG
from benchmarks.auto.curves import run_curve
from benchmarks.auto.parts import SIZES, run_cost
from benchmarks.common import Row
from benchmarks.common.figures import BLUE, DOCS, GREEN, ORANGE, begin, line, rows_for, save
from keyhole.streams import AGNOSTIC_SUITE

STREAMS, SEEDS = ("iid", "flip", "switch", "needle"), range(3)
PAGES = DOCS / "algorithms"


def draw_regret(axes: Axes, name: str, rows: list[Row]) -> None:
    """One stream."""
    for way, colour in (("AutoLearner", BLUE), ("GramMix + BEXP", ORANGE)):
        regret = np.array([row[way] for row in rows])
        band = regret.min(axis=0), regret.max(axis=0)
        line(axes, np.array(rows[0]["rounds"]), regret.mean(axis=0), band, colour, way)
    axes.axhline(0.0, color="0.6", lw=0.8)
    axes.set(xscale="log", title=f"{name}: {AGNOSTIC_SUITE[name].about}", xlabel="rounds")


def draw_cost(axes: Axes, rows: list[Row]) -> None:
    """Microseconds against features."""
    for way, colour in (("AutoLearner", BLUE), ("floor", GREEN)):
        axes.plot([row["d"] for row in rows], [row[way] for row in rows], "o-", color=colour)
        axes.annotate(way, (rows[-1]["d"], rows[-1][way]), (-4, -26), textcoords="offset points",
                      ha="right", color=colour)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="features", ylabel="microseconds per round")
    axes.set_xticks([row["d"] for row in rows], [f"{r['d']}\nbudget {r['budget']}" for r in rows])
    axes.minorticks_off()


def main() -> None:
    """Both figures."""
    rows = rows_for("auto", run_curve, [(name, s, LONG) for name in STREAMS for s in SEEDS])
    begin(10)
    figure, grid = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
    for axes, name in zip(grid.flat, STREAMS, strict=True):
        draw_regret(axes, name, [row for row in rows if row["stream"] == name])
    grid[0, 0].legend(frameon=False)
    figure.supylabel("regret against the best k-sparse model")
    save(figure, PAGES / "auto-regret.svg")
    figure, cost = plt.subplots(figsize=(6, 4), layout="constrained")
    sizes = [(*size, LONG // 4) for size in SIZES]
    draw_cost(cost, rows_for("auto", run_cost, sizes, timed=True))
    save(figure, PAGES / "auto-cost.svg")


if __name__ == "__main__":
    main()
