"""Numbers that stand for "not known", such as 9999 and -1: spikes far outside of all the others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

# What people type where a number is not known.
USUAL = sorted(
    {-1.0}
    | {
        sign * float(str(digit) * many)
        for sign in (1, -1)
        for digit in (7, 8, 9)
        for many in (2, 3, 4, 5, 6)
    }
    | {-9.0, -1000.0, -10000.0}
)
WORDS = (
    *("-", "--", "---", ".", "..", "...", "*", "n.a.", "N.A.", "n.a", "na", "n/k", "nd"),
    *("ND", "N.D.", "k.A.", "k. A.", "missing", "Missing", "MISSING", "unknown", "Unknown", "none"),
    *(
        "UNKNOWN",
        "NONE",
        "nil",
        "not available",
        "not known",
        "#VALUE!",
        "#DIV/0!",
        "#REF!",
        "(null)",
    ),
    *("#NULL!", "#NUM!", "#NAME?", "<NA>", "-nan", "N/D", "n/d", "tbd", "TBD", "–", "—", "\\N"),
)
SMALLEST = 77.0  # in size, of the codes beside -1 and -9
FEWEST = 3  # times that a code occurs
FAR = 1.0  # widths of all other values between them and a code
FAR_MINUS_ONE = 0.25  # the same for -1 and -9 beside values that are never negative


class CodeCounter:
    """Counts the usual codes in every column, and keeps the range of everything else.

    Examples
    --------
    >>> counter = CodeCounter(2)
    >>> ages = [31.0, 54.0, 999.0, 47.0, 999.0, 62.0, 999.0, 20.0]
    >>> counter.add(np.column_stack([ages, np.arange(95.0, 103.0)]))
    >>> counter.codes()
    {0: {999.0: 3}}
    """

    def __init__(self, d: int) -> None:
        self._counts = np.zeros((len(USUAL), d), dtype=np.int64)
        self._low, self._high = np.full(d, np.inf), np.full(d, -np.inf)
        self._others = np.zeros(d, dtype=np.int64)

    def add(self, X: NDArray[np.floating]) -> None:
        """Count some rows; NaN is no value."""
        other = ~np.isnan(X)
        # Few cells can be codes at all; only these are looked up.
        rows, columns = np.nonzero((np.abs(X) >= SMALLEST) | (X == -1.0) | (X == -9.0))
        values = X[rows, columns]
        place = np.minimum(np.searchsorted(USUAL, values), len(USUAL) - 1)
        hit = np.array(USUAL)[place] == values
        np.add.at(self._counts, (place[hit], columns[hit]), 1)
        other[rows[hit], columns[hit]] = False
        self._others += other.sum(axis=0)
        low = np.where(other, X, np.inf).min(axis=0, initial=np.inf)
        high = np.where(other, X, -np.inf).max(axis=0, initial=-np.inf)
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)

    def codes(self) -> dict[int, dict[float, int]]:
        """By column, the codes that were found and how often each of them was."""
        found: dict[int, dict[float, int]] = {}
        for j in np.flatnonzero(self._counts.any(axis=0) & (self._others >= 2)).tolist():
            low, high = float(self._low[j]), float(self._high[j])
            times = {
                code: int(self._counts[i, j])
                for i, code in enumerate(USUAL)
                if self._counts[i, j] >= FEWEST
            }
            # Usual codes that are no codes here are values like others, and widen the range.
            while inside := [c for c in times if not _far(c, low, high)]:
                for code in inside:
                    low, high = min(low, code), max(high, code)
                    del times[code]
            rare = [c for i, c in enumerate(USUAL) if 0 < self._counts[i, j] < FEWEST]
            low, high = min([low, *rare]), max([high, *rare])
            times = {code: n for code, n in times.items() if _far(code, low, high)}
            if times:
                found[j] = times
        return found


def _far(code: float, low: float, high: float) -> bool:
    """Whether a code lies far outside of a range."""
    if low >= high:
        return False
    apart = max(low - code, code - high)
    if code in (-1.0, -9.0):
        return low >= 0 and apart >= FAR_MINUS_ONE * (high - low) and apart > 1.0
    return apart >= FAR * (high - low) and apart > 10.0


def find_codes(
    blocks: Iterable[tuple[NDArray[np.floating], object]], d: int
) -> dict[int, dict[float, int]]:
    """The codes of all columns, from one pass over blocks of rows."""
    counter = CodeCounter(d)
    for X, _ in blocks:
        counter.add(X)
    return counter.codes()
