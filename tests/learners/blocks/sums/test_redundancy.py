"""Copies, constants and computed columns are found, and nothing else is."""

import numpy as np
import pytest

from keyhole.learners.blocks.sums.column_stats import dependence
from keyhole.problem import Floats


def centred(X: Floats) -> Floats:
    Z = X - X.mean(axis=0)
    return np.asarray(Z.T @ Z / len(X), dtype=np.float64)


def awkward(dtype: type) -> Floats:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 9)) * [1, 1e3, 1e-3, 1, 1, 1, 1, 1, 1] + [0, 50, 0, 0, 0, 0, 0, 0, 9]
    X[:, 3] = 7.0
    X[:, 4] = -2 * X[:, 1] + 100
    X[:, 6:8] = np.eye(3)[rng.integers(0, 3, 500)][:, :2]
    X[:, 8] = 1 - X[:, 6] - X[:, 7]
    return X.astype(dtype).astype(np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_is_found_by_its_reason(dtype: type) -> None:
    X = awkward(dtype)
    found = dependence(centred(X), np.abs(X).max(axis=0))
    assert found.constant.tolist() == [3]
    assert found.copies == ((4, 1),)
    assert found.computed.tolist() == [8]
    assert found.kept.tolist() == [0, 1, 2, 5, 6, 7]


def test_nearly_alike_is_not_a_copy() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3))
    X[:, 2] = X[:, 0] + 1e-2 * X[:, 2]
    found = dependence(centred(X), np.abs(X).max(axis=0))
    assert found.kept.tolist() == [0, 1, 2]
