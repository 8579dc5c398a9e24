"""Selection: the truth is found, thresholds that are too small are raised, candidates ranked."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.learners.blocks.dantzig.selection import (
    DEFAULT_THRESHOLDS,
    MAX_SCALE,
    MIN_RESIDUAL_VARIANCE,
    StandardizedModel,
    Thresholds,
    candidates,
    fitted,
    program,
    residual_variance,
    select,
)
from keyhole.learners.blocks.sums.correlations import Correlations, correlations, standard_errors
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.problem import Floats

D, K = 40, 3
NOTHING = StandardizedModel(np.empty(0, dtype=np.int64), np.empty(0))


def learnt(n: int, seed: int, read: int = 12) -> tuple[SeenSums, Correlations, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    w = np.zeros(D)
    w[rng.choice(D, K, replace=False)] = [0.6, -0.5, 0.5]
    y = X @ w + 0.1 * rng.standard_normal(n)
    sums = SeenSums(D)
    for x, label in zip(X, y, strict=True):
        S = np.sort(rng.choice(D, read, replace=False))
        sums.add(S, x[S], float(label))
    return sums, correlations(sums), w


@pytest.mark.parametrize("seed", range(5))
def test_the_truth_is_found(seed: int) -> None:
    sums, found, w = learnt(1500, seed)
    chosen = select(sums, found, NOTHING, K, DEFAULT_THRESHOLDS)
    for _ in range(3):  # each with the errors of the model before
        chosen = select(sums, found, chosen.model, K, DEFAULT_THRESHOLDS, start=chosen.answer.basis)
    assert chosen.model.support.tolist() == np.flatnonzero(w).tolist()
    truth = w[chosen.model.support] / (found.inverse[chosen.model.support] * found.scale_y)
    np.testing.assert_allclose(chosen.model.w, truth, atol=0.15)
    assert chosen.residual < 0.2
    kept = select(sums, found, chosen.model, K, DEFAULT_THRESHOLDS, refit=False)
    assert (np.abs(kept.model.w) < np.abs(chosen.model.w)).all(), "the program shrinks"


def test_a_dense_answer_raises_the_threshold() -> None:
    sums, found, _ = learnt(100, 1)
    errors = standard_errors(sums, found, NOTHING.support, NOTHING.w, 1.0)
    dense, scale = program(found, 0.2 * errors, K, Thresholds(most=float(D)))
    assert dense.nonzeros > 2 * K
    assert scale == 1.0
    sparse, scale = program(found, 0.2 * errors, K, DEFAULT_THRESHOLDS)
    assert sparse.status == "optimal"
    assert sparse.nonzeros <= 2 * K
    assert scale > 1.0
    _, scale = program(found, 1e-9 * errors, K, DEFAULT_THRESHOLDS)
    assert scale <= MAX_SCALE < 1.25 * scale


def test_candidates_are_the_largest_that_are_left() -> None:
    sums, found, w = learnt(1500, 2)
    truth = np.flatnonzero(w)
    model = fitted(sums, found, truth[:2])
    residual = residual_variance(found, model)
    errors = standard_errors(sums, found, model.support, model.w, residual)
    best = candidates(found, errors, model, 5)
    assert best[0] == truth[2]
    assert len(set(best.tolist()) - set(truth[:2].tolist())) == 5
    assert len(candidates(found, errors, model, 0)) == 0
    errors[truth[2]] = np.inf
    assert truth[2] not in candidates(found, errors, model, 5)


def test_what_is_left_stays_between_its_bounds() -> None:
    _, found, w = learnt(1500, 3)
    S = np.flatnonzero(w)
    assert residual_variance(found, NOTHING) == 1.0
    assert residual_variance(found, StandardizedModel(S, np.full(3, 100.0))) == 1.0
    good = StandardizedModel(S, w[S] / (found.inverse[S] * found.scale_y))
    assert MIN_RESIDUAL_VARIANCE <= residual_variance(found, good) < 0.2
    assert residual_variance(found, good, least=0.7) == 0.7


def test_no_features_make_no_model() -> None:
    sums, found, _ = learnt(50, 4)
    assert len(fitted(sums, found, NOTHING.support).w) == 0
