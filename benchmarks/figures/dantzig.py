"""Draws docs/algorithms/dantzig.svg and prints the figures quoted in docs/algorithms/dantzig.md.

Run by `make figures`. Regret is against the best k-sparse model of every prefix; a line is the mean
of ten seeds, a band its standard error.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import keyhole as kh
from keyhole.problem import Floats
from keyhole.streams.designs import Design, factor, rademacher

ROUNDS, SEEDS, NOISE = 2**17, range(10), 0.1
COLOURS = [
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
]  # told apart by colour-blind readers too


def curves(
    problem: kh.Problem, design: Design, scale: float, weighting: str
) -> tuple[Floats, Floats, float]:
    """Rounds of the checkpoints, regret there by seed, and how often the support was found."""
    rows, found = [], 0
    for seed in SEEDS:
        stream, truth = kh.streams.realizable(
            problem.d, problem.k, ROUNDS, design=design, noise_sd=NOISE, seed=seed
        )
        learner = kh.DantzigLearner(
            problem, seed=seed, noise_sd=NOISE, threshold_scale=scale, weighting=weighting
        )
        ledger = kh.play(learner, stream, keep_predictions=False)
        curve = kh.regret_curve(ledger, stream, problem.k, seconds=60)
        assert np.array_equal(curve.low, curve.high), "the best model of every prefix is proven"
        rows.append(curve.high)
        found += np.array_equal(np.flatnonzero(learner.weights), truth.support)
    return curve.rounds.astype(np.float64), np.array(rows), found / len(SEEDS)


def draw(axes: Axes, rounds: Floats, regret: Floats, colour: str, label: str) -> None:
    """One line with its band, from round 64 on."""
    mean = regret.mean(axis=0)
    error = regret.std(axis=0, ddof=1) / np.sqrt(len(regret))
    late = rounds >= 64
    axes.plot(rounds[late], mean[late], color=colour, label=label)
    axes.fill_between(
        rounds[late], (mean - error)[late], (mean + error)[late], color=colour, alpha=0.25, lw=0
    )


def report(name: str, rounds: Floats, regret: Floats, found: float) -> None:
    """Regret per doubling of T, and support recovery."""
    at = [int(np.flatnonzero(rounds == 2**j)[0]) for j in range(12, 18)]
    steps = np.diff(regret[:, at], axis=1)
    mean, error = steps.mean(axis=0), steps.std(axis=0, ddof=1) / np.sqrt(len(steps))
    cells = "  ".join(f"{m:7.1f} ± {e:4.1f}" for m, e in zip(mean, error, strict=True))
    total = regret[:, at[-1]].mean()
    print(f"{name:<28} {cells}   total {total:8.1f}   support found {found:.0%}")


def main() -> None:
    """Two panels: the constant C, and the two weightings."""
    plt.switch_backend("svg")
    plt.rcParams.update({"svg.hashsalt": "keyhole", "font.size": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    print("regret per doubling of T, from 2^12 to 2^17")
    wide = kh.Problem(d=50, k=3, budget=18)
    for scale, colour in zip((1.0, 0.3, 0.1, 0.05, 0.02), COLOURS, strict=True):
        rounds, regret, found = curves(wide, rademacher, scale, "exact")
        draw(left, rounds, regret, colour, f"C = {scale:g}")
        report(f"rademacher, C = {scale:g}", rounds, regret, found)
    narrow = kh.Problem(d=12, k=3, budget=6)
    for weighting, colour in zip(("exact", "paper"), COLOURS, strict=False):
        rounds, regret, found = curves(narrow, factor(0.6), 0.05, weighting)
        draw(right, rounds, regret, colour, f'C = 0.05, weighting="{weighting}"')
        report(f"one factor, {weighting}", rounds, regret, found)
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
    target = Path(__file__).parents[2] / "docs" / "algorithms" / "dantzig.svg"
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
