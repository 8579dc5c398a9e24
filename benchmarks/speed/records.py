"""Records per second through river: KeyholeRegressor beside river's LinearRegression.

Both get the same dict rows, each predicted, then learnt, as in progressive validation, or the same
DataFrames of 500 rows to learn. LinearRegression reads every feature and takes one gradient step;
KeyholeRegressor chooses `budget` features and reads those.
"""

from __future__ import annotations

from typing import Any

from benchmarks.common import Row
from benchmarks.common.peers import optional
from benchmarks.common.timing import Play, per_round, rows_of

SIZES = ((20, 8), (100, 12), (1000, 12))  # features, budget
ROWS, CHUNK = 4000, 500


def row_by_row(model: Any, rows: list[dict[str, float]], y: list[float]) -> Play:
    """Predict and learn n rows, one at a time."""

    def play(n: int) -> None:
        for x, label in zip(rows[:n], y[:n], strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return play


def in_chunks(model: Any, frame: Any, labels: Any) -> Play:
    """Learn n rows, CHUNK at a time."""

    def play(n: int) -> None:
        for at in range(0, n, CHUNK):
            stop = min(n, at + CHUNK)
            model.learn_many(frame.iloc[at:stop], labels.iloc[at:stop])

    return play


def run_records(d: int, budget: int, seconds: float, river: str) -> Row:
    """Records per second beside that version of river, by model and way of handing them over."""
    pd = optional("pandas")
    X, y = rows_of(d, 4, ROWS)
    names = [f"x{j}" for j in range(d)]
    rows = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    frame, labels = pd.DataFrame(X, columns=names), pd.Series(y)
    adapter, linear_model = optional("keyhole.adapters.river"), optional("river.linear_model")
    models = {
        "keyhole": lambda: adapter.KeyholeRegressor(sparsity=4, budget=budget),
        "river": linear_model.LinearRegression,
    }
    ways: dict[str, tuple[Play, int]] = {}
    for name, make in models.items():
        ways[f"{name}, rows"] = (row_by_row(make(), rows, y.tolist()), ROWS)
        ways[f"{name}, frames"] = (in_chunks(make(), frame, labels), ROWS)
    speeds = {way: 1e6 / us for way, us in per_round(ways, seconds).items()}
    return {"d": d, "budget": budget, "records per second": speeds}
