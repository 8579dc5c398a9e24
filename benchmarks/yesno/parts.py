"""What `benchmarks.yesno` measures: scores of probabilities, and the regret of calibration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn import datasets  # type: ignore[import-untyped]

import keyhole as kh
from benchmarks.auto.rivals import rows_of_file
from benchmarks.common import Row
from benchmarks.yesno import rivals
from keyhole.problem import Floats
from keyhole.streams import ArrayStream

TENTH = 10  # screening looks at one of so many rows, in full
SEARCH = 10.0  # seconds for the best k features in hindsight
RAW = 1e-3  # where a score that is not calibrated is cut off
SHIPPED = {"breast_cancer": (4, 8), "digits_3v5": (8, 16)}  # k, budget
FILES = {"thyroid_cost": (3, 6), "mnist_3v5": (8, 64)}


def rows_of(source: Path | str) -> tuple[Floats, Floats]:
    """All rows of a file, or of a set that comes with scikit-learn; labels are 0 and 1."""
    if isinstance(source, Path):
        X, y = rows_of_file(source, False)
        return np.asarray(X, dtype=np.float64), (y > 0).astype(np.float64)
    if source == "breast_cancer":
        X, y = datasets.load_breast_cancer(return_X_y=True)
        return X, (y == 0).astype(np.float64)  # 1: malignant
    X, y = datasets.load_digits(return_X_y=True)
    here = (y == 3) | (y == 5)
    return X[here], (y[here] == 3).astype(np.float64)


def run(source: Path | str, k: int, budget: int, seed: int, most: int) -> Row:
    """Log loss, Brier score and AUC of all, in one order of the rows."""
    X, y = rows_of(source)
    order = np.random.default_rng(seed).permutation(len(y))[:most]
    X, y = np.ascontiguousarray(X[order]), y[order]
    d = X.shape[1]
    ours = kh.YesNoLearner(kh.AutoLearner(kh.Problem(d, k, budget), seed=seed))
    alone = kh.AutoLearner(kh.Problem(d, k, budget), seed=seed).advance(X, y)
    old = len(y) // TENTH
    best = kh.hindsight(ArrayStream(X, y), k, intercept=True, seconds=SEARCH).support
    few, same = (rivals.screened(X[:old], y[:old], many) for many in (k, budget))
    found = {
        "keyhole": ours.advance(X, y),
        "its score, cut off": np.clip(alone, RAW, 1 - RAW),
        "logistic, k screened": rivals.prequential(X[:, few], y),
        "logistic, k in hindsight": rivals.prequential(X[:, best], y),
        "logistic, budget screened": rivals.prequential(X[:, same], y),
        "logistic, all": rivals.prequential(X, y),
    }
    name = source.stem if isinstance(source, Path) else source
    row: Row = {"source": name, "seed": seed, "rounds": len(y), "d": d, "k": k, "budget": budget}
    for way, p in found.items():
        scores = kh.ProbabilityScores()
        scores.add(y, p)
        auc = scores.auc
        row |= {f"{way}: log loss": scores.log_loss, f"{way}: Brier": scores.brier}
        row[f"{way}: AUC"] = (auc.low + auc.high) / 2
    row["share of yes: log loss"] = scores.base_log_loss
    row["share of yes: Brier"] = scores.base_brier
    row["share of yes: AUC"] = 0.5
    told = ours.calibration()
    return row | {"regret": told.regret, "bound": told.bound, "best": told.best}
