"""Real data made wide: AutoLearner reads 32 of 9,306 products and powers, lasso reads them all."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from benchmarks.common.peers import optional
from benchmarks.common.products import wide_supercon
from benchmarks.wide.parts import BUDGET
from keyhole.problem import Floats
from keyhole.streams import collect

PENALTIES, SMALLEST = 12, 0.003  # that are tried, and the smallest over the largest
SWEEPS = 50  # of coordinate descent for each: products are nearly collinear, and it is slow
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
    errors = np.concatenate([learner.advance(X, y) - y for X, y in stream.blocks(512)])
    row: Row = {"seed": seed, "k": k, "n": n, "d": stream.d}
    row["auto"] = float((errors[half:] ** 2).mean()) / variance
    row["seconds auto"] = time.process_time() - begun
    if optional("sklearn.linear_model") is None:
        return row
    X, y = np.asarray(collect(stream)[0], dtype=np.float64), stream.y
    begun = time.process_time()
    for most in (stream.d, BUDGET):
        row[f"lasso {most}"], row[f"weights {most}"] = lasso(X, y, half, most)
        row[f"lasso {most}"] /= variance
    return row | {"seconds lasso": time.process_time() - begun}


def lasso(X: Floats, y: Floats, half: int, most: int) -> tuple[float, int]:
    """The error of lasso with at most so many weights over the rows after `half`, and how many."""
    models = optional("sklearn.linear_model")
    fitted = int(FITTED * half)
    mean, scale, level = X[:fitted].mean(axis=0), X[:fitted].std(axis=0), float(y[:fitted].mean())
    scale[scale == 0.0] = 1.0
    Z = np.asfortranarray((X - mean) / scale, dtype=np.float32)
    target = (y - level).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged: seen in the error, if it matters
        _, weights, _ = models.lasso_path(
            Z[:fitted],
            target[:fitted],
            eps=SMALLEST,
            n_alphas=PENALTIES,
            max_iter=SWEEPS,
        )
    few = np.count_nonzero(weights, axis=0) <= most
    missed = (Z[fitted:half] @ weights - target[fitted:half, None]) ** 2
    best = int(np.where(few, missed.mean(axis=0), np.inf).argmin())
    late = (Z[half:] @ weights[:, best] - target[half:]) ** 2
    return float(late.mean()), int(np.count_nonzero(weights[:, best]))
