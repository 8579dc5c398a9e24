"""Tables of what `layer.py` measures: median / worst over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.auto.layer import ALL_WAYS, BENT, DELAYS, SHORT, USUAL, WITHOUT
from benchmarks.common import Row
from benchmarks.common.files import FILES
from benchmarks.common.tables import markdown, names_of, pick
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE


def _spread(values: Sequence[float] | Floats, digits: int = 3) -> str:
    return f"{np.median(values):.{digits}f} / {np.max(values):.{digits}f}"


def _shares(rows: list[Row], way: str, **like: Any) -> str:
    """Median and worst of the loss as a share of that without a layer."""
    pairs = zip(pick(rows, way, **like), pick(rows, WITHOUT, **like), strict=True)
    return _spread([a / b for a, b in pairs])


def table_shares(rows: list[Row]) -> str:
    """Loss after round 500 as a share of that without a layer."""
    lines = []
    for name in [n for n in FILES if pick(rows, "seed", file=n)]:
        shown = [(f"{name}, labels {d} late", {"delay": d}) for d in DELAYS]
        shown = [(name, {"anew": False}), (f"{name}, rows in random order", {"anew": True}), *shown]
        for about, like in shown:
            if pick(rows, "seed", file=name, **like):
                lines.append([about, *(_shares(rows, w, file=name, **like) for w in (BENT, USUAL))])
    for key, about in (("stream", "{}"), ("labels of", "{}, squared error after round 500")):
        for name in names_of([row for row in rows if key in row], key):
            shares = (_shares(rows, way, **{key: name}) for way in (BENT, USUAL))
            lines.append([about.format(name), *shares])
    return markdown(["", BENT, USUAL], lines)


HEADS = [head for way in ALL_WAYS for head in (way, f"{way}, second half")]


def table_layer(rows: list[Row]) -> str:
    """Normalised regret on files, then of the second half."""
    lines = []
    for best in (row for row in rows if "constant" in row):
        name, span, cells = best["file"], best["constant"] - best["all"], [best["file"]]
        for way in ALL_WAYS:
            for part, times in (("all", 1.0), ("half", 2.0)):
                lost = np.array(pick(rows, f"{way}, {part}", file=name, anew=False))
                cells.append(_spread(times * (lost - best[part]) / span))
        lines.append(cells)
    return markdown(["file", *HEADS], lines)


def table_short(rows: list[Row]) -> str:
    """Normalised regret on the beginnings of files, and shares of that without a layer.

    Medians that are not positive have no share.
    """
    lines = []
    for best in (row for row in rows if "constant" in row):
        span, cells, middle = best["short constant"] - best["short"], [best["file"]], {}
        for way in ALL_WAYS:
            lost = np.array(pick(rows, f"{way}, short", file=best["file"], anew=False))
            regret = (lost - best["short"]) / span
            middle[way] = float(np.median(regret))
            cells.append(_spread(regret))
        some = middle[WITHOUT] > 0.0
        shares = [f"{middle[w] / middle[WITHOUT]:.2f}" if some else "-" for w in (BENT, USUAL)]
        lines.append([*cells, *shares])
    heads = [f"{way}, share of that {WITHOUT}" for way in (BENT, USUAL)]
    return markdown([f"first {SHORT:,} rows", *ALL_WAYS, *heads], lines)


def table_suites(rows: list[Row]) -> str:
    """Normalised regret on the ten; on the realizable suite, what is lost to w*."""
    lines = []
    for name in names_of(rows, "stream"):
        here, cells = [row for row in rows if row["stream"] == name], [name]
        for way in ALL_WAYS:
            for part, best, times in (("all", "best", 1.0), ("half", "best half", 2.0)):
                lost = np.array([times * (r[f"{way}, {part}"] - r[best]) for r in here])
                spans = [r["zero"] - r["best"] for r in here]
                ten = name in AGNOSTIC_SUITE
                cells.append(_spread(lost / spans) if ten else _spread(lost, 1))
        lines.append(cells)
    return markdown(["stream", *HEADS], lines)
