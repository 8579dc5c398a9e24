"""AutoLearner on 10^3 to 10^6 features, beside the form with a seat for each of them.

    python -m benchmarks.wide [--only time support ideal regret rivals products files]
                              [--sizes 1000 10000 100000] [--support 10000] [--k 4] [--rho 0]
                              [--seeds 16] [--rounds 4.0] [--data DIR]
                              [--tables FILE] [--results FILE] [--fresh]

Columns are made when they are read, so no row of a million numbers is ever there but one of zeros.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.wide import files, ideal, parts, products, rivals, tables

RACED = 2.0  # times 20 d / budget: rounds that are played beside those who read everything


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("wide", __doc__)
    add = parser.add_argument
    add("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000], help="to be timed")
    add("--support", type=int, nargs="*", default=[10_000], help="features to find k among")
    add("--k", type=int, nargs="*", default=[parts.K], help="features that matter")
    add("--rho", type=float, nargs="*", default=[0.0], help="correlation in blocks of ten features")
    add("--seeds", type=int, default=16)
    add("--rounds", type=float, default=4.0, help="times 20 d / budget: when searching ends")
    add("--length", type=int, default=2**13, help="rounds of the streams of `regret`")
    add("--data", metavar="DIR", help="folder with supercon_magpie.parquet, for `products`")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    sizes = [(d,) for d in options.sizes]
    timed = [(tuple(options.sizes), min(options.sizes, default=1_000))]
    cases = list(itertools.product(options.support, options.k, options.rho, range(options.seeds)))
    searches = [(*case, int(options.rounds * 20 * case[0] / parts.BUDGET)) for case in cases]
    raced = [
        (name, *case, int(RACED * 20 * case[0] / parts.BUDGET))
        for name in rivals.LEARNERS
        for case in cases
    ]
    wide_data = (
        []
        if options.data is None
        else [
            (Path(options.data, "supercon_magpie.parquet"), seed, k)
            for k in options.k
            for seed in range(options.seeds)
        ]
    )
    ideals = [
        (d, k, places, seed, most)
        for places in (parts.BUDGET, parts.BUDGET - parts.BUDGET // 8)
        for d, k, _, seed, most in searches
    ]
    games = [
        (name, seed, options.length)
        for name in parts.wide_streams()
        for seed in range(options.seeds)
    ]
    known = {
        "time": Part(lambda ask: ask(parts.run_time, timed, timed=True), tables.table_time),
        "support": Part(lambda ask: ask(parts.run_support, searches), tables.table_support),
        "ideal": Part(lambda ask: ask(ideal.run_ideal, ideals), tables.table_ideal),
        "regret": Part(lambda ask: ask(parts.run_regret, games), tables.table_regret),
        "rivals": Part(lambda ask: ask(rivals.run_rivals, raced), tables.table_rivals),
        "products": Part(lambda ask: ask(products.run_products, wide_data), tables.table_products),
        "files": Part(lambda ask: ask(files.run_files, sizes, timed=True), tables.table_files),
    }
    return run_parts(parser, options, known)


if __name__ == "__main__":
    sys.exit(main())
