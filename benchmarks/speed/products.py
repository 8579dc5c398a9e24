"""Adding up x x^T and pair counts of partially seen rows: which way, from which share seen on.

`Moments` chooses between going row by row, feature by feature, and by blocks with zeros where
nothing was seen; all three give the same bits. Beside it NumPy's product of the same blocks and
masks (BLAS, as many threads as it likes), which would give other bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import Row
from benchmarks.common.timing import best_in_turns, random_sets
from keyhole.learners.blocks.sums import moments as products
from keyhole.learners.blocks.sums.moments import Gathered, Rows
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
    """Microseconds per row of each way."""
    size = max(1, round(share * d))
    rows = max(64, min(ROWS, (1 << 18) // size))
    rng = np.random.default_rng(0)
    sets = random_sets(d, size, rows, seed=1)
    x = rng.standard_normal((rows, size))
    X, seen = np.zeros((rows, d)), np.zeros((rows, d), dtype=np.float32)
    np.put_along_axis(X, sets, x, axis=1)
    np.put_along_axis(seen, sets, 1.0, axis=1)
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(size)
    flat = Rows(offsets, sets.ravel().astype(np.int32), x.ravel(), np.zeros(rows))
    triangle = d * (d + 1) // 2
    sums = products.PairSums(d, np.zeros(triangle), np.zeros(triangle, dtype=np.int64))
    order = np.empty((2, rows * size), dtype=np.int32)
    room = Gathered(np.empty(d + 1, dtype=np.int32), order)
    full = np.zeros((d, d)), np.zeros((d, d), dtype=np.float32)
    ways: dict[str, Callable[[], None]] = {
        "by row": partial(products.by_row, flat, 0, rows, sums),
        "by feature": partial(products.by_feature, flat, 0, rows, sums, room),
        "as block": partial(products.as_block, flat, 0, rows, sums),
        "BLAS": partial(blas, X, seen, *full),
    }
    best_in_turns(ways, 1)  # compiles
    return {name: 1e6 * best / rows for name, best in best_in_turns(ways, REPEATS).items()}


def run_products(d: int) -> Row:
    """All shares."""
    return {"d": d, "microseconds": [measure(d, share) for share in SHARES]}
