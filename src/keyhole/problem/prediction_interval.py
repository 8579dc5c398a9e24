"""PredictionInterval: where a label will be, in a given share of rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyhole.errors import ProblemError, real_number

MIN_COVERAGE, MAX_COVERAGE = 0.01, 0.999  # coverages that can be asked for


@dataclass(frozen=True, slots=True)
class PredictionInterval:
    """Where the label of one example will be, in a share `coverage` of all rounds.

    Infinite on both sides as long as no label was told, and not the same thing as `kh.Interval`,
    which is about numbers that are computed.

    Examples
    --------
    >>> interval = PredictionInterval(1.5, 4.0, coverage=0.9, prediction=2.5)
    >>> 3.0 in interval, 5.0 in interval, interval.width
    (True, False, 2.5)
    >>> print(interval)
    2.5 (90 % between 1.5 and 4)
    """

    low: float
    high: float
    coverage: float
    prediction: float

    @property
    def width(self) -> float:
        """From one end to the other."""
        return self.high - self.low

    def __contains__(self, y: float) -> bool:
        return self.low <= y <= self.high

    def __str__(self) -> str:
        share = f"{100.0 * self.coverage:g} %"
        if math.isinf(self.width):
            return f"{self.prediction:g} ({share}: nothing known yet)"
        return f"{self.prediction:g} ({share} between {self.low:g} and {self.high:g})"


def a_coverage(coverage: float) -> float:
    """The coverage, if intervals can have it.

    >>> a_coverage(90)
    Traceback (most recent call last):
    keyhole.errors.ProblemError: coverage must be a share of rounds from 0.01 to 0.999, such as 0.9,
    got 90
    """
    try:
        return real_number("coverage", coverage, MIN_COVERAGE, MAX_COVERAGE)
    except ProblemError:
        raise ProblemError(
            f"coverage must be a share of rounds from {MIN_COVERAGE} to {MAX_COVERAGE}, "
            f"such as 0.9, got {coverage!r}"
        ) from None
