"""The path of the Dantzig program over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.blocks.dantzig import solve as dantzig
from keyhole.problem import Floats, ProblemError


def moments(d: int, rows: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    y = X[:, 0] - 2 * X[:, 1] + 0.5 * rng.normal(size=rows)
    return X.T @ X / rows, X.T @ y / rows


def test_every_point_of_the_path_is_a_solution() -> None:
    G, b = moments(30, 60, seed=0)
    way = dantzig.path(G, b)
    assert way.status == "optimal"
    assert way.lams[0] == np.abs(b).max()
    assert way.lams[-1] == 0.0
    assert (np.diff(way.lams) <= 0).all()
    assert max(way.primal_residual, way.dual_residual, way.gap) <= 1e-8
    for lam in np.linspace(0.01, 1.0, 17) * np.abs(b).max():
        w = way.at(lam)
        assert np.abs(b - G @ w).max() <= lam * (1 + 1e-8)
        assert np.abs(w).sum() == pytest.approx(np.abs(dantzig.solve(G, b, lam).w).sum(), rel=1e-7)
    assert way.weights(len(way) - 1) == pytest.approx(np.linalg.solve(G, b))


def test_the_path_ends_where_nothing_is_feasible() -> None:
    G, b = moments(20, 8, seed=1)
    b = b + 0.05 * np.random.default_rng(9).normal(size=20)  # leaves the range of G
    way = dantzig.path(G, b)
    assert way.status == "infeasible"
    end = way.lams[-1]
    assert end > 0
    assert dantzig.solve(G, b, end * (1 + 1e-6)).status == "optimal"
    assert dantzig.solve(G, b, end * (1 - 1e-4)).status == "infeasible"
    with pytest.raises(ProblemError, match="lam must be at least"):
        way.at(end / 2)


def test_the_path_stops_before_too_many_nonzeros() -> None:
    G, b = moments(40, 50, seed=2)
    for way in (dantzig.path(G, b, max_nonzeros=5), dantzig.path(G, b, np.geomspace(0.01, 3), 5)):
        assert way.status == "limit"
        assert 0 < way.nonzeros.max() <= 5
    assert dantzig.path(G, b, max_nonzeros=0).nonzeros.tolist() == [0]


def test_thresholds_of_ones_own() -> None:
    G, b = moments(70, 90, seed=3)
    lams = np.array([0.3, 1.0, 0.1])
    way = dantzig.path(G, b, lams)
    assert way.status == "optimal"
    assert way.lams.tolist() == [1.0, 0.3, 0.1]
    for i, lam in enumerate(way.lams):
        one = dantzig.solve(G, b, lam)
        assert np.abs(way.weights(i)).sum() == pytest.approx(np.abs(one.w).sum(), rel=1e-8)


def test_ties_do_not_stop_the_path() -> None:
    b = np.array([2.0, 2.0, -2.0, 1.0, 1.0])
    way = dantzig.path(np.eye(5), b)
    assert way.status == "optimal"
    assert way.at(0.5) == pytest.approx([1.5, 1.5, -1.5, 0.5, 0.5])
    way = dantzig.path(np.ones((4, 4)), np.ones(4))  # four equal columns: w is not unique
    assert way.status == "optimal"
    assert way.at(0.25).sum() == pytest.approx(0.75)
    assert dantzig.path(np.eye(2), [0.0, 0.0]).status == "optimal"
