"""What learners whose state is sums take over from the sums of a history, without its rows.

The rows are not there, so nothing can be played or judged: sums go into sums, ranges into ranges,
and whatever is learnt from how well predictions did is learnt from the first round on.
"""

from __future__ import annotations

import numpy as np

from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.blocks.sums.seen_sums import (
    COUNT,
    FIRST,
    LABEL,
    LABELLED,
    PRODUCT,
    SECOND,
    SQUARE,
    TOTAL,
    WEIGHT,
    SeenSums,
)
from keyhole.problem import Floats


def widen(limits: Floats, ends: tuple[float, float], *, known: bool) -> None:
    """Widen the least and the largest label so far; they are none before any label is known."""
    limits[:] = (min(limits[0], ends[0]), max(limits[1], ends[1])) if known else ends


def add_to_seen_sums(sums: SeenSums, history: DataSums) -> None:
    """Add the sums of complete rows to those of rows that were seen in part."""
    d = sums.d
    raw = history.gram.about(np.zeros(d), 0.0).arrays()
    n, (y, yy, _) = float(raw["n"]), raw["scalars"].tolist()
    seen = raw.get("seen", np.full((d, d), n))
    cross = raw.get("cross", np.tile(raw["x"], (d, 1)))  # of x_j where i has a value
    i, j = np.triu_indices(d)
    sums.pairs[:, PRODUCT] += raw["xx"][i, j]
    sums.pairs[:, COUNT] += seen[i, j]
    sums.pairs[:, FIRST] += cross[j, i]
    sums.pairs[:, SECOND] += cross[i, j]
    sums.singles[LABELLED] += raw["xy"]
    sums.singles[LABEL] += raw.get("label", np.full(d, y))
    sums.totals[[WEIGHT, TOTAL, SQUARE]] += n, y, yy
