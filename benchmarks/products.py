"""Adding up x x^T and pair counts of partially seen rows: which way, from which share seen on.

`Moments` chooses between going row by row, feature by feature, and by blocks with zeros where
nothing was seen; all three give the same bits. Printed are microseconds per row, the share of the
features from which blocks win, and the constants that `Moments` uses. Beside it NumPy's product of
the same blocks and masks (BLAS, as many threads as it likes), which would give other bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import write
from keyhole.blocks.sums import products
from keyhole.blocks.sums.rows import Gathered, Rows
from keyhole.problem import Floats

DIMENSIONS = (30, 100, 300, 1000, 3000)
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
ROWS = 512
REPEATS = 5


def blas(X: Floats, seen: NDArray[np.float32], XX: Floats, N: NDArray[np.float32]) -> None:
    """Add rows with zeros where nothing was seen, and their masks, by NumPy."""
    XX += X.T @ X
    N += seen.T @ seen


def measure(d: int, share: float) -> dict[str, float]:
    """Microseconds per row of each way, best of a few, taken in turns."""
    size = max(1, round(share * d))
    rows = max(64, min(ROWS, (1 << 18) // size))
    rng = np.random.default_rng(0)
    sets = np.array([np.sort(rng.permutation(d)[:size]) for _ in range(rows)])
    x = rng.standard_normal((rows, size))
    X, seen = np.zeros((rows, d)), np.zeros((rows, d), dtype=np.float32)
    np.put_along_axis(X, sets, x, axis=1)
    np.put_along_axis(seen, sets, 1.0, axis=1)
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(size)
    flat = Rows(offsets, sets.ravel().astype(np.uint32), x.ravel(), np.zeros(rows))
    triangle = d * (d + 1) // 2
    sums = products.Products(d, np.zeros(triangle), np.zeros(triangle, dtype=np.int64))
    order = np.empty((2, rows * size), dtype=np.int32)
    room = Gathered(np.empty(d + 1, dtype=np.int32), order)
    full = np.zeros((d, d)), np.zeros((d, d), dtype=np.float32)
    ways: dict[str, Callable[[], None]] = {
        "by row": partial(products.by_row, flat, 0, rows, sums),
        "by feature": partial(products.by_feature, flat, 0, rows, sums, room),
        "as block": partial(products.as_block, flat, 0, rows, sums),
        "BLAS": partial(blas, X, seen, *full),
    }
    best = dict.fromkeys(ways, np.inf)
    for _ in range(REPEATS + 1):  # the first one compiles
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - began)
    return {name: 1e6 * seconds / rows for name, seconds in best.items()}


def crossing(rows: list[dict[str, float]]) -> float:
    """The share from which on the block is never beaten, interpolated."""
    ratio = [np.log(row["as block"] / min(row["by row"], row["by feature"])) for row in rows]
    slow = [i for i, value in enumerate(ratio) if value > 0]
    if not slow or slow[-1] + 1 == len(ratio):
        return np.nan if slow else 0.0
    i = slow[-1]
    return float(np.interp(0.0, [-ratio[i], -ratio[i + 1]], SHARES[i : i + 2]))


def main() -> None:
    """Print the table and write the JSON."""
    results: list[dict[str, Any]] = []
    print("adding up x x^T and pair counts; microseconds per row")
    for d in DIMENSIONS:
        rows = [measure(d, share) for share in SHARES]
        for share, row in zip(SHARES, rows, strict=True):
            cells = "  ".join(f"{name} {t:.3g}" for name, t in row.items())
            print(f"d={d:<5} share {share:<4}  {cells}", flush=True)
        share = crossing(rows)
        used = products.SHARE + products.OVERHEAD / d
        print(f"d={d:<5} blocks win from a share of {share:.2f} on; used: {used:.2f}")
        sparse = [row["by row"] / row["by feature"] for row in rows]
        print(
            f"d={d:<5} row by row takes {min(sparse):.2f} to {max(sparse):.2f} times as long as "
            f"feature by feature; used: row by row up to d = {products.CACHED}"
        )
        results.append({"d": d, "shares": SHARES, "microseconds": rows, "crossing": share})
    names = ("SHARE", "OVERHEAD", "CACHED", "FEW")
    write("products", {**{name: getattr(products, name) for name in names}, "measured": results})


if __name__ == "__main__":
    main()
