"""The linear model of a learner, looked at now and then, and how its scores become probabilities.

A learner may predict by more than its linear model, and scores of that model are then on another
scale than its predictions. Whoever has the model only, as `keyhole predict` does, needs
probabilities of those scores: so they have a calibrator of their own.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import LARGEST, SMALLEST
from keyhole.learners.calibrator import ROUNDS, Forecasters
from keyhole.problem import Floats, Indices, Learner, Observation
from keyhole.problem.fields import Features, Holds
from keyhole.problem.sparse_model import sparse_model

EVERY = 256  # labels between two looks at the model; at first at powers of two
ENOUGH = 50  # scores from which on their calibrator is believed


class LinearModel(NamedTuple):
    """A linear model as it was at some round."""

    support: Features
    weights: Annotated[Floats, Holds(shape=("support",))]
    intercept: Annotated[Floats, Holds(shape=(1,))]


def no_model() -> LinearModel:
    """The model that predicts 0."""
    return LinearModel(np.empty(0, dtype=np.int64), np.empty(0), np.zeros(1))


def model_of(learner: Learner) -> LinearModel:
    """The model of a learner as it is now."""
    model = sparse_model(learner)
    order = np.argsort(model.features)
    support: Indices = model.features[order].astype(np.int64)
    return LinearModel(
        support, model.weights[order].astype(np.float64), np.array([model.intercept])
    )


def next_look(told: int) -> int:
    """After how many labels the model is looked at next, if there are so many now.

    >>> [next_look(told) for told in (0, 1, 2, 5, 128, 255, 256, 300)]
    [1, 2, 4, 8, 256, 256, 512, 512]
    """
    return 1 << told.bit_length() if told < EVERY else (told // EVERY + 1) * EVERY


def learn_one(state: Forecasters, model: LinearModel, seen: Observation, y: float) -> None:
    """Learn the label of the model's score, if all that the model needs was bought and came."""
    features = seen.ticket.features
    if len(features):
        places = np.searchsorted(features, model.support).clip(max=len(features) - 1)
        if not np.array_equal(features[places], model.support):
            return
    elif len(model.support):
        return
    else:
        places = np.empty(0, dtype=np.int64)
    _learn(state, model, np.array(seen.values)[np.newaxis, places], np.array([y]))


def learn_rows(
    state: Forecasters,
    model: LinearModel,
    X: NDArray[np.floating],
    y: Floats,
    bought: NDArray[np.int32],
) -> None:
    """As `learn_one`, for the rounds of a block; of X only what was bought is looked at."""
    have = np.ones(len(y), dtype=np.bool_)
    for j in model.support.tolist():
        have &= (bought == j).any(axis=1)
    rows = np.flatnonzero(have)
    values = X[np.ix_(rows, model.support)].astype(np.float64)
    values[np.abs(values) < SMALLEST] = 0.0  # as in an Observation
    _learn(state, model, values, y[rows])


def _learn(state: Forecasters, model: LinearModel, values: Floats, y: Floats) -> None:
    scores = np.full(len(y), model.intercept[0])
    with np.errstate(over="ignore", invalid="ignore"):
        for i, weight in enumerate(model.weights.tolist()):  # in this order, row by row or at once
            scores += weight * values[:, i]
    here = np.isfinite(scores)
    kept = np.clip(scores[here], -LARGEST, LARGEST)
    state.play(kept, y[here])


def believed(linear: Forecasters, whole: Forecasters) -> Forecasters:
    """The calibrator for scores of the linear model: its own, once that has seen enough."""
    return linear if linear.told[ROUNDS] >= ENOUGH else whole
