"""`make bench`: every comparison there is, with its tables.

    python -m benchmarks [--only speed,dantzig,auto,limit,prices,...] [--data DIR] [--seeds N]

Each room can be run by itself and has more to choose from: `python -m benchmarks.speed --help`.
What was measured before is not measured again. Exit code 1: something failed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

ROOMS: dict[str, list[str]] = {  # and what they are told here
    "speed": [],
    "dantzig": ["--largest", "1000", "--seconds", "5", "--rounds", "8192", "--seeds", "3"],
    "auto": [],
    "limit": [],
    "advice": [],
    "prices": [],
    "intervals": [],
    "regret": [],
    "yesno": [],
}
READS_FILES, HAS_SEEDS = (
    ("auto", "advice", "prices", "intervals", "regret", "yesno"),
    ("dantzig", "auto", "limit", "advice", "prices", "intervals", "regret", "yesno"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rooms that are asked for, one after the other."""
    about, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="benchmarks", description=about, epilog=rest.partition("\n\n")[2]
    )
    parser.add_argument("--only", default=",".join(ROOMS), metavar="ROOMS", help="by comma")
    parser.add_argument("--data", metavar="DIR", help="a folder of Parquet files to play too")
    parser.add_argument("--seeds", metavar="N", help="instead of what each room takes")
    options = parser.parse_args(arguments)
    wanted = [room for room in options.only.split(",") if room]
    if unknown := set(wanted) - set(ROOMS):
        parser.error(f"--only knows {', '.join(ROOMS)}, not {', '.join(sorted(unknown))}")
    worst = 0
    for room in (room for room in ROOMS if room in wanted):
        words = list(ROOMS[room])
        words += ["--data", options.data] if options.data and room in READS_FILES else []
        words += ["--seeds", options.seeds] if options.seeds and room in HAS_SEEDS else []
        print(f"\n{room}: python -m benchmarks.{room} {' '.join(words)}", flush=True)
        run: Callable[[Sequence[str]], int] = import_module(f"benchmarks.{room}.__main__").main
        worst = max(worst, run(words))
        if worst == 130:  # interrupted
            break
    return worst


if __name__ == "__main__":
    sys.exit(main())
