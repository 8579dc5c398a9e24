"""Tables of `benchmarks.yesno`."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import markdown, names_of, pick

WAYS = (
    *("keyhole", "its score, cut off", "logistic, k screened", "logistic, k in hindsight"),
    *("logistic, budget screened", "logistic, all", "share of yes"),
)


def _middle_and_worst(values: list[float], *, high: bool) -> str:
    worst = min(values) if high else max(values)
    return f"{np.median(values):.3f} / {worst:.3f}"


def table_scores(rows: list[Row], score: str) -> str:
    """A score by source, median / worst over seeds."""
    lines = []
    for name in names_of(rows, "source"):
        one = next(row for row in rows if row["source"] == name)
        sizes = f"{name}, {one['rounds']:,} × {one['d']}, k = {one['k']}, budget {one['budget']}"
        ways = [pick(rows, f"{way}: {score}", source=name) for way in WAYS]
        lines.append([sizes, *(_middle_and_worst(way, high=score == "AUC") for way in ways)])
    return markdown([score, *WAYS], lines)


def table_regret(rows: list[Row]) -> str:
    """The regret of calibration in nats, all rounds together."""
    lines = []
    for name in names_of(rows, "source"):
        regrets = pick(rows, "regret", source=name)
        best = Counter(row["best"] for row in rows if row["source"] == name)
        words = ", ".join(f"{who} ({many})" for who, many in best.most_common())
        bound = pick(rows, "bound", source=name)[0]
        lines.append([name, _middle_and_worst(regrets, high=False), f"{bound:.1f}", words])
    return markdown(["source", "regret", "proven bound", "best forecaster (seeds)"], lines)
