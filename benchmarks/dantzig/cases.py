"""Problems for the benchmark of the Dantzig program, built as Algorithm 1 builds them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.dantzig import solve as dantzig
from keyhole.problem import Floats

GRID = [
    # d, examples, design, wanted non-zeros
    (50, 2_000, "rademacher", (5, 20, 45)),
    (200, 8_000, "rademacher", (5, 20, 50, 100)),
    (200, 8_000, "toeplitz", (20, 50)),
    (1000, 20_000, "rademacher", (5, 20, 50, 120)),
    (1000, 20_000, "toeplitz", (20, 50)),
    (1000, 8_000, "rademacher", (50, 270)),
    (2000, 30_000, "rademacher", (5, 20, 50, 100)),
    (5000, 40_000, "rademacher", (5, 20, 50, 100)),
]
STREAMS = ((200, "rademacher", 20), (1000, "rademacher", 30), (1000, "toeplitz", 60))


class Case(NamedTuple):
    """One problem, and where it comes from."""

    name: str
    G: Floats
    b: Floats
    lam: float


def moments(d: int, examples: int, design: str, seed: int, k: int = 10) -> Floats:
    """Sums of x xT and y x over the seen entries of rows, stacked as (d + 1, d)."""
    rng = np.random.default_rng(seed)
    share, sums = max(2, d // 5), np.zeros((d + 1, d))
    truth = np.zeros(d)
    support = rng.choice(d, min(k, d), replace=False)
    truth[support] = rng.uniform(0.5, 1.5, len(support)) * rng.choice([-1, 1], len(support))
    truth /= np.abs(truth).sum()
    rng = np.random.default_rng((seed, examples))
    for first in range(0, examples, 2000):
        n = min(2000, examples - first)
        X = rng.normal(size=(n, d))
        if design == "rademacher":
            X = np.sign(X)
        else:
            for j in range(1, d):
                X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
        y = X @ truth + 0.1 * rng.normal(size=n)
        hidden = np.argpartition(rng.random((n, d)), share, axis=1)[:, share:]
        np.put_along_axis(X, hidden, 0.0, axis=1)
        sums[:d] += X.T @ X
        sums[d] += X.T @ y
    return sums


def estimates(sums: Floats, examples: int) -> tuple[Floats, Floats]:
    """G and b by inclusion probabilities, as in Algorithm 1."""
    d = sums.shape[1]
    share = max(2, d // 5)
    single, pair = share / d, share * (share - 1) / (d * (d - 1))
    G = sums[:d] / (pair * examples)
    G[np.diag_indices(d)] *= pair / single
    return (G + G.T) / 2, sums[d] / (single * examples)


def threshold(G: Floats, b: Floats, wanted: int) -> float:
    """Some lam whose solution has about `wanted` non-zeros, by bisection."""
    low, high = 0.0, float(np.abs(b).max())
    best, error = high, wanted
    for _ in range(25):
        lam = 0.75 * high if low == 0.0 else (low + high) / 2
        answer = dantzig.solve(G, b, lam)
        dense = answer.status != "optimal" or answer.nonzeros >= wanted
        if answer.status == "optimal" and abs(answer.nonzeros - wanted) < error:
            best, error = lam, abs(answer.nonzeros - wanted)
        if error == 0:
            break
        low, high = (lam, high) if dense else (low, lam)
    return best
