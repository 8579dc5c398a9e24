"""The tables of `benchmarks.speed`."""

from __future__ import annotations

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import markdown
from benchmarks.speed.products import SHARES
from keyhole.learners.blocks.sums import moments as products


def table_imports(rows: list[Row]) -> str:
    """A row per thing that is imported."""
    (row,) = rows
    lines = [[way, f"{t:.3f}", str(row["modules"][way])] for way, t in row["seconds"].items()]
    return markdown(["a process that does", "seconds", "modules"], lines)


def table_hindsight(rows: list[Row]) -> str:
    """A row per case."""
    lines = []
    for row in rows:
        case = [str(row[key]) for key in ("d", "k", "n", "rho", "noise")]
        result = "exact" if row["exact"] else f"interval, {row['gap']:.2%} of y'y wide"
        lines.append([*case, f"{row['seconds']:.3f}", f"{row['ratio']:.1e}", result])
    head = ["d", "k", "rounds", "rho", "noise", "branch and bound, s", "enumeration / that"]
    return markdown([*head, "result"], lines)


def table_priced(rows: list[Row]) -> str:
    """A row per case; money is a multiple of what the true features cost."""
    keys = ("d", "k", "n", "rho", "noise", "prices", "money", "features", "nodes")
    lines = []
    for row in rows:
        result = "exact" if row["exact"] else f"interval, {row['gap']:.2%} of y'y wide"
        lines.append([*(str(row[key]) for key in keys), f"{row['seconds']:.3f}", result])
    head = ["d", "true", "rounds", "rho", "noise", "prices", "money", "bought", "nodes", "s"]
    return markdown([*head, "result"], lines)


def table_play(rows: list[Row]) -> str:
    """Microseconds per round; in brackets: how many times as fast as that block play is."""
    ways = list(dict.fromkeys(way for row in rows for way in row["microseconds"]))
    lines = []
    for row in rows:
        times, fast = row["microseconds"], row["microseconds"]["block play"]
        cells = [f"{times[w]:.2f} ({times[w] / fast:.2g}x)" if w in times else "-" for w in ways]
        lines.append([f"{row['d']}, {row['budget']}", *cells])
    return markdown(["µs per round: d, budget", *ways], lines)


def table_costs(rows: list[Row]) -> str:
    """Microseconds per round of block play: a row per learner."""
    ends = list(dict.fromkeys(end for row in rows for end in row["microseconds"]))
    lines = [[r["learner"], *(f"{r['microseconds'][end]:.3f}" for end in ends)] for r in rows]
    return markdown(["µs per round", *(f"{int(end):,}" for end in ends)], lines)


def crossing(rows: list[dict[str, float]]) -> float:
    """The share from which on the block is never beaten, interpolated."""
    ratio = [np.log(row["as block"] / min(row["by row"], row["by feature"])) for row in rows]
    slow = [i for i, value in enumerate(ratio) if value > 0]
    if not slow or slow[-1] + 1 == len(ratio):
        return np.nan if slow else 0.0
    i = slow[-1]
    return float(np.interp(0.0, [-ratio[i], -ratio[i + 1]], SHARES[i : i + 2]))


def table_products(rows: list[Row]) -> str:
    """Microseconds per row, the share from which blocks win, and what `Moments` goes by."""
    lines, said = [], []
    for row in rows:
        d, measured = row["d"], row["microseconds"]
        for share, times in zip(SHARES, measured, strict=True):
            lines.append([str(d), str(share), *(f"{t:.3g}" for t in times.values())])
        used = products.BLOCK_SHARE + products.BLOCK_OVERHEAD / d
        sparse = [times["by row"] / times["by feature"] for times in measured]
        said.append(
            f"d = {d}: blocks win from a share of {crossing(measured):.2f} on; used: {used:.2f}. "
            f"Row by row takes {min(sparse):.2f} to {max(sparse):.2f} times as long as feature by "
            f"feature; used: row by row up to d = {products.MAX_CACHED_D}."
        )
    head = ["d", "share seen", *(f"{way}, µs per row" for way in rows[0]["microseconds"][0])]
    return "\n\n".join([markdown(head, lines), *said])


def table_records(rows: list[Row]) -> str:
    """Records per second; in brackets: as a multiple of river's LinearRegression."""
    lines = []
    for row in rows:
        speeds, cells = row["records per second"], []
        for way in ("rows", "frames"):
            ours, theirs = speeds[f"keyhole, {way}"], speeds[f"river, {way}"]
            cells += [f"{ours:,.0f} ({ours / theirs:.2g}x)", f"{theirs:,.0f}"]
        lines.append([f"{row['d']}, {row['budget']}", *cells])
    head = ["records per second: d, budget", "keyhole, rows", "river, rows", "keyhole, frames"]
    return markdown([*head, "river, frames"], lines)


def table_net(rows: list[Row]) -> str:
    """Median and worst of a batch of the safety net, in microseconds."""
    lines = []
    for row in rows:
        steps = (f"{t['median']:.0f} ({t['worst']:.0f})" for t in row["microseconds"].values())
        lines.append([str(row["d"]), *steps, str(row["built"]), f"{row['bytes a feature']:.2f}"])
    head = ["d", *(f"{way}, µs" for way in rows[0]["microseconds"])]
    return markdown([*head, "trees built", "bytes a feature"], lines)


def table_slim(rows: list[Row]) -> str:
    """Median and worst of a round, in milliseconds, and what is saved."""
    lines = []
    for row in rows:
        took = f"{row['milliseconds']['median']:.2f} ({row['milliseconds']['worst']:.2f})"
        lines.append([row["learner"], str(row["d"]), took, f"{row['bytes']:.1f}"])
    return markdown(["learner", "d", "ms a round", "bytes a feature"], lines)
