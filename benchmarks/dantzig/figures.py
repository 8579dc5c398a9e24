"""Draws docs/algorithms/dantzig.svg and prints the figures quoted in docs/algorithms/dantzig.md.

Run by `make figures`. Regret is against the best k-sparse model of every prefix; a line is the mean
of ten seeds, a band its standard error.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.common import Row
from benchmarks.common.figures import COLOURS, DOCS, begin, line, rows_for, save
from benchmarks.dantzig.curves import run_curve
from keyhole.problem import Floats

ROUNDS, SEEDS = 2**17, range(10)
LEFT = [("rademacher", scale, "exact") for scale in (1.0, 0.3, 0.1, 0.05, 0.02)]
RIGHT = [("one factor", 0.05, weighting) for weighting in ("exact", "paper")]


def draw(axes: Axes, rounds: Floats, regret: Floats, colour: str, label: str) -> None:
    """One line with its band, from round 64 on."""
    mean = regret.mean(axis=0)
    error = regret.std(axis=0, ddof=1) / np.sqrt(len(regret))
    late = rounds >= 64
    line(
        axes, rounds[late], mean[late], ((mean - error)[late], (mean + error)[late]), colour, label
    )


def report(name: str, rounds: Floats, regret: Floats, found: float) -> None:
    """Regret per doubling of T, and support recovery."""
    last = ROUNDS.bit_length() - 1
    at = [int(np.flatnonzero(rounds == 2**j)[0]) for j in range(last - 5, last + 1)]
    steps = np.diff(regret[:, at], axis=1)
    mean, error = steps.mean(axis=0), steps.std(axis=0, ddof=1) / np.sqrt(len(steps))
    cells = "  ".join(f"{m:7.1f} ± {e:4.1f}" for m, e in zip(mean, error, strict=True))
    total = regret[:, at[-1]].mean()
    print(f"{name:<28} {cells}   total {total:8.1f}   support found {found:.0%}")


def show(axes: Axes, rows: list[Row], colour: str, label: str) -> None:
    """The seeds of one line, drawn and told."""
    rounds = np.array(rows[0]["rounds"], dtype=np.float64)
    regret = np.array([row["regret"] for row in rows])
    draw(axes, rounds, regret, colour, label)
    found = float(np.mean([row["found"] for row in rows]))
    report(f"{rows[0]['panel']}, {label}", rounds, regret, found)


def main() -> None:
    """Two panels: the constant C, and the two weightings."""
    tasks = [(*what, seed, ROUNDS) for what in (*LEFT, *RIGHT) for seed in SEEDS]
    rows = rows_for("dantzig", run_curve, tasks)
    begin(9)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    print("regret per doubling of T, the last five")
    for axes, lines in ((left, LEFT), (right, RIGHT)):
        for (panel, scale, weighting), colour in zip(lines, COLOURS, strict=False):
            label = f"C = {scale:g}" + (f', weighting="{weighting}"' if axes is right else "")
            of = (panel, scale, weighting)
            mine = [row for row in rows if (row["panel"], row["scale"], row["weighting"]) == of]
            show(axes, mine, colour, label)
    left.set_title("Rademacher features, d = 50, k = 3, budget 18")
    right.set_title("one-factor features, d = 12, k = 3, budget 6")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("rounds T")
        axes.set_ylabel("regret")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    left.set_ylim(0, 2500)
    save(figure, DOCS / "algorithms" / "dantzig.svg")


if __name__ == "__main__":
    main()
