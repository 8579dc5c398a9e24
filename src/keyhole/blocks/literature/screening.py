"""Rounds that read the features most correlated with the label, or now and then any."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.draw.keyed import Seed, subset, uniform
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.fit.seen_fit import (
    PRODUCTS,
    ROWS,
    Fit,
    Sums,
    forward,
    measure,
    natural,
    tell,
    weigh,
)
from keyhole.blocks.jit.decorators import kernel
from keyhole.blocks.literature.commit import GATE
from keyhole.blocks.sums.seen_sums import arrived
from keyhole.problem import Floats, Indices

SUBSET, COIN = 0, 1  # purposes of the two draws of a round


@kernel
def screen(S: Indices, k: int, ridge: float, sums: Sums) -> Indices:
    """The places in S of the k features with the largest |correlation|, ascending.

    A correlation from N rows counts N / (N + ridge) of its size; ties go to the lower place.
    """
    units, m = measure(S, sums), len(S)
    k = min(k, m)
    top, places = np.full(k, -1.0), np.empty(k, dtype=np.int64)
    for a in range(m):
        score = abs(units[PRODUCTS, a]) * units[ROWS, a] / (units[ROWS, a] + ridge)
        if not score > top[k - 1]:
            continue  # most of them
        p = k - 1
        while p > 0 and top[p - 1] < score:
            top[p], places[p] = top[p - 1], places[p - 1]
            p -= 1
        top[p], places[p] = score, a
    places.sort()
    return places


@kernel
def choose(
    seed: Seed,
    round: int,
    d: int,
    rate: tuple[float, float],
    ridge: float,
    sums: Sums,
    out: Indices,
    space: Indices,
) -> None:
    """What a round reads: any features with probability scale t^-decay, else those on top."""
    scale, decay = rate
    if uniform(seed, round, COIN, 0) < scale * round ** (-decay) or sums[2][0] == 0.0:
        subset(seed, round, SUBSET, d, out, space)
    else:
        out[:] = screen(np.arange(d), len(out), ridge, sums)


@kernel
def fitted(S: Indices, k: int, ridge: float, sums: Sums) -> tuple[Indices, Fit]:
    """Places in S of the k most correlated features, and the fit of those that are significant."""
    places = screen(S, k, ridge, sums)
    return places, forward(S[places], k, GATE, ridge, sums)


@kernel
def predict(features: Indices, values: Floats, k: int, ridge: float, sums: Sums) -> float:
    """The prediction from what arrived of the features that were read."""
    S, x = np.empty(len(features), dtype=np.int64), np.empty(len(features))
    n = arrived(features, values, S, x)
    places, fit = fitted(S[:n], k, ridge, sums)
    return weigh(x[places], fit, sums)


@kernel
def model(S: Indices, k: int, ridge: float, sums: Sums, out: Floats) -> float:
    """The linear model in play: its weights into `out`; returns its intercept."""
    places, fit = fitted(S, k, ridge, sums)
    return natural(S[places], fit, sums, out)


@kernel
def play(
    block: Block,
    rate: tuple[float, float],
    k: int,
    ridge: float,
    sums: Sums,
) -> int:
    """Play len(y) rounds; X is read at the bought coordinates only.

    Returns how many were played: all, or those before the first one with a value that cannot be
    squared.
    """
    seed, first_round, X, y, bought, predictions, space = block
    budget = bought.shape[1]
    features, values = np.empty(budget, dtype=np.int64), np.empty(budget)
    for t in range(len(y)):
        choose(seed, first_round + t, X.shape[1], rate, ridge, sums, features, space)
        if not read(X[t], features, values, bought[t]):
            return t
        predictions[t] = predict(features, values, k, ridge, sums)
        tell(features, values, y[t], sums)
    return len(y)
