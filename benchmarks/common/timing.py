"""Clocks, in turns; rows to play; and the floor that no learner can be faster than."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common.compiled import kernel
from keyhole.problem import Floats, Indices

REPEATS = 7
Play = Callable[[int], None]  # plays so many rounds


def timed(run: Callable[[], Any], repeats: int) -> float:
    """Median seconds of `run`, fewer repeats if it is slow."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
        if sum(times) > 10:
            break
    return statistics.median(times)


def best_in_turns(
    ways: Mapping[str, Callable[[], object]], repeats: int = REPEATS
) -> dict[str, float]:
    """Seconds of each way: the best of some repeats, taken in turns.

    In turns, because other work on the machine then slows all of them down alike.
    """
    best = dict.fromkeys(ways, np.inf)
    for _ in range(repeats):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def enough(play: Play, most: int, seconds: float) -> int:
    """How many rounds take about so long; compiles and warms up on the way."""
    n = min(50, most)
    play(n)
    while n < most:
        began = time.perf_counter()
        play(n)
        if time.perf_counter() - began > seconds / 2:
            break
        n = min(most, 2 * n)
    return n


def per_round(ways: Mapping[str, tuple[Play, int]], seconds: float) -> dict[str, float]:
    """Microseconds per round of each way, given so many seconds and a number of rounds."""
    rounds = {name: enough(play, n, seconds / REPEATS) for name, (play, n) in ways.items()}
    calls = {name: partial(play, rounds[name]) for name, (play, _) in ways.items()}
    return {name: 1e6 * best / rounds[name] for name, best in best_in_turns(calls).items()}


def rows_of(d: int, k: int, rows: int) -> tuple[Floats, Floats]:
    """Rademacher rows and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (rows, d))
    return X, X[:, :k] @ np.full(k, 1.0 / k) + 0.1 * rng.standard_normal(rows)


def random_sets(d: int, size: int, rows: int, seed: int) -> Indices:
    """A random set of features for every row, sorted."""
    rng = np.random.default_rng(seed)
    return np.array([np.sort(rng.permutation(d)[:size]) for _ in range(rows)])


@kernel
def floor_kernel(X: Floats, sets: Indices, G: Floats) -> None:
    """Read the bought values and add the upper triangle of their outer product, round by round."""
    budget = sets.shape[1]
    x = np.empty(budget)
    for t in range(len(X)):
        for a in range(budget):
            x[a] = X[t, sets[t, a]]
        for a in range(budget):
            for b in range(a, budget):
                G[sets[t, a], sets[t, b]] += x[a] * x[b]
