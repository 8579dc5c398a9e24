"""Sums of weights times values."""

import numpy as np

from keyhole.learners.blocks.fit.linear_algebra import predict_seen, weigh


def test_a_prediction_is_the_sum_with_means_for_what_is_absent() -> None:
    w, means = np.array([2.0, -1.0, 0.5]), np.array([10.0, 20.0, 30.0])
    assert weigh(w, means, np.array([1.0, 2.0, 4.0])) == 2.0
    assert weigh(w, means, np.array([1.0, np.nan, np.nan])) == 2.0 - 20.0 + 15.0
    assert weigh(w[:0], means[:0], np.empty(0)) == 0.0
    features, support = np.array([1, 3, 4, 7]), np.array([3, 7])
    values = np.array([100.0, 5.0, 100.0, np.nan])
    assert predict_seen(features, values, support, w[:2], means[:2]) == 10.0 - 20.0
    assert predict_seen(features, values, np.array([1, 3]), w[:2], means[:2]) == 200.0 - 5.0
