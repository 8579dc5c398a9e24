"""The tables of `benchmarks.dantzig`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import markdown, mean_error, names_of, pick
from benchmarks.dantzig.practical import LADDER, SCALES, WITHOUT


def table_stream(rows: list[Row]) -> str:
    """A row per solve: warm against cold."""
    lines = []
    for one in rows:
        for t, nonzeros, cold, warm, before, after, ratio in one["rows"]:
            times = f"{before:.0f}", f"{after:.0f}", f"{ratio:.2f}"
            lines.append([one["problem"], str(t), str(nonzeros), str(cold), str(warm), *times])
        median = f"{one['median warm / cold']:.2f}"
        lines.append([one["problem"], "median", "", "", "", "", "", median])
    head = ["stream", "t", "non-zeros", "cold pivots", "warm pivots", "cold µs", "warm µs",
            "warm / cold"]  # fmt: skip
    return markdown(head, lines)


def table_solve(rows: list[Row], peers: Sequence[str]) -> str:
    """A row per problem: milliseconds, as multiples of the floor, and how much slower peers are."""
    lines = []
    for row in rows:
        told = {name: f"slow at {d}" for name, d in row["slow"].items()} | row["peer ms"]
        slower = [_times(told[name], row["ms"]) for name in peers]
        own = f"{row['ms']:.3f}", f"{row['ms'] / row['floor ms']:.1f}"
        lines.append([row["problem"], str(row["nonzeros"]), str(row["pivots"]), *own, *slower])
    head = ["problem", "non-zeros", "pivots", "ms", "/ floor"]
    return markdown([*head, *(f"{name}, times slower" for name in peers)], lines)


def _times(told: float | str, ms: float) -> str:
    return told if isinstance(told, str) else f"{told / ms:,.0f}"


def table_suite(rows: list[Row]) -> str:
    """A row per stream: as printed with C = 1 and with the best C in hindsight, and in practice."""
    lines = []
    for name in names_of(rows, "stream"):
        scores = {C: pick(rows, "score", stream=name, way=C) for C in (*SCALES, "practical")}
        best = min(SCALES, key=lambda C: float(np.mean(scores[C] or [np.inf])))
        printed = [mean_error(scores[C], 1) if scores[C] else "-" for C in (1.0, best)]
        us = f"{np.mean(pick(rows, 'us', stream=name, way='practical')):.1f}"
        printed.append(f"{best:g}" if scores[best] else "-")
        lines.append([name, *printed, mean_error(scores["practical"], 1), us])
    return markdown(["", "printed, C = 1", "printed, best C", "C", "practical", "µs"], lines)


def table_ladder(rows: list[Row]) -> str:
    """A row per step, each of which keeps those before; then all of it but one."""
    lines = []
    for kind, ways in (("step", LADDER), ("all of it but", WITHOUT)):
        for way in ways:
            us = f"{np.mean(pick(rows, 'us', way=way)):.1f}"
            lines.append([kind, way, mean_error(pick(rows, "score", way=way), 1), us])
    return markdown(["", "", "score", "µs"], lines)
