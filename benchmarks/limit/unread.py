"""What reads tell of the features that were not read, when the law of the rows is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from keyhole.problem import Floats, Indices

NODES = 12  # of the quadrature over an unread value


def mask_of(bought: Indices, d: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Which features were read in which round; -1 is none of them."""
    read = np.zeros((len(bought), d + 1), dtype=np.bool_)
    np.put_along_axis(read, bought, True, axis=1)
    return read[:, :d]


def independent(X: Floats, bought: Indices, square: float) -> tuple[Floats, Floats]:
    """Mean and variance of features that are independent with mean 0 and this mean square."""
    read = mask_of(bought, X.shape[1])
    return np.where(read, X, 0.0), np.where(read, 0.0, square)


def bridge(z: Floats, read: np.ndarray, rho: float) -> tuple[Floats, Floats]:
    """Mean and variance of a Gaussian chain with corr rho^|i - j|, given the values that were read.

    The nearest read value on either side tells all: with a = rho^distance to the left one and c to
    the right one, mean = (a (1 - c^2) left + c (1 - a^2) right) / (1 - a^2 c^2), and
    variance = (1 - a^2) (1 - c^2) / (1 - a^2 c^2).
    """
    a, left = _nearest(z, read, rho)
    c, right = (side[:, ::-1] for side in _nearest(z[:, ::-1], read[:, ::-1], rho))
    a2, c2 = a * a, c * c
    whole = np.where(read, 1.0, 1.0 - a2 * c2)
    mean = (a * (1.0 - c2) * left + c * (1.0 - a2) * right) / whole
    return np.where(read, z, mean), np.where(read, 0.0, (1.0 - a2) * (1.0 - c2) / whole)


def _nearest(z: Floats, read: np.ndarray, rho: float) -> tuple[Floats, Floats]:
    """rho^distance to the last read value up to each feature, and that value; 0, 0 if none."""
    a, value = np.zeros_like(z), np.zeros_like(z)
    for j in range(z.shape[1]):
        before = (a[:, j - 1] * rho, value[:, j - 1]) if j else (0.0, 0.0)
        a[:, j] = np.where(read[:, j], 1.0, before[0])
        value[:, j] = np.where(read[:, j], z[:, j], before[1])
    return a, value


def neighbours(
    X: Floats, bought: Indices, rho: float, curve: Callable[[Floats], Floats] | None = None
) -> tuple[Floats, Floats]:
    """Mean and variance of curve(x_j), x_j if there is none, for rows of `toeplitz(rho)`."""
    read = mask_of(bought, X.shape[1])
    z = ndtri(np.clip(0.5 * (X + 1.0), 1e-15, 1.0 - 1e-15))
    mean, variance = bridge(z, read, rho)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights, spread = weights / math.sqrt(2.0 * math.pi), np.sqrt(variance)
    first, second = np.zeros_like(z), np.zeros_like(z)
    for node, weight in zip(nodes, weights, strict=True):
        x = 2.0 * ndtr(mean + node * spread) - 1.0
        value = x if curve is None else curve(x)
        first += weight * value
        second += weight * value * value
    exact = X if curve is None else curve(X)
    return np.where(read, exact, first), np.where(read, 0.0, np.maximum(second - first**2, 1e-9))
