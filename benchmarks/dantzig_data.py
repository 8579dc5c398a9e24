"""Algorithm 1 as printed and in practice: what each costs, and what each step is worth.

The score is the sum of (y_hat - E(y | x))^2 over T = 2^16 rounds of the streams of
`keyhole.streams.REALIZABLE_SUITE`, mean and standard error over seeds; every learner reads the same
number of features per round. The printed algorithm is told the noise, and on S8 and S9 gets rows
and labels that are centred and scaled beforehand; its constant C is also shown at the best of a
grid, chosen in hindsight. The practical one is told nothing.

Prints two tables and writes the numbers as JSON to benchmarks/results/dantzig_data.json. Nothing
is asserted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import keyhole as kh
from keyhole.blocks.practical_dantzig.parts import PRACTICAL, Parts
from keyhole.blocks.practical_dantzig.selection import Thresholds
from keyhole.learners.practical_dantzig import PracticalDantzig
from keyhole.problem import Floats

SCALES = (1.0, 0.3, 0.1, 0.05, 0.02, 0.01)
STANDARDISED = ("S8", "S9")  # for the printed algorithm, which neither centres nor scales
LADDER_STREAM = "S2"

Change = Callable[[Parts], Parts]

FIRST = Parts(
    growth=2.0,
    least=1,
    shrink=False,
    played=False,
    refit=False,
    adapt=False,
    fill=False,
    reweight=False,
)
STEPS: dict[str, Change] = {
    "thresholds from the data, available cases": lambda parts: parts,
    "least squares on the support, guarded": lambda parts: replace(parts, refit=True),
    "moments also use the played support": lambda parts: replace(parts, played=True),
    "VAW on the played support": lambda parts: replace(parts, adapt=True),
    "solve again at 1.2^n": lambda parts: replace(parts, growth=1.2, least=4),
    "idle slots read the best candidates": lambda parts: replace(parts, fill=True),
    "correlations shrunk, 1.1^n": lambda parts: replace(parts, shrink=True, growth=1.1),
    "old rows weigh less: all of it": lambda parts: replace(parts, reweight=True),
}
WITHOUT: dict[str, Change] = {
    "moments without the played support": lambda parts: replace(parts, played=False),
    "without VAW": lambda parts: replace(parts, adapt=False),
    "weights of the program, no refit": lambda parts: replace(parts, refit=False),
    "idle slots explore": lambda parts: replace(parts, fill=False),
    "without shrinking": lambda parts: replace(parts, shrink=False),
    "all rows weigh the same": lambda parts: replace(parts, reweight=False),
    "threshold not raised for dense answers": lambda parts: replace(
        parts, thresholds=Thresholds(most=float("inf"))
    ),
    "solve again at 2^n": lambda parts: replace(parts, growth=2.0, least=1),
    "solve again at 1.05^n": lambda parts: replace(parts, growth=1.05, least=2),
}


@dataclass(frozen=True, slots=True)
class Run:
    """One game: the stream by name, the seed, and the printed constant or the practical parts."""

    stream: str
    seed: int
    rounds: int
    scale: float | None = None
    parts: Parts = PRACTICAL


def score(run: Run) -> tuple[float, float]:
    """The sum of squared distances to the truth, and microseconds per round of the learner."""
    setting = kh.streams.REALIZABLE_SUITE[run.stream]
    stream, truth = setting.simulate(run.rounds, run.seed)
    given = run.scale is not None and run.stream in STANDARDISED
    centre, size, shift = _units(stream, truth) if given else (np.zeros(1), np.ones(1), 0.0)
    learner: kh.DantzigLearner
    if run.scale is None:
        learner = PracticalDantzig(setting.problem, seed=run.seed, parts=run.parts)
    else:
        learner = kh.DantzigLearner(
            setting.problem, seed=run.seed, noise_sd=setting.noise_sd, threshold_scale=run.scale
        )
    total, seconds = 0.0, 0.0
    for X, y in stream.blocks():
        rows = (X - centre) / size if given else X
        began = time.perf_counter()
        predictions = learner.advance(rows, y - shift) + shift
        seconds += time.perf_counter() - began
        total += float(((predictions - truth.intercept - X @ truth.weights) ** 2).sum())
    return total, 1e6 * seconds / run.rounds


def _units(
    stream: kh.streams.GeneratedStream, truth: kh.streams.Truth
) -> tuple[Floats, Floats, float]:
    X, _ = kh.streams.collect(kh.streams.take(stream, 16_384))
    centre, size = X.mean(axis=0), X.std(axis=0)
    return centre, size, truth.intercept + float(centre @ truth.weights)


def scores(pool: Executor, runs: Iterable[Run]) -> tuple[Floats, float]:
    """Of all runs: the scores, and the mean microseconds."""
    found = list(pool.map(score, runs))
    return np.array([s for s, _ in found]), float(np.mean([us for _, us in found]))


def show(values: Floats) -> str:
    """Mean and standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{values.mean():9.1f} ± {error:5.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The suite, then the ladder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2**16)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--streams", nargs="*", default=list(kh.streams.REALIZABLE_SUITE))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-ladder", action="store_true")
    parser.add_argument("--no-printed", action="store_true")
    given = parser.parse_args(arguments)
    seeds, rounds = range(given.seeds), given.rounds
    results: dict[str, dict[str, list[float]]] = {"suite": {}, "ladder": {}}
    with ProcessPoolExecutor(given.jobs) as pool:
        print(f"sum of (y_hat - E(y|x))^2 at T = {rounds}, {given.seeds} seeds")
        print(
            f"{'':>5} {'printed, C = 1':>17} {'printed, best C':>17}        {'practical':>17}  µs"
        )
        for name in given.streams:
            row = " " * 43
            if not given.no_printed:
                printed = {
                    C: scores(pool, [Run(name, seed, rounds, C) for seed in seeds])[0]
                    for C in SCALES
                }
                best = min(printed, key=lambda C: float(printed[C].mean()))
                row = f"{show(printed[1.0])} {show(printed[best])} ({best:4g})"
                results["suite"][f"{name} printed"] = printed[best].tolist()
            mine, us = scores(pool, [Run(name, seed, rounds) for seed in seeds])
            print(f"{name:>5} {row} {show(mine)} {us:4.1f}", flush=True)
            results["suite"][name] = mine.tolist()
        if not given.no_ladder:
            print(f"\nthe ladder on {LADDER_STREAM}: each step keeps those before")
            parts = FIRST
            for step, change in STEPS.items():
                parts = change(parts)
                results["ladder"][step] = rung(pool, step, parts, seeds, rounds)
            print("\nall of it but one")
            for step, change in WITHOUT.items():
                results["ladder"][step] = rung(pool, step, change(PRACTICAL), seeds, rounds)
    target = Path(__file__).parent / "results" / "dantzig_data.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n")


def rung(pool: Executor, step: str, parts: Parts, seeds: range, rounds: int) -> list[float]:
    """One line of the ladder."""
    runs = [Run(LADDER_STREAM, seed, rounds, parts=parts) for seed in seeds]
    values, us = scores(pool, runs)
    print(f"{show(values)} {us:5.1f} µs   {step}", flush=True)
    found: list[float] = values.tolist()
    return found


if __name__ == "__main__":
    main()
