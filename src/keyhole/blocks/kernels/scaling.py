"""Inner steps of `blocks/scaling.py`."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.kernels.jit import kernel
from keyhole.blocks.scaling import Running


@kernel
def add(seen: Running, j: int, value: float) -> None:
    """Take in a value of quantity j; NaN is absent."""
    if np.isnan(value):
        return
    if seen.reads[j] == 0.0:
        seen.reference[j] = value
    shift = value - seen.reference[j]
    seen.reads[j] += 1.0
    seen.total[j] += shift
    seen.square[j] += shift * shift


@kernel
def spread(seen: Running, j: int) -> float:
    """The sample variance of quantity j."""
    if seen.reads[j] < 2.0:
        return 0.0
    shift = seen.total[j] / seen.reads[j]
    return float(max(seen.square[j] - seen.reads[j] * shift * shift, 0.0) / (seen.reads[j] - 1.0))


@kernel
def centre(seen: Running, j: int) -> float:
    """The mean of quantity j, shrunk to 0 where it may well be 0."""
    if seen.reads[j] == 0.0:
        return 0.0
    mean = seen.reference[j] + seen.total[j] / seen.reads[j]
    if mean == 0.0:
        return 0.0
    noise = 2.0 * spread(seen, j) / seen.reads[j]
    return float(mean * max(0.0, 1.0 - noise / mean / mean))
