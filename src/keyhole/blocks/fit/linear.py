"""The prediction of a linear model when values may be absent."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.jit.decorators import kernel
from keyhole.problem import Floats, Indices


@kernel
def weigh(w: Floats, means: Floats, x: Floats) -> float:
    """sum_i w_i x_i, one after the other; the mean stands in for a value that is absent."""
    total = 0.0
    for i in range(len(w)):
        total += w[i] * (means[i] if np.isnan(x[i]) else x[i])
    return total


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
