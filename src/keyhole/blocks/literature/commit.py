"""Rounds that play a support once there is one, and else the best of what was drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.blocks.draw.keyed import Seed, complement
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.draw.sorting import merge
from keyhole.blocks.fit.market import Market
from keyhole.blocks.fit.purchase import fill, priced
from keyhole.blocks.fit.seen_fit import Fit, Sums, forward, natural, tell, weigh
from keyhole.blocks.jit.decorators import kernel
from keyhole.blocks.sums.seen_sums import arrived
from keyhole.problem import Floats, Indices

GATE = 2.0  # standard errors: below, a feature of a round that explores is not played


class Stage(NamedTuple):
    """What rounds have in common: they play VAW on the support, if there is one, else on the best k
    of what was read, and read it and `explore` others, drawn uniformly. With prices, others as long
    as there is money for them, or none if `explore` is 0.
    """

    support: Indices
    explore: int
    k: int
    ridge: float


@kernel
def choose(
    seed: Seed, t: int, d: int, stage: Stage, shop: Market, out: Indices, space: Indices
) -> int:
    """What round t reads, the support and others, ascending; how many."""
    support = stage.support
    if priced(shop) and stage.explore > 0:
        return fill(seed, t, 0, support, shop, out)
    drawn = np.empty(stage.explore, dtype=np.int64)
    complement(seed, t, 0, d, support, drawn, space)
    return merge(drawn, support, out)


@kernel
def fitted(S: Indices, stage: Stage, sums: Sums) -> Fit:
    """The fit of all of S, which is within the support if there is one, else of the best k."""
    if len(stage.support):
        return forward(S, len(S), 0.0, stage.ridge, sums)
    return forward(S, stage.k, GATE, stage.ridge, sums)


@kernel
def predict(features: Indices, values: Floats, stage: Stage, sums: Sums) -> float:
    """The prediction from what arrived of the ascending features that were read."""
    S, x, support = np.empty(len(features), dtype=np.int64), np.empty(len(features)), stage.support
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
    return weigh(x, fitted(S[:n], stage, sums), sums)


@kernel
def model(S: Indices, stage: Stage, sums: Sums, out: Floats) -> float:
    """The linear model in play: its weights into `out`; returns its intercept."""
    return natural(S, fitted(S, stage, sums), sums, out)


@kernel
def select(d: int, k: int, ridge: float, sums: Sums) -> Indices:
    """The k features that forward selection takes, ascending; fewer if nothing is gained."""
    chosen = forward(np.arange(d), k, 0.0, ridge, sums).chosen
    chosen.sort()
    return chosen


@kernel
def play(block: Block, stage: Stage, sums: Sums, shop: Market) -> int:
    """Play rounds one after the other; how many, see `Block`."""
    d, width = block.X.shape[1], block.bought.shape[1]
    some, room = np.empty(width, dtype=np.int64), np.empty(width)
    for t in range(len(block.y)):
        n = choose(block.seed, block.first_round + t, d, stage, shop, some, block.space)
        features, values = some[:n], room[:n]
        if not read(block.X[t], features, values, block.bought[t]):
            return t
        block.predictions[t] = predict(features, values, stage, sums)
        tell(features, values, block.y[t], sums)
    return len(block.y)
