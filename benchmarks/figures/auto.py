"""Draws docs/algorithms/auto-regret.svg and docs/algorithms/auto-cost.svg.

Regret is against the best k-sparse model of every prefix, AutoLearner beside the recipe it grew
out of; a line is the mean of three seeds, a band their range. Cost is read from the rows that
`python -m benchmarks.auto --only cost` wrote, or measured if there are none.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import keyhole as kh
from benchmarks.auto import RESULTS
from benchmarks.auto_parts import SIZES, losses, run_cost
from benchmarks.grammix import grammix
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE, ArrayStream, collect

STREAMS, SEEDS = ("iid", "flip", "switch", "needle"), range(3)
ENDS = [2**power for power in range(8, 17)]
BLUE, ORANGE, GREEN = "#0072b2", "#e69f00", "#009e73"  # told apart by colour-blind readers too
PAGES = Path(__file__).parents[2] / "docs" / "algorithms"


def curves(name: str) -> dict[str, Floats]:
    """Regret at ENDS, a row per seed, by learner."""
    case = AGNOSTIC_SUITE[name]
    rows: dict[str, list[Floats]] = {"AutoLearner": [], "GramMix + BEXP": []}
    for seed in SEEDS:
        X, y = collect(case.simulate(ENDS[-1], seed).stream)
        found = kh.hindsight_curve(ArrayStream(X, y), case.problem.k, ENDS)
        best = np.array([model.loss.high for model in found])
        peer = (y - grammix(X, y, case.problem.budget, seed=seed)) ** 2
        at = np.array(ENDS) - 1
        rows["AutoLearner"].append(np.cumsum(losses(X, y, case.problem, seed))[at] - best)
        rows["GramMix + BEXP"].append(np.cumsum(peer)[at] - best)
    return {way: np.array(values) for way, values in rows.items()}


def draw(axes: Axes, name: str) -> None:
    """One stream."""
    for (way, regret), colour in zip(curves(name).items(), (BLUE, ORANGE), strict=True):
        axes.plot(ENDS, regret.mean(axis=0), color=colour, label=way)
        axes.fill_between(
            ENDS, regret.min(axis=0), regret.max(axis=0), color=colour, alpha=0.25, lw=0
        )
    axes.axhline(0.0, color="0.6", lw=0.8)
    axes.set(xscale="log", title=f"{name}: {AGNOSTIC_SUITE[name].about}", xlabel="rounds")


def main() -> None:
    """Both figures."""
    plt.rcParams["svg.hashsalt"] = "keyhole"  # drawn again, the same file
    figure, grid = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
    for axes, name in zip(grid.flat, STREAMS, strict=True):
        draw(axes, name)
    grid[0, 0].legend(frameon=False)
    figure.supylabel("regret against the best k-sparse model")
    figure.savefig(PAGES / "auto-regret.svg", metadata={"Date": None})

    measured = RESULTS / "auto-cost.json"
    if measured.exists():
        rows = json.loads(measured.read_text())
    else:
        rows = [run_cost(*size) for size in SIZES]
    figure, cost = plt.subplots(figsize=(6, 4), layout="constrained")
    for way, colour in (("AutoLearner", BLUE), ("floor", GREEN)):
        cost.plot([row["d"] for row in rows], [row[way] for row in rows], "o-", color=colour)
        cost.annotate(way, (rows[-1]["d"], rows[-1][way]), (-4, -26), textcoords="offset points",
                      ha="right", color=colour)  # fmt: skip
    cost.set(xscale="log", yscale="log", xlabel="features", ylabel="microseconds per round")
    cost.set_xticks([row["d"] for row in rows], [f"{r['d']}\nbudget {r['budget']}" for r in rows])
    cost.minorticks_off()
    figure.savefig(PAGES / "auto-cost.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
