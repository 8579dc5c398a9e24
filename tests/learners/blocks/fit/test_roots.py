"""The inverse root of sums with a ridge: what it solves, its leading parts, sums that are none."""

import numpy as np
import pytest

from keyhole.learners.blocks.fit.linear_algebra import inverse_root
from keyhole.problem import Floats


def root_of(A: Floats, ridge: Floats, b: Floats) -> tuple[bool, Floats, Floats]:
    root, along = np.full_like(A, 7.0), np.full_like(b, 7.0)
    return bool(inverse_root(A, ridge, b, root, along)), root, along


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_root_times_its_transpose_is_the_inverse(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = scale * rng.standard_normal((40, 7)) * np.logspace(-2, 2, 7)
    ridge, b = scale**2 * rng.uniform(0.5, 2.0, 7), rng.standard_normal(7)
    whole = X.T @ X + np.diag(ridge)
    upper = X.T @ X + np.triu(np.full((7, 7), np.nan), 1)  # the upper triangle is not looked at
    finite, root, along = root_of(upper, ridge, b)
    assert finite
    assert (np.tril(root, -1) == 0.0).all()
    assert root @ root.T @ whole == pytest.approx(np.eye(7), abs=1e-9)
    assert root @ along == pytest.approx(np.linalg.solve(whole, b), rel=1e-9)
    assert root.T @ b == pytest.approx(along, rel=1e-9)


def test_leading_parts_are_those_of_the_leading_sums() -> None:
    rng = np.random.default_rng(1)
    X, ridge, b = rng.standard_normal((30, 6)), np.ones(6), rng.standard_normal(6)
    _, root, along = root_of(X.T @ X, ridge, b)
    _, first, begun = root_of(X[:, :4].T @ X[:, :4], ridge[:4], b[:4])
    assert first == pytest.approx(root[:4, :4], rel=1e-12)
    assert begun == pytest.approx(along[:4], rel=1e-12)


def test_inputs_that_are_the_same_are_told_apart_by_the_ridge() -> None:
    """A column twice, far larger than the ridge: both get half of the weight."""
    x = 1e5 * np.random.default_rng(2).standard_normal(50)
    X = np.column_stack([x, x])
    finite, root, along = root_of(X.T @ X, np.ones(2), X.T @ x)
    assert finite
    assert root @ along == pytest.approx([0.5, 0.5], rel=1e-3)


@pytest.mark.parametrize("worst", [np.inf, -4.0])
def test_says_when_sums_are_none(worst: float) -> None:
    A = np.eye(3)
    A[1, 1] = worst
    A[2, 1] = 1.0 if worst < 0.0 else np.inf
    assert not root_of(A, np.ones(3), np.ones(3))[0]
