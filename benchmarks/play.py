"""Rounds per second: block play and single rounds against a NumPy loop, peers, and the floor.

The learner is Algorithm 1 between two re-solves: draw, buy, predict, add to the moments; `greedy`
is Algorithm 2, judging its batches included. Everybody gets the same rows. `floor` reads the bought
values of sets drawn beforehand and adds their outer products, compiled, and does nothing else.
Peers learn online on as many features as the budget (river, Vowpal Wabbit) or on full rows
(scikit-learn): one gradient step, much less than a round. A peer that is not installed is left out.

Prints a table of microseconds per round and ratios within this run, and writes the numbers as JSON
to benchmarks/results/play.json. Nothing is asserted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.peers import optional
from benchmarks.results import write
from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import BlockLearner, Floats, Indices, Learner
from keyhole.testing.tools import RowsOnly

SIZES = [(d, budget) for d in (100, 1000, 5000) for budget in (10, 50, 200) if budget < d]
SIZES = sorted([*SIZES, (100, 15), (1000, 100)])
SECONDS, REPEATS = 0.7, 7  # per measurement, about
PEERS = ("river.linear_model", "sklearn.linear_model", "vowpalwabbit")
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


def enough(play: Callable[[int], None], most: int) -> int:
    """How many rounds take about SECONDS / REPEATS; compiles and warms up on the way."""
    n = min(50, most)
    play(n)
    while n < most:
        began = time.perf_counter()
        play(n)
        if time.perf_counter() - began > SECONDS / REPEATS / 2:
            break
        n = min(most, 2 * n)
    return n


def in_turns(ways: dict[str, tuple[Callable[[int], None], int]]) -> dict[str, float]:
    """Microseconds per round of each way; the best of some repeats, taken in turns.

    In turns, because other work on the machine then slows all of them down alike.
    """
    rounds = {name: enough(play, most) for name, (play, most) in ways.items()}
    best = dict.fromkeys(ways, np.inf)
    for _ in range(REPEATS):
        for name, (play, _) in ways.items():
            began = time.perf_counter()
            play(rounds[name])
            took = time.perf_counter() - began
            best[name] = min(best[name], 1e6 * took / rounds[name])
    return best


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


def rows_of(d: int, k: int, rows: int) -> tuple[Floats, Floats]:
    """Rademacher rows and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (rows, d))
    return X, X[:, :k] @ np.full(k, 1.0 / k) + 0.1 * rng.standard_normal(rows)


def by_block(player: BlockLearner, X: Floats, y: Floats) -> Callable[[int], None]:
    """Play n rounds as a block; what is buffered is added too, which play leaves for later."""
    bought = np.empty((len(y), player.problem.budget), dtype=np.int32)

    def play(n: int) -> None:
        player.advance(X[:n], y[:n], bought[:n])
        if isinstance(player, kh.DantzigLearner):
            player._moments._flush()

    return play


def singly(player: Learner, X: Floats, y: Floats) -> Callable[[int], None]:
    """Play n rounds of ask, predict, tell under the referee."""

    def play(n: int) -> None:
        kh.play(player, RowsOnly(kh.streams.ArrayStream(X[:n], y[:n])), keep_predictions=False)

    return play


def measure(d: int, budget: int) -> dict[str, float]:
    """Microseconds per round, by way of playing."""
    k = max(2, budget // 10)
    rows = max(2000, min(20_000, 30_000_000 // d))
    X, y = rows_of(d, k, rows)
    rng = np.random.default_rng(1)
    sets = np.array([np.sort(rng.permutation(d)[:budget]) for _ in range(rows)])
    G = np.zeros((d, d))
    greedy = [kh.OnlineGreedyLearner(kh.Problem(d, k, budget), seed=0) for _ in range(2)]
    ways: dict[str, tuple[Callable[[int], None], int]] = {
        "floor": (lambda n: floor_kernel(X[:n], sets[:n], G), rows),
        "block play": (by_block(learner(d, k, budget), X, y), rows),
        "ask/tell": (singly(learner(d, k, budget), X, y), 4000),
        "greedy block": (by_block(greedy[0], X, y), rows),
        "greedy ask/tell": (singly(greedy[1], X, y), 4000),
        "numpy loop": (lambda n: numpy_loop(X[:n], y[:n], k, budget - k), 4000),
    }
    ways |= {name: (play, 4000) for name, play in peers(X, y, budget).items()}
    return in_turns({name: (play, min(most, rows)) for name, (play, most) in ways.items()})


def main() -> None:
    """Print the table and write the JSON."""
    results: list[dict[str, Any]] = []
    missing = [name for name in PEERS if optional(name) is None]
    print("peers that are not installed:", ", ".join(missing) or "none")
    print("microseconds per round; in brackets: how many times as fast as that block play is")
    for d, budget in SIZES:
        times = measure(d, budget)
        fast = times["block play"]
        cells = "  ".join(f"{name} {t:.2f} ({t / fast:.2g}x)" for name, t in times.items())
        print(f"d={d:<5} budget={budget:<4} {cells}", flush=True)
        results.append({"d": d, "budget": budget, "microseconds": times})
    write("play", {"missing": missing, "rounds": results})


if __name__ == "__main__":
    main()
