"""What AutoLearner says of shapes: a model of them, contributions to a prediction, curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.learners.auto_saving import past_of
from keyhole.learners.blocks.auto import engine
from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.chain import chain_words
from keyhole.learners.blocks.auto.contributions import (
    Contributions,
    Predict,
    contributions,
    rows_before,
)
from keyhole.learners.blocks.auto.curves import Curves, found_curves
from keyhole.learners.blocks.auto.explanation import WORTH_SAYING
from keyhole.learners.blocks.auto.joint_fit import best_fit
from keyhole.learners.blocks.auto.shape_model import shape_model, told_rows
from keyhole.learners.blocks.auto.spending import counts
from keyhole.learners.blocks.auto.state import KEPT
from keyhole.problem import DataError, Floats, Indices, Observation, ProblemError
from keyhole.problem.labels import cut_off_largest
from keyhole.problem.shape_model import ShapeModel

if TYPE_CHECKING:
    from keyhole.learners.auto import AutoLearner


def shape_model_of(learner: AutoLearner) -> ShapeModel:
    """`model(shapes=True)`; a ProblemError where there are no shapes."""
    if not learner.shapes:
        raise ProblemError(
            "model(shapes=True) needs a learner with shapes, this one was made with "
            f"proper={learner.proper}, shapes=False: use model(), or make it without these"
        )

    def refit(features: Indices) -> tuple[Floats, float]:
        return best_fit(learner._settings, learner._state, features)[:2]

    def fits(features: Indices) -> bool:
        return _may_have(learner, features)

    linear = learner._best_fit()[:2]
    with np.errstate(all="ignore"):
        return shape_model(learner._auto, linear, refit, fits, learner._name, learner._settings.k)


def _may_have(learner: AutoLearner, features: Indices) -> bool:
    """Whether `model` may have these features; see there."""
    problem, k = learner.problem, learner._settings.k
    prices = problem.prices
    if prices is None or counts(problem, learner.worth, learner.purse):
        return len(features) <= k
    most = prices.columns_within(k)
    if most:
        return len({item for j in features.tolist() for item in prices.needs[j]}) <= most
    return len(features) <= k and problem.affords(features)


def contributions_of(learner: AutoLearner, seen: Observation) -> Contributions:
    """`explain(seen)`."""
    if not isinstance(seen, Observation):
        raise DataError(f"explain takes what ticket.fill(...) returns, got a {type(seen).__name__}")
    ticket = learner._desk.issued(seen.ticket)
    features = np.array(ticket.features)
    names = tuple(map(learner._name, features.tolist()))
    before = rows_before(told_rows(learner._auto, features).X)
    batch, past = learner._entry(ticket).content, past_of(ticket)
    predict = _predictor(learner, batch, past)
    with np.errstate(all="ignore"):
        key = [learner.seed, ticket.round]
        return contributions(predict, np.array(seen.values), names, before, key)


def curves_of(learner: AutoLearner) -> Curves | None:
    """`curves()`."""
    if not learner.shapes:
        return None
    saves, current = chain_words(learner._chain).shapes_save, learner._batches.current
    if current is None or saves < WORTH_SAYING:
        return Curves((), (), saves, 0)
    batch = current.content
    rows = told_rows(learner._auto, batch.S)
    kept = np.flatnonzero(batch.why == KEPT).tolist()
    names = {a: learner._name(int(batch.S[a])) for a in kept}
    with np.errstate(all="ignore"):
        predict = _predictor(learner, batch, np.empty(0))
        return found_curves(predict, names, rows.X, rows.y, saves)


def _predictor(learner: AutoLearner, batch: Batch, past: Floats) -> Predict:
    """What the learner predicts now for values of what this batch reads."""

    def predict(row: Floats) -> float:
        return cut_off_largest(engine.predict_row(learner._auto, batch, row, past))

    return predict
