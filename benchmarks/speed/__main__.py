"""Time: imports, rounds, records, products, hindsight, each beside a floor or another package.

    python -m benchmarks.speed [--only play products ...] [--seconds 0.7] [--largest 5000]
                               [--results FILE] [--fresh]

Measures what FILE does not have yet, on this machine and with these packages, and prints tables.
Ways that are compared are taken in turns within one run. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.common.timing import REPEATS
from benchmarks.common.versions import installed
from benchmarks.speed import growth, hindsight, imports, play, products, records, tables, wide


def parts(options: argparse.Namespace) -> dict[str, Part]:
    """What there is to measure, up to the largest number of features."""
    largest, seconds = options.largest, options.seconds
    peers = {name: version for name in play.PEERS if (version := installed(name))}
    if missing := set(play.PEERS) - set(peers):
        print("peers that are not installed:", ", ".join(sorted(missing)), file=sys.stderr)
    cases = [case for case in hindsight.CASES if case[0] <= largest]
    priced = [case for case in hindsight.PRICED if case[0] <= largest]
    sizes = [(*size, seconds, peers) for size in play.SIZES if size[0] <= largest]
    ends = [(name, min(100, largest), growth.ENDS) for name in growth.PLAYERS]
    features = [d for d in growth.FEATURES if d <= largest]
    known = {
        "imports": Part(
            lambda ask: ask(imports.run_imports, [(REPEATS,)], timed=True), tables.table_imports
        ),
        "hindsight": Part(
            lambda ask: ask(hindsight.run_hindsight, cases, timed=True), tables.table_hindsight
        ),
        "prices": Part(
            lambda ask: ask(hindsight.run_priced, priced, timed=True), tables.table_priced
        ),
        "play": Part(lambda ask: ask(play.run_play, sizes, timed=True), tables.table_play),
        "rounds": Part(lambda ask: ask(growth.run_rounds, ends, timed=True), tables.table_costs),
        "features": Part(
            lambda ask: ask(
                growth.run_features, [(name, features) for name in growth.PLAYERS], timed=True
            ),
            tables.table_costs,
        ),
        "products": Part(
            lambda ask: ask(
                products.run_products, [(d,) for d in products.DIMENSIONS if d <= largest],
                timed=True,
            ),
            tables.table_products,
        ),
        "net": Part(
            lambda ask: ask(wide.run_net, [(d,) for d in wide.FEATURES], timed=True),
            tables.table_net,
        ),
        "slim": Part(
            lambda ask: ask(
                wide.run_slim, [(name, d) for name in wide.PLAYERS for d in wide.FEATURES],
                timed=True,
            ),
            tables.table_slim,
        ),
    }  # fmt: skip
    if (river := installed("river")) and installed("pandas"):
        rows = [(*size, seconds, river) for size in records.SIZES if size[0] <= largest]
        known["records"] = Part(
            lambda ask: ask(records.run_records, rows, timed=True), tables.table_records
        )
    return known


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("speed", __doc__)
    parser.add_argument("--seconds", type=float, default=0.7, help="for each way, about")
    parser.add_argument(
        "--largest",
        type=int,
        default=5000,
        help="most features, 30 at least; net and slim have a million",
    )
    options = parser.parse_args(arguments)
    if options.seconds <= 0 or options.largest < 30:
        parser.error("--seconds must be above 0 and --largest at least 30")
    return run_parts(parser, options, parts(options))


if __name__ == "__main__":
    sys.exit(main())
