"""The online Newton step for square loss, with predictions that stay within the labels' range."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.kernels.jit import kernel
from keyhole.problem import Floats

LABEL, WORST = range(2)  # of `limits`: the largest |y| so far, the largest |y_hat - y| so far


@kernel
def clipped(along: float, limits: Floats) -> float:
    """The prediction: u.x, kept within the largest label so far."""
    return float(min(max(along, -limits[LABEL]), limits[LABEL]))


@kernel
def predict(u: Floats, limits: Floats, x: Floats) -> float:
    """The prediction for x."""
    along = 0.0
    for a in range(len(u)):
        along += u[a] * x[a]
    return clipped(along, limits)


@kernel
def step(u: Floats, P: Floats, A: Floats, limits: Floats, x: Floats, y: float) -> float:
    """Project on x, predict, and learn the label; the prediction.

    With g = 2 (y_hat - y) x and rho = 1/(2 WORST^2) the matrix A grows by rho g g', which is
    c x x' with c = 2 ((y_hat - y)/WORST)^2: no square of a large number is needed.
    """
    v, along, s = len(u), 0.0, 0.0
    Px = np.zeros(v)
    for a in range(v):
        along += u[a] * x[a]
        for b in range(v):
            Px[a] += P[a, b] * x[b]
        s += x[a] * Px[a]
    prediction = clipped(along, limits)
    error = prediction - y
    limits[LABEL] = max(limits[LABEL], abs(y))
    limits[WORST] = max(limits[WORST], abs(error))
    if not s > 0.0:  # x = 0: nothing to learn
        return prediction
    c = 2.0 * (error / limits[WORST]) ** 2 if error != 0.0 else 0.0
    # First the projection in the norm of A on the w with w.x = y_hat, then the step from there.
    along_Px = (prediction - along) / s - 2.0 * error / (1.0 + c * s)
    for a in range(v):
        u[a] += along_Px * Px[a]
        for b in range(v):
            A[a, b] += c * x[a] * x[b]
            P[a, b] -= c * Px[a] * Px[b] / (1.0 + c * s)
    return prediction
