"""Conformance at extremes: learners where values and labels are huge, tiny, or far from 0."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from keyhole.errors import LARGEST
from keyhole.game import play, rounds
from keyhole.problem import Floats, Learner, plays_blocks
from keyhole.streams.arrays import ArrayStream
from keyhole.testing.helpers import LearnerMaker, RowsOnly, make, require

EXTREME_SHAPE = (8, 2, 5)  # d, k, budget
EXTREME_ROUNDS = 30


def _plain() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (EXTREME_ROUNDS, EXTREME_SHAPE[0]))
    y = X[:, 1] - 0.5 * X[:, 3] + 0.1 * rng.standard_normal(EXTREME_ROUNDS)
    return X, np.clip(y, -1.0, 1.0)


def extreme_streams() -> Iterator[tuple[str, Floats, Floats]]:
    """Values, labels or both of sizes from 1e-310 to 1e150, everywhere or in a few places."""
    X, y = _plain()
    rng = np.random.default_rng(1)
    for size in (1e-310, 1e-156, 1e-149, 1e80, 0.9e150):
        yield f"values of {size:g}", X * size, y
        yield f"labels of {size:g}", X, y * size
    for size in (1e-160, 1e-100, 0.9e150):
        yield f"values and labels of {size:g}", X * size, y * size
    yield "values of 1e-158, labels of 1e-310", X * 1e-158, y * 1e-310
    one, some = np.ones((2, EXTREME_ROUNDS, 1))
    column, label = np.ones(EXTREME_SHAPE[0]), y.copy()
    one[20], some[15::7], column[1], label[20] = 1e150, 1e100, 1e60, 1e150
    yield "one row of 1e150", X * one, y
    yield "some rows of 1e100", X * some, y
    yield "a column of 1e60", X * column, y
    yield "a label of 1e150", X, label
    yield "tiny rows and one of 1e150", X * np.where(one > 1.0, 1e150, 1e-148), y
    yield "huge rows and one of 1e-148", X * np.where(one > 1.0, 1e-148, 1e148), y
    mixed = X * 10.0 ** rng.integers(-160, 150, X.shape)
    labels = y * 10.0 ** rng.integers(-300, 149, EXTREME_ROUNDS)
    yield "values and labels of all sizes", mixed, labels
    yield "columns of all sizes", X * 10.0 ** rng.integers(-160, 150, EXTREME_SHAPE[0]), y
    mixed[rng.random(X.shape) < 0.4] = np.nan
    yield "values of all sizes, some absent", mixed, y


def copes_with_any_scale(factory: LearnerMaker) -> None:
    """Values and labels of any size up to 1e150: predictions and weights stay finite; no warning.

    Blocks, if there are any, are played as single rounds are.
    """
    for about, X, y in extreme_streams():
        learner, twin = make(factory, EXTREME_SHAPE), make(factory, EXTREME_SHAPE)
        predictions = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for played in rounds(learner, ArrayStream(X, y)):
                predictions.append(played.y_hat)
                _stays_finite(learner, about)
            within = all(abs(y_hat) <= LARGEST for y_hat in predictions)  # False for NaN, too
            require(within, f"predictions are numbers up to 1e150, {about}: {predictions}")
            if plays_blocks(twin):
                same = np.array_equal(twin.advance(X, y), predictions)
                require(same, f"blocks are played as single rounds are, {about}")
                _stays_finite(twin, about)


def _stays_finite(learner: Learner, about: str) -> None:
    finite = bool(np.isfinite(learner.weights).all()) and math.isfinite(learner.intercept)
    require(finite, f"weights and intercept are finite, {about}, round {learner.round}")


def stays_within_the_labels(factory: LearnerMaker) -> None:
    """No prediction is below the lowest or above the highest label so far (0 before the first)."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (100, 12))
    y = X[:, 2] - 0.5 * X[:, 5] + 0.1 * rng.standard_normal(100)
    outlier = X.copy()
    outlier[35] = 1e30
    attacks: list[tuple[str, Any, Any]] = [
        ("labels that are all 7", X, np.full(100, 7.0)),
        ("labels near 1e12", X, 1e12 + y),
        ("one row of 1e30", outlier, y),
    ]
    for about, rows, labels in attacks:
        low = np.array([min(labels[:t], default=0.0) for t in range(100)])
        high = np.array([max(labels[:t], default=0.0) for t in range(100)])
        slack = 1e-9 * np.maximum(np.abs(low), np.abs(high))  # a mean is computed with rounding
        for stream in (ArrayStream(rows, labels), RowsOnly(ArrayStream(rows, labels))):
            found = play(make(factory), stream).predictions
            off = np.flatnonzero((found < low - slack) | (found > high + slack))
            t = int(off[0]) if len(off) else 0
            require(
                not len(off),
                f"predictions stay within the labels so far, {about}: round {t + 1} predicts "
                f"{found[t]:g}, the labels were from {low[t]:g} to {high[t]:g}",
            )
