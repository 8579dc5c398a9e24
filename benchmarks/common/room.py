"""The command of a room that is made of parts: measure what is not stored yet, show all of it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import Row
from benchmarks.common.questions import Ask
from benchmarks.common.store import FOLDER, Store
from keyhole.saving.parallel import cluster


class Part(NamedTuple):
    """`rows` asks for the rows of a part, `table` makes text of them."""

    rows: Callable[[Ask], list[Row]]
    table: Callable[[list[Row]], str]


def room_parser(room: str, doc: str | None) -> argparse.ArgumentParser:
    """The options that every room has."""
    about, _, rest = (doc or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog=f"benchmarks.{room}", description=about, epilog=rest.partition("\n\n")[2]
    )
    add = parser.add_argument
    add("--workers", "--jobs", type=int, default=-1, help="processes; -1: one for each core")
    add("--cluster", metavar="ADDRESS", help="a Dask scheduler: its workers instead of processes")
    add("--results", type=Path, default=FOLDER / f"{room}.jsonl", help="where they are kept")
    add("--fresh", action="store_true", help="begin anew; keeps the results FILE as FILE.old")
    return parser


def open_store(path: Path, *, fresh: bool) -> Store:
    """The results so far; none if they are to be begun anew."""
    if fresh and path.exists():
        path.replace(path.with_name(path.name + ".old"))
    store = Store(path)
    if store.broken:
        print(f"{path}: {store.broken} broken lines left out", file=sys.stderr)
    return store


def interrupted(store: Store) -> int:
    """Says that nothing is lost; the exit code."""
    print(f"interrupted: {len(store.rows):,} results kept, run it again", file=sys.stderr)
    return 130


def parts_parser(room: str, doc: str | None) -> argparse.ArgumentParser:
    """The options of every room that is made of parts."""
    parser = room_parser(room, doc)
    add = parser.add_argument
    add("--only", nargs="*", metavar="PART", help="parts to run, perhaps none; default: all")
    add("--json", type=Path, metavar="FILE", help="write the rows there too")
    add("--tables", type=Path, metavar="FILE", help="renew its tables from all results there are")
    return parser


def renew(target: Path, tables: Mapping[str, str]) -> None:
    """Put tables between their markers in a file, new ones at its end."""
    text = target.read_text() if target.exists() else ""
    for name, table in tables.items():
        begin, end = f"<!-- begin table {name} -->\n", "<!-- end -->\n"
        before, marker, rest = text.partition(begin)
        after = rest.partition(end)[2]
        gap = "\n" if before and not marker else ""
        text = f"{before}{gap}{begin}{table}\n{end}{after}"
    target.write_text(text)


def run_parts(
    parser: argparse.ArgumentParser, options: argparse.Namespace, parts: Mapping[str, Part]
) -> int:
    """Run the parts that are asked for and print their tables; 1 if a cell failed."""
    names: Sequence[str] = list(parts) if options.only is None else options.only
    if unknown := set(names) - set(parts):
        parser.error(f"--only knows {', '.join(parts)}, not {', '.join(sorted(unknown))}")
    ask = Ask(open_store(options.results, fresh=options.fresh), options.workers)
    found: dict[str, list[Row]] = {}
    try:
        with cluster(options.cluster):
            for name in names:
                found[name] = parts[name].rows(ask)
                if found[name]:
                    print(f"\n{name}\n\n{parts[name].table(found[name])}", flush=True)
                if len({row["run"] for row in found[name] if "timed" in row}) > 1:
                    print("\nTimes of different runs: compare those of one row only.")
    except KeyboardInterrupt:
        return interrupted(ask.store)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1))
    if options.tables is not None:
        stored = {name: part.rows(Ask(ask.store, None)) for name, part in parts.items()}
        renew(options.tables, {n: parts[n].table(rows) for n, rows in stored.items() if rows})
    return 1 if ask.failed else 0
