"""Tables of `benchmarks.steps`."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import markdown
from benchmarks.steps.curves import curve, loss_for, of_trees, spent_for
from benchmarks.steps.offline import TREES
from benchmarks.steps.parts import AT_ONCE, STEPS


def table(rows: list[Row]) -> str:
    """At each budget: the loss at once, and step by step the money for as much, saved, the loss.

    Losses are shares of the label's variance, over all rounds and in their second half.
    """
    lines = list[list[str]]()
    games = [row for row in rows if row["way"] != TREES]
    for history in sorted({row["history"] for row in games}):
        for which in ("loss", "late loss"):
            once, steps = (curve(games, way, history, which) for way in (AT_ONCE, STEPS))
            for spent, lost in zip(once.spent.tolist(), once.loss.tolist(), strict=True):
                lines.append(
                    [
                        f"{history} rows known, {'second half' if 'late' in which else 'all'}",
                        *_line(spent, lost, spent_for(steps, lost), loss_for(steps, spent)),
                    ]
                )
    if len(games) < len(rows):
        sets, early = of_trees(rows)
        for spent, lost in zip(sets.spent.tolist(), sets.loss.tolist(), strict=True):
            same, there = spent_for(early, lost), loss_for(early, spent)
            lines.append([TREES, *_line(spent, lost, same, there)])
    head = ["", "money", "loss", "step by step, for this loss", "saved", "loss for this money"]
    return markdown(head, lines) + f"\n\n{_seeds(rows)}"


def _line(spent: float, lost: float, same: float, there: float) -> list[str]:
    return [
        *(f"{spent:.2f}", f"{lost:.4f}", "" if math.isnan(same) else f"{same:.2f}"),
        "" if math.isnan(same) or spent == 0.0 else f"{1.0 - same / spent:.0%}",
        "" if math.isnan(there) else f"{there:.4f}",
    ]


def _seeds(rows: list[Row]) -> str:
    seeds = len({row["seed"] for row in rows})
    stopped = [row["stopped"] for row in rows if row["way"] == STEPS]
    share = f", {np.mean(stopped):.0%} of examples stopped early" if stopped else ""
    return f"Means of {seeds} seed{'' if seeds == 1 else 's'}{share}."
