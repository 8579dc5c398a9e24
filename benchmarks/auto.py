"""The evidence for AutoLearner: regret, adversary, real files, cost, ablation, growth, as tables.

    python -m benchmarks.auto [--data DIR] [--seeds 10] [--only ten anti ...] [--tables FILE]

Prints markdown and writes rows as JSON to benchmarks/results/auto-<part>.json; `--tables` renews
the tables of FILE from all rows there are. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from benchmarks.auto_parts import SIMULATED, Part, Row
from benchmarks.auto_rivals import rivals

RESULTS = Path(__file__).parent / "results"


def measure(name: str, part: Part, seeds: int, workers: int) -> list[Row]:
    """All rows of a part, in the order of its tasks, written down after each."""
    tasks, began = part.tasks(seeds), time.monotonic()
    done: dict[int, Row] = {}
    target = RESULTS / f"auto-{name}.json"
    target.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(workers) as pool:
        waiting = {pool.submit(part.run, *task): i for i, task in enumerate(tasks)}
        for future in as_completed(waiting):
            if future.exception() is not None:  # or leaving would wait for all the others
                pool.shutdown(wait=False, cancel_futures=True)
            done[waiting[future]] = future.result()
            target.write_text(json.dumps([done[i] for i in sorted(done)]))
            took = time.monotonic() - began
            print(f"{name}: {len(done)} of {len(tasks)}, {took:.0f} s", file=sys.stderr, flush=True)
    return [done[i] for i in sorted(done)]


def write_tables(target: Path, parts: dict[str, Part]) -> None:
    """Every table whose rows were measured, between its markers."""
    pages = []
    for name, part in parts.items():
        rows = RESULTS / f"auto-{name}.json"
        if rows.exists():
            table = part.table(json.loads(rows.read_text()))
            pages.append(f"<!-- begin table {name} -->\n{table}\n<!-- end -->\n")
    target.write_text("\n".join(pages))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(prog="benchmarks.auto", description=__doc__)
    parser.add_argument("--data", help="a folder of parquet files; without it no files are played")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="parts to run; none given after it: only tables")
    parser.add_argument("--tables", type=Path, help="file whose tables are renewed")
    options = parser.parse_args(arguments)
    parts = {**SIMULATED, **rivals(options.data)}
    if options.data is None:
        print("files: skipped, no --data DIR", file=sys.stderr)
    unknown = set(options.only or ()) - set(parts)
    if unknown:
        parser.error(f"--only knows {', '.join(parts)}, not {', '.join(sorted(unknown))}")
    for name in parts if options.only is None else options.only:
        rows = measure(name, parts[name], options.seeds, options.workers)
        print(f"\n{name}\n\n{parts[name].table(rows)}\n\n{json.dumps(rows)}", flush=True)
    if options.tables is not None:
        write_tables(options.tables, {**SIMULATED, **rivals(options.data or ".")})


if __name__ == "__main__":
    main()
