"""Sums of weights times values, and the lasso in units that are not 1."""

import numpy as np
import pytest

from keyhole.blocks.fit.lasso import descend, lasso
from keyhole.blocks.fit.linear import predict_seen, weigh


def test_a_prediction_is_the_sum_with_means_for_what_is_absent() -> None:
    w, means = np.array([2.0, -1.0, 0.5]), np.array([10.0, 20.0, 30.0])
    assert weigh(w, means, np.array([1.0, 2.0, 4.0])) == 2.0
    assert weigh(w, means, np.array([1.0, np.nan, np.nan])) == 2.0 - 20.0 + 15.0
    assert weigh(w[:0], means[:0], np.empty(0)) == 0.0
    features, support = np.array([1, 3, 4, 7]), np.array([3, 7])
    values = np.array([100.0, 5.0, 100.0, np.nan])
    assert predict_seen(features, values, support, w[:2], means[:2]) == 10.0 - 20.0
    assert predict_seen(features, values, np.array([1, 3]), w[:2], means[:2]) == 200.0 - 5.0


@pytest.mark.parametrize("seed", range(5))
def test_the_lasso_is_accepted_by_its_optimality_conditions(seed: int) -> None:
    """c - R w = penalty sign(w) where w is not 0, and within +-penalty elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 6)) * [0.3, 1.0, 3.0, 0.5, 2.0, 1.0]
    y = X[:, 0] - X[:, 2] + rng.standard_normal(40)
    R, c = X.T @ X / 40, X.T @ y / 40 / float(np.sqrt(np.mean(y**2)))  # the label has square 1
    R[5], R[:, 5], c[5] = 0.0, 0.0, 0.0  # a constant column
    w = lasso(R, c, 0.1)
    left = c - R @ w
    np.testing.assert_allclose(left[w != 0.0], 0.1 * np.sign(w[w != 0.0]), atol=1e-6)
    assert np.abs(left).max() <= 0.1 + 1e-6
    assert w[5] == 0.0
    assert (w != 0.0).any()
    # One coordinate by hand: (|c| - penalty) / R.
    for sign in (1.0, -1.0):
        v = np.zeros(1)
        descend(np.array([[4.0]]), np.array([3.0 * sign]), 1.0, v, 1e-12, 50)
        assert v[0] == pytest.approx(0.5 * sign)
