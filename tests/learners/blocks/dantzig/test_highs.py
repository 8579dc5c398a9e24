"""HiGHS as an engine: its basis solved again, its rays, and what it is not believed."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.learners.blocks.dantzig import highs
from keyhole.learners.blocks.dantzig.solution import DantzigBasis
from keyhole.problem import Floats


def moments(d: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 * d, d))
    return X.T @ X / (3 * d), X.T @ (X @ rng.normal(size=d)) / (3 * d)


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e6])
@pytest.mark.parametrize("size", [1.0, 1e-4, 1e7])
def test_answers_and_bases_in_any_units(unit: float, size: float) -> None:
    G, b = moments(5, 0)
    G, b = unit * G, size * b
    lam = 0.2 * np.abs(b).max() * np.array([1.0, 0.5, 0.0, 1.0, 2.0])
    answer = highs.solve(G, b, lam)
    w, u, basis = answer.w, answer.u, answer.basis
    assert answer.status == "optimal"
    assert answer.pivots > 0
    assert (np.abs(b - G @ w) <= lam + 1e-12 * size).all()
    assert np.abs(G @ u).max() <= 1.0 + 1e-10
    total = np.abs(w).sum()
    assert b @ u - lam @ np.abs(u) == pytest.approx(total, rel=1e-10)
    assert set(np.flatnonzero(w)) <= set(basis.columns.tolist())
    np.testing.assert_allclose(basis.column_signs, np.sign(w[basis.columns]))
    rest = (b - G @ w)[basis.rows]
    np.testing.assert_allclose(rest, basis.row_signs * lam[basis.rows], atol=1e-9 * size)
    assert (np.abs(basis.row_signs) == 1.0).all()
    assert basis.weights is not None
    np.testing.assert_array_equal(basis.weights, w[basis.columns])


def test_no_time_no_answer() -> None:
    G, b = moments(60, 1)
    assert highs.solve(G, b, np.full(60, 1e-3), seconds=0.0).status == "limit"
    assert highs.solve(G, b, np.full(60, 1e-3), seconds=60.0).status == "optimal"


@pytest.mark.parametrize("lam", [[0.1, 0.1, 0.3], [0.1, 0.0, 0.3], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_the_smallest_multiple_for_which_anything_is_feasible(
    lam: list[float], unit: float
) -> None:
    """Rows 0 and 1 ask the same w_0 + w_1 for 2 and 1: t (g_0 + g_1) = 1 - lam_0 - lam_1."""
    G = unit * np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    b, bound = np.array([2.0, 1.0, -0.5]), np.array(lam)
    answer = highs.infeasible(G, b, bound)
    assert answer.status == "infeasible"
    g = np.where(bound > 0, bound, 2.0)
    t = (1.0 - bound[0] - bound[1]) / (g[0] + g[1])
    assert (np.abs(b - G @ answer.w) <= bound + t * g + 1e-8).all()
    np.testing.assert_allclose(G @ answer.u, 0.0, atol=1e-8 * unit)
    value = b @ answer.u - bound @ np.abs(answer.u)
    assert value > 0.0
    assert value == pytest.approx(t * (g @ np.abs(answer.u)), rel=1e-6)
    assert len(answer.basis.columns) == len(answer.basis.rows) == 0
    assert highs.solve(G, b, bound).status == "infeasible"


def test_the_largest_size_of_an_entry() -> None:
    assert highs._largest(np.array([1.0, -3.0])) == 3.0
    assert highs._largest(np.array([4.0, -3.0])) == 4.0
    assert highs._largest(np.array([4.0, 2.0])) == 4.0
    assert highs._largest(np.zeros(2)) == 1.0


def test_how_far_apart_two_points_are() -> None:
    assert highs._apart(np.array([1.0, 2.0]), np.array([1.0, -4.0])) == 6.0 / 4.0
    assert highs._apart(np.array([0.5, 0.0]), np.zeros(2)) == 0.5


def test_a_basis_is_solved_again_unless_that_leads_elsewhere() -> None:
    G, b, lam = np.diag([2.0, 1.0]), np.array([3.0, 1.0]), np.array([1.0, 1.0])
    one = np.ones(1)
    basis = DantzigBasis(np.array([0]), one, np.array([0]), one, one)
    near = highs.Answer("optimal", np.array([1.0 + 1e-7, 0.0]), np.array([0.5, 0.0]), basis, 3)
    polished = highs._polished(G, b, lam, near)
    assert polished.w.tolist() == [1.0, 0.0]
    assert polished.u.tolist() == [0.5, 0.0]
    assert polished.basis.weights is not None
    assert polished.basis.weights.tolist() == [1.0]
    far_w, far_u = near._replace(w=np.array([1.01, 0.0])), near._replace(u=np.array([0.6, 0.0]))
    limit = near._replace(status="limit")
    singular = near._replace(basis=DantzigBasis(np.array([1]), one, np.array([0]), one, one))
    uneven = near._replace(basis=DantzigBasis(np.arange(2), np.ones(2), np.array([0]), one, one))
    for answer in (far_w, far_u, limit, singular, uneven):
        assert highs._polished(G, b, lam, answer) is answer


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    highs.solve(np.eye(2), np.array([3.0, 0.5]), np.ones(2))
    assert capfd.readouterr() == ("", "")
