"""Logistic regression as people use it on a stream: fitted anew to the past now and then."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from keyhole.problem import Floats, Indices

FIRST, GROWTH = 20, 1.5  # rounds before the first fit; then at so many times as many
SUREST = 1e-4  # probabilities are cut off here, as no fit to a thousand rows is surer


def _units(X: Floats) -> tuple[Floats, Floats]:
    scale = X.std(axis=0)
    return X.mean(axis=0), np.where(scale > 0, scale, 1.0)


def prequential(X: Floats, y: Floats) -> Floats:
    """Probabilities before each label: all columns, L2 penalty 1 in standardised units.

    Fitted to all rows before, after 20 rows and whenever there are half as many again. Before the
    first fit, and as long as all labels are alike, it is the share of yes so far.
    """
    n = np.arange(len(y))
    found: Floats = (np.cumsum(y) - y + 0.5) / (n + 1.0)
    start = FIRST
    while start < len(y):
        stop = min(len(y), int(start * GROWTH) + 1)
        if 0.0 < y[:start].mean() < 1.0:
            centre, scale = _units(X[:start])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # 200 steps are enough to predict by
                model = LogisticRegression(C=1.0, max_iter=200)
                model.fit((X[:start] - centre) / scale, y[:start])
            part = model.predict_proba((X[start:stop] - centre) / scale)[:, 1]
            found[start:stop] = np.clip(part, SUREST, 1.0 - SUREST)
        start = stop
    return found


def screened(X: Floats, y: Floats, k: int) -> Indices:
    """The k columns most correlated with the label."""
    centre, scale = _units(X)
    strength = np.abs((X - centre).T @ (y - y.mean())) / scale
    return np.sort(np.argsort(-strength, kind="stable")[:k])
