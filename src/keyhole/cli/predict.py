"""keyhole predict: what a saved learner's model says about the rows of a file."""

from __future__ import annotations

import sys
from math import inf, isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options
from keyhole.cli.options import option

if TYPE_CHECKING:
    from keyhole.problem import Floats, Learner, Problem
    from keyhole.problem.sparse_model import SparseModel


@options.with_flat_options
def predict(
    *,
    model: Annotated[
        str, typer.Argument(metavar="MODEL.npz", help="Learner saved by `keyhole run --save`.")
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, JSON lines, Parquet, Arrow or spreadsheet; - reads standard input.",
        ),
    ],
    out: Annotated[
        str,
        option("--out -o FILE", "File to write: .csv, .parquet or .arrow; - for standard output."),
    ] = "-",
    coverage: options.Coverage = None,
    csv: options.CsvOptions,
    pricing: options.PriceOptions,
    as_json: options.Json = False,
) -> None:
    """Predict the rows of a file with a saved learner.

    Reads only the columns that its model uses. A missing value is replaced by the mean the learner
    saw, and a category unknown from training adds nothing; the command reports how many rows are
    affected. If the learner knows no mean, the prediction is empty. For a yes/no learner the column
    is `probability`, the probability of a yes. With --prices, or for a learner played with prices,
    it reports what the model's columns cost.

    With --coverage 0.9, 90 % of the labels lie between the columns low and high, provided the model
    errs on these rows as the learner did in its last rounds. All intervals have the same width.

    \b
    Examples:
      keyhole predict model.npz new.parquet --out predictions.parquet
      keyhole predict model.npz new.csv --out predictions.csv --prices prices.csv
      keyhole predict model.npz new.csv --coverage 0.9 --out predictions.csv
      keyhole predict model.npz new.csv | head
    """
    import numpy as np

    from keyhole.cli.output import emit, number, refuse_json_and_rows, say, write_rows
    from keyhole.learners.yes_no import YesNoLearner
    from keyhole.problem.display import money_text

    refuse_json_and_rows(out, as_json)
    learner, sparse, problem, ends = _model(model, pricing, coverage)
    each = None if problem.prices is None else problem.cost(sparse.features)
    scores, filled, unknown = _predictions(sparse, problem, file, csv)
    what, predictions = "prediction", scores
    if isinstance(learner, YesNoLearner):
        what, predictions = "probability", learner.probabilities(scores)
    table = {"row": np.arange(1, len(predictions) + 1), what: predictions}
    if ends is not None:
        table |= {"low": predictions + ends[0], "high": predictions + ends[1]}
    write_rows(table, out)
    lacking = int(np.isnan(predictions).sum())
    notes = _notes(len(predictions), lacking, filled, unknown)
    if out == "-":
        for note in notes:
            sys.stderr.write(f"keyhole: {note}\n")
        return
    if as_json:
        emit(
            {
                "model": model,
                "file": file,
                "out": out,
                "rows": len(predictions),
                "without_prediction": lacking,
                "filled_in": filled,
                "unknown_levels": unknown,
                **({} if ends is None else {"coverage": coverage, "below_and_above": list(ends)}),
                "features": sparse.names,
                "cost_per_row": each,
                "cost": None if each is None else each * len(predictions),
            }
        )
        return
    many = "probabilities" if what == "probability" else "predictions"
    say(f"{out}: {len(predictions):,} {many} from {', '.join(sparse.names)}")
    if ends is not None:
        below, above = number(-ends[0]), number(ends[1])
        say(f"low is {below} below the prediction, high {above} above it, as the learner erred")
    if each is not None and problem.prices is not None:
        items = ", ".join(problem.prices.to_order(sparse.features.tolist())) or "nothing"
        whole = number(each * len(predictions))
        per_row = f"{money_text(each)} per row, {whole} in all; to order: {items}"
        say(f"To be known of each row: {items}" if problem.prices.counts else per_row)
    say(*notes)


def _notes(rows: int, lacking: int, filled: int, unknown: int) -> list[str]:
    """What is to be known about the rows that were not like others."""
    notes = []
    if filled:
        notes.append(
            f"{filled:,} of {rows:,} rows lack a value: it was taken for its mean in training"
        )
    if lacking:
        notes.append(f"{lacking:,} of {rows:,} predictions are empty: a value is missing there")
    if unknown:
        plural = " holds" if unknown == 1 else "s hold"
        notes.append(f"{unknown:,} cell{plural} a level that was not there in training: it adds 0")
    return notes


def _model(
    path: str, pricing: options.PriceOptions, coverage: float | None
) -> tuple[Learner, SparseModel, Problem, tuple[float, float] | None]:
    """A learner, its model and problem, and how far labels were from its predictions."""
    from keyhole.problem import DataError
    from keyhole.problem.sparse_model import sparse_model
    from keyhole.saving.api import load

    learner = load(path)
    sparse = sparse_model(learner)
    if not sparse.names:
        raise DataError(
            f"{path}: its model uses no features and always predicts {sparse.intercept:.6g}"
        )
    ends = None if coverage is None else _ends(path, learner, coverage)
    return learner, sparse, _priced(learner.problem, pricing), ends


def _ends(path: str, learner: Learner, coverage: float) -> tuple[float, float]:
    """How far below and above its predictions labels were, in that share of rounds."""
    from keyhole.learners.residuals import HasIntervals
    from keyhole.learners.yes_no import YesNoLearner
    from keyhole.problem import DataError

    if isinstance(learner, YesNoLearner):
        raise DataError(
            f"--coverage {coverage:g}: {path} predicts probabilities, which already say how sure "
            "they are; leave --coverage out"
        )
    ends = learner.error_range(coverage) if isinstance(learner, HasIntervals) else (-inf, inf)
    if not all(map(isfinite, ends)):
        raise DataError(
            f"--coverage {coverage:g}: {path} does not know how far its predictions were off; it "
            "was saved by an older keyhole, or after too few labels: play more and save it again"
        )
    return ends


def _priced(problem: Problem, pricing: options.PriceOptions) -> Problem:
    """The problem with the prices that were named, or with its own."""
    from keyhole.cli.source import prices_for
    from keyhole.problem import DataError

    if pricing.prices is None:
        return problem
    if problem.names is None:
        raise DataError(f"--prices {pricing.prices}: the features of this learner have no names")
    prices = prices_for(pricing.prices, problem.names)
    return problem.replace(prices=prices, budget=prices.cost(range(problem.d)))


def _predictions(
    model: SparseModel, problem: Problem, file: str, csv: options.CsvOptions
) -> tuple[Floats, int, int]:
    """Predictions, how many rows lacked a value, how many cells hold an unknown level."""
    import dataclasses

    import numpy as np

    from keyhole.cli.source import read_files, request_of

    request = dataclasses.replace(
        request_of(csv, None), features=model.names, known=problem.names or ()
    )
    rows = read_files([file], request, "standard input" if file == "-" else file)
    parts, filled = [], 0
    for X, _ in rows.blocks():
        parts.append(model.predict(X, fill=True))
        filled += int((np.isnan(X).any(axis=1) & ~np.isnan(parts[-1])).sum())
    values = np.concatenate(parts) if parts else np.empty(0)
    return values, filled, sum(rows.unknown.values())
