"""Rounds per second: block play and single rounds against a NumPy loop, peers, and the floor.

The learner is Algorithm 1 between two re-solves: draw, buy, predict, add to the moments. Everybody
gets the same rows. `floor` reads the bought values of sets drawn beforehand and adds their outer
products, compiled, and does nothing else. Peers learn online on as many features as the budget
(river, Vowpal Wabbit) or on full rows (scikit-learn): one gradient step, much less than a round.

Prints a table of microseconds per round and ratios within this run, and writes the numbers as JSON
to benchmarks/results/play.json. Nothing is asserted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.peers import optional
from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats, Indices
from keyhole.testing.learners import RowsOnly

SIZES = [(d, budget) for d in (100, 1000, 5000) for budget in (10, 50, 200) if budget < d]
SIZES = sorted([*SIZES, (100, 15), (1000, 100)])
SECONDS = 0.6  # per measurement, about
NEVER = 10**12  # no re-solve: its cost is measured by benchmarks/dantzig.py


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


def learner(d: int, k: int, budget: int) -> kh.DantzigLearner:
    """Algorithm 1, playing a k-sparse model that it never changes."""
    made = kh.DantzigLearner(kh.Problem(d, k, budget), seed=0, noise_sd=0.1, burn_in=NEVER)
    from keyhole.learners.dantzig import _Model

    made._model = _Model(np.arange(k), np.full(k, 1.0 / k), np.zeros(k))
    return made


def numpy_loop(X: Floats, y: Floats, k: int, k0: int) -> None:
    """The same rounds written plainly with NumPy."""
    d = X.shape[1]
    rng = np.random.default_rng(0)
    XX, N, Xy = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    support, w = np.arange(k), np.full(k, 1.0 / k)
    for x, label in zip(X, y, strict=True):
        float(w @ x[support])
        S = rng.choice(d, k0, replace=False)
        seen = x[S]
        XX[np.ix_(S, S)] += np.outer(seen, seen)
        N[np.ix_(S, S)] += 1.0
        Xy[S] += label * seen


def seconds_per_round(play: Callable[[int], None], most: int) -> float:
    """Time `play(n)` for an n that takes about SECONDS, best of three."""
    n = min(50, most)
    play(n)  # compiles, warms up
    while True:
        began = time.perf_counter()
        play(n)
        took = time.perf_counter() - began
        if took > SECONDS / 4 or n == most:
            break
        n = min(most, 4 * n)
    times = [took]
    for _ in range(2):
        began = time.perf_counter()
        play(n)
        times.append(time.perf_counter() - began)
    return min(times) / n


def peers(X: Floats, y: Floats, budget: int) -> dict[str, Callable[[int], None]]:
    """Online learners of other packages, as functions that play n rounds."""
    found: dict[str, Callable[[int], None]] = {}
    if (linear_model := optional("river.linear_model")) is not None:
        model: Any = linear_model.LinearRegression()
        names = [str(j) for j in range(budget)]

        def river(n: int) -> None:
            for x, label in zip(X[:n, :budget].tolist(), y[:n].tolist(), strict=True):
                row = dict(zip(names, x, strict=True))
                model.predict_one(row)
                model.learn_one(row, label)

        found["river"] = river
    if (sklearn := optional("sklearn.linear_model")) is not None:
        sgd: Any = sklearn.SGDRegressor()
        sgd.partial_fit(X[:1], y[:1])

        def scikit_learn(n: int) -> None:
            for t in range(n):
                sgd.predict(X[t : t + 1])
                sgd.partial_fit(X[t : t + 1], y[t : t + 1])

        found["scikit-learn"] = scikit_learn
    if (vw := optional("vowpalwabbit")) is not None:
        workspace: Any = vw.Workspace("--quiet")

        def vowpal_wabbit(n: int) -> None:
            for x, label in zip(X[:n, :budget].tolist(), y[:n].tolist(), strict=True):
                line = f"{label} | " + " ".join(f"{j}:{v}" for j, v in enumerate(x))
                workspace.learn(line)

        found["vowpal wabbit"] = vowpal_wabbit
    return found


def measure(d: int, budget: int) -> dict[str, float]:
    """Microseconds per round, by way of playing."""
    k = max(2, budget // 10)
    rng = np.random.default_rng(0)
    rows = max(2000, min(100_000, 30_000_000 // d))
    X = rng.choice([-1.0, 1.0], (rows, d))
    y = X[:, :k] @ np.full(k, 1.0 / k) + 0.1 * rng.standard_normal(rows)
    sets = np.array([np.sort(rng.permutation(d)[:budget]) for _ in range(min(rows, 20_000))])
    G = np.zeros((d, d))
    player = learner(d, k, budget)
    bought = np.empty((rows, budget), dtype=np.int32)

    def block(n: int) -> None:
        player.advance(X[:n], y[:n], bought[:n])
        player._moments.n  # noqa: B018
        player._moments._flush()

    def single(n: int) -> None:
        kh.play(player, RowsOnly(kh.streams.ArrayStream(X[:n], y[:n])), keep_predictions=False)

    ways: dict[str, tuple[Callable[[int], None], int]] = {
        "floor": (lambda n: floor_kernel(X[:n], sets[:n], G), len(sets)),
        "block play": (block, rows),
        "ask/tell": (single, 4000),
        "numpy loop": (lambda n: numpy_loop(X[:n], y[:n], k, budget - k), 4000),
    }
    ways |= {name: (play, 4000) for name, play in peers(X, y, budget).items()}
    return {
        name: 1e6 * seconds_per_round(play, min(most, rows)) for name, (play, most) in ways.items()
    }


def main() -> None:
    """Print the table and write the JSON."""
    results: list[dict[str, Any]] = []
    print("microseconds per round; in brackets: how many times as fast as that block play is")
    for d, budget in SIZES:
        times = measure(d, budget)
        fast = times["block play"]
        cells = "  ".join(f"{name} {t:.2f} ({t / fast:.2g}x)" for name, t in times.items())
        print(f"d={d:<5} budget={budget:<4} {cells}", flush=True)
        results.append({"d": d, "budget": budget, "microseconds": times})
    target = Path(__file__).parent / "results" / "play.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
