"""Rounds that read the features most correlated with the label, or now and then any."""

from __future__ import annotations

from typing import NamedTuple

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
from keyhole.blocks.sums.seen_sums import WEIGHT, arrived
from keyhole.problem import Floats, Indices

SUBSET, COIN = 0, 1  # purposes of the two draws of a round


class Rule(NamedTuple):
    """What does not change: how many features play, their ridge, how often any are read."""

    k: int
    ridge: float
    epsilon: float
    decay: float


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
        if not score >= 0.0:
            score = 0.0  # sums that are no sums, from a file
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
def choose(seed: Seed, t: int, rule: Rule, sums: Sums, out: Indices, space: Indices) -> None:
    """What round t reads: any features with probability epsilon t^-decay, else those on top."""
    d = sums.singles.shape[1]
    coin = uniform(seed, t, COIN, 0)
    if coin < rule.epsilon * t ** (-rule.decay) or sums.totals[WEIGHT] == 0.0:
        subset(seed, t, SUBSET, d, out, space)
    else:
        out[:] = screen(np.arange(d), len(out), rule.ridge, sums)


@kernel
def fitted(S: Indices, rule: Rule, sums: Sums) -> tuple[Indices, Fit]:
    """Places in S of the k most correlated features, and the fit of those that are significant."""
    places = screen(S, rule.k, rule.ridge, sums)
    return places, forward(S[places], rule.k, GATE, rule.ridge, sums)


@kernel
def predict(features: Indices, values: Floats, rule: Rule, sums: Sums) -> float:
    """The prediction from what arrived of the features that were read."""
    S, x = np.empty(len(features), dtype=np.int64), np.empty(len(features))
    n = arrived(features, values, S, x)
    places, fit = fitted(S[:n], rule, sums)
    return weigh(x[places], fit, sums)


@kernel
def model(S: Indices, rule: Rule, sums: Sums, out: Floats) -> float:
    """The linear model in play: its weights into `out`; returns its intercept."""
    places, fit = fitted(S, rule, sums)
    return natural(S[places], fit, sums, out)


@kernel
def play(block: Block, rule: Rule, sums: Sums) -> int:
    """Play rounds one after the other; how many, see `Block`."""
    budget = block.bought.shape[1]
    features, values = np.empty(budget, dtype=np.int64), np.empty(budget)
    for t in range(len(block.y)):
        choose(block.seed, block.first_round + t, rule, sums, features, block.space)
        if not read(block.X[t], features, values, block.bought[t]):
            return t
        block.predictions[t] = predict(features, values, rule, sums)
        tell(features, values, block.y[t], sums)
    return len(block.y)
