"""Prediction intervals beside ACI, DtACI, conformal P and a Gaussian that forgets.

    python -m benchmarks.intervals [--data DIR] [--seeds 16] [--rounds 16384]
                                   [--only errors games depn] [--tables FILE] [--results FILE]

Without --data only simulated streams are played.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common.files import FILES
from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.intervals import parts, tables
from keyhole.streams import AGNOSTIC_SUITE

GAMES = (0, 50)  # delays of games that are played round by round, by the first seed only


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("intervals", __doc__)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2**14)
    options = parser.parse_args(arguments)
    if options.seeds < 1 or options.rounds < 1000:
        parser.error("--seeds must be at least 1, --rounds at least 1000")
    streams: list[tuple[Path | str, int, int, bool]] = [("clinic", 4, 8, False)]
    for name, case in AGNOSTIC_SUITE.items():
        streams.append((name, case.problem.k, case.problem.reads, False))
    files: list[tuple[Path | str, int, int, bool]] = [
        (options.data / f"{name}.parquet", *how)
        for name, how in FILES.items()
        if options.data is not None and (options.data / f"{name}.parquet").exists()
    ]
    n, seeds = options.rounds, range(options.seeds)
    played = [(*one, seed, n) for seed in seeds for one in streams]
    played += [(*one, 0, n) for one in files]
    games = [
        (*one, seed, n // 2, delay) for delay in GAMES for seed in seeds[:1] for one in streams
    ]
    depn = [(seed, n, everything) for everything in (False, True) for seed in seeds]
    known = {
        "errors": Part(lambda ask: ask(parts.run_errors, played), tables.all_of_errors),
        "games": Part(lambda ask: ask(parts.run_game, games), tables.table_games),
        "depn": Part(lambda ask: ask(parts.run_parts_of_depn, depn), tables.table_depn),
    }
    return run_parts(parser, options, known)


if __name__ == "__main__":
    sys.exit(main())
