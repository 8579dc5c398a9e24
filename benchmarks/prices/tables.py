"""Tables of `benchmarks.prices`."""

from __future__ import annotations

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import Mean, markdown, names_of, pick, plus_minus

WAYS = ("by price", "blind", "panel for ever")


def _told(values: list[float]) -> str:
    """Mean and error, median, worst."""
    mean = plus_minus(Mean.of(values))
    return f"{mean}; {np.median(values):.3f} / {max(values):.3f}"


def table_limit(rows: list[Row]) -> str:
    """Normalised regret: mean, median / worst; spent and dearest beside the budget."""
    lines = []
    for name in names_of(rows, "source"):
        for limit in names_of([row for row in rows if row["source"] == name], "limit"):
            at = {"source": name, "limit": limit}
            budget = np.mean(pick(rows, "budget", **at))
            line = [f"{name}, {limit}", f"{budget:.2f}"]
            for way in WAYS:
                spent = np.mean(pick(rows, f"{way}, spent", **at))
                most = max(pick(rows, f"{way}, dearest", **at))
                line += [_told(pick(rows, way, **at)), f"{spent:.2f}, {most:.2f}"]
            lines.append(line)
    head = [word for way in WAYS for word in (way, "spent, dearest")]
    return markdown(["source", "budget", *head], lines)


def table_arrived(rows: list[Row]) -> str:
    """Money spent until 256 rounds have at most a tenth of the regret: median / worst."""
    lines = []
    for name in names_of(rows, "source"):
        for limit in names_of([row for row in rows if row["source"] == name], "limit"):
            found = [pick(rows, f"{way}, arrived", source=name, limit=limit) for way in WAYS]
            lines.append(
                [f"{name}, {limit}", *(f"{np.median(f):,.0f} / {max(f):,.0f}" for f in found)]
            )
    return markdown(["source", *WAYS], lines)


def table_rate(rows: list[Row]) -> str:
    """Normalised regret in money after some rounds."""
    ends = [key for key in rows[0] if key.startswith("after ")]
    lines = []
    for name in names_of(rows, "source"):
        spent = [np.mean(pick(rows, key, source=name)) for key in ("spent", "best spends")]
        found = [_told(pick(rows, end, source=name)) for end in ends]
        lines.append([name, *found, f"{spent[0]:.2f} ({spent[1]:.2f})"])
    return markdown(["source", *ends, "spent (by the best)"], lines)


def table_purse(rows: list[Row]) -> str:
    """A purse against a limit in every round."""
    lines = []
    for name in names_of(rows, "source"):
        for n in names_of([row for row in rows if row["source"] == name], "rounds"):
            at = {"source": name, "rounds": n}
            both = [_told(pick(rows, way, **at)) for way in ("purse", "limit")]
            pairs = zip(pick(rows, "purse", **at), pick(rows, "limit", **at), strict=True)
            less = plus_minus(Mean.of([a - b for a, b in pairs]))
            lines.append([f"{name}, {n}", *both, less])
    return markdown(["source, rounds", "purse", "limit", "purse - limit"], lines)


def table_cost(rows: list[Row]) -> str:
    """Time of a priced round over an unpriced one."""
    lines = [[f"{row['d']}, {row['reads']}", f"{row['ratio']:.2f}"] for row in rows]
    return markdown(["d, reads", "priced / unpriced"], lines)
