"""The prediction of a linear model when values may be absent."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from keyhole.problem import Floats, Indices


def filled(values: Floats, means: ArrayLike) -> Floats:
    """The values, with the means in place of those that are absent."""
    return np.where(np.isnan(values), means, values)


def weigh(w: Floats, means: Floats, x: Floats) -> float:
    """sum_i w_i x_i, one after the other; the mean stands in for a value that is absent."""
    total = 0.0
    for weight, mean, value in zip(w.tolist(), means.tolist(), x.tolist(), strict=True):
        total += weight * (mean if math.isnan(value) else value)
    return total


def predict_seen(
    features: Indices, values: Floats, support: Indices, w: Floats, means: Floats
) -> float:
    """`weigh` for a support within the ascending features that were bought."""
    return weigh(w, means, values[features.searchsorted(support)])
