"""keyhole predict: what a saved learner's model says about the rows of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli import options

if TYPE_CHECKING:
    from keyhole.model import SparseModel
    from keyhole.problem import Floats


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
    csv: options.CsvOptions,
    as_json: options.Json = False,
) -> None:
    """Predict the rows of a file, reading only the columns that the model uses.

    A row that lacks one of them has no prediction: its cell is empty.

    \b
    Examples:
      keyhole predict model.npz new.parquet --out predictions.parquet
      keyhole predict model.npz new.csv | head
    """
    import numpy as np

    from keyhole.cli.files import refuse_two, write
    from keyhole.cli.output import emit, say

    refuse_two(out, as_json)
    sparse = _model(model)
    predictions = _predictions(sparse, file, csv)
    write({"row": np.arange(1, len(predictions) + 1), "prediction": predictions}, out)
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
                "features": sparse.names,
            }
        )
        return
    say(f"{out}: {len(predictions):,} predictions from {', '.join(sparse.names)}")
    if lacking:
        say(f"{lacking:,} of them are empty: a value is missing in their rows")


def _model(path: str) -> SparseModel:
    from keyhole.model import sparse_model
    from keyhole.problem import DataError
    from keyhole.saving.api import load

    sparse = sparse_model(load(path))
    if not sparse.names:
        raise DataError(f"{path}: its model uses no feature, it says {sparse.intercept:.6g} always")
    return sparse


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
