"""Probabilities of YesNoLearner beside logistic regression with k features and with all.

    python -m benchmarks.yesno [--data DIR] [--seeds 16] [--tables FILE] [--results FILE] [--fresh]

Two sets come with scikit-learn; thyroid_cost and mnist_3v5 are Parquet files of DIR.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.common.room import Part, parts_parser, run_parts
from benchmarks.yesno import parts, tables

LONGEST, FEWER = 10_000, 6_000  # rows; the fewer of mnist_3v5, whose rivals take long


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and print it."""
    parser = parts_parser("yesno", __doc__)
    parser.add_argument("--data", type=Path, help="a folder of Parquet files; without it, none")
    parser.add_argument("--seeds", type=int, default=16)
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    sources: list[tuple[Path | str, int, int, int]] = [
        (name, *sizes, LONGEST) for name, sizes in parts.SHIPPED.items()
    ]
    for name, sizes in parts.FILES.items():
        if options.data is not None and (path := options.data / f"{name}.parquet").exists():
            sources.append((path, *sizes, FEWER if sizes[1] > 16 else LONGEST))
    games = [(s, k, b, seed, most) for s, k, b, most in sources for seed in range(options.seeds)]
    known = {
        name: Part(lambda ask: ask(parts.run, games), partial(tables.table_scores, score=score))
        for name, score in (("log-loss", "log loss"), ("brier", "Brier"), ("auc", "AUC"))
    }
    known["regret"] = Part(lambda ask: ask(parts.run, games), tables.table_regret)
    return run_parts(parser, options, known)


if __name__ == "__main__":
    sys.exit(main())
