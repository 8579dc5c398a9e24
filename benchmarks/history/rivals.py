"""What people do with a file of old examples today: choose features once, and keep them."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor  # type: ignore[import-untyped]
from sklearn.linear_model import (  # type: ignore[import-untyped]
    OrthogonalMatchingPursuit,
    lars_path,
)

import keyhole as kh
from keyhole.problem import Floats, Indices
from keyhole.streams import ArrayStream


def _units(X: Floats) -> tuple[Floats, Floats]:
    """Centre and scale of columns; a column that does not vary has an infinite scale."""
    scale = X.std(axis=0)
    return X.mean(axis=0), np.where(scale > 1e-9 * np.abs(X).max(axis=0), scale, np.inf)


def omp_features(X: Floats, y: Floats, most: int) -> Indices:
    """The features of orthogonal matching pursuit on standardised columns."""
    centre, scale = _units(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that depend on each other end it early
        found = OrthogonalMatchingPursuit(n_nonzero_coefs=most).fit((X - centre) / scale, y)
    return np.flatnonzero(found.coef_)


def omp_fixed(X: Floats, y: Floats, rest: Floats, most: int) -> Floats:
    """Predictions of least squares on those features, fitted to the history and left at that."""
    S = omp_features(X, y, most)
    A = np.column_stack([X[:, S], np.ones(len(y))])
    w = np.linalg.lstsq(A, y, rcond=None)[0]
    fixed: Floats = rest[:, S] @ w[:-1] + w[-1]
    return fixed


def omp_vaw(X: Floats, y: Floats, rest: Floats, labels: Floats, most: int) -> Floats:
    """Predictions of a VAW on those features that goes on learning from every label."""
    problem = kh.Problem(X.shape[1], most, most)
    learner = kh.FixedSubset(problem, support=omp_features(X, y, most), clip=True)
    learner.study(ArrayStream(X, y))
    return learner.advance(rest, labels)


def lasso(X: Floats, y: Floats, rest: Floats, most: int) -> Floats:
    """Predictions of the least penalised lasso of the history with at most `most` features."""
    centre, scale = _units(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, _, path = lars_path(
            (X - centre) / scale, y - y.mean(), method="lasso", max_iter=4 * most
        )
    few = np.flatnonzero((np.abs(path) > 0).sum(axis=0) <= most)[-1]
    predicted: Floats = (rest - centre) / scale @ path[:, few] + y.mean()
    return predicted


def boosted(X: Floats, y: Floats, rest: Floats) -> Floats:
    """Predictions of boosted trees that read everything: what could be known at all."""
    trees = GradientBoostingRegressor(
        n_estimators=150, learning_rate=0.05, subsample=0.5, max_features=0.3, random_state=0
    )
    predicted: Floats = trees.fit(X, y).predict(rest)
    return predicted
