"""A block of rounds that play one sparse model and explore uniformly: read and predicted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.blocks.kernels.sampling import Seed, subset
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices


@kernel
def weigh(w: Floats, means: Floats, x: Floats) -> float:
    """sum_i w_i x_i, one after the other; the mean stands in for a value that is absent."""
    total = 0.0
    for i in range(len(w)):
        total += w[i] * (means[i] if np.isnan(x[i]) else x[i])
    return total


@kernel
def merge(S: Indices, support: Indices, out: NDArray[np.signedinteger]) -> int:
    """Write the union of two ascending lists, ascending and each feature once; its size."""
    a = b = n = 0
    while a < len(S) or b < len(support):
        if b == len(support) or (a < len(S) and S[a] <= support[b]):
            out[n] = S[a]
            if b < len(support) and S[a] == support[b]:
                b += 1
            a += 1
        else:
            out[n] = support[b]
            b += 1
        n += 1
    return n


@kernel
def predict_seen(
    features: Indices, values: Floats, support: Indices, w: Floats, means: Floats
) -> float:
    """`weigh` for a support within the ascending features that were bought."""
    x = np.empty(len(support))
    i = 0
    for a in range(len(support)):
        while features[i] < support[a]:
            i += 1
        x[a] = values[i]
    return weigh(w, means, x)


@kernel
def write_arrived(
    bought: Indices,
    x: Floats,
    S: Indices,
    rows: int,
    offsets: NDArray[np.int32],
    features: NDArray[np.uint32],
    values: Floats,
    asked: Indices,
) -> None:
    """Write those features of S that arrived to the next row of the buffer of moments."""
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
def explore_block(
    seed: Seed,
    first_round: int,
    X: NDArray[np.floating],
    support: Indices,
    w: Floats,
    means: Floats,
    k0: int,
    rows: int,
    offsets: NDArray[np.int32],
    features: NDArray[np.uint32],
    values: Floats,
    asked: Indices,
    bought: NDArray[np.int32],
    predictions: Floats,
    space: Indices,
) -> int:
    """Draw, read and predict len(X) rounds; X is read at the bought coordinates only.

    Returns how many rounds were played: all of them, or those before the first one whose bought
    values are not all NaN or of a size that can be squared.

    Round t buys a uniform subset of k0 features and the support. Row rows + t of the buffer of
    moments (offsets, features, values) receives what was explored and did arrive; `asked` counts
    what was explored, arrived or not; row t of `bought` receives the union, ascending, then -1.
    """
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
        predictions[t] = weigh(w, means, x)
        for j in drawn:
            value = np.float64(X[t, j])
            if abs(value) > LARGEST:
                return t
            if not np.isnan(value):
                features[e] = j
                values[e] = value
                e += 1
        offsets[rows + t + 1] = e
        for j in drawn:
            asked[j] += 1
        bought[t, merge(drawn, support, bought[t]) :] = -1
    return n
