"""Labels from linear measurements: the weights are what the generator says."""

import math

import numpy as np
import pytest

from keyhole.problem import Floats, ProblemError
from keyhole.streams import collect, linear_measurements
from keyhole.streams.simulate import CHUNK
from keyhole.streams.synthetic import measured_weights


def test_labels_follow_the_truth() -> None:
    stream, truth = linear_measurements(20, 8, 4 * CHUNK, seed=1)
    X, y = collect(stream)
    assert X.shape == (4 * CHUNK, 20)
    noise = y - X @ truth.weights
    # 4,096 standard Gaussian values: mean within 6/64, mean square by Laurent and Massart, 5e-7.
    margin = 2 * math.sqrt(15.2 / 4096) + 2 * 15.2 / 4096
    assert abs(noise.mean()) < 6 / 64
    assert abs((noise**2).mean() - 1.0) < margin
    assert abs((X[:, 0] ** 2).mean() - 1.0) < margin
    assert np.abs(X).max() > 3.0  # not cut off


def check_size(w: Floats, k: int, m: int) -> None:
    """|w|^2 / d is near k/m."""
    # w_j = a_j.u; over A each w_j^2 has mean |u|^2/m, and |u|^2 is chi-square with k = 400: within
    # a factor 1 +- (2 sqrt(15.2/400) + 2 * 15.2/400) = 1 +- 0.47 (5e-7). d = 500 rows add a
    # relative error of at most 6 sqrt(2/500) = 0.38.
    assert abs((w @ w) / len(w) / (k / m) - 1.0) < 0.47 + 1.47 * 0.38


def test_rows_of_the_matrix_have_length_one() -> None:
    check_size(measured_weights(500, 400, 5000, np.random.default_rng(0)), 400, 5000)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, 5000))
    columns = A / np.sqrt((A * A).sum(axis=0))  # the other reading of "normalised"
    with pytest.raises(AssertionError):
        check_size(columns[:, :400] @ rng.standard_normal(400), 400, 5000)


def test_all_measurements_may_matter_and_seeds_differ() -> None:
    first, second = (linear_measurements(5, 3, 10, measurements=3, seed=s).truth for s in (0, 1))
    assert not np.array_equal(first.weights, second.weights)
    assert len(first.support) == 5


def test_senseless_arguments_are_refused() -> None:
    with pytest.raises(ProblemError, match="d must be at least 1, got 0"):
        linear_measurements(0, 1, 10)
    with pytest.raises(ProblemError, match="k"):
        linear_measurements(5, 101, 10)
    with pytest.raises(ProblemError, match="noise_sd"):
        linear_measurements(5, 2, 10, noise_sd=-1.0)
