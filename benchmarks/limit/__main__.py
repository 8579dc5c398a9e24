"""The information limit of the beginning: what a Bayesian loses with AutoLearner's very reads.

    python -m benchmarks.limit [--seeds 16] [--rounds 2048] [--streams iid ...]
                               [--only excess regret check] [--tables FILE]
                               [--results FILE] [--fresh]

Plays AutoLearner on the ten streams of the suite, hands what it read to a Bayesian who knows the
law of the stream, and prints what both lost as markdown; `--tables` writes it to a file too. Every
cell that FILE has already is not measured again. Nothing is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.limit import parts, tables
from keyhole.streams import AGNOSTIC_SUITE


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("limit", __doc__)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2048, help="at least 64")
    parser.add_argument("--streams", nargs="*", choices=list(AGNOSTIC_SUITE), metavar="NAME",
                        default=list(AGNOSTIC_SUITE), help="some of the ten")  # fmt: skip
    options = parser.parse_args(arguments)
    if options.seeds < 1 or options.rounds < 64:
        parser.error("--seeds must be at least 1 and --rounds at least 64")
    tasks = [
        (name, seed, options.rounds) for seed in range(options.seeds) for name in options.streams
    ]
    shows = {
        "excess": tables.table_excess,
        "regret": tables.table_regret,
        "check": tables.table_check,
    }
    known = {
        name: Part(lambda ask: ask(parts.run_limit, tasks), table) for name, table in shows.items()
    }
    return run_parts(parser, options, known)


if __name__ == "__main__":
    sys.exit(main())
