"""The two steps of VAW in its rank-1 form, and a block of rounds of VAW on fixed features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.errors import LARGEST
from keyhole.problem import Floats, Indices


@kernel
def forward(P: Floats, theta: Floats, x: Floats, Px: Floats) -> tuple[float, float]:
    """theta.x and 1 + x'Px, whose quotient is the prediction; Px is filled."""
    v, along, s = len(theta), 0.0, 1.0
    for a in range(v):
        total = 0.0
        for b in range(v):
            total += P[a, b] * x[b]
        Px[a] = total
        s += x[a] * total
        along += theta[a] * x[a]
    return along, s


@kernel
def learn(P: Floats, theta: Floats, Px: Floats, along: float, s: float, y: float) -> None:
    """The rank-1 update with the label y, given what `forward` returned."""
    step = (y - along) / s
    for a in range(len(theta)):
        theta[a] += Px[a] * step
        for b in range(len(theta)):
            P[a, b] -= Px[a] * Px[b] / s


@kernel
def predict(P: Floats, theta: Floats, x: Floats) -> float:
    """The prediction for x."""
    along, s = forward(P, theta, x, np.empty(len(x)))
    return along / s


@kernel
def update(P: Floats, theta: Floats, A: Floats, b: Floats, x: Floats, y: float) -> None:
    """Learn the label of x: the sums A and b, then P and theta."""
    Px = np.empty(len(x))
    along, s = forward(P, theta, x, Px)
    add(A, b, x, y)
    learn(P, theta, Px, along, s, y)


@kernel
def add(A: Floats, b: Floats, x: Floats, y: float) -> None:
    """Add a row to the sums alone."""
    for i in range(len(x)):
        b[i] += y * x[i]
        for j in range(len(x)):
            A[i, j] += x[i] * x[j]


@kernel
def fixed_rounds(
    X: NDArray[np.floating],
    y: Floats,
    support: Indices,
    centre: bool,
    P: Floats,
    theta: Floats,
    A: Floats,
    b: Floats,
    sums: Floats,
    counts: Indices,
    predictions: Floats,
) -> int:
    """Rounds of `FixedSubset`, one after the other; how many were played before a bad value.

    `sums` and `counts` hold the values that arrived, feature by feature, and last the labels.
    """
    v = len(support)
    x, Px = np.ones(len(theta)), np.empty(len(theta))
    for t in range(len(y)):
        for a in range(v):
            value = np.float64(X[t, support[a]])
            if abs(value) > LARGEST:
                return t
            mean = sums[a] / max(counts[a], 1)
            x[a] = mean if np.isnan(value) else value
            if centre:
                x[a] = x[a] - mean if counts[a] > 0 else 0.0
        mean = sums[v] / max(counts[v], 1) if centre else 0.0
        along, s = forward(P, theta, x, Px)
        predictions[t] = mean + along / s
        label = y[t] - (mean if counts[v] > 0 or not centre else y[t])
        add(A, b, x, label)
        learn(P, theta, Px, along, s, label)
        for a in range(v):
            value = np.float64(X[t, support[a]])
            if not np.isnan(value):
                sums[a] += value
                counts[a] += 1
        sums[v] += y[t]
        counts[v] += 1
    return len(y)
