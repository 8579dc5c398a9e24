"""Rounds of multiplicative weights over all k-subsets; formulas in `blocks/subset_experts.py`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.explore import merge, predict_seen
from keyhole.blocks.kernels.jit import inner, kernel
from keyhole.blocks.kernels.reading import read
from keyhole.blocks.kernels.sampling import Seed, categorical, subset, uniform
from keyhole.blocks.subset_experts import SubsetWeights
from keyhole.problem import Floats, Indices

EXPLORE, PLAY = 0, 1  # purposes of the draws of a round
VARIANCE, DEVIATION = 0, 1  # places in the tally


@kernel
def draw(seed: Seed, t: int, chances: Floats, d: int, R: Indices, space: Indices) -> int:
    """Fill R with a uniform subset of the features; the row of the subset to play."""
    subset(seed, t, EXPLORE, d, R, space)
    return categorical(uniform(seed, t, PLAY, 0), chances)


@inner
def _descend(w: Floats, g: Floats, squares: float, radius: float, rate: float) -> float:
    """A projected gradient step; the sum of squares with this one, or as it was if too large."""
    size = squares
    for value in g:
        size += value * value
    if not 0.0 < size < np.inf:
        return squares
    eta = rate if rate > 0.0 else math.sqrt(2.0 / size) * radius
    norm = 0.0
    for a in range(len(w)):
        w[a] -= eta * g[a]
        norm += w[a] * w[a]
    if norm > radius * radius:
        w *= radius / math.sqrt(norm)
    return size


@kernel
def judge(
    subsets: NDArray[np.int32],
    x: Floats,
    y: float,
    p: float,
    q: float,
    radius: float,
    rate: float,
    it: SubsetWeights,
    loss: Floats,
) -> None:
    """Fill `loss` with the estimates of all subsets, then let each of them step.

    x is 0 where it was not explored. A step depends on nothing but its own subset, a loss on the
    weights from before the step.
    """
    n, k = subsets.shape
    g, single, pair = np.empty(k), 1.0 / p, 1.0 / q  # divisions are slow, and there are many
    for e in range(n):
        s = own = 0.0
        touched = False
        for a in range(k):
            value = x[subsets[e, a]]
            part = it.w[e, a] * value
            s += part
            own += part * part
            touched |= value != 0.0
        loss[e] = own * single + (s * s - own) * pair - 2.0 * y * s * single
        if not touched:
            continue
        for a in range(k):
            value = x[subsets[e, a]]
            part = it.w[e, a] * value
            g[a] = 2.0 * value * ((part - y) * single + (s - part) * pair)
        it.squares[e] = _descend(it.w[e], g, it.squares[e], radius, rate)


@kernel
def weigh_subsets(loss: Floats, rate: float, it: SubsetWeights) -> None:
    """Add the losses; chances ~ exp(-eta sum of losses), the best one's exp(0)."""
    n = len(loss)
    total = first = second = 0.0
    for e in range(n):
        total += it.chances[e]
        first += it.chances[e] * loss[e]
        second += it.chances[e] * loss[e] * loss[e]
    mean = first / total
    if not second < np.inf:  # a loss too large to be squared: left out
        return
    it.tally[VARIANCE] += max(second / total - mean * mean, 0.0)
    low = np.inf
    for e in range(n):
        it.losses[e] += loss[e]
        low = min(low, it.losses[e])
        it.tally[DEVIATION] = max(it.tally[DEVIATION], abs(loss[e] - mean))
    if it.tally[VARIANCE] <= 0.0:
        return
    eta = rate
    if not rate > 0.0:
        eta = min(math.sqrt(math.log(n) / it.tally[VARIANCE]), 1.0 / it.tally[DEVIATION])
    for e in range(n):
        it.chances[e] = math.exp(-eta * (it.losses[e] - low))


@kernel
def learn(
    subsets: NDArray[np.int32],
    R: Indices,
    features: Indices,
    x: Floats,
    y: float,
    p: float,
    q: float,
    radius: float,
    hedge_rate: float,
    rate: float,
    it: SubsetWeights,
    counts: Floats,
    sums: Floats,
) -> None:
    """The label of a round that read x on the features, R among them; both are ascending."""
    explored = np.zeros(len(counts))
    a = 0
    for i in range(len(features)):
        j, value = features[i], x[i]
        if np.isnan(value):
            value = sums[j] / max(counts[j], 1.0)
        if a < len(R) and R[a] == j:
            explored[j] = value
            a += 1
    for i in range(len(features)):
        if not np.isnan(x[i]):
            counts[features[i]] += 1.0
            sums[features[i]] += x[i]
    loss = np.empty(len(subsets))
    judge(subsets, explored, y, p, q, radius, rate, it, loss)
    weigh_subsets(loss, hedge_rate, it)


@kernel
def play_block(
    seed: Seed,
    first_round: int,
    X: NDArray[np.floating],
    y: Floats,
    subsets: NDArray[np.int32],
    m: int,
    p: float,
    q: float,
    radius: float,
    hedge_rate: float,
    rate: float,
    it: SubsetWeights,
    counts: Floats,
    sums: Floats,
    bought: NDArray[np.int32],
    predictions: Floats,
    space: Indices,
) -> int:
    """Rounds one after the other; how many were played before a value that cannot be used."""
    d, k = X.shape[1], subsets.shape[1]
    R, union = np.empty(m, dtype=np.int64), np.empty(m + k, dtype=np.int64)
    S, means = np.empty(k, dtype=np.int64), np.empty(k)
    for t in range(len(y)):
        e = draw(seed, first_round + t, it.chances, d, R, space)
        for a in range(k):
            S[a] = subsets[e, a]
            means[a] = sums[S[a]] / max(counts[S[a]], 1.0)
        features = union[: merge(R, S, union)]
        x = np.empty(len(features))
        if not read(X[t], features, x, bought[t]):
            return t
        predictions[t] = predict_seen(features, x, S, it.w[e], means)
        learn(subsets, R, features, x, y[t], p, q, radius, hedge_rate, rate, it, counts, sums)
    return len(y)
