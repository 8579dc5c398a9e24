"""A block of rounds that play one sparse model and explore uniformly: read and predicted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import subset
from keyhole.blocks.draw.reading import Block, taken
from keyhole.blocks.draw.sorting import merge
from keyhole.blocks.fit.linear import weigh
from keyhole.blocks.jit.decorators import kernel
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices

Model = tuple[Indices, Floats, Floats]  # support, its weights, its means
Buffer = tuple[int, NDArray[np.signedinteger], NDArray[np.integer], Floats]  # `Moments.buffer`


@kernel
def write_arrived(bought: Indices, x: Floats, S: Indices, buffer: Buffer, asked: Indices) -> None:
    """Write those features of S that arrived to the next row of the buffer of moments."""
    rows, offsets, features, values = buffer
    i, e = 0, offsets[rows]
    for j in S:
        while bought[i] < j:
            i += 1
        asked[j] += 1
        if not np.isnan(x[i]):
            features[e] = j
            values[e] = x[i]
            e += 1
    offsets[rows + 1] = e


@kernel
def explore_block(block: Block, model: Model, k0: int, buffer: Buffer, asked: Indices) -> int:
    """Draw, read and predict len(X) rounds; X is read at the bought coordinates only.

    Returns how many rounds were played: all of them, or those before the first one whose bought
    values are not all NaN or of a size that can be squared.

    Round t buys a uniform subset of k0 features and the support. Row rows + t of the buffer of
    moments (offsets, features, values) receives what was explored and did arrive; `asked` counts
    what was explored, arrived or not; row t of `bought` receives the union, ascending, then -1.
    """
    seed, first_round, X, _, bought, predictions, space = block
    support, w, means = model
    rows, offsets, features, values = buffer
    n, k = len(X), len(support)
    e = offsets[rows]
    x = np.empty(k)
    drawn = np.empty(k0, dtype=np.int64)
    for t in range(n):
        subset(seed, first_round + t, 0, X.shape[1], drawn, space)
        for i in range(k):
            x[i] = X[t, support[i]]
            if abs(x[i]) > LARGEST:
                return t
            x[i] = taken(x[i])
        predictions[t] = weigh(w, means, x)
        for j in drawn:
            value = np.float64(X[t, j])
            if abs(value) > LARGEST:
                return t
            if not np.isnan(value):
                features[e] = j
                values[e] = taken(value)
                e += 1
        offsets[rows + t + 1] = e
        for j in drawn:
            asked[j] += 1
        bought[t, merge(drawn, support, bought[t]) :] = -1
    return n
