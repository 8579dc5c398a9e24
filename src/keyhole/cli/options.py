"""Options that several commands share, in records: a command takes one record for many options.

`with_flat_options` makes of such a command one that typer knows, with an option for every field.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, get_args

import typer


def with_flat_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same command with the fields of records instead of the records, in their places.

    >>> @dataclasses.dataclass
    ... class Size:
    ...     d: int
    ...     k: int = 2
    >>> @with_flat_options
    ... def area(size: Size, unit: str = "m") -> None:
    ...     print(size, unit)
    >>> inspect.signature(area)
    <Signature (*, d: int, k: int = 2, unit: str = 'm') -> None>
    >>> area(d=3, k=1, unit="km")
    Size(d=3, k=1) km
    """
    whole = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def flattened(**given: Any) -> None:
        command(**_gathered(whole, given))

    fields = [p.replace(kind=p.KEYWORD_ONLY) for p in _fields(whole)]
    flattened.__dict__["__signature__"] = whole.replace(parameters=fields)
    return flattened


def _fields(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """The parameters, but of records their fields."""
    for parameter in signature.parameters.values():
        record = _record(parameter)
        if record is None:
            yield parameter
        else:
            yield from _fields(inspect.signature(record, eval_str=True))


def _gathered(signature: inspect.Signature, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the parameters are given, records put together from what their fields are given."""
    arguments = {}
    for name, parameter in signature.parameters.items():
        record = _record(parameter)
        if record is None:
            arguments[name] = given[name]
        else:
            arguments[name] = record(**_gathered(inspect.signature(record, eval_str=True), given))
    return arguments


def _record(parameter: inspect.Parameter) -> type[Any] | None:
    kind = parameter.annotation
    return kind if isinstance(kind, type) and dataclasses.is_dataclass(kind) else None


def option(form: str, help: str, **more: Any) -> Any:
    """An option as its help has it: its names, and what stands for its value (`--target -t Y`)."""
    *names, metavar = form.split()
    return typer.Option(*names, metavar=metavar, help=help, **more)


def learners_to_compare() -> list[str]:
    """Names of the learners that `keyhole compare` plays unless told otherwise."""
    from keyhole.learners.registry import LEARNERS, Group

    order = get_args(Group)
    rows = sorted(LEARNERS.values(), key=lambda row: order.index(row.group))
    return [row.name for row in rows if row.compared]


def complete_learner(incomplete: str) -> list[str]:
    """Names of learners that begin so; for the shell."""
    from keyhole.learners.registry import LEARNERS

    return [name for name in LEARNERS if name.startswith(incomplete)]


@dataclasses.dataclass(frozen=True)
class FileOptions:
    """Which file, and what to predict."""

    file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            show_default=False,
            help="CSV or JSON lines (may be compressed), Parquet, Arrow, svmlight (its target is "
            "`label`) or spreadsheet; - reads standard input. A folder, or several files, must "
            "share their columns; an address such as s3://bucket/flats/ works too. Default: the "
            "simulated clinic.",
        ),
    ] = None
    target: Annotated[str | None, option("--target -t COLUMN", "The column to predict.")] = None

    @property
    def files(self) -> list[str]:
        """The files that were named."""
        return list(self.file or ())

    @property
    def title(self) -> str:
        """What to call them."""
        if self.files == ["-"]:
            return "standard input"
        return self.files[0] if len(self.files) == 1 else f"{len(self.files)} files"


@dataclasses.dataclass(frozen=True)
class CsvOptions:
    """How cells of text become values."""

    separator: Annotated[
        str | None, option("--separator TEXT", "Cell separator of the CSV file.")
    ] = None
    decimal: Annotated[str | None, option("--decimal TEXT", "Decimal sign of the CSV file.")] = None
    thousands: Annotated[
        str | None, option("--thousands TEXT", "Thousands separator of the CSV file.")
    ] = None
    encoding: Annotated[
        str | None, option("--encoding NAME", "Text encoding: utf-8, utf-16, cp1252, ...")
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row names the columns; without a header: c1, c2, ...",
        ),
    ] = None
    skip_rows: Annotated[
        int | None,
        option(
            "--skip-rows N",
            "Lines before the header: titles and the like.",
            min=0,
            show_default="those that are clearly titles",
        ),
    ] = None
    comment: Annotated[str | None, option("--comment TEXT", "Prefix of comment lines.")] = None
    quote: Annotated[str | None, option("--quote TEXT", "Quotation mark of the CSV file.")] = None
    missing: Annotated[
        list[str] | None,
        option(
            "--missing TEXT",
            "Another text that means a missing value; repeat for more. `auto`: detect codes "
            "such as 9999, -1 and -.",
        ),
    ] = None
    censored: Annotated[
        str | None,
        option(
            "--censored MEANING",
            "What cells such as <5 or >=100 are among numbers: their bound, absent, or refuse.",
            show_default="bound",
        ),
    ] = None
    sheet: Annotated[
        str | None, option("--sheet NAME", "Sheet of the spreadsheet; default: the first.")
    ] = None
    zero_based: Annotated[
        bool | None,
        typer.Option(
            "--zero-based/--no-zero-based",
            help="Whether the indices of sparse rows begin at 0, or at 1.",
            show_default="at 1 in svmlight files, unless 0 occurs",
        ),
    ] = None
    n_features: Annotated[
        int | None, option("--n-features N", "Number of features of sparse rows.", min=1)
    ] = None
    absent: Annotated[
        str,
        option(
            "--absent MEANING",
            "What it means if a sparse row does not list a feature: zero or unknown.",
        ),
    ] = "zero"


@dataclasses.dataclass(frozen=True)
class AnswerOptions:
    """What the values of the target mean."""

    positive: Annotated[
        str | None,
        option(
            "--positive VALUE",
            "Value of the target that means yes; every other value means no.",
            show_default="yes, true, 1, or the second of two texts in alphabetical order",
        ),
    ] = None
    yes_no: Annotated[
        bool | None,
        typer.Option(
            "--yes-no/--numbers",
            help="Whether the target is yes or no. If so, predictions are probabilities.",
            show_default="yes/no for two texts, true and false, 0 and 1",
        ),
    ] = None


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """What of the file is read, and how."""

    rounds: Annotated[int | None, option("--rounds N", "Use only the first N rows.", min=1)] = None
    ignore: Annotated[
        list[str] | None, option("--ignore COLUMN", "Column to leave out; repeat for more.")
    ] = None
    keep_columns: Annotated[
        list[str] | None,
        option(
            "--keep COLUMN",
            "Column to keep though it is empty in 99 % of the rows or more; repeat for more.",
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        option(
            "--categorical COLUMN", "Column whose numbers are codes of categories; repeat for more."
        ),
    ] = None
    most_levels: Annotated[
        int, option("--most-levels N", "Most categories allowed in a text column.", min=1)
    ] = 50
    dates: Annotated[
        list[str] | None,
        option(
            "--dates PARTS",
            "What to turn date columns into: ordinal (days since 1970), month, weekday, hour, "
            "or several, as in month,hour.",
        ),
    ] = None
    partitions: Annotated[
        bool | None,
        typer.Option(
            "--partitions/--no-partitions",
            help="Whether folders such as year=2024 become columns.",
            show_default="they do",
        ),
    ] = None
    order_by: Annotated[
        str | None,
        option(
            "--order-by COLUMN",
            "Sort files by the value of this column in their first row.",
            show_default="by name, or as listed",
        ),
    ] = None
    csv: CsvOptions = CsvOptions()
    answers: AnswerOptions = AnswerOptions()


@dataclasses.dataclass(frozen=True)
class SizeOptions:
    """How many features are read, or what they may cost, and how many a model has."""

    budget: Annotated[
        float | None,
        option(
            "--budget -b N",
            "Number of features to read per example, exploration included. With --prices: "
            "money per example, as in 40 or 12.50.",
            show_default="chosen from the first rows",
        ),
    ] = None
    sparsity: Annotated[
        int | None,
        option(
            "--sparsity -k K",
            "Number of features in the model to compare with.",
            min=1,
            show_default="chosen from the first rows",
        ),
    ] = None


@dataclasses.dataclass(frozen=True)
class HistoryOptions:
    """What is learnt from before the game."""

    history: Annotated[
        str | None,
        option("--history FILE", "Old rows with every value known; learnt from first, at no cost."),
    ] = None
    half_life: Annotated[
        float | None,
        option(
            "--half-life N",
            "Number of --history rows after which older rows count half as much.",
            show_default="all rows count the same",
        ),
    ] = None


@dataclasses.dataclass(frozen=True)
class PriceOptions:
    """What features cost."""

    prices: Annotated[
        str | None,
        option(
            "--prices FILE.csv",
            "Price list with the columns feature, price, panel. `clinic`: the price list of "
            "the simulated clinic.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True)
class MoneyOptions:
    """What features cost, and how money is spent."""

    pricing: PriceOptions = PriceOptions()
    worth: Annotated[
        float | None,
        option(
            "--worth V",
            "What one unit of squared error is worth, in the currency of --prices; `auto` "
            "then buys only what pays for itself.",
        ),
    ] = None
    purse: Annotated[
        float | None,
        option(
            "--purse P",
            "Money to spend on the whole file, in the currency of --prices (`auto` only); "
            "--budget is then the limit per row.",
        ),
    ] = None


REFUSED, INTERRUPTED = 2, 130  # exit codes

LearnerKind = Annotated[
    str,
    option(
        "--learner -l NAME",
        "Which learner; `keyhole learners` lists them.",
        autocompletion=complete_learner,
    ),
]

Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]

TrueSparsity = Annotated[int, option("--sparsity -k K", "Number of features that matter.", min=1)]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

Coverage = Annotated[
    float | None,
    option(
        "--coverage SHARE",
        "Also give prediction intervals that contain this share of the labels, as in 0.9.",
    ),
]

Audit = Annotated[
    float,
    option(
        "--audit SHARE",
        "Share of blocks to replay on a copy that sees only what was bought, as a check.",
        min=0.0,
        max=1.0,
    ),
]
