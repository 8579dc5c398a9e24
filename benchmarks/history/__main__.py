"""What complete rows of history are worth: AutoLearner that studied them, beside what people do.

    python -m benchmarks.history --data DIR [--sources NAME ...] [--seeds 16]
                                 [--only splits tenth growth reversed]
                                 [--tables FILE] [--results FILE] [--fresh]

Needs the Parquet files of DIR for the files; without it only simulated streams are played.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.files import FILES
from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.history import parts, tables
from keyhole.streams import AGNOSTIC_SUITE

SPLITS, SPLIT_SEEDS = 5, 3
NHANES, HISTORY, BUDGET, K = "nhanes_a1c", 3_000, 8, 4
GROWTH, MOST = (0, 30, 100, 300, 1_000), 1_000
STREAMS = ("switch", "drift")
LONGEST = 40_000  # rows of a file, 2^14 of a stream
NAMES = [*FILES, "clinic", *STREAMS]


def _sources(folder: Path | None) -> list[tuple[Path | str, int, int, bool, int]]:
    """What is played: where from, k, budget, whether it is shuffled, how many rows."""
    found: list[tuple[Path | str, int, int, bool, int]] = []
    for name, how in FILES.items():
        if folder is not None and (path := folder / f"{name}.parquet").exists():
            found.append((path, *how, LONGEST))
    found.append(("clinic", 4, 8, False, LONGEST))
    for name in STREAMS:
        problem = AGNOSTIC_SUITE[name].problem
        found.append((name, problem.k, problem.reads, False, 2**14))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("history", __doc__)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--sources", nargs="*", choices=NAMES, metavar="NAME", default=NAMES,
                        help="some of the files and streams")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=16)
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    sources = [how for how in _sources(options.data) if Path(how[0]).stem in options.sources]
    games: list[tuple[Any, ...]] = [
        (source, k, budget, shuffled, seed, n)
        for seed in range(options.seeds)
        for source, k, budget, shuffled, n in sources
    ]
    known = {
        "tenth": Part(lambda ask: ask(parts.run_tenth, games), tables.table_tenth),
        "reversed": Part(lambda ask: ask(parts.run_reversed, games), tables.table_reversed),
    }
    if options.data is not None and (path := options.data / f"{NHANES}.parquet").exists():
        splits = [
            (path, K, BUDGET, HISTORY, split, seed)
            for split in range(SPLITS)
            for seed in range(SPLIT_SEEDS)
        ]
        growth = [
            (path, K, 16, rows, MOST, seed) for seed in range(options.seeds) for rows in GROWTH
        ]
        known["splits"] = Part(lambda ask: ask(parts.run_split, splits), tables.table_splits)
        known["growth"] = Part(lambda ask: ask(parts.run_growth, growth), tables.table_growth)
    return run_parts(parser, options, known)


if __name__ == "__main__":
    sys.exit(main())
