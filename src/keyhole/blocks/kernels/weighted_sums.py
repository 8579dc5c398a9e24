"""Inner loop of `WeightedSums`: a row read by a mixed scheme, each product with its weight.

A record of two numbers for every pair of features, in an upper triangle (triangle.py): the
sums of x_i x_j / P[i, j] and of 1 / P[i, j], over the rows where both arrived.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.blocks.kernels.mixed_sampling import shares
from keyhole.blocks.kernels.triangle import base
from keyhole.problem import Floats

PRODUCT, WEIGHT = range(2)  # of a pair: sums of x_i x_j / P[i, j] and of 1 / P[i, j]
LABELLED, VALUE = range(2)  # of `singles`: sums of x_i y / P[i] and of x_i / P[i]
ROWS, LABEL, SQUARE, SINGLE, PAIR = range(5)  # of `totals`: 1, y, y^2, and the schemes' spreads


@kernel
def add_row(
    features: NDArray[np.signedinteger],
    x: Floats,
    marks: Floats,
    spread: Floats,
    y: float,
    pairs: Floats,
    singles: Floats,
    totals: Floats,
) -> None:
    """Add a row: ascending features, values (NaN: absent), q of each (-1: always read), label."""
    d, v, m = singles.shape[1], len(features), 0
    for a in range(v):
        m += marks[a] >= 0.0
    one, one_q, both, both_q = shares(d - v + m, m)
    weights = np.ones(v)
    for a in range(v):
        if marks[a] >= 0.0:
            weights[a] = 1.0 / (one + one_q * marks[a])
    for a in range(v):
        if np.isnan(x[a]):
            continue
        i, scaled = features[a], x[a] * weights[a]
        singles[LABELLED, i] += scaled * y
        singles[VALUE, i] += scaled
        row = base(i, d)
        pairs[row + i, PRODUCT] += scaled * x[a]
        pairs[row + i, WEIGHT] += weights[a]
        for b in range(a + 1, v):
            if np.isnan(x[b]):
                continue
            # With one of the two always read, the weight of the other; 1 is the weight of both.
            weight = max(weights[a], weights[b])
            if marks[a] >= 0.0 and marks[b] >= 0.0:
                weight = 1.0 / (both + both_q * (marks[a] + marks[b]))
            pairs[row + features[b], PRODUCT] += weight * x[a] * x[b]
            pairs[row + features[b], WEIGHT] += weight
    totals[ROWS] += 1.0
    totals[LABEL] += y
    totals[SQUARE] += y * y
    totals[SINGLE] += spread[0]
    totals[PAIR] += spread[1]
