"""Doubts: values and labels far beyond what was seen, in words, and what may have been meant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyhole.learners.blocks.sums.reach import COUNT, FEW, HIGH, LOW, is_far_out
from keyhole.problem import Floats, Observation, Problem

FAR = 2.0  # what AutoLearner means by far, unless its parts say otherwise
POWERS = (1, 2, 3, 4, 5, 6)  # of ten, by which a typo is off
ALIKE = 2.0  # a value at most this many times the largest is better compared with the range


@dataclass(frozen=True, slots=True)
class Doubt:
    """A value, or the label (`name` is None), that lies far beyond what was seen.

    `low` and `high` are the ends of what was seen. `factor` says how many times as large as the
    largest of it the value is, signs aside (below 1: the smallest); `suggestion`, what may have
    been meant: the same digits with the decimal point elsewhere, or the other sign. None if neither
    was seen before.

    Examples
    --------
    >>> print(Doubt(None, 7.5e6, 3.0, 25.0))
    the label: 7,500,000 is 300,000 times the largest seen (3 to 25): did you mean 7.5?
    >>> print(Doubt("sodium", 13.9, 128.0, 151.0))
    sodium: 13.9 is 0.11 times the smallest seen (128 to 151): did you mean 139?
    >>> print(Doubt("pressure", 1095.0, 990.0, 1021.0))
    pressure: 1,095 is beyond what was seen (990 to 1,021) by 2.4 times its range
    """

    name: str | None
    value: float
    low: float
    high: float

    @property
    def factor(self) -> float:
        """Times the largest, or below 1 the smallest, of what was seen; signs aside."""
        size, sizes = abs(self.value), (abs(self.low), abs(self.high))
        smallest = min(sizes) if self.low > 0.0 or self.high < 0.0 else 0.0
        end = smallest if size < smallest else max(sizes)
        return size / end if end > 0.0 else math.inf

    @property
    def suggestion(self) -> float | None:
        """The value with the decimal point elsewhere, or the other sign, if that was seen."""
        for power in POWERS:
            for times in (10.0**-power, 10.0**power):
                meant = float(f"{self.value * times:.12g}")
                if self.low <= meant <= self.high:
                    return meant
        return -self.value if self.low <= -self.value <= self.high else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        parts = {name: getattr(self, name) for name in ("name", "value", "low", "high")}
        return {**parts, "suggestion": self.suggestion, "text": str(self)}

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> Doubt:
        """The doubt that `as_dict` wrote.

        >>> doubt = Doubt("sodium", 13.9, 128.0, 151.0)
        >>> Doubt.from_dict(doubt.as_dict()) == doubt
        True
        """
        name = None if parts["name"] is None else str(parts["name"])
        return cls(name, *(float(parts[part]) for part in ("value", "low", "high")))

    def __str__(self) -> str:
        seen = f"({_number(self.low)} to {_number(self.high)})"
        name = "the label" if self.name is None else self.name
        factor, meant = self.factor, self.suggestion
        if math.isfinite(factor) and not 1.0 / ALIKE < factor < ALIKE:
            end = "largest" if factor > 1.0 else "smallest"
            said = f"is {_rounded(factor)} times the {end} seen {seen}"
        else:
            off = max(self.low - self.value, self.value - self.high) / (self.high - self.low)
            said = f"is beyond what was seen {seen} by {_rounded(off)} times its range"
        ask = "" if meant is None else f": did you mean {_number(meant)}?"
        return f"{name}: {_number(self.value)} {said}{ask}"


def _number(value: float) -> str:
    """As people write it: at most six digits, thousands apart."""
    size = abs(value)
    return f"{value:.6g}" if size >= 1e15 or 0 < size < 1e-4 else f"{float(f'{value:.6g}'):,.12g}"


def _rounded(value: float) -> str:
    return _number(float(f"{value:.2g}"))


def doubts_about(
    seen: Observation, y: float | None, reach: Floats, far: float, problem: Problem
) -> tuple[Doubt, ...]:
    """The doubts about what was bought, in the order of the features, and about the label."""
    values = zip(seen.ticket.features.tolist(), seen.values.tolist(), strict=True)
    rows = [*values, *([] if y is None else [(problem.d, y)])]
    return tuple(_doubts(rows, reach, far, problem))


def _doubts(
    rows: list[tuple[int, float]], reach: Floats, far: float, problem: Problem
) -> Iterator[Doubt]:
    for j, value in rows:
        if reach[j, COUNT] < FEW or math.isnan(value) or not is_far_out(reach[j], far, value):
            continue
        names = problem.names
        name = None if j == problem.d else f"x{j}" if names is None else names[j]
        yield Doubt(name, value, float(reach[j, LOW]), float(reach[j, HIGH]))
