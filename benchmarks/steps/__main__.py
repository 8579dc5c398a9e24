"""What stopping early saves: examples bought step by step beside examples bought at once.

    python -m benchmarks.steps [--data DIR] [--seeds 16] [--only spam clinic ...]
                               [--tables FILE] [--figure FILE.svg] [--results FILE] [--fresh]

At once means a budget for each example, step by step a price of errors (`worth`); trees, fitted
and judged offline, stop by the same rule. The clinic is simulated; all else are files of DIR.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import Row
from benchmarks.common.questions import Ask
from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.steps import figures, offline, parts, tables

HISTORIES = (0, 500)  # rows known in full before


def _rows(source: Path | str, how: parts.Source, seeds: int, ask: Ask) -> list[Row]:
    games: list[tuple[Any, ...]] = [
        (source, way, level, history, seed)
        for seed in range(seeds)
        for history in HISTORIES
        for way, levels in ((parts.AT_ONCE, how.budgets), (parts.STEPS, parts.WORTHS))
        for level in levels
    ]
    trees = [(source, seed) for seed in range(seeds)]
    return [*ask(parts.run_game, games), *ask(offline.run_trees, trees)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("steps", __doc__)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw what is stored of --only")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    known, drawn = dict[str, Part](), dict[str, list[Row]]()

    def rows(name: str, source: Path | str, ask: Ask) -> list[Row]:
        drawn[name] = _rows(source, parts.SOURCES[name], options.seeds, ask)
        return drawn[name]

    for name in parts.SOURCES:
        path = None if options.data is None else options.data / f"{name}.parquet"
        if name == parts.SIMULATED:
            known[name] = Part(partial(rows, name, name), tables.table)
        elif path is not None and path.exists():
            known[name] = Part(partial(rows, name, path), tables.table)
    failed = run_parts(parser, options, known)
    if options.figure is not None and (there := {n: found for n, found in drawn.items() if found}):
        figures.draw(there, options.figure)
    return failed


if __name__ == "__main__":
    sys.exit(main())
