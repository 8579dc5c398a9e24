"""Tables as markdown, and numbers with their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import Row
from keyhole.problem import Floats


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table."""
    rows = [list(head), ["---"] * len(head), *[list(line) for line in lines]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over seeds with its standard error, NaN when there is but one seed."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float] | Floats) -> Mean:
        """Of at least one value.

        >>> Mean.of([1.0, 3.0])
        Mean(mean=2.0, error=1.0)
        """
        n = len(values)
        error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        return cls(float(np.mean(values)), error)


def number(value: float, error: float) -> str:
    """A number with as many digits as its error lets count, three or so if there is no error.

    >>> number(12.3456, 0.0214), number(1234.5, 321.0), number(0.51234, math.nan)
    ('12.346', '1,234', '0.512')
    """
    size = abs(value) / 10 if math.isnan(error) or error == 0 else error
    places = 3 if size == 0 else max(0, min(4, 1 - math.floor(math.log10(size))))
    return f"{value:,.{places}f}"


def plus_minus(found: Mean) -> str:
    """Mean and standard error.

    >>> plus_minus(Mean(12.3456, 0.0214)), plus_minus(Mean(0.5, math.nan))
    ('12.346 ± 0.021', '0.500')
    """
    shown = number(found.mean, found.error)
    return shown if math.isnan(found.error) else f"{shown} ± {number(found.error, found.error)}"


def mean_error(values: Sequence[float], digits: int = 0) -> str:
    """Mean and standard error of the runs that came to an end, and how many did not."""
    good = [value for value in values if np.isfinite(value)]
    lost = len(values) - len(good)
    failed = f"fails on {lost} of {len(values)}" if lost else ""
    if not good:
        return failed
    found = Mean.of(good)
    shown = f"{found.mean:.{digits}f} ± {found.error:.{digits}f}"
    return f"{shown} ({failed})" if failed else shown


def pick(rows: Sequence[Row], value: str, **like: Any) -> list[float]:
    """A value of the rows that agree with `like`; one without such a key does not.

    >>> pick([{"seed": 0, "file": "a"}, {"seed": 1, "stream": "a"}], "seed", file="a")
    [0]
    """
    here = (row for row in rows if all(key in row and row[key] == v for key, v in like.items()))
    return [row[value] for row in here]


def names_of(rows: Sequence[Row], key: str) -> list[Any]:
    """The different values of a key, in the order of their first appearance in the program."""
    return list(dict.fromkeys(row[key] for row in rows))
