"""What AutoLearner says of shapes: a model that has them, contributions to a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyhole.learners.auto_saving import past_of
from keyhole.learners.blocks.auto.contributions import Contributions, contributions
from keyhole.learners.blocks.auto.curves import predictor, rows_before
from keyhole.learners.blocks.auto.joint_fit import best_fit
from keyhole.learners.blocks.auto.shape_model import shape_model, told_rows
from keyhole.learners.blocks.auto.spending import counts
from keyhole.problem import Floats, Indices, Observation, ProblemError
from keyhole.problem.shape_model import ShapeModel
from keyhole.problem.ticket import refuse_unfilled

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
    refuse_unfilled("explain", seen)
    ticket = learner._desk.issued(seen.ticket)
    features = np.array(ticket.features)
    names = tuple(map(learner._name, features.tolist()))
    before = rows_before(told_rows(learner._auto, features).X)
    batch, past = learner._entry(ticket).content, past_of(ticket)
    whole, at = predictor(learner._auto, batch, past), np.searchsorted(batch.S, features)

    def predict(values: Floats) -> float:
        row = np.full(len(batch.S), np.nan)  # of an example that stops early, the rest is absent
        row[at] = values
        return whole(row)

    with np.errstate(all="ignore"):
        key = [learner.seed, ticket.round]
        return contributions(predict, np.array(seen.values), names, before, key)
