"""How far a mean is from where it should be, in units that say how likely that is."""

import math

from keyhole.problem import Floats


def standard_errors_above(values: Floats, bound: float, *, least: float = 0.0) -> float:
    """By how many standard errors the mean exceeds the bound; `least`: the smallest to believe."""
    error = max(float(values.std(ddof=1)) / math.sqrt(len(values)), least)
    return float(values.mean() - bound) / error
