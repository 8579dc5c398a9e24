"""`python -m benchmarks.attack`: bad input by the hundred thousand, and what came of it."""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from collections.abc import Callable

from benchmarks.attack.runner import Child, Tally, attack
from keyhole.core.compiler import sanitizing

FAMILIES = {
    "states": "files with the right checksum and one number that cannot be",
    "calls": "tickets, values, labels, blocks and arguments that are none",
    "streams": "values and labels at the edges of what a number is",
    "files": "saved learners and tables with bytes that were changed",
}
COLUMNS = ("refused", "played", "crash", "hang", "raw", "not finite", "changed")


def main() -> int:
    """Attack, print the counts and every fault; 1 if there is one."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.attack",
        description="Bad input of every kind, in a process that may die of it. Families: "
        + "; ".join(f"{name}, {what}" for name, what in FAMILIES.items()),
    )
    parser.add_argument("--only", default=",".join(FAMILIES), help="families, by commas")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases, drawn (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="of that draw")
    parser.add_argument(
        "--sanitize", action="store_true", help="with C that checks every index and address"
    )
    parser.add_argument("--learners", default="", help="those whose names begin so (default all)")
    options = parser.parse_args()
    child = Child(sanitizing() if options.sanitize else None)
    total = Tally()
    print(f"{'':10}{'inputs':>9}" + "".join(f"{name:>12}" for name in COLUMNS))
    for family in options.only.split(","):
        cases = [*importlib.import_module(f"benchmarks.attack.{family}").cases()]
        at = 1 if family == "files" else 0  # where a case names the learner
        cases = [case for case in cases if case[at].startswith(options.learners)]
        random.Random(options.seed).shuffle(cases)  # a draw, not a secret
        cases = cases[: max(1, round(options.share * len(cases)))]
        cases.sort(
            key=lambda case: str(case[:2])
        )  # what a child keeps for one learner serves the next
        tally = attack(family, cases, child, _progress(family, len(cases)))
        print(_line(family, tally))
        total.counts += tally.counts
        total.faults += [([family, case], outcome) for case, outcome in tally.faults]
    child.end()
    print(_line("all", total))
    for case, outcome in total.faults[:50]:
        print(f"{case}: {outcome}")
    return 1 if total.faults else 0


def _line(name: str, tally: Tally) -> str:
    numbers = "".join(f"{tally.counts[column]:12,}" for column in COLUMNS)
    return f"{name:10}{tally.counts.total():9,}{numbers}"


def _progress(family: str, cases: int) -> Callable[[Tally], None]:
    last = time.monotonic()

    def told(tally: Tally) -> None:
        nonlocal last
        if sys.stderr.isatty() and time.monotonic() - last > 0.5:
            last = time.monotonic()
            done = tally.counts.total()
            print(f"\r{family}: {done:,} of {cases:,}", end="\r", file=sys.stderr, flush=True)

    return told


if __name__ == "__main__":
    raise SystemExit(main())
