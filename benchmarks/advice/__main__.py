"""The evidence for `kh.budget_curve`: do its errors cover, and is its budget enough?

    python -m benchmarks.advice [--data DIR] [--seeds 4] [--only streams files after budgets]
                                [--results FILE] [--fresh]

A statement is "k features explain E ± e". It is true if what the models of the history explain of
other rows is within two errors. The goal is 85%; nothing is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.advice import statements
from benchmarks.common import Row
from benchmarks.common.files import FILES
from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.common.tables import markdown
from keyhole.streams import AGNOSTIC_SUITE, REALIZABLE_SUITE

ROWS = (300, 1500)  # of the history
WIDEST = 300  # features of the simulated streams


def table_covered(rows: list[Row]) -> str:
    """For each stream, how many statements are true, and the same of the in-sample share."""
    names = list(dict.fromkeys(row["stream"] for row in rows))
    groups = {name: [r for r in rows if r["stream"] == name] for name in names}
    lines = [_covered(name, some) for name, some in groups.items()]
    return markdown(
        ("stream", "statements", "true", "with the in-sample share", "median error", "worst miss"),
        [*lines, _covered("all", rows)],
    )


def _covered(name: str, rows: list[Row]) -> list[str]:
    told = [statement for row in rows for statement in row["statements"]]
    error = np.array([s["error"] for s in told])
    off = np.array([s["explained"] - s["truth"] for s in told])
    off_in_sample = np.array([s["in sample"] - s["truth"] for s in told])
    true, twin = (np.abs(x) <= 2 * error for x in (off, off_in_sample))
    return [
        name,
        f"{len(told):,}",
        f"{true.mean():.0%}",
        f"{twin.mean():.0%}",
        f"{np.median(error):.3f}",
        f"{np.abs(off).max():.3f}",
    ]


def table_budgets(rows: list[Row]) -> str:
    """R2 of AutoLearner after a quarter of the rounds, by budget; means over the seeds."""
    names = list(dict.fromkeys(row["stream"] for row in rows))
    budgets = ("k + 1", "recommended", "2 k + 2", "3 k")
    lines = []
    for name in names:
        some = [row for row in rows if row["stream"] == name]
        played = [
            f"{np.mean([r[b][1] for r in some]):.3f} (reads {some[0][b][0]})" for b in budgets
        ]
        lines.append([name, str(some[0]["k"]), f"{some[0]['explained']:.3f}", *played])
    return markdown(("stream", "k", "k features explain", *budgets), lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("advice", __doc__)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args(arguments)
    seeds = range(options.seeds)
    narrow = [name for name, s in REALIZABLE_SUITE.items() if s.problem.d <= WIDEST]
    streams = [(name, n, s) for s in seeds for n in ROWS for name in (*AGNOSTIC_SUITE, *narrow)]
    there = (
        []
        if options.data is None
        else [path for name in FILES if (path := options.data / f"{name}.parquet").exists()]
    )
    parts = {
        "streams": Part(lambda ask: ask(statements.run_stream, streams), table_covered),
        "budgets": Part(
            lambda ask: ask(statements.run_budget, [(p, s) for s in seeds for p in (None, *there)]),
            table_budgets,
        ),
    }
    if there:
        mixed = [(path, n, s) for s in seeds for n in ROWS for path in there]
        after = [(path, n) for n in ROWS for path in there]
        parts["files"] = Part(lambda ask: ask(statements.run_file, mixed), table_covered)
        parts["after"] = Part(lambda ask: ask(statements.run_after, after), table_covered)
    else:
        print("files: skipped, no --data DIR", file=sys.stderr)
    return run_parts(parser, options, parts)


if __name__ == "__main__":
    sys.exit(main())
