"""The Dantzig program against other solvers, and Algorithm 1 as printed and in practice.

    python -m benchmarks.dantzig [--only stream solve suite ladder] [--results FILE] [--fresh]
                                 [--quick] [--smallest 50] [--largest 5000] [--seconds 60]
                                 [--rounds 65536] [--seeds 6]

Measures what FILE does not have yet and prints tables. A solver that needs more than --seconds for
one problem is not asked about larger ones (no smaller d, no fewer non-zeros); the table says so.
OR-tools and pyprimal are optional: what is missing is said. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from benchmarks.common import Row
from benchmarks.common.questions import Ask
from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.dantzig import tables
from benchmarks.dantzig.cases import GRID, STREAMS
from benchmarks.dantzig.peers import PEERS, missing
from benchmarks.dantzig.practical import LADDER, LADDER_STREAM, SCALES, WITHOUT, run_score
from benchmarks.dantzig.program import run_solve, run_stream
from keyhole.streams import REALIZABLE_SUITE


def solved(ask: Ask, sizes: range, peers: Sequence[str], seconds: float) -> list[Row]:
    """The grid, smallest problems first; `slow`: who is not asked, and what was too much before."""
    rows: list[Row] = []
    most: dict[str, tuple[int, int]] = {}  # d, wanted non-zeros of what was too much
    for d, examples, design, targets in GRID:
        for wanted in targets if d in sizes else ():
            slow = {p: at for p, (at, fewer) in most.items() if at <= d and fewer <= wanted}
            asked = [peer for peer in peers if peer not in slow]
            for row in ask(run_solve, [(d, examples, design, wanted, asked, seconds)], timed=True):
                rows.append({**row, "slow": slow})
                for name, took in row["peer ms"].items():
                    if isinstance(took, str) or took > 1e3 * seconds:
                        most[name] = d, wanted
    return rows


def parts(options: argparse.Namespace, peers: Sequence[str]) -> dict[str, Part]:
    """What there is to measure."""
    sizes = range(options.smallest, (200 if options.quick else options.largest) + 1)
    streams = [stream for stream in STREAMS if stream[0] in sizes]
    seeds, rounds = range(options.seeds), options.rounds
    ways = ["practical"] if options.no_printed else [*SCALES, "practical"]
    suite = [(name, s, rounds, way) for name in options.streams for way in ways for s in seeds]
    ladder = [(LADDER_STREAM, s, rounds, way) for way in (*LADDER, *WITHOUT) for s in seeds]
    known = {
        "stream": Part(lambda ask: ask(run_stream, streams, timed=True), tables.table_stream),
        "solve": Part(
            lambda ask: solved(ask, sizes, peers, options.seconds),
            partial(tables.table_solve, peers=peers),
        ),
        "suite": Part(lambda ask: ask(run_score, suite), tables.table_suite),
        "ladder": Part(lambda ask: ask(run_score, ladder), tables.table_ladder),
    }
    if options.no_ladder:
        del known["ladder"]
    return known


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("dantzig", __doc__)
    parser.add_argument("--quick", action="store_true", help="only d <= 200")
    parser.add_argument("--seconds", type=float, default=60.0, help="patience with a peer")
    parser.add_argument("--smallest", type=int, default=0, help="smallest d")
    parser.add_argument("--largest", type=int, default=5000, help="largest d")
    parser.add_argument("--skip", default="", help="peers to leave out, by comma")
    parser.add_argument("--rounds", type=int, default=2**16, help="of suite and ladder")
    parser.add_argument("--seeds", type=int, default=6, help="of suite and ladder")
    parser.add_argument("--streams", nargs="*", default=list(REALIZABLE_SUITE), help="of suite")
    parser.add_argument("--no-ladder", action="store_true")
    parser.add_argument("--no-printed", action="store_true", help="suite without printed ones")
    options = parser.parse_args(arguments)
    wanted = [name for name in PEERS if name not in options.skip.split(",")]
    absent = [name for name in wanted if missing(name)]
    print("peers that are not installed:", ", ".join(absent) or "none", file=sys.stderr)
    return run_parts(parser, options, parts(options, [p for p in wanted if p not in absent]))


if __name__ == "__main__":
    sys.exit(main())
