"""The ridge on curves against NumPy: its sums, whole and in parts, and what it guesses."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.learners.blocks.shapes.ridge import Ridge, add, empty_ridge, guess, solve
from keyhole.problem import Floats

ALL = np.empty(0, dtype=np.bool_)


def rows(n: int = 60, seed: int = 0) -> tuple[Floats, Floats]:
    """Three curves and the constant; the second is seldom read, a column of the third never."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 32))
    Z[rng.random(n) < 0.7, 8:16] = 0.0
    Z[:, 20], Z[:, 24], Z[:, 26:] = 0.0, 1.0, 0.0
    return Z, Z[:, 0] - 0.5 * Z[:, 9] + 0.1 * rng.standard_normal(n)


def told(Z: Floats, missed: Floats) -> Ridge:
    ridge = empty_ridge(3)
    for z, r in zip(Z, missed.tolist(), strict=True):
        add(ridge, z, ALL, r)
    return ridge


def whole(A: Floats) -> Floats:
    return np.tril(A) + np.tril(A, -1).T


def test_guesses_are_those_of_vaw() -> None:
    Z, missed = rows()
    ridge = told(Z, missed)
    np.testing.assert_allclose(whole(ridge.A), Z.T @ Z, atol=1e-9)
    np.testing.assert_allclose(ridge.c, Z.T @ missed, atol=1e-9)
    new, M = rows(seed=1)[0][0], Z.T @ Z + np.eye(32)
    assert guess(ridge, new) == 0.0  # before it is solved nothing is known
    solve(ridge)
    assert ridge.size[0] == 25
    expected = new @ np.linalg.solve(M, Z.T @ missed) / (1.0 + new @ np.linalg.solve(M, new))
    assert guess(ridge, new) == pytest.approx(expected, rel=1e-9)
    again = np.linalg.solve(M + np.outer(new, new), Z.T @ missed) @ new  # the same: VAW's own form
    assert guess(ridge, new) == pytest.approx(again, rel=1e-9)


@pytest.mark.parametrize("fresh", [[True, False, False, False], [False, True, True, False]])
def test_blocks_that_are_fresh_alone(fresh: list[bool]) -> None:
    """Blocks emptied and added again are what they were, and no other cell is touched."""
    Z, missed = rows()
    before = told(Z, missed)
    ridge = told(Z, missed)
    new = np.repeat(fresh, 8)
    ridge.A[new], ridge.A[:, new], ridge.c[new] = 0.0, 0.0, 0.0
    for z, r in zip(Z, missed.tolist(), strict=True):
        add(ridge, z, np.array(fresh), r)
    assert ridge.A.tobytes() == before.A.tobytes()
    assert ridge.c.tobytes() == before.c.tobytes()


def test_what_has_no_finite_solution_guesses_nothing() -> None:
    Z, _ = rows()
    ridge = told(Z, np.full(len(Z), 1e308))
    assert not np.isfinite(ridge.c).all()
    solve(ridge)
    assert ridge.size[0] == 0
    assert guess(ridge, Z[0]) == 0.0
