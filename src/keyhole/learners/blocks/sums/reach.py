"""Implausible values: how far what was seen of a feature, or of the label, reaches.

A typo is one value far beyond all others. It is not learnt (a label: as the end of what was seen)
until it repeats, or something else speaks for it. What is done then is in `core/c/auto_reach.c`,
the rules are in docs/algorithms/auto-rules.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyhole.core.functions import c_function
from keyhole.learners.blocks.sums.column_stats import Running, centres
from keyhole.problem import Floats, Indices, StateError

LOW, HIGH, NEXT_LOW, NEXT_HIGH, DOUBT, COUNT = range(6)  # of a row of `State.reach`
ENDS = 4  # the first places
SIZE = 6
MARGIN = 0.75  # times `far`, the range and 1 + FEW / values: a value beyond it by more is far out
TIE = 1 / 64  # what a value counts that is the lowest or the highest so far: 0 says little
FIRST, FEW = 4, 8  # values: none of the first is far out; until then one may be taken back
WILD = 5.0  # times `far` times the range of the others: one of the first that is so far from them
FADES, SURE = 0.8, 1.4  # a doubt, with each value; how much of it shows that values are elsewhere
UNUSUAL = 8.0  # standard deviations of a feature: then an unusual label may be right
KNOWN = 16.0  # values that say what its standard deviation is
OFF = 2.0  # what predictions are off by: a label beyond that needs the values that are far out

AS_BEFORE, WAS_WILD, MOVED = range(3)


@c_function("kh_heed", "reach[6]", writes="reach")
def heed(reach: Floats, far: float, value: float, believed: bool) -> int:
    """Note a value: does it show that one of the first was wild, or that all values moved?"""
    raise NotImplementedError


@c_function(
    "kh_see", "reach[d+1,6] values[rows,width] features[rows,width] y[rows]", writes="reach"
)
def see(reach: Floats, far: float, values: Floats, features: Indices, y: Floats) -> None:
    """Note rows: their values of these features (-1: none; NaN: absent), then their labels."""
    raise NotImplementedError


def is_far_out(reach: Floats, far: float, value: float) -> bool:
    """Whether a value is implausible, by a row of the reach."""
    low, high, *_, count = reach.tolist()
    margin = MARGIN * far * (high - low) * (1.0 + FEW / max(count, 1.0))
    return count >= FIRST and margin > 0.0 and not low - margin <= value <= high + margin


def range_seen(low: Floats, high: Floats, counts: Floats) -> Floats:
    """The reach where only ranges are known: none of the first is taken back."""
    doubt = np.zeros(len(counts))
    found = np.stack([low, high, low, high, doubt, counts], axis=-1)
    return np.where(counts[:, None] > 0.0, found, 0.0)


def reach_of_old(values: Running, peaks: Floats, label: Running, span: Floats) -> Floats:
    """What files say that were written before there was a reach."""
    features = range_seen(centres(values) - peaks, centres(values) + peaks, values.reads)
    ends = np.nan_to_num(span)
    return np.concatenate([features, range_seen(ends[:1], ends[1:], label.reads)])


def extend(reach: Floats, low: Floats, high: Floats, counts: Floats) -> None:
    """So many more values of each were seen, within these ranges."""
    new, known = range_seen(low, high, counts), reach[:, COUNT] > 0.0
    more = counts > 0.0
    for place, wider in zip(range(ENDS), (np.minimum, np.maximum) * 2, strict=True):
        both = wider(reach[:, place], new[:, place])
        reach[:, place] = np.where(known, np.where(more, both, reach[:, place]), new[:, place])
    reach[:, COUNT] += counts


def together(reaches: Sequence[Floats]) -> Floats:
    """The reach of all values; no doubts are left."""
    both = np.zeros_like(reaches[0])
    for reach in reaches:
        extend(both, reach[:, LOW], reach[:, HIGH], reach[:, COUNT])
    return both


def packed(reach: Floats) -> Floats:
    """The rows of what was seen, for a file: its number, and its reach."""
    seen = np.flatnonzero(reach[:, COUNT] > 0.0)
    return np.column_stack([seen.astype(np.float64), reach[seen]])


def unpacked(rows: object, d: int) -> Floats:
    """The reach that a file says."""
    shaped = isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype == np.float64
    if not (isinstance(rows, np.ndarray) and shaped and rows.shape[1] == 1 + SIZE):
        raise StateError(f"reach must be an array of rows of {1 + SIZE} float64 numbers")
    numbers = rows[:, 0]
    if not (np.isin(numbers, np.arange(d + 1)).all() and (np.diff(numbers) > 0.0).all()):
        raise StateError(f"reach must be of features below {d} and the label, ascending")
    reach = np.zeros((d + 1, SIZE))
    reach[numbers.astype(np.int64)] = rows[:, 1:]
    refuse_odd_reach(reach)
    return reach


def refuse_odd_reach(reach: Floats) -> None:
    """Refuse what no values leave."""
    low, high, next_low, next_high, _, count = reach.T
    there = (low <= next_high) & (next_high <= high) & (low <= next_low) & (next_low <= high)
    if not (np.isfinite(reach).all() and (there & (count >= 0.0)).all()):
        raise StateError("reach must be the ends of what was seen, and how many values that were")
