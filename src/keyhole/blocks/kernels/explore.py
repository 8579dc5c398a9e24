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
def pick_arrived(features: Indices, values: Floats, S: Indices, kept: Indices, x: Floats) -> int:
    """Write those features of S that arrived to `kept`, their values to `x`; how many."""
    i = n = 0
    for j in S:
        while features[i] < j:
            i += 1
        if not np.isnan(values[i]):
            kept[n] = j
            x[n] = values[i]
            n += 1
    return n


@kernel
def explore_block(
    seed: Seed,
    first_round: int,
    X: NDArray[np.floating],
    support: Indices,
    w: Floats,
    means: Floats,
    explored: Indices,
    values: Floats,
    asked: Indices,
    bought: NDArray[np.int32],
    predictions: Floats,
    space: Indices,
) -> int:
    """Draw, read and predict len(X) rounds; X is read at the bought coordinates only.

    Returns how many rounds were played: all of them, or those before the first one whose bought
    values are not all NaN or of a size that can be squared.

    Round t buys a uniform subset of k0 = explored.shape[1] features and the support. Row t of
    `explored` and `values` receives what was explored and did arrive, then -1; `asked` counts what
    was explored, arrived or not; row t of `bought` receives the union, ascending, then -1.
    """
    n, k0 = len(explored), explored.shape[1]
    k = len(support)
    x = np.empty(k)
    drawn = np.empty(k0, dtype=np.int64)
    for t in range(n):
        subset(seed, first_round + t, 0, X.shape[1], drawn, space)
        for i in range(k):
            x[i] = X[t, support[i]]
            if abs(x[i]) > LARGEST:
                return t
        predictions[t] = weigh(w, means, x)
        arrived = 0
        for j in drawn:
            value = np.float64(X[t, j])
            if abs(value) > LARGEST:
                return t
            if not np.isnan(value):
                explored[t, arrived] = j
                values[t, arrived] = value
                arrived += 1
        explored[t, arrived:] = -1
        for j in drawn:
            asked[j] += 1
        bought[t, merge(drawn, support, bought[t]) :] = -1
    return n
