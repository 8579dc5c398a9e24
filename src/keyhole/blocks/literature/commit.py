"""Rounds that play a support once there is one, and else the best of what was drawn."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.draw.keyed import complement
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.draw.sorting import merge as merge
from keyhole.blocks.fit.seen_fit import Fit, Sums, forward, natural, tell, weigh
from keyhole.blocks.jit.decorators import kernel
from keyhole.blocks.sums.seen_sums import arrived
from keyhole.problem import Floats, Indices

GATE = 2.0  # standard errors: below, a feature of a round that explores is not played


@kernel
def fitted(S: Indices, support: Indices, k: int, ridge: float, sums: Sums) -> Fit:
    """The fit of all of S, which is within the support if there is one, else of the best k."""
    if len(support):
        return forward(S, len(S), 0.0, ridge, sums)
    return forward(S, k, GATE, ridge, sums)


@kernel
def predict(
    features: Indices, values: Floats, support: Indices, k: int, ridge: float, sums: Sums
) -> float:
    """The prediction from what arrived of the ascending features that were read."""
    S, x = np.empty(len(features), dtype=np.int64), np.empty(len(features))
    n = arrived(features, values, S, x)
    if len(support):
        kept = b = 0
        for a in range(n):
            while b < len(support) and support[b] < S[a]:
                b += 1
            if b < len(support) and support[b] == S[a]:
                S[kept], x[kept] = S[a], x[a]
                kept += 1
        n = kept
    return weigh(x, fitted(S[:n], support, k, ridge, sums), sums)


@kernel
def model(S: Indices, support: Indices, k: int, ridge: float, sums: Sums, out: Floats) -> float:
    """The linear model in play: its weights into `out`; returns its intercept."""
    return natural(S, fitted(S, support, k, ridge, sums), sums, out)


@kernel
def select(d: int, k: int, ridge: float, sums: Sums) -> Indices:
    """The k features that forward selection takes, ascending; fewer if nothing is gained."""
    chosen = forward(np.arange(d), k, 0.0, ridge, sums)[0]
    chosen.sort()
    return chosen


@kernel
def play(
    block: Block,
    reads: tuple[Indices, int],
    k: int,
    ridge: float,
    sums: Sums,
) -> int:
    """Play len(y) rounds; X is read at the bought coordinates only.

    Every round buys the support and a number of others, drawn uniformly: `reads`. Returns how many
    were played: all, or those before the first one with a value that cannot be squared.
    """
    seed, first_round, X, y, bought, predictions, space = block
    support, explore = reads
    drawn = np.empty(explore, dtype=np.int64)
    width = len(support) + explore
    union, values = np.empty(width, dtype=np.int64), np.empty(width)
    for t in range(len(y)):
        complement(seed, first_round + t, 0, X.shape[1], support, drawn, space)
        merge(drawn, support, union)
        if not read(X[t], union, values, bought[t]):
            return t
        predictions[t] = predict(union, values, support, k, ridge, sums)
        tell(union, values, y[t], sums)
    return len(y)
