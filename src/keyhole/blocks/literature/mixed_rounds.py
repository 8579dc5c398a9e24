"""Blocks of rounds that read a support and a mixed draw outside of it: predicted and learnt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.mixed_sampling import mixed
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.draw.sorting import merge
from keyhole.blocks.fit.linear import weigh as weigh
from keyhole.blocks.fit.newton import predict as predict
from keyhole.blocks.fit.newton import step
from keyhole.blocks.jit.decorators import kernel
from keyhole.blocks.sums.weighted_sums import add_row
from keyhole.problem import Floats, Indices

# support, q, marks (q, and -1 on the support), how many are drawn, spread
Scheme = tuple[Indices, Floats, Floats, int, Floats]


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


@kernel
def linear_rounds(
    block: Block,
    scheme: Scheme,
    w: Floats,
    means: Floats,
    bound: float,
    sums: tuple[Floats, Floats, Floats],
) -> int:
    """Rounds that predict by w on whatever is read; X is read at the bought coordinates only.

    Returns how many rounds were played: all of them, or those before the first one with a value
    that cannot be squared. Predictions are kept within +-bound.
    """
    seed, first_round, X, y, bought, predictions, space = block
    support, q, marks, m, spread = scheme
    pairs, singles, totals = sums
    width = m + len(support)
    drawn, union = np.empty(m, dtype=np.int64), np.empty(width, dtype=np.int64)
    x, w_read = np.empty(width), np.empty(width)
    m_read, q_read = np.empty(width), np.empty(width)
    for t in range(len(y)):
        mixed(seed, first_round + t, 0, support, q, drawn, space)
        merge(drawn, support, union)
        if not read(X[t], union, x, bought[t]):
            return t
        for a in range(width):
            w_read[a] = w[union[a]]
            m_read[a] = means[union[a]]
            q_read[a] = marks[union[a]]
        predictions[t] = min(max(weigh(w_read, m_read, x), -bound), bound)
        add_row(union, x, q_read, spread, y[t], pairs, singles, totals)
    return len(y)


@kernel
def newton_rounds(
    block: Block,
    scheme: Scheme,
    means: Floats,
    learner: tuple[Floats, Floats, Floats, Floats],
    counted: bool,
    sums: tuple[Floats, Floats, Floats],
) -> int:
    """Rounds that predict by online Newton steps on the support; how many, as in `linear_rounds`.

    `means` are those of the support. What was read is added to the sums if it is `counted`.
    """
    seed, first_round, X, y, bought, predictions, space = block
    support, q, marks, m, spread = scheme
    u, P, A, limits = learner
    pairs, singles, totals = sums
    width = m + len(support)
    drawn, union = np.empty(m, dtype=np.int64), np.empty(width, dtype=np.int64)
    x, q_read, x_S = np.empty(width), np.empty(width), np.empty(len(support))
    for t in range(len(y)):
        mixed(seed, first_round + t, 0, support, q, drawn, space)
        merge(drawn, support, union)
        if not read(X[t], union, x, bought[t]):
            return t
        filled(union, x, support, means, x_S)
        predictions[t] = step(u, P, A, limits, x_S, y[t])
        if counted:
            for a in range(width):
                q_read[a] = marks[union[a]]
            add_row(union, x, q_read, spread, y[t], pairs, singles, totals)
    return len(y)
