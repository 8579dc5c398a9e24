"""Draws docs/algorithms/online-greedy.svg and prints the figures of the page beside it.

Run by `make figures`. Average loss against rounds on the agnostic streams, for the learner as it
comes and as it is printed, beside the best k-sparse model of every prefix; then regret by T.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.common import Row
from benchmarks.common.figures import BLUE, DOCS, ORANGE, PINK, begin, rows_for, save
from benchmarks.common.tables import Mean
from benchmarks.regret.greedy_curves import LEARNERS, STREAMS, run_losses
from keyhole.problem import Floats

ROUNDS, SEEDS = 2**17, range(4)
POWERS = range(12, 18)
DRAWN = {
    "as it comes": BLUE,
    "printed, B = 50": ORANGE,
    "printed, theorem's B and k1": PINK,
    "predict 0": "#999999",
}


def stacked(rows: list[Row]) -> tuple[Floats, Floats, Floats]:
    """Rounds of the checkpoints, loss there by (learner, seed), loss of the best model by seed."""
    losses = [[row["losses"][label] for row in rows] for label in LEARNERS]
    rounds = np.array(rows[0]["rounds"], dtype=np.float64)
    return rounds, np.array(losses), np.array([row["best"] for row in rows])


def exponent(rounds: Floats, regret: Floats) -> str:
    """Slope of log regret against log T over 2^12..2^17, mean and standard error over seeds."""
    at = [int(np.flatnonzero(rounds == 2**j)[0]) for j in POWERS]
    if not (regret[:, at] > 0).all():
        return "not positive"
    x = np.log2(rounds[at])
    slope = Mean.of(np.polyfit(x, np.log2(regret[:, at]).T, 1)[0])
    return f"{slope.mean:.2f} ± {slope.error:.2f}"


def report(name: str, rounds: Floats, losses: Floats, best: Floats) -> None:
    """Average loss at the end, regret by T, and its growth exponent."""
    at = [int(np.flatnonzero(rounds == 2**j)[0]) for j in POWERS]
    print(f"{name}: best {best[:, -1].mean() / ROUNDS:.4f}", flush=True)
    for label, loss in zip(LEARNERS, losses, strict=True):
        regret = loss - best
        cells = "  ".join(f"{r:8.0f}" for r in regret[:, at].mean(axis=0))
        error = Mean.of(regret[:, -1]).error
        mean = loss[:, -1].mean() / ROUNDS
        print(f"  {label:<27} {mean:.4f}  {cells} ± {error:4.0f}  {exponent(rounds, regret)}")


def main() -> None:
    """One panel for each stream."""
    tasks = [(name, seed, ROUNDS) for name in STREAMS for seed in SEEDS]
    rows = rows_for("regret", run_losses, tasks)
    begin(8)
    figure, panels = plt.subplots(2, 4, figsize=(11, 5), layout="constrained")
    for axes, name in zip(panels.flat, STREAMS, strict=True):
        rounds, losses, best = stacked([row for row in rows if row["stream"] == name])
        report(name, rounds, losses, best)
        for label, loss in zip(LEARNERS, losses, strict=True):
            if label in DRAWN:
                axes.plot(rounds, loss.mean(axis=0) / rounds, color=DRAWN[label], label=label)
        axes.plot(rounds, best.mean(axis=0) / rounds, color="black", ls="--", label="best k-sparse")
        problem = STREAMS[name][0]
        title = f"{name}, d = {problem.d}, k = {problem.k}, budget {problem.budget}"
        axes.set_title(title, fontsize=7)
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    for axes in panels[1]:
        axes.set_xlabel("rounds T")
    for axes in panels[:, 0]:
        axes.set_ylabel("average loss")
    panels[0, 0].legend(frameon=False)
    save(figure, DOCS / "algorithms" / "online-greedy.svg")


if __name__ == "__main__":
    main()
