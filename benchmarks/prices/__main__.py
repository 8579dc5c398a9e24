"""What money buys: AutoLearner by price, the same blind to prices, and a panel chosen once.

    python -m benchmarks.prices [--data DIR] [--seeds 16] [--rounds N]
                                [--only limit rate purse cost arrived] [--tables FILE]
                                [--results FILE] [--fresh]

Streams are those of kh.streams.PRICED_SUITE; with --data the files of DIR that have prices too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import Row
from benchmarks.common.priced_files import PRICED_FILES
from benchmarks.common.questions import Ask
from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.prices import parts, tables
from keyhole.streams import PRICED_SUITE

ALL = 10**9  # rows of a file
SIZES = ((30, 12), (100, 24), (300, 32), (1000, 32))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("prices", __doc__)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2**16, help="of a stream; 4,096 at least")
    options = parser.parse_args(arguments)
    n, seeds = options.rounds, range(options.seeds)
    if options.seeds < 1 or n < 4096:
        parser.error("--seeds must be at least 1, --rounds at least 4096")
    files = [] if options.data is None else [options.data / f"{f}.parquet" for f in PRICED_FILES]
    there = [path for path in files if path.exists()]

    def limits(ask: Ask) -> list[Row]:
        loose = [(name, "loose", s, n) for s in seeds for name in PRICED_SUITE]
        tight = [(name, "tight", s, min(n, 2**14)) for s in seeds for name in PRICED_SUITE]
        real = [(path, "given", s, ALL) for path in there for s in seeds]
        return ask(parts.run_limit, [*loose, *tight, *real])

    rate = [(name, s, n) for s in seeds for name in ("indep", "panel", "heavy")]
    purse = [("indep", s, m) for m in (4096, 16384) for s in seeds]
    purse += [("heavy", s, 4096) for s in seeds]
    known = {
        "limit": Part(limits, tables.table_limit),
        "arrived": Part(limits, tables.table_arrived),
        "rate": Part(lambda ask: ask(parts.run_rate, rate), tables.table_rate),
        "purse": Part(lambda ask: ask(parts.run_purse, purse), tables.table_purse),
        "cost": Part(
            lambda ask: ask(parts.run_cost, [(*size, 8192) for size in SIZES], timed=True),
            tables.table_cost,
        ),
    }
    return run_parts(parser, options, known)


if __name__ == "__main__":
    sys.exit(main())
