"""Loss against mean spending as curves, and what one of them saves against another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.common import Row
from benchmarks.steps.offline import TREES
from keyhole.problem import Floats


class Curve(NamedTuple):
    """Mean spending, ascending, and the loss at it: of each level, over all seeds."""

    spent: Floats
    loss: Floats


def curve(rows: Sequence[Row], way: str, history: int, loss: str = "loss") -> Curve:
    """Of games of one source; means over seeds."""
    here = [row for row in rows if row["way"] == way and row["history"] == history]
    levels = sorted({row["level"] for row in here})
    points = [
        [float(np.mean([row[key] for row in here if row["level"] == level])) for level in levels]
        for key in ("spent", loss)
    ]
    return in_order(np.array(points[0]), np.array(points[1]))


def of_trees(rows: Sequence[Row]) -> tuple[Curve, Curve]:
    """Trees that read nested sets, and trees that stop early."""
    here = [row for row in rows if row["way"] == TREES]
    most = min(len(row["sets"]) for row in here)  # an order has as many sets as it can pay for
    sets = np.mean([row["sets"][:most] for row in here], axis=0)
    early = np.mean([row["stopped early"] for row in here], axis=0)
    return in_order(sets[:, 0], sets[:, 1]), in_order(early[:, 1], early[:, 2])


def in_order(spent: Floats, loss: Floats) -> Curve:
    """By spending."""
    order = np.argsort(spent, kind="stable")
    return Curve(spent[order], loss[order])


def spent_for(found: Curve, loss: float) -> float:
    """The least mean spending that has this loss, between levels by a straight line; or NaN.

    >>> spent_for(Curve(np.array([1.0, 3.0]), np.array([0.8, 0.4])), 0.5)
    2.5
    """
    for i, reached in enumerate(found.loss.tolist()):
        if reached <= loss:
            if i == 0:
                return float(found.spent[0])
            before = float(found.loss[i - 1])
            part = (before - loss) / (before - reached)
            return float(found.spent[i - 1] + part * (found.spent[i] - found.spent[i - 1]))
    return float("nan")


def loss_for(found: Curve, spent: float) -> float:
    """The loss at this mean spending, between levels by a straight line; NaN outside of them."""
    if not found.spent[0] <= spent <= found.spent[-1]:
        return float("nan")
    return float(np.interp(spent, found.spent, found.loss))
