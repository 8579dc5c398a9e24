"""Tables of `benchmarks.history`."""

from __future__ import annotations

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import Mean, markdown, names_of, pick, plus_minus
from benchmarks.history.parts import LUCK

WAYS = ("studied", "without", "OMP, fixed", "OMP, then VAW")
SPLIT_WAYS = (*WAYS, "boosted trees, everything")
TENTH_WAYS = (*WAYS, "lasso, fixed")


def _middle_and_worst(values: list[float]) -> str:
    return f"{np.median(values):.3f} / {max(values):.3f}"


def table_splits(rows: list[Row]) -> str:
    """R2 by split, the mean over seeds."""
    lines = []
    for split in names_of(rows, "split"):
        lines.append(
            [str(split), *(f"{np.mean(pick(rows, way, split=split)):.4f}" for way in SPLIT_WAYS)]
        )
    lines.append(["mean", *(f"{np.mean(pick(rows, way)):.4f}" for way in SPLIT_WAYS)])
    return markdown(["split", *SPLIT_WAYS], lines)


def table_tenth(rows: list[Row]) -> str:
    """Normalised regret, median / worst over seeds."""
    lines = []
    for name in names_of(rows, "source"):
        found = [_middle_and_worst(pick(rows, way, source=name)) for way in TENTH_WAYS]
        lines.append([name, str(int(pick(rows, "history", source=name)[0])), *found])
    return markdown(["source", "rows of history", *TENTH_WAYS], lines)


def table_growth(rows: list[Row]) -> str:
    """Normalised regret by rows of history."""
    files, many = names_of(rows, "file"), names_of(rows, "studied")
    lines = [
        [f, *(plus_minus(Mean.of(pick(rows, "regret", file=f, studied=n))) for n in many)]
        for f in files
    ]
    return markdown(["rows of history", *map(str, many)], lines)


def table_reversed(rows: list[Row]) -> str:
    """Loss after misleading history as a share of that without, median / worst; and luck."""
    stretches = [key for key in rows[0] if " to " in key and not key.endswith(LUCK)]
    lines = [
        [name + kind, *(_middle_and_worst(pick(rows, s + kind, source=name)) for s in stretches)]
        for name in names_of(rows, "source")
        for kind in ("", LUCK)
    ]
    return markdown(["rounds", *stretches], lines)
