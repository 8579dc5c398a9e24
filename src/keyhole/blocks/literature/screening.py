"""Rounds that read the features most correlated with the label, or now and then any."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyhole.blocks.draw.keyed import Seed, subset, uniform
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.fit.market import Market
from keyhole.blocks.fit.purchase import best_buy, fill, priced
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
from keyhole.blocks.jit.decorators import inner, kernel
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


@inner
def _score(units: Floats, a: int, ridge: float) -> float:
    score = abs(units[PRODUCTS, a]) * units[ROWS, a] / (units[ROWS, a] + ridge)
    return score if score >= 0.0 else 0.0  # 0 for sums that are no sums, from a file


@kernel
def screen(S: Indices, k: int, ridge: float, sums: Sums) -> Indices:
    """The places in S of the k features with the largest |correlation|, ascending.

    A correlation from N rows counts N / (N + ridge) of its size; ties go to the lower place.
    """
    units, m = measure(S, sums), len(S)
    k = min(k, m)
    top, places = np.full(k, -1.0), np.empty(k, dtype=np.int64)
    for a in range(m):
        score = _score(units, a, ridge)
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
def on_top(rule: Rule, sums: Sums, shop: Market, out: Indices) -> int:
    """The features most correlated with the label, as many as the budget buys; how many.

    With prices, a large sum of squared correlations for the money.
    """
    everything = np.arange(sums.singles.shape[1])
    if not priced(shop):
        out[:] = screen(everything, len(out), rule.ridge, sums)
        return len(out)
    units, score = measure(everything, sums), np.empty(len(everything))
    for j in range(len(everything)):
        score[j] = _score(units, j, rule.ridge) ** 2
    return best_buy(score, shop, out)


@kernel
def choose(
    seed: Seed, t: int, rule: Rule, sums: Sums, shop: Market, out: Indices, space: Indices
) -> int:
    """What round t reads: any features with probability epsilon t^-decay, else those on top.

    Returns how many: without prices len(out).
    """
    coin = uniform(seed, t, COIN, 0)
    if not (coin < rule.epsilon * t ** (-rule.decay) or sums.totals[WEIGHT] == 0.0):
        return on_top(rule, sums, shop, out)
    if priced(shop):
        return fill(seed, t, SUBSET, out[:0], shop, out)
    subset(seed, t, SUBSET, sums.singles.shape[1], out, space)
    return len(out)


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
def play(block: Block, rule: Rule, sums: Sums, shop: Market) -> int:
    """Play rounds one after the other; how many, see `Block`."""
    width = block.bought.shape[1]
    some, room = np.empty(width, dtype=np.int64), np.empty(width)
    for t in range(len(block.y)):
        n = choose(block.seed, block.first_round + t, rule, sums, shop, some, block.space)
        features, values = some[:n], room[:n]
        if not read(block.X[t], features, values, block.bought[t]):
            return t
        block.predictions[t] = predict(features, values, rule, sums)
        tell(features, values, block.y[t], sums)
    return len(block.y)
