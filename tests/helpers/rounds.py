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


def easy(n: int = 8192, k: int = 2) -> kh.streams.Simulated:
    """A stream that a learner should do well on: twenty features, little noise."""
    return kh.streams.realizable(d=20, k=k, n=n, noise_sd=0.1, seed=0)


def share_of_the_mean(learner: kh.Learner) -> float:
    """Its loss on the easy stream as a share of that of the running mean."""
    stream, _ = easy(k=learner.problem.k)
    mean = kh.play(kh.RunningMean(learner.problem), stream).loss
    return kh.play(learner, stream).loss / mean


def excess(learner: kh.Learner) -> float:
    """Its loss above the noise on the easy stream, as a share of what the running mean has."""
    stream, truth = easy(k=learner.problem.k)
    X, y = kh.streams.collect(stream)
    noise = float(((X @ truth.weights - y) ** 2).sum())
    mean = kh.play(kh.RunningMean(learner.problem), stream).loss
    return (kh.play(learner, stream).loss - noise) / (mean - noise)
