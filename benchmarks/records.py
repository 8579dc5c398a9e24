"""Records per second through river: KeyholeRegressor beside river's LinearRegression.

Both get the same dict rows, each predicted, then learnt, as in progressive validation, or the same
DataFrames of 500 rows to learn. LinearRegression reads every feature and takes one gradient step;
KeyholeRegressor chooses `budget` features and reads those. Taken in turns within one run.

Prints a table and writes benchmarks/results/records.json. Nothing is asserted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers import optional
from benchmarks.play import in_turns, rows_of
from benchmarks.results import write

SIZES = ((20, 8), (100, 12), (1000, 12))  # features, budget
ROWS, CHUNK = 4000, 500


def row_by_row(model: Any, rows: list[dict[str, float]], y: list[float]) -> Callable[[int], None]:
    """Predict and learn n rows, one at a time."""

    def play(n: int) -> None:
        for x, label in zip(rows[:n], y[:n], strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return play


def in_chunks(model: Any, frame: Any, labels: Any) -> Callable[[int], None]:
    """Learn n rows, CHUNK at a time."""

    def play(n: int) -> None:
        for at in range(0, n, CHUNK):
            stop = min(n, at + CHUNK)
            model.learn_many(frame.iloc[at:stop], labels.iloc[at:stop])

    return play


def measure(d: int, budget: int, linear_model: Any, adapter: Any, pd: Any) -> dict[str, float]:
    """Records per second, by model and way of handing them over."""
    X, y = rows_of(d, 4, ROWS)
    names = [f"x{j}" for j in range(d)]
    rows = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    frame, labels = pd.DataFrame(X, columns=names), pd.Series(y)
    models = {
        "keyhole": lambda: adapter.KeyholeRegressor(sparsity=4, budget=budget),
        "river": linear_model.LinearRegression,
    }
    ways: dict[str, tuple[Callable[[int], None], int]] = {}
    for name, make in models.items():
        ways[f"{name}, rows"] = (row_by_row(make(), rows, y.tolist()), ROWS)
        ways[f"{name}, frames"] = (in_chunks(make(), frame, labels), ROWS)
    return {way: 1e6 / microseconds for way, microseconds in in_turns(ways).items()}


def main() -> None:
    """Print the table and write the JSON."""
    linear_model, pd = optional("river.linear_model"), optional("pandas")
    if linear_model is None or pd is None:
        print("records per second: left out, river or pandas is not installed")
        return
    adapter = optional("keyhole.adapters.river")
    results = []
    print("records per second; in brackets: as a multiple of river's LinearRegression")
    for d, budget in SIZES:
        speeds = measure(d, budget, linear_model, adapter, pd)
        cells = [f"d={d:<5} budget={budget:<4}"]
        for way in ("rows", "frames"):
            ours, theirs = speeds[f"keyhole, {way}"], speeds[f"river, {way}"]
            cells.append(f"{way}: keyhole {ours:,.0f} ({ours / theirs:.2g}x) river {theirs:,.0f}")
        print("  ".join(cells), flush=True)
        results.append({"d": d, "budget": budget, "records per second": speeds})
    write("records", results)


if __name__ == "__main__":
    main()
