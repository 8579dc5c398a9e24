"""Small pieces of the practical Algorithm 1, worked out by hand."""

import math

import numpy as np
import pytest

from keyhole.learners.blocks.dantzig.selection import StandardizedModel, candidates
from keyhole.learners.blocks.sums import correlations as shrinkage
from keyhole.learners.blocks.sums.correlations import correlations
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.problem import Floats


def test_what_is_kept_of_a_correlation() -> None:
    rows, r = np.array([0.0, 10.0, 10.0]), np.array([0.9, 0.9, 0.1])
    # Never seen together; 10 * 0.81 > 4 speaks for itself; the rest is shrunk.
    share = shrinkage.kept_share(0.5, np.full(3, 100.0), rows, r, 4.0)
    assert share.tolist() == pytest.approx([0.0, 1.0, 0.51 / 0.6])
    # 4 is not above 4; the share is 1 all the same
    equal = shrinkage.kept_share(0.0, np.array([100.0]), np.array([100.0]), np.array([0.2]), 4.0)
    assert equal.tolist() == [1.0]


def sums_of(X: Floats, y: Floats) -> SeenSums:
    sums = SeenSums(X.shape[1])
    for x, label in zip(X, y.tolist(), strict=True):
        sums.add(np.flatnonzero(~np.isnan(x)), x[~np.isnan(x)], label)
    return sums


def test_available_case_correlations_and_their_excess() -> None:
    """Each pair from the rows that have both, around the means of all rows that have one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) @ (np.eye(4) + 0.5) + 2.0
    X[rng.random(X.shape) < 0.4] = np.nan
    X[:, 3] = np.nan  # never read
    sums = sums_of(X, X[:, 0])
    centre, inverse = np.nan_to_num(np.nanmean(X[:, :3], axis=0)), 1 / np.nanstd(X[:, :3], axis=0)
    centre, inverse = np.append(centre, 0.0), np.append(inverse, 0.0)
    R, tau2 = shrinkage.raw_correlations(sums, centre, inverse)
    counts, expected = np.zeros((4, 4)), np.eye(4)
    for i in range(3):
        for j in range(3):
            both = ~np.isnan(X[:, i] + X[:, j])
            counts[i, j] = both.sum()
            if i != j:
                cross = (X[both, i] - centre[i]) * (X[both, j] - centre[j])
                expected[i, j] = cross.mean() * inverse[i] * inverse[j]
    np.testing.assert_allclose(R, expected, atol=1e-12)
    N, r = counts[np.triu_indices(3, 1)], expected[:3, :3][np.triu_indices(3, 1)]
    share = np.minimum(N, N.mean())
    excess = float((share * (r**2 - 1 / N)).sum() / share.sum())
    assert tau2 == pytest.approx(max(excess, 0.0))
    R, tau2 = shrinkage.raw_correlations(SeenSums(4), centre, inverse)  # nothing is known
    assert tau2 == 0.0
    np.testing.assert_array_equal(R, np.eye(4))


def test_candidates_are_those_that_the_model_leaves_most_of() -> None:
    """|c - R w| in standard errors: R_j0 w_0 = c_j explains feature 2 and not feature 1."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(400)
    X = np.column_stack([x, -x, x, rng.standard_normal((400, 2))])
    X += 0.3 * rng.standard_normal(X.shape)
    y = x + 0.5 * X[:, 3]
    found = correlations(sums_of(X, y))
    model = StandardizedModel(np.array([0]), np.array([0.8]))
    errors = np.array([1.0, 1.0, 2.0, 1.0, math.inf])
    left = np.abs(found.c - found.R[:, 0] * 0.8) / errors
    left[0] = -1.0  # in the model
    left[4] = 0.0  # of unknown error
    order = np.argsort(-left, kind="stable")
    for n in range(5):
        assert candidates(found, errors, model, n).tolist() == order[:n].tolist()
