"""The tables of docs/algorithms/information-limit.md, from the rows of `benchmarks.limit`."""

from __future__ import annotations

import numpy as np

from benchmarks.common import Row
from benchmarks.common.tables import Mean, markdown, mean_error
from benchmarks.limit.parts import BAYESIANS
from keyhole.streams import AGNOSTIC_SUITE


def of_stream(rows: list[Row], name: str, way: str, place: int) -> list[float]:
    """A number of every seed of a stream, at the place of a round."""
    return [row[way][place] for row in rows if row["stream"] == name]


def shown(value: float) -> str:
    """Three digits or so.

    >>> shown(1234.5), shown(12.345), shown(0.98765)
    ('1234', '12.3', '0.99')
    """
    size = abs(value)
    return f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2}f}"


def spread(values: list[float]) -> str:
    """Median and worst."""
    return f"{shown(float(np.median(values)))} ({shown(max(values))})"


def streams_of(rows: list[Row]) -> list[str]:
    """Those that were measured, in the order of the suite."""
    there = {row["stream"] for row in rows}
    return [name for name in AGNOSTIC_SUITE if name in there]


def table_excess(rows: list[Row]) -> str:
    """A row per stream and round: excess over the noise, median (worst) of the seeds."""
    lines = []
    for name in streams_of(rows):
        for place, end in enumerate(rows[0]["rounds"]):
            auto, bayes, rule = (
                of_stream(rows, name, way, place) for way in ("AutoLearner", "Bayes", "rule")
            )
            ratio = float(np.mean(auto)) / float(np.mean(bayes))
            lines.append([
                "" if place else name, str(end), spread(auto), spread(bayes), spread(rule),
                f"{ratio:.2f}", "" if place else BAYESIANS[name].told,
            ])  # fmt: skip
    seeds = len({row["seed"] for row in rows})
    head = ["stream", "rounds", f"AutoLearner, {seeds} seeds", "Bayes", "knows the rule",
            "AutoLearner / Bayes, of means", "Bayes is told beside the law"]  # fmt: skip
    return markdown(head, lines)


def table_regret(rows: list[Row]) -> str:
    """A row per stream: regret against the best k-sparse model of these rounds, median (worst)."""
    ends, lines = rows[0]["rounds"], []
    for name in streams_of(rows):
        cells = [
            spread(of_stream(rows, name, f"{way}, regret", place))
            for place in range(len(ends))
            for way in ("AutoLearner", "Bayes")
        ]
        lines.append([name, *cells])
    head = [f"{way}, {end}" for end in ends for way in ("AutoLearner", "Bayes")]
    return markdown(["stream", *head], lines)


def table_check(rows: list[Row]) -> str:
    """A row per stream: what the Bayesian lost after all rounds, and what it expected to lose."""
    lines = []
    for name in streams_of(rows):
        lost = of_stream(rows, name, "Bayes", -1)
        expected = of_stream(rows, name, "expected", -1)
        gaps = [a - b for a, b in zip(lost, expected, strict=True)]
        gap = Mean.of(gaps)
        far = f"{gap.mean / gap.error:+.1f}" if gap.error > 0.0 else "-"
        lines.append([name, mean_error(lost, 2), mean_error(expected, 2), far])
    head = ["stream", f"lost by round {rows[0]['rounds'][-1]}", "expected to lose",
            "difference, in standard errors"]  # fmt: skip
    return markdown(head, lines)
