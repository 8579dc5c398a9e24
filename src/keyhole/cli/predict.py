"""keyhole predict: what a saved learner's model says about the rows of a file."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options

if TYPE_CHECKING:
    from keyhole.model import SparseModel
    from keyhole.problem import Floats, Problem


@options.flat
def predict(
    *,
    model: Annotated[
        str, typer.Argument(metavar="MODEL.npz", help="What `keyhole run --save` wrote.")
    ],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="CSV, Parquet or Arrow; - for standard input.")
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help=".csv, .parquet, .arrow; - for standard output."
        ),
    ] = "-",
    coverage: options.Coverage = None,
    csv: options.CsvOptions,
    shop: options.PriceOptions,
    as_json: options.Json = False,
) -> None:
    """Predict the rows of a file, reading only the columns that the model uses.

    A row that lacks one of them has no prediction: its cell is empty. With --prices, or if the
    learner was played with prices, it says what the columns of the model cost.

    With --coverage 0.9 there are the columns low and high: 90 % of the labels lie between them, if
    the model errs on these rows as the learner did of late when it played. They are as far from
    every prediction, and nothing that happens later moves them.

    \b
    Examples:
      keyhole predict model.npz new.parquet --out predictions.parquet
      keyhole predict model.npz new.csv --out predictions.csv --prices prices.csv
      keyhole predict model.npz new.csv --coverage 0.9 --out predictions.csv
      keyhole predict model.npz new.csv | head
    """
    import numpy as np

    from keyhole.advice.choosing import amount
    from keyhole.cli.files import refuse_two, write
    from keyhole.cli.output import emit, number, say

    refuse_two(out, as_json)
    sparse, problem, ends = _model(model, shop, coverage)
    each = None if problem.prices is None else problem.cost(sparse.features)
    predictions = _predictions(sparse, file, csv)
    table = {"row": np.arange(1, len(predictions) + 1), "prediction": predictions}
    if ends is not None:
        table |= {"low": predictions + ends[0], "high": predictions + ends[1]}
    write(table, out)
    if out == "-":
        return
    lacking = int(np.isnan(predictions).sum())
    if as_json:
        emit(
            {
                "model": model,
                "file": file,
                "out": out,
                "rows": len(predictions),
                "without_prediction": lacking,
                **({} if ends is None else {"coverage": coverage, "below_and_above": list(ends)}),
                "features": sparse.names,
                "cost_per_row": each,
                "cost": None if each is None else each * len(predictions),
            }
        )
        return
    say(f"{out}: {len(predictions):,} predictions from {', '.join(sparse.names)}")
    if ends is not None:
        below, above = number(-ends[0]), number(ends[1])
        say(f"low is {below} below the prediction, high {above} above it, as the learner erred")
    if each is not None and problem.prices is not None:
        items = ", ".join(problem.prices.to_order(sparse.features.tolist())) or "nothing"
        whole = number(each * len(predictions))
        say(f"{amount(each)} per row, {whole} in all; to order: {items}")
    if lacking:
        say(f"{lacking:,} of them are empty: a value is missing in their rows")


def _model(
    path: str, shop: options.PriceOptions, coverage: float | None
) -> tuple[SparseModel, Problem, tuple[float, float] | None]:
    """The model of a saved learner, its problem, and how far labels were from its predictions."""
    from keyhole.calibration import Calibrated
    from keyhole.model import sparse_model
    from keyhole.problem import DataError
    from keyhole.saving.api import load

    learner = load(path)
    sparse = sparse_model(learner)
    if not sparse.names:
        raise DataError(f"{path}: its model uses no feature, it says {sparse.intercept:.6g} always")
    if coverage is None:
        return sparse, _priced(learner.problem, shop), None
    known = isinstance(learner, Calibrated)
    ends = learner.error_range(coverage) if isinstance(learner, Calibrated) else (-inf, inf)
    if not known or not all(map(isfinite, ends)):
        raise DataError(
            f"--coverage {coverage:g}: {path} does not know how far its predictions were off; it "
            "was saved by an older keyhole, or after too few labels: play more and save it again"
        )
    return sparse, _priced(learner.problem, shop), ends


def _priced(problem: Problem, shop: options.PriceOptions) -> Problem:
    """The problem with the prices that were named, or with its own."""
    from keyhole.cli.shop import prices_for
    from keyhole.problem import DataError

    if shop.prices is None:
        return problem
    if problem.names is None:
        raise DataError(f"--prices {shop.prices}: the features of this learner have no names")
    prices = prices_for(shop.prices, problem.names)
    return problem.replace(prices=prices, budget=prices.cost(range(problem.d)))


def _predictions(model: SparseModel, file: str, csv: options.CsvOptions) -> Floats:
    import numpy as np

    from keyhole import streams

    rows = streams.read(
        file,
        target=None,
        features=model.names,
        separator=csv.separator,
        decimal=csv.decimal,
        missing=csv.missing or (),
    )
    parts = [model.predict(X) for X, _ in rows.blocks()]
    return np.concatenate(parts) if parts else np.empty(0)
