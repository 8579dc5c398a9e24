"""The evidence for AutoLearner: regret, adversary, real files, cost, ablation, growth, as tables.

    python -m benchmarks.auto [--data DIR] [--files NAME ...] [--seeds 10] [--rounds N]
                              [--only ten anti ...] [--tables FILE] [--results FILE] [--fresh]

Measures what FILE does not have yet, writes each result to it as it comes, and prints tables as
markdown; `--tables` writes them to a file too. Nothing is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from benchmarks.auto import layer, layer_errors, layer_tables, parts, rivals, tables
from benchmarks.common import Row
from benchmarks.common.files import FILES
from benchmarks.common.questions import Ask
from benchmarks.common.room import Part, parts_parser, run_parts
from keyhole.streams import AGNOSTIC_SUITE

LONG, FEWER = 2**16, 5  # rounds; seeds where a task takes long


def simulated(seeds: int, n: int) -> dict[str, Part]:
    """Regret at n rounds, its growth up to 4 n, and cost and realizable streams at n / 4."""
    some = range(min(seeds, FEWER))
    ten = [(name, seed, n) for seed in range(seeds) for name in AGNOSTIC_SUITE]
    growth = [(name, seed, 4 * n) for seed in some for name in ("iid", "iid300")]
    ablation = [(name, seed, n) for seed in some for name in parts.ABLATED]
    cost = [(*size, n // 4) for size in parts.SIZES]
    anti = [(*who, net, s, n) for s, who, net in product(some, rivals.ADVERSARIES, (True, False))]
    realizable = [(name, seed, n // 4) for seed in range(seeds) for name in tables.NOTED]
    return {
        "cost": Part(lambda ask: ask(parts.run_cost, cost, timed=True), tables.table_cost),
        "ten": Part(lambda ask: ask(parts.run_ten, ten), tables.table_ten),
        "growth": Part(lambda ask: ask(parts.run_growth, growth), tables.table_growth),
        "ablation": Part(lambda ask: ask(parts.run_ablation, ablation), tables.table_ablation),
        "anti": Part(lambda ask: ask(rivals.run_anti, anti), tables.table_anti),
        "realizable": Part(
            lambda ask: ask(rivals.run_realizable, realizable), tables.table_realizable
        ),
    }


Files = dict[Path, tuple[int, int, bool]]  # k, budget, shuffled


def found_files(folder: Path | None, names: Sequence[str]) -> Files:
    """Those of the names that are in the folder."""
    if folder is None:
        return {}
    return {path: FILES[name] for name in names if (path := folder / f"{name}.parquet").exists()}


def on_files(there: Files, seeds: int) -> Part:
    """AutoLearner and the recipe on files."""

    def rows(ask: Ask) -> list[Row]:
        best = [(path, k, shuffled) for path, (k, _, shuffled) in there.items()]
        games = [(path, *how, seed) for seed in range(seeds) for path, how in there.items()]
        return ask(rivals.run_file_best, best) + ask(rivals.run_file, games)

    return Part(rows, tables.table_files)


def layers(files: Files, seeds: int, n: int) -> dict[str, Part]:
    """What the last layer is worth on files, and on streams; with late labels on files too."""
    named = [*AGNOSTIC_SUITE, *tables.NOTED]

    def games(ask: Ask) -> list[Row]:
        both = [(p, *how, anew, s) for s in range(seeds) for p, how in files.items()
                for anew in (False, True)]  # fmt: skip
        return ask(layer.run_layer_file, both)

    def regret(ask: Ask) -> list[Row]:
        best = [(path, k, shuffled) for path, (k, _, shuffled) in files.items()]
        return ask(layer.run_layer_best, best) + games(ask)

    def suites(ask: Ask) -> list[Row]:
        return ask(layer.run_layer_stream, [(name, s, n) for s in range(seeds) for name in named])

    def shares(ask: Ask) -> list[Row]:
        late = [(p, *how, d, s) for s in range(seeds) for p, how in files.items()
                for d in layer.DELAYS]  # fmt: skip
        sure = [(name, s, n) for s in range(seeds) for name in tables.NOTED]
        on_streams = suites(ask) + ask(layer_errors.run_layer_errors, sure)
        return games(ask) + ask(layer.run_layer_late, late) + on_streams

    found = {"suites": Part(suites, layer_tables.table_suites)}
    found["shares"] = Part(shares, layer_tables.table_shares)
    if not files:
        return found
    shown = {"layer": layer_tables.table_layer, "short": layer_tables.table_short}
    return {**{name: Part(regret, table) for name, table in shown.items()}, **found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("auto", __doc__)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--files", nargs="*", choices=list(FILES), metavar="NAME",
                        default=list(FILES), help="some of those in DIR")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=LONG, help="a power of two, 256 at least")
    options = parser.parse_args(arguments)
    if options.seeds < 1 or options.rounds < 256 or options.rounds.bit_count() != 1:
        parser.error("--seeds must be at least 1 and --rounds a power of two, 256 at least")
    known = simulated(options.seeds, options.rounds)
    there = found_files(options.data, options.files)
    known.update(layers(there, options.seeds, options.rounds))
    if options.data is not None:
        known["files"] = on_files(there, options.seeds)
    else:
        print("files: skipped, no --data DIR", file=sys.stderr)
    return run_parts(parser, options, known)


if __name__ == "__main__":
    sys.exit(main())
