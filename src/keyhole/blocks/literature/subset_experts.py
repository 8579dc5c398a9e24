"""Multiplicative weights over all k-subsets, each with a gradient descent of its own.

With R a uniform m-subset of the d features, p = m/d and q = m(m - 1)/(d(d - 1)) the probabilities
that it holds a feature, a pair, and s = sum of w_i x_i, o = sum of w_i^2 x_i^2 over the features of
a subset S that are in R,

    loss(S)     = o/p + (s^2 - o)/q - 2 y s/p              mean: <w_S, x>^2 - 2 y <w_S, x>
    gradient_i  = 2 x_i (w_i x_i/p + (s - w_i x_i)/q - y/p)     for i in S and R, else 0

are unbiased for the squared loss of w_S, up to y^2, and for its gradient: O(k) per subset.
"""

from __future__ import annotations

import itertools
import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.keyed import Seed, categorical, subset, uniform
from keyhole.blocks.draw.reading import Block, read
from keyhole.blocks.draw.sorting import merge
from keyhole.blocks.fit.linear import predict_seen
from keyhole.blocks.jit.decorators import inner, kernel
from keyhole.fields import AT_LEAST_0
from keyhole.problem import Floats, Indices

MOST = 100_000  # subsets


class Rule(NamedTuple):
    """What does not change: the subsets, one per row; m features explore, each read with
    probability p and each pair with q; the radius of the ball; the rates of the draw and of the
    steps, 0 if they are measured.
    """

    subsets: NDArray[np.int32]
    m: int
    p: float
    q: float
    radius: float
    hedge_rate: float
    rate: float


class Seen(NamedTuple):
    """Of the values that arrived, feature by feature: how many, and their sum."""

    counts: Floats
    sums: Floats


Told = tuple[Indices, Indices, Floats, float]  # explored, all that was read, its values, the label


class SubsetWeights(NamedTuple):
    """What changes: arrays with one row per subset, in lexicographic order.

    Sums: `losses`; `squares` of the gradients; `tally`, the variance of the losses over the draw
    of a subset, and the largest deviation from their mean. Derived: `w`, projected on the ball;
    `chances`, proportional to the probability of each subset.
    """

    w: Floats
    squares: Annotated[Floats, AT_LEAST_0]
    losses: Floats
    chances: Annotated[Floats, AT_LEAST_0]
    tally: Annotated[Floats, AT_LEAST_0]


def all_subsets(d: int, k: int) -> NDArray[np.int32]:
    """Every k-subset of d features, one per row.

    >>> all_subsets(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    flat = itertools.chain.from_iterable(itertools.combinations(range(d), k))
    n = math.comb(d, k)
    return np.fromiter(flat, dtype=np.int32, count=n * k).reshape(n, k)


def new_weights(n: int, k: int) -> SubsetWeights:
    """Before the first label: all subsets alike, all weights 0."""
    return SubsetWeights(np.zeros((n, k)), np.zeros(n), np.zeros(n), np.ones(n), np.zeros(2))


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
def judge(rule: Rule, x: Floats, y: float, it: SubsetWeights, loss: Floats) -> None:
    """Fill `loss` with the estimates of all subsets, then let each of them step.

    x is 0 where it was not explored. A step depends on nothing but its own subset, a loss on the
    weights from before the step.
    """
    subsets = rule.subsets
    n, k = subsets.shape
    g = np.empty(k)
    single, pair = 1.0 / rule.p, 1.0 / rule.q  # divisions are slow, and there are many
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
        it.squares[e] = _descend(it.w[e], g, it.squares[e], rule.radius, rule.rate)


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
def learn(rule: Rule, told: Told, it: SubsetWeights, seen: Seen) -> None:
    """The label of a round that read x on the features, R among them; both are ascending."""
    R, features, x, y = told
    counts, sums = seen.counts, seen.sums
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
    loss = np.empty(len(rule.subsets))
    judge(rule, explored, y, it, loss)
    weigh_subsets(loss, rule.hedge_rate, it)


@kernel
def play(block: Block, rule: Rule, it: SubsetWeights, seen: Seen) -> int:
    """Play rounds one after the other; how many, see `Block`."""
    subsets, d, m = rule.subsets, block.X.shape[1], rule.m
    k = subsets.shape[1]
    R, union = np.empty(m, dtype=np.int64), np.empty(m + k, dtype=np.int64)
    S, means = np.empty(k, dtype=np.int64), np.empty(k)
    for t in range(len(block.y)):
        e = draw(block.seed, block.first_round + t, it.chances, d, R, block.space)
        for a in range(k):
            S[a] = subsets[e, a]
            means[a] = seen.sums[S[a]] / max(seen.counts[S[a]], 1.0)
        features = union[: merge(R, S, union)]
        x = np.empty(len(features))
        if not read(block.X[t], features, x, block.bought[t]):
            return t
        block.predictions[t] = predict_seen(features, x, S, it.w[e], means)
        learn(rule, (R, features, x, block.y[t]), it, seen)
    return len(block.y)
