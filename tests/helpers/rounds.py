"""Rows to play on, one round, and how much of the label a learner has learnt."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import keyhole as kh
from keyhole.problem import Floats


def sparse_rows(
    n: int, d: int, weights: Mapping[int, float], *, noise_sd: float = 0.1, seed: int = 0
) -> tuple[Floats, Floats]:
    """Independent features uniform in [-1, 1], labels from a few of them: (X, y)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    y = sum(weight * X[:, j] for j, weight in weights.items())
    return X, y + noise_sd * rng.standard_normal(n)


def realizable_rows(n: int, d: int, k: int, **options: Any) -> tuple[Floats, Floats, Floats]:
    """The rows of `kh.streams.realizable` and the weights behind them: (X, y, w)."""
    stream, truth = kh.streams.realizable(d, k, n, **options)
    X, y = kh.streams.collect(stream)
    return X.astype(np.float64), y, truth.weights


def one_round(learner: kh.Learner, x: Floats, y: float) -> float:
    """Play a round; its prediction."""
    seen = kh.sell(learner.problem, learner.ask(), x)
    y_hat = learner.predict(seen)
    learner.tell(seen, y)
    return y_hat


def easy(n: int = 1024, k: int = 2) -> kh.streams.Simulated:
    """A stream that a learner should do well on: twenty features, little noise."""
    return kh.streams.realizable(d=20, k=k, n=n, noise_sd=0.1, seed=0)


def _late(learner: kh.Learner, n: int) -> Floats:
    """Losses in the second half of n easy rounds: its own, the running mean's, the truth's."""
    stream, truth = easy(n, learner.problem.k)
    X, y = kh.streams.collect(stream)
    mean = kh.RunningMean(learner.problem)
    players = (kh.play(player, stream).predictions for player in (learner, mean))
    return np.array([((p - y)[n // 2 :] ** 2).sum() for p in (*players, X @ truth.weights)])


def share_of_the_mean(learner: kh.Learner, n: int = 1024) -> float:
    """Its loss in the second half of the easy stream as a share of that of the running mean."""
    loss, mean, _ = _late(learner, n)
    return float(loss / mean)


def excess(learner: kh.Learner, n: int = 1024) -> float:
    """The same above the noise: 0 is the truth, 1 the running mean."""
    loss, mean, noise = _late(learner, n)
    return float((loss - noise) / (mean - noise))
