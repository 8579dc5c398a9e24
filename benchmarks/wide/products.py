"""Real data made wide: AutoLearner reads 32 of 9,306 products and powers, lasso reads them all."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import keyhole as kh
from benchmarks.common import Row
from benchmarks.common.peers import optional
from benchmarks.common.products import wide_supercon
from benchmarks.wide.parts import BUDGET
from keyhole.problem import Floats

PENALTIES, SMALLEST = 12, 0.003  # that are tried, and the smallest over the largest
SWEEPS = 50  # of coordinate descent for each: products are nearly collinear, and it is slow
ROWS = 512  # written out at once
FITTED = 0.8  # of the first half; the rest of it chooses the penalty


def run_products(file: Path, seed: int, k: int) -> Row:
    """Mean squared errors over the last half of the rows, in variances of the label there.

    Lasso is fitted to all features of the first half, a fifth of which chooses the penalty; it does
    not learn from the last half, and AutoLearner does, from what it reads.
    """
    stream = wide_supercon(file.parent, seed)
    n, half = len(stream.y), len(stream.y) // 2
    variance = float(stream.y[half:].var())
    learner, begun = kh.AutoLearner(kh.Problem(stream.d, k, BUDGET), seed=seed), time.process_time()
    errors = np.concatenate([learner.advance(X, y) - y for X, y in stream.blocks(ROWS)])
    row: Row = {"seed": seed, "k": k, "n": n, "d": stream.d}
    row["auto"] = float((errors[half:] ** 2).mean()) / variance
    row["seconds auto"] = time.process_time() - begun
    if optional("sklearn.linear_model") is None:
        return row
    Z = np.empty((n, stream.d), dtype=np.float32, order="F")  # twice as much would be 0.9 GB
    for start, (X, _) in zip(range(0, n, ROWS), stream.blocks(ROWS), strict=True):
        Z[start : start + ROWS] = X
    begun = time.process_time()
    for most, (error, weights) in lasso(Z, stream.y, half, (stream.d, BUDGET)).items():
        row |= {f"lasso {most}": error / variance, f"weights {most}": weights}
    return row | {"seconds lasso": time.process_time() - begun}


def lasso(
    Z: NDArray[np.float32], y: Floats, half: int, sizes: tuple[int, ...]
) -> dict[int, tuple[float, int]]:
    """Of lasso with at most so many weights, the error over the rows after `half`, and how many.

    Z is standardised in place, by the rows that it is fitted to.
    """
    models = optional("sklearn.linear_model")
    fitted = int(FITTED * half)
    Z -= Z[:fitted].mean(axis=0)
    Z /= np.maximum(Z[:fitted].std(axis=0), 1e-6)
    target = (y - y[:fitted].mean()).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged: seen in the error, if it matters
        _, weights, _ = models.lasso_path(
            Z[:fitted], target[:fitted], eps=SMALLEST, n_alphas=PENALTIES, max_iter=SWEEPS
        )
    counts = np.count_nonzero(weights, axis=0)
    missed = ((Z[fitted:half] @ weights - target[fitted:half, None]) ** 2).mean(axis=0)
    found = {}
    for most in sizes:
        best = int(np.where(counts <= most, missed, np.inf).argmin())
        late = (Z[half:] @ weights[:, best] - target[half:]) ** 2
        found[most] = float(late.mean()), int(counts[best])
    return found
