"""Coordinate descent for the lasso on correlations, and rounds of a fixed linear model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.kernels.jit import kernel
from keyhole.errors import LARGEST
from keyhole.problem import Floats

RUNAWAY = 1e6


@kernel
def descend(R: Floats, c: Floats, penalty: float, w: Floats, tolerance: float, sweeps: int) -> int:
    """Minimise w'R w / 2 - c.w + penalty |w|_1 from w on, in place; sweeps made.

    Stops when no coordinate of a sweep moved by more than `tolerance`, or one moved by more than
    any does while R is positive semidefinite. After a full sweep only the
    non-zero coordinates are gone through until they rest; then all again.
    """
    d = len(c)
    left = c - R @ w
    full, made = True, 0
    while made < sweeps:
        made += 1
        moved = 0.0
        for j in range(d):
            if not full and w[j] == 0.0:
                continue
            if not R[j, j] > 0.0:
                continue
            target = left[j] + R[j, j] * w[j]
            size = max(abs(target) - penalty, 0.0) / R[j, j]
            step = (size if target > 0.0 else -size) - w[j]
            if step != 0.0:
                w[j] += step
                for i in range(d):
                    left[i] -= step * R[j, i]
                moved = max(moved, abs(step))
        if moved > RUNAWAY:
            break
        if moved <= tolerance:
            if full:
                break
            full = True
        else:
            full = False
    return made


@kernel
def weigh(w: Floats, means: Floats, intercept: float, x: Floats) -> float:
    """intercept + w.x, one after the other; the mean stands in for a value that is absent."""
    total = intercept
    for j in range(len(w)):
        if w[j] != 0.0:
            total += w[j] * (means[j] if np.isnan(x[j]) else x[j])
    return total


@kernel
def linear_rounds(
    X: NDArray[np.floating], w: Floats, means: Floats, intercept: float, predictions: Floats
) -> int:
    """Predict the rows of X; how many there are before one with a value that cannot be squared."""
    x = np.empty(len(w))
    for t in range(len(X)):
        for j in range(len(w)):
            x[j] = X[t, j]
            if abs(x[j]) > LARGEST:
                return t
        predictions[t] = weigh(w, means, intercept, x)
    return len(X)
