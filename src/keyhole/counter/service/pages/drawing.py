"""Small pictures as SVG: lines beside each other, and strips of how often something was bought."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from keyhole.counter.service.pages.trace import Asked, Told

WIDE, HIGH = 240, 48  # of a small picture, in its own units
LEVELS = 8  # shades of a strip


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of a strip in one shade, from 0 to 1."""

    x: float
    width: float
    shade: float


def grouped(bins: Sequence[Told], most: int) -> list[Told]:
    """The same labels in fewer bins, so that each is a mean of many."""
    size = math.ceil(len(bins) / most) if bins else 1
    joined = []
    for start in range(0, len(bins), size):
        whole = Told(bins[start].first)
        for part in bins[start : start + size]:
            whole.add(part)
        joined.append(whole)
    return joined


def lines(*series: Sequence[float]) -> list[str]:
    """Points of SVG polylines on a common scale that begins at 0; a far outlier is cut off.

    >>> lines([0.0, 1.0], [2.0, 1.0])
    ['0,46 240,24', '0,2 240,24']
    """
    values = sorted(value for one in series for value in one if math.isfinite(value))
    if not values:
        return ["" for _ in series]
    high = min(values[-1], 4.0 * values[(3 * len(values)) // 4]) or values[-1] or 1.0
    drawn = []
    for one in series:
        step = WIDE / max(len(one) - 1, 1)
        heights = [HIGH - 2 - (HIGH - 4) * min(max(value / high, 0.0), 1.0) for value in one]
        drawn.append(" ".join(f"{i * step:g},{y:.4g}" for i, y in enumerate(heights)))
    return drawn


def strip(bins: Sequence[Asked], feature: int) -> list[Cell]:
    """How often a feature was bought, over time: equal neighbours are one cell, blanks are none."""
    rounds = sum(one.rounds for one in bins) or 1
    cells: list[Cell] = []
    x = 0.0
    for one in bins:
        width = WIDE * one.rounds / rounds
        share = one.reads[feature] / one.rounds if one.rounds else 0.0
        shade = math.ceil(LEVELS * share) / LEVELS
        if cells and cells[-1].shade == shade:
            cells[-1] = Cell(cells[-1].x, cells[-1].width + width, shade)
        else:
            cells.append(Cell(x, width, shade))
        x += width
    return [Cell(round(c.x, 2), round(c.width, 2), c.shade) for c in cells if c.shade > 0.0]
