"""Scale of a chart: later rounds set it, so that the first ones, or a far one, flatten nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keyhole.problem import Floats

FLAT = 3.0  # times what is usual later on: a value beyond it would flatten the rest
ROOM = 2.0  # times the same: where the scale ends then
USUAL = 0.9  # quantile of the later half


class Scale(NamedTuple):
    """Where a scale that begins at 0 ends, how many values are beyond, and the largest of all."""

    high: float
    beyond: int
    largest: float

    def words(self, what: str = "points") -> str:
        """What is cut off, as a sentence; nothing if nothing is."""
        if not self.beyond:
            return ""
        one = what.removesuffix("s") if self.beyond == 1 else what
        beyond = f"{self.beyond:,} {one} beyond {self.high:,.3g} cut off"
        return f"{beyond}, the highest {self.largest:,.3g}"


def scale_of(*series: Sequence[float] | Floats) -> Scale:
    """The scale for lines over time: up to all values, unless some are far beyond the later ones.

    >>> scale_of([1.0, 3.0, 2.0, 1.0])
    Scale(high=3.0, beyond=0, largest=3.0)
    >>> scale_of([180.0, 2.0, 1.0, 1.0], [170.0, 4.0, 4.0, 4.0])
    Scale(high=8.0, beyond=2, largest=180.0)
    >>> scale_of([180.0, 2.0, 1.0, 1.0]).words()
    '1 point beyond 2 cut off, the highest 180'
    """
    lines = [[float(value) for value in one if math.isfinite(value)] for one in series]
    values = [value for one in lines for value in one]
    largest = max(values, default=0.0)
    usual = max(
        (float(np.quantile(one[len(one) // 2 :], USUAL)) for one in lines if one), default=0
    )
    if not usual > 0.0 or largest <= FLAT * usual:
        return Scale(largest, 0, largest)
    high = ROOM * usual
    return Scale(high, sum(value > high for value in values), largest)
