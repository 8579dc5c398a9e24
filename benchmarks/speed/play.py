"""Rounds per second: block play and single rounds against a NumPy loop, peers, and the floor.

The learner is Algorithm 1 between two re-solves: draw, buy, predict, add to the moments; `greedy`
is Algorithm 2, judging its batches included. Everybody gets the same rows. `floor` reads the bought
values of sets drawn beforehand and adds their outer products, compiled, and does nothing else.
Peers learn online on as many features as the budget (river, Vowpal Wabbit) or on full rows
(scikit-learn): one gradient step, much less than a round. A peer that is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from benchmarks.common.peers import optional
from benchmarks.common.timing import Play, floor_kernel, per_round, random_sets, rows_of
from keyhole.learners.dantzig import _Model
from keyhole.problem import BlockLearner, Floats, Learner
from keyhole.testing.helpers import RowsOnly

SIZES = [(d, budget) for d in (100, 1000, 5000) for budget in (10, 50, 200) if budget < d]
SIZES = sorted([*SIZES, (100, 15), (1000, 100)])
FEW = 4000  # rounds at most of the ways that are slow
NEVER = 10**12  # no re-solve: its cost is measured by benchmarks/dantzig


def learner(d: int, k: int, budget: int) -> kh.DantzigLearner:
    """Algorithm 1, playing a k-sparse model that it never changes."""
    made = kh.DantzigLearner(kh.Problem(d, k, budget), seed=0, noise_sd=0.1, burn_in=NEVER)
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


def river(X: Floats, y: Floats, budget: int) -> Play:
    """A gradient step on as many features as the budget."""
    model: Any = optional("river.linear_model").LinearRegression()
    names = [str(j) for j in range(budget)]

    def play(n: int) -> None:
        for x, label in zip(X[:n, :budget].tolist(), y[:n].tolist(), strict=True):
            row = dict(zip(names, x, strict=True))
            model.predict_one(row)
            model.learn_one(row, label)

    return play


def scikit_learn(X: Floats, y: Floats, budget: int) -> Play:
    """A gradient step on full rows."""
    sgd: Any = optional("sklearn.linear_model").SGDRegressor()
    sgd.partial_fit(X[:1], y[:1])

    def play(n: int) -> None:
        for t in range(n):
            sgd.predict(X[t : t + 1])
            sgd.partial_fit(X[t : t + 1], y[t : t + 1])

    return play


def vowpal_wabbit(X: Floats, y: Floats, budget: int) -> Play:
    """A gradient step on as many features as the budget, given as lines of text."""
    workspace: Any = optional("vowpalwabbit").Workspace("--quiet")

    def play(n: int) -> None:
        for x, label in zip(X[:n, :budget].tolist(), y[:n].tolist(), strict=True):
            line = f"{label} | " + " ".join(f"{j}:{v}" for j, v in enumerate(x))
            workspace.learn(line)

    return play


PEERS: dict[str, Callable[[Floats, Floats, int], Play]] = {  # by the names of their packages
    "river": river,
    "scikit-learn": scikit_learn,
    "vowpalwabbit": vowpal_wabbit,
}


def by_block(player: BlockLearner, X: Floats, y: Floats) -> Play:
    """Play n rounds as a block; what is buffered is added too, which play leaves for later."""
    bought = np.empty((len(y), player.problem.width), dtype=np.int32)

    def play(n: int) -> None:
        player.advance(X[:n], y[:n], bought[:n])
        if isinstance(player, kh.DantzigLearner):
            player._moments._flush()

    return play


def singly(player: Learner, X: Floats, y: Floats) -> Play:
    """Play n rounds of ask, predict, tell under the referee."""

    def play(n: int) -> None:
        kh.play(player, RowsOnly(kh.streams.ArrayStream(X[:n], y[:n])), keep_predictions=False)

    return play


def run_play(d: int, budget: int, seconds: float, versions: Mapping[str, str]) -> Row:
    """Microseconds per round, by way of playing. Peers are those of which a version is given."""
    k = max(2, budget // 10)
    rows = max(2000, min(20_000, 30_000_000 // d))
    X, y = rows_of(d, k, rows)
    sets, G = random_sets(d, budget, rows, seed=1), np.zeros((d, d))
    greedy = [kh.OnlineGreedyLearner(kh.Problem(d, k, budget), seed=0) for _ in range(2)]
    ways: dict[str, tuple[Play, int]] = {
        "floor": (lambda n: floor_kernel(X[:n], sets[:n], G), rows),
        "block play": (by_block(learner(d, k, budget), X, y), rows),
        "ask/tell": (singly(learner(d, k, budget), X, y), FEW),
        "greedy block": (by_block(greedy[0], X, y), rows),
        "greedy ask/tell": (singly(greedy[1], X, y), FEW),
        "numpy loop": (lambda n: numpy_loop(X[:n], y[:n], k, budget - k), FEW),
    }
    ways |= {name: (PEERS[name](X, y, budget), FEW) for name in versions}
    within = {name: (play, min(most, rows)) for name, (play, most) in ways.items()}
    return {"d": d, "budget": budget, "microseconds": per_round(within, seconds)}
