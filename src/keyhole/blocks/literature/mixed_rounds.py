"""Blocks of rounds that read a support and a mixed draw outside of it: predicted and learnt."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import Seed
from keyhole.blocks.draw.mixed_sampling import SchemeArrays, mixed
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.draw.sorting import merge
from keyhole.blocks.fit.linear import weigh
from keyhole.blocks.fit.newton import Newton, step
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.blocks.sums.weighted_sums import Arrays, add_row
from keyhole.problem import Floats, Indices


class Linear(NamedTuple):
    """A model of all features, what absent values count as, and a bound of its predictions."""

    w: Floats
    means: Floats
    bound: float


@kernel
def predict(w: Floats, means: Floats, bound: float, x: Floats) -> float:
    """<w, x> on what was read, within +-bound; the mean stands in for a value that is absent."""
    return min(max(weigh(w, means, x), -bound), bound)


@kernel
def filled(
    features: NDArray[np.signedinteger], x: Floats, support: Indices, means: Floats, out: Floats
) -> None:
    """The values of the support, which is among the features; means where one is absent."""
    i = 0
    for a in range(len(support)):
        while features[i] < support[a]:
            i += 1
        out[a] = means[a] if np.isnan(x[i]) else x[i]


@inner
def _draw(
    seed: Seed, t: int, scheme: SchemeArrays, drawn: Indices, union: Indices, space: Indices
) -> None:
    mixed(seed, t, 0, scheme.support, scheme.q, drawn, space)
    merge(drawn, scheme.support, union)


@kernel
def play_linear(block: Block, scheme: SchemeArrays, model: Linear, sums: Arrays) -> int:
    """Rounds that predict by one linear model on whatever is read; how many, see `Block`."""
    (w, means, bound), marks = model, scheme.marks
    width = scheme.m + len(scheme.support)
    drawn, union = np.empty(scheme.m, dtype=np.int64), np.empty(width, dtype=np.int64)
    x, w_read = np.empty(width), np.empty(width)
    m_read, q_read = np.empty(width), np.empty(width)
    for t in range(len(block.y)):
        _draw(block.seed, block.first_round + t, scheme, drawn, union, block.space)
        if not read(block.X[t], union, x, block.bought[t]):
            return t
        for a in range(width):
            w_read[a] = w[union[a]]
            m_read[a] = means[union[a]]
            q_read[a] = marks[union[a]]
        block.predictions[t] = predict(w_read, m_read, bound, x)
        add_row(union, x, q_read, scheme.spread, block.y[t], sums)
    return len(block.y)


@kernel
def play_newton(
    block: Block, scheme: SchemeArrays, means: Floats, newton: Newton, sums: Arrays
) -> int:
    """Rounds that predict by online Newton steps on the support; how many, see `Block`.

    `means` are those of the support. What was read is added to the sums if the scheme sees all
    pairs: else it would not be known what to divide by.
    """
    support, marks, counted = scheme.support, scheme.marks, scheme.spread.max() < np.inf
    u, P, A, limits = newton
    width = scheme.m + len(support)
    drawn, union = np.empty(scheme.m, dtype=np.int64), np.empty(width, dtype=np.int64)
    x, q_read, x_S = np.empty(width), np.empty(width), np.empty(len(support))
    for t in range(len(block.y)):
        _draw(block.seed, block.first_round + t, scheme, drawn, union, block.space)
        if not read(block.X[t], union, x, block.bought[t]):
            return t
        filled(union, x, support, means, x_S)
        block.predictions[t] = step(u, P, A, limits, x_S, block.y[t])
        if counted:
            for a in range(width):
                q_read[a] = marks[union[a]]
            add_row(union, x, q_read, scheme.spread, block.y[t], sums)
    return len(block.y)
