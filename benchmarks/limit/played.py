"""One game of AutoLearner: what it read, what it predicted, and what was behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import keyhole as kh
from keyhole.problem import Floats, Indices
from keyhole.streams import AGNOSTIC_SUITE, collect
from keyhole.streams.simulate import Truth


@dataclass(frozen=True)
class Played:
    """Rows, labels, features bought by round, predictions of AutoLearner, the truth."""

    name: str
    seed: int
    X: Floats
    y: Floats
    bought: Indices
    y_hat: Floats
    truth: Truth

    @property
    def d(self) -> int:
        """Features."""
        return int(self.X.shape[1])

    @property
    def n(self) -> int:
        """Rounds."""
        return len(self.y)

    def weights(self) -> Floats:
        """The weights in force, by round."""
        path = self.truth.path or ((1, self.truth.weights),)
        return np.array([w for _, w in path])[self.stretches()]

    def stretches(self) -> Indices:
        """The number of the last change of weights, by round."""
        firsts = [first for first, _ in self.truth.path] or [1]
        return np.searchsorted(firsts, np.arange(1, self.n + 1), side="right") - 1


def play(name: str, n: int, seed: int) -> Played:
    """AutoLearner on n rounds of a stream of the suite."""
    case = AGNOSTIC_SUITE[name]
    stream, truth = case.simulate(n, seed)
    X, y = collect(stream)
    bought = np.empty((n, case.problem.width), dtype=np.int32)
    y_hat = kh.AutoLearner(case.problem, seed=seed).advance(X, y, bought)
    return Played(
        name, seed, np.asarray(X, dtype=np.float64), y, bought.astype(np.int64), y_hat, truth
    )
