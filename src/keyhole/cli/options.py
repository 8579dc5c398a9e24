"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer


def compared() -> list[str]:
    """Names of the learners that `keyhole compare` plays unless told otherwise."""
    from keyhole.learners.registry import LEARNERS

    return [name for name, row in LEARNERS.items() if row.compared]


def complete_learner(incomplete: str) -> list[str]:
    """Names of learners that begin so; for the shell."""
    from keyhole.learners.registry import LEARNERS

    return [name for name in LEARNERS if name.startswith(incomplete)]


File = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="CSV (also .gz), Parquet or Arrow; - for standard input. Without it: the simulated "
        "clinic.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict."),
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        "-b",
        min=1,
        metavar="N",
        show_default="8",
        help="Features that may be read of one example, everything included.",
    ),
]
Sparsity = Annotated[
    int | None,
    typer.Option(
        "--sparsity",
        "-k",
        min=1,
        metavar="K",
        show_default="4",
        help="Features of the models to compare with.",
    ),
]
Rounds = Annotated[
    int | None,
    typer.Option("--rounds", min=1, metavar="N", help="Only the first N rows."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="COLUMN", help="A column to leave out; may be repeated."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="COLUMN", help="A column of codes, not numbers; may be repeated."
    ),
]
Separator = Annotated[
    str | None,
    typer.Option("--separator", metavar="TEXT", help="Between the cells of a CSV.  [default: ,]"),
]
Decimal = Annotated[
    str,
    typer.Option("--decimal", metavar="TEXT", help="The decimal point of a CSV."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing", metavar="TEXT", help="What else means no value in a CSV; may be repeated."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")]
