"""Rounds of one mini-batch of Algorithm 2: VAW on the played features, sums over all that is read.

Features are in batch order, the played ones first. A value that is absent counts as the mean of
those of its feature that arrived before. Everything here trusts its arguments, except
`first_oversized`, which is the check.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.blocks.kernels.vaw import forward, learn
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices


@kernel
def first_oversized(X: NDArray[np.floating], y: Floats, columns: Indices) -> int:
    """The first row with a label, or a value in the columns, too large to be squared; or -1."""
    for t in range(len(X)):
        if abs(y[t]) > LARGEST:
            return t
        for j in columns:
            if abs(X[t, j]) > LARGEST:  # NaN is absent and passes
                return t
    return -1


@kernel
def _gather(
    X: NDArray[np.floating],
    t: int,
    columns: Indices,
    features: Indices,
    total: Floats,
    count: Indices,
    x: Floats,
) -> None:
    for a in range(len(x)):
        j = features[a]
        x[a] = X[t, columns[a]]
        if np.isnan(x[a]):
            x[a] = total[j] / count[j] if count[j] > 0 else 0.0


@kernel
def aggregate(guesses: Floats, losses: Floats, reach: float) -> float:
    """Vovk's aggregating algorithm for square loss and labels in [-reach, reach].

    g(v) = -2 reach^2 log sum_e exp(-(losses_e + (v - guess_e)^2) / (2 reach^2)), up to a constant;
    the prediction is (g(-reach) - g(reach)) / (4 reach).
    """
    if len(guesses) == 1:
        return float(guesses[0])
    if not reach > 0.0:
        return 0.0
    scale, low = 2.0 * reach * reach, losses.min()
    below, above = 0.0, 0.0
    for e in range(len(guesses)):
        weight = math.exp((low - losses[e]) / scale)
        below += weight * math.exp(-((reach + guesses[e]) ** 2) / scale)
        above += weight * math.exp(-((reach - guesses[e]) ** 2) / scale)
    # Of the two sums, neither is 0: guesses lie within the reach and the best weight is 1.
    return 0.5 * reach * (math.log(above) - math.log(below))


@kernel
def _guess(
    P: Floats,
    theta: Floats,
    x: Floats,
    reach: float,
    Px: Floats,
    along: Floats,
    s: Floats,
    guesses: Floats,
) -> None:
    # Each expert's prediction, within the reach of the labels so far if there are several.
    for e in range(len(theta)):
        along[e], s[e] = forward(P[e], theta[e], x, Px[e])
        guesses[e] = along[e] / s[e]
        if len(theta) > 1:
            guesses[e] = min(max(guesses[e], -reach), reach)


@kernel
def predict_row(
    X: NDArray[np.floating],
    columns: Indices,
    features: Indices,
    total: Floats,
    count: Indices,
    P: Floats,
    theta: Floats,
    losses: Floats,
    reach: float,
) -> float:
    """The prediction for the first row of X; nothing changes."""
    E, v = theta.shape
    x, Px = np.empty(v), np.empty((E, v))
    along, s, guesses = np.empty(E), np.empty(E), np.empty(E)
    _gather(X, 0, columns, features, total, count, x)
    _guess(P, theta, x, reach, Px, along, s, guesses)
    return aggregate(guesses, losses, reach)


@kernel
def play_rows(
    X: NDArray[np.floating],
    y: Floats,
    columns: Indices,
    features: Indices,
    total: Floats,
    count: Indices,
    P: Floats,
    theta: Floats,
    losses: Floats,
    reach: float,
    rows: int,
    G: Floats,
    c: Floats,
    predictions: Floats,
) -> tuple[float, float]:
    """Predict and learn the rows one after the other; returns the sum of y^2 and the new reach.

    columns[a] is where X keeps the feature features[a]. P[e], theta[e]: the VAW of expert e, which
    lost losses[e] so far. G receives the products of the first `rows` features with all later ones
    and all squares, c those with the label; `total`, `count` the values that arrived.
    """
    m, (E, v), yy = len(features), theta.shape, 0.0
    x, Px = np.empty(m), np.empty((E, v))
    along, s, guesses = np.empty(E), np.empty(E), np.empty(E)
    for t in range(len(y)):
        _gather(X, t, columns, features, total, count, x)
        _guess(P, theta, x, reach, Px, along, s, guesses)
        predictions[t] = aggregate(guesses, losses, reach)
        for e in range(E):
            losses[e] += (y[t] - guesses[e]) ** 2
            learn(P[e], theta[e], Px[e], along[e], s[e], y[t])
        for a in range(m):
            c[a] += x[a] * y[t]
            last = m if a < rows else a + 1
            for b in range(a, last):
                G[a, b] += x[a] * x[b]
        yy += y[t] * y[t]
        reach = max(reach, abs(y[t]))
        for a in range(m):
            value, j = np.float64(X[t, columns[a]]), features[a]
            if not np.isnan(value):
                total[j] += value
                count[j] += 1
    return yy, reach


@kernel
def pool(features: Indices, G: Floats, c: Floats, all_G: Floats, all_c: Floats) -> None:
    """Add the sums of a batch to those of all features; upper triangles on both sides."""
    m = len(features)
    for a in range(m):
        i = features[a]
        all_c[i] += c[a]
        for b in range(a, m):
            j = features[b]
            all_G[min(i, j), max(i, j)] += G[a, b]
