"""Tables of `benchmarks.intervals`."""

from __future__ import annotations

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import markdown, names_of, pick
from benchmarks.intervals.parts import ALL_WAYS, COVERAGES


def _by_source(rows: list[Row], key: str) -> list[float]:
    """The mean over seeds, source by source."""
    return [float(np.mean(pick(rows, key, source=s))) for s in names_of(rows, "source")]


def table_coverages(rows: list[Row]) -> str:
    """This package's intervals by coverage; each figure over all sources and seeds."""
    lines = []
    for coverage in COVERAGES:
        said = f"keyhole, {coverage:g}"
        errors, worst = np.abs(pick(rows, f"{said}, error")), pick(rows, f"{said}, worst")
        widths, scores = pick(rows, f"{said}, width"), pick(rows, f"{said}, score")
        lines.append(
            [
                f"{100 * coverage:g} %",
                f"{errors.mean():.4f} / {errors.max():.4f}",
                f"{np.median(worst):.3f} / {min(worst):.3f}",
                f"{np.exp(np.mean(np.log(widths))):.3f} / {max(widths):.3f}",
                f"{np.mean(scores):.3f} / {max(scores):.3f}",
            ]
        )
    return markdown(
        [
            "coverage",
            "error of coverage, mean / worst",
            "worst 200 rounds, median / worst",
            "width, mean / worst",
            "Winkler score, mean / worst",
        ],
        lines,
    )


def table_ways(rows: list[Row], late: str = "") -> str:
    """All ways at 90 %, over all sources and seeds."""
    lines = []
    for way in ALL_WAYS:
        said = f"{way}, 0.9{late}"
        errors, worst = np.abs(pick(rows, f"{said}, error")), pick(rows, f"{said}, worst")
        scores = pick(rows, f"{said}, score")
        lines.append(
            [
                way,
                f"{errors.mean():.4f} / {errors.max():.4f}",
                f"{np.median(worst):.3f} / {min(worst):.3f}",
                f"{np.mean(scores):.3f} / {max(scores):.3f}",
            ]
        )
    what = "at 90 %, labels 50 rounds late" if late else "at 90 %"
    head = [what, "error of coverage, mean / worst", "worst 200 rounds, median / worst"]
    return markdown([*head, "Winkler score, mean / worst"], lines)


def table_sources(rows: list[Row]) -> str:
    """Winkler scores at 90 % by source, means over seeds."""
    sources = names_of(rows, "source")
    found = {way: _by_source(rows, f"{way}, 0.9, score") for way in ALL_WAYS}
    lines = [
        [source, *(f"{found[way][i]:.3f}" for way in ALL_WAYS)] for i, source in enumerate(sources)
    ]
    return markdown(["Winkler score at 90 %", *ALL_WAYS], lines)


def all_of_errors(rows: list[Row]) -> str:
    """By coverage, by way on time and late, and by source."""
    ways = table_ways(rows), table_ways(rows, ", late")
    return "\n\n".join([table_coverages(rows), *ways, table_sources(rows)])


def table_games(rows: list[Row]) -> str:
    """`learner.interval` at 90 % with late and lost labels."""
    lines = []
    for delay in names_of(rows, "delay"):
        errors = np.abs(pick(rows, "off", delay=delay))
        worst, scores = pick(rows, "worst", delay=delay), pick(rows, "score", delay=delay)
        lines.append(
            [
                str(delay),
                f"{errors.mean():.4f} / {errors.max():.4f}",
                f"{np.median(worst):.3f} / {min(worst):.3f}",
                f"{np.mean(scores):.3f} / {max(scores):.3f}",
            ]
        )
    head = ["rounds late, a tenth lost", "error of coverage, mean / worst"]
    return markdown(
        [*head, "worst 200 rounds, median / worst", "Winkler score, mean / worst"], lines
    )


def table_depn(rows: list[Row]) -> str:
    """Coverage by tercile of the true size of the noise, mean / farthest from 0.9 over seeds."""
    terciles = [key for key in rows[0] if key.startswith("tercile")]
    lines = []
    for who in names_of(rows, "learner"):
        found = [np.array(pick(rows, key, learner=who)) for key in terciles]
        farthest = [one[np.abs(one - 0.9).argmax()] for one in found]
        pairs = zip(found, farthest, strict=True)
        lines.append([who, *(f"{one.mean():.3f} / {far:.3f}" for one, far in pairs)])
    return markdown(["depn, 90 %", "quiet", "middling", "loud"], lines)
