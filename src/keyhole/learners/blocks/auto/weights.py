"""The linear model that a mean of experts comes to, with the errors of its weights."""

from __future__ import annotations

import math

import numpy as np

from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.choose import leader
from keyhole.learners.blocks.auto.experts import LEADING, NO_MEMORY
from keyhole.learners.blocks.auto.state import LONGEST_MEMORY, ONLY, Settings, State
from keyhole.learners.blocks.auto.worth import joint_fit
from keyhole.problem import Floats


def linear(d: int, batch: Batch, share: Floats) -> tuple[Floats, float]:
    """Weights and intercept, in the user's units, of a mean of the experts of a batch."""
    weights, runs, b = np.zeros(d), batch.runs, len(batch.S)
    used = np.arange(b + 1) < runs.size[:, None]
    theta = share[:, None] * runs.theta
    by_place = np.bincount(runs.place[used], theta[used], b + 1)
    weights[batch.S] = by_place[:b]
    middle, unknown = float(batch.label[ONLY]), np.isnan(batch.centre)
    offset = float(by_place[:b] @ np.where(unknown, 0.0, batch.centre))
    return weights, (0.0 if math.isnan(middle) else middle) + float(by_place[b]) - offset


def weight_errors(s: Settings, state: State, batch: Batch, share: Floats) -> Floats:
    """The standard errors of the weights of `linear`, as estimates of the best weights.

    The best weights of an expert are those of least squares on its features, over all examples
    there could be; those of a mean of experts are the mean of theirs. An expert is off by two
    things. What it was taught varies: by the error of a joint fit of its features from the sums of
    its memory, which knows how often each was read (`blocks/auto/worth.py`). And it takes what was
    not read for 0, which is wrong where features go together, and has a ridge: how far its weights
    are from those of the joint fit is both, and chance. The squares of the two are added. Experts
    learn from the same rounds, so their errors are added as they are. In proper mode weights are
    taken less than once in all; what is missing comes to it.

    That features were selected by the same sums is not allowed for: see docs/algorithms/auto.md for
    what that was measured to be.
    """
    errors, taken, size = np.zeros(s.d), np.zeros(s.d), np.zeros(s.d)
    runs, b, lead = batch.runs, len(batch.S), leader(s.experts.judges, state.mixture.recent)
    for e, part in enumerate(share.tolist()):
        place, m = runs.place[e, : runs.size[e]], int(s.experts.memory[e])
        here = place < b
        V = batch.S[place[here]]
        if part == 0.0 or not len(V):
            continue
        m = {LEADING: lead, NO_MEMORY: LONGEST_MEMORY}.get(m, m)
        fit = joint_fit(state.kept, m, V, state.peaks, 0.0)
        theta = runs.theta[e, : runs.size[e]][here]
        errors[V] += part * np.hypot(fit.errors, theta - fit.weights)
        taken[V] += part
        size[V] += part * np.abs(theta)
    if s.proper:
        errors += np.maximum(1.0 - taken, 0.0) * size / np.where(taken > 0.0, taken, 1.0)
    return errors


def model_shares(state: State) -> Floats | None:
    """The share of the rounds in which each feature was in the model; None if none was counted."""
    rounds = int(state.played[-1])
    return state.played[:-1] / rounds if rounds else None
