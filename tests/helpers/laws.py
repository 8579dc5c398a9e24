"""Streams whose law is known: what features explain, and their weights, in the population.

The features are x = s A g with g normal, A A' the covariance, and s = 1 or, for heavy tails, such
that x is t-distributed with five degrees of freedom and has the same covariance. The label is
5 + w'x + noise. So the best linear model of any features V is known exactly:

    weights  S_VV^-1 (S w)_V,   explained  (S w)_V' S_VV^-1 (S w)_V / (w'S w + noise^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import keyhole as kh
from keyhole.problem import Floats


class Law(NamedTuple):
    """What is read, the covariance S of the features, their weights w, the noise."""

    problem: kh.Problem
    S: Floats
    w: Floats
    noise: float
    heavy: bool = False

    def rows(self, n: int, seed: int) -> tuple[Floats, Floats]:
        """Examples, and their labels."""
        rng = np.random.default_rng([seed, len(self.w), self.problem.reads])
        X = rng.standard_normal((n, len(self.w))) @ np.linalg.cholesky(self.S).T
        if self.heavy:
            X *= np.sqrt(3.0 / rng.chisquare(5, (n, 1)))  # 3/5 of a t of variance 5/3
        return X, 5.0 + X @ self.w + self.noise * rng.standard_normal(n)

    def weights(self, features: Sequence[int]) -> Floats:
        """The best weights of some features."""
        V = list(features)
        return np.asarray(np.linalg.solve(self.S[np.ix_(V, V)], (self.S @ self.w)[V]), np.float64)

    def explained(self, features: Sequence[int]) -> float:
        """The share of the label's variance that some features explain at best."""
        V, c = list(features), self.S @ self.w
        return float(c[V] @ self.weights(V)) / (float(self.w @ c) + self.noise**2) if V else 0.0

    def played(self, n: int, seed: int, **how: object) -> kh.AutoLearner:
        """A learner that has played so many rounds."""
        learner = kh.AutoLearner(self.problem, seed=seed, **how)  # type: ignore[arg-type]
        learner.advance(*self.rows(n, seed))
        return learner


def _weights(d: int, some: dict[int, float]) -> Floats:
    w = np.zeros(d)
    w[list(some)] = list(some.values())
    return w


def _falling(d: int, by: float) -> Floats:
    S: Floats = by ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return S


LAWS = {
    "alone": Law(
        kh.Problem(30, 4, 10), np.eye(30), _weights(30, {3: 1.0, 7: -0.8, 11: 0.6, 20: 0.4}), 0.7
    ),
    "neighbours": Law(
        kh.Problem(24, 4, 8), _falling(24, 0.7), _weights(24, {2: 1, 3: -0.6, 9: 0.7, 15: 0.5}), 0.8
    ),
    "one for all": Law(  # correlations of 1/2
        kh.Problem(20, 4, 9),
        0.5 * np.eye(20) + 0.5,
        _weights(20, {0: 1, 1: 0.8, 2: -0.8, 3: 0.6}),
        1,
    ),
    "heavy tails": Law(
        kh.Problem(24, 3, 8), _falling(24, 0.5), _weights(24, {1: 1.0, 5: 0.7, 6: 0.5}), 0.8, True
    ),
    "all a little": Law(kh.Problem(30, 4, 8), np.eye(30), 0.8 ** np.arange(30.0), 0.6),
}
