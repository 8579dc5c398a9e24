"""Labels: the range of those told so far, which cuts off predictions, and PredictionInterval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyhole.errors import LARGEST, ProblemError, StateError, real_number
from keyhole.problem.ticket import Floats


def cut_off_largest(prediction: float) -> float:
    """The prediction, at most 1e150 in size as every label is; 0 if it is not a number."""
    if -LARGEST <= prediction <= LARGEST:
        return prediction
    return 0.0 if np.isnan(prediction) else float(np.copysign(LARGEST, prediction))


def cut_off_largest_rounds(predictions: Floats) -> None:
    """As `cut_off_largest`, in place."""
    if not (np.abs(predictions) <= LARGEST).all():
        np.nan_to_num(predictions, copy=False)
        np.clip(predictions, -LARGEST, LARGEST, out=predictions)


class LabelSpan:
    """The least and the largest label so far: a prediction beyond them is brought back.

    Whatever the next label is, unless it is a new record, a prediction beyond the range costs more
    than the end of the range it is nearest to. Before the first label every prediction becomes 0;
    one that is not a number becomes the point of the range that is nearest to 0.

    Examples
    --------
    >>> span = LabelSpan()
    >>> span.cut_off(5.0)
    0.0
    >>> span.note(np.array([1.0, 3.0]))
    >>> span.cut_off(5.0), span.cut_off(2.5), span.cut_off(float("nan"))
    (3.0, 2.5, 1.0)
    """

    def __init__(self) -> None:
        self._ends: Floats = np.array([np.inf, -np.inf])  # least, largest; so if there are none

    @property
    def ends(self) -> Floats:
        """A copy of the least and the largest label; inf and -inf before the first."""
        return self._ends.copy()

    def restore(self, ends: Floats) -> None:
        """Go on from these ends, or a StateError if no labels have them."""
        low, high = ends.tolist()
        if not (-LARGEST <= low <= high <= LARGEST or (low == np.inf and high == -np.inf)):
            raise StateError(f"no labels range from {low} to {high}")
        self._ends = np.array(ends)

    def note(self, labels: Floats) -> None:
        """Widen the range by these labels."""
        if len(labels):
            self._ends[0] = min(self._ends[0], labels.min())
            self._ends[1] = max(self._ends[1], labels.max())

    def note_one(self, label: float) -> None:
        """Widen the range by a label."""
        if label < self._ends[0]:
            self._ends[0] = label
        if label > self._ends[1]:
            self._ends[1] = label

    def cut_off(self, prediction: float) -> float:
        """The point of the range that is nearest to the prediction."""
        low, high = self._ends.tolist()
        if low <= prediction <= high:
            return prediction
        if low > high:
            return 0.0
        if prediction < low or (np.isnan(prediction) and low > 0.0):
            return float(low)
        return float(high) if prediction > high or high < 0.0 else 0.0

    def cut_off_rounds(self, predictions: Floats, labels: Floats) -> None:
        """As `cut_off`, in place, for rounds whose labels are told one after the other."""
        low = np.minimum.accumulate(np.append(self._ends[0], labels))[:-1]
        high = np.maximum.accumulate(np.append(self._ends[1], labels))[:-1]
        beyond = ~((low <= predictions) & (predictions <= high))
        if not beyond.any():
            return
        low, high, raw = low[beyond], high[beyond], predictions[beyond]
        raw[np.isnan(raw) | (low > high)] = 0.0  # no labels: low is inf, high is -inf
        ends = np.where(raw < low, low, np.where(raw > high, high, raw))
        predictions[beyond] = np.where(low > high, 0.0, ends)


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
