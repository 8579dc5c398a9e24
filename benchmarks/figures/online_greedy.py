"""Draws docs/algorithms/online-greedy.svg and prints the figures of the page beside it.

Run by `make figures`. Average loss against rounds on the agnostic streams, for the learner as it
comes and as it is printed, beside the best k-sparse model of every prefix; then regret by T.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import keyhole as kh
from keyhole.blocks.greedy.experts import second_order
from keyhole.blocks.greedy.memory import RestartAndCarry
from keyhole.blocks.greedy.parts import PAPER, Parts, negative_gains, shared_reads
from keyhole.problem import Floats
from keyhole.streams.simulate import Simulated

ROUNDS, SEEDS = 2**17, range(4)
POWERS = range(12, 18)
Maker = Callable[[kh.Problem, int], kh.Learner]

STREAMS: dict[str, tuple[kh.Problem, Callable[[int], Simulated]]] = {
    "sparse": (
        kh.Problem(d=30, k=2, budget=12),
        lambda seed: kh.streams.realizable(30, 2, ROUNDS, noise_sd=0.1, seed=seed),
    ),
    "dense": (
        kh.Problem(d=100, k=4, budget=24),
        lambda seed: kh.streams.dense(100, ROUNDS, seed=seed),
    ),
    "nonlinear": (
        kh.Problem(d=30, k=2, budget=12),
        lambda seed: kh.streams.nonlinear(30, ROUNDS, seed=seed),
    ),
    "switching": (
        kh.Problem(d=100, k=4, budget=24),
        lambda seed: kh.streams.switching(100, 4, ROUNDS, seed=seed),
    ),
    "drifting": (
        kh.Problem(d=30, k=2, budget=12),
        lambda seed: kh.streams.drifting(30, ROUNDS, seed=seed),
    ),
    "sign_flips": (
        kh.Problem(d=30, k=2, budget=12),
        lambda seed: kh.streams.sign_flips(30, ROUNDS, seed=seed),
    ),
    "needle": (
        kh.Problem(d=300, k=1, budget=12),
        lambda seed: kh.streams.needle(300, ROUNDS, seed=seed),
    ),
    "leaders": (
        kh.Problem(d=10, k=1, budget=4),
        lambda seed: kh.streams.leaders(10, ROUNDS, seed=seed),
    ),
}


def printed(parts: Parts) -> Maker:
    """Batches of 50 rounds and the default number of slots, put together from the given parts."""
    return lambda problem, seed: kh.OnlineGreedyLearner(
        problem,
        seed=seed,
        batch_size=50,
        slots=max(problem.k, min(3 * problem.k, problem.budget // 2)),
        horizon=ROUNDS,
        parts=parts,
    )


RATE = replace(PAPER, rate=second_order)
GAINS = replace(RATE, losses=negative_gains)
SHARED = replace(GAINS, scheme=shared_reads)

LEARNERS: dict[str, Maker] = {
    "as it comes": lambda problem, seed: kh.OnlineGreedyLearner(problem, seed=seed),
    "printed, theorem's B and k1": lambda problem, seed: kh.OnlineGreedyLearner(
        problem, seed=seed, kappa=1.2, horizon=ROUNDS
    ),
    "printed, B = 50": printed(PAPER),
    "+ second-order rate": printed(RATE),
    "+ gains": printed(GAINS),
    "+ shared reads": printed(SHARED),
    "+ carried VAW": printed(replace(SHARED, memory=RestartAndCarry)),
    "predict 0": lambda problem, seed: kh.Zero(problem),
}
DRAWN = {
    "as it comes": "#0072b2",
    "printed, B = 50": "#e69f00",
    "printed, theorem's B and k1": "#cc79a7",
    "predict 0": "#999999",
}


def curves(name: str) -> tuple[Floats, Floats, Floats]:
    """Rounds of the checkpoints, loss there by (learner, seed), loss of the best model by seed."""
    problem, make = STREAMS[name]
    losses, best = np.empty((len(LEARNERS), len(SEEDS)), dtype=object), []
    for s, seed in enumerate(SEEDS):
        simulated, _ = make(seed)
        stream = kh.streams.ArrayStream(*kh.streams.collect(simulated))
        for i, learner in enumerate(LEARNERS.values()):
            ledger = kh.play(learner(problem, seed), stream, keep_predictions=False)
            marks = [c for c in ledger.checkpoints if c.round >= 64]
            losses[i, s] = [c.loss for c in marks]
        at = [c.round for c in marks]
        found = kh.hindsight_curve(stream, problem.k, at, seconds=60)
        best.append([h.loss.high for h in found])
    stacked = np.array([[*row] for row in losses], dtype=np.float64)
    return np.array(at, dtype=np.float64), stacked, np.array(best)


def exponent(rounds: Floats, regret: Floats) -> str:
    """Slope of log regret against log T over 2^12..2^17, mean and standard error over seeds."""
    at = [int(np.flatnonzero(rounds == 2**j)[0]) for j in POWERS]
    if not (regret[:, at] > 0).all():
        return "not positive"
    x = np.log2(rounds[at])
    slopes = np.polyfit(x, np.log2(regret[:, at]).T, 1)[0]
    return f"{slopes.mean():.2f} ± {slopes.std(ddof=1) / np.sqrt(len(slopes)):.2f}"


def report(name: str, rounds: Floats, losses: Floats, best: Floats) -> None:
    """Average loss at T = 2^17, regret by T, and its growth exponent."""
    at = [int(np.flatnonzero(rounds == 2**j)[0]) for j in POWERS]
    print(f"{name}: best {best[:, -1].mean() / ROUNDS:.4f}", flush=True)
    for label, loss in zip(LEARNERS, losses, strict=True):
        regret = loss - best
        cells = "  ".join(f"{r:8.0f}" for r in regret[:, at].mean(axis=0))
        error = regret[:, -1].std(ddof=1) / np.sqrt(len(regret))
        mean = loss[:, -1].mean() / ROUNDS
        print(f"  {label:<27} {mean:.4f}  {cells} ± {error:4.0f}  {exponent(rounds, regret)}")


def main() -> None:
    """One panel for each stream."""
    plt.switch_backend("svg")
    plt.rcParams.update({"svg.hashsalt": "keyhole", "font.size": 8})
    figure, panels = plt.subplots(2, 4, figsize=(11, 5), layout="constrained")
    for axes, name in zip(panels.flat, STREAMS, strict=True):
        rounds, losses, best = curves(name)
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
    target = Path(__file__).parents[2] / "docs" / "algorithms" / "online-greedy.svg"
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
