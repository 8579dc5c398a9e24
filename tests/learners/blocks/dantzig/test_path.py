"""The path of the Dantzig program over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from keyhole.learners.blocks.dantzig import solve as dantzig
from keyhole.learners.blocks.dantzig.path import (
    DONE,
    DantzigPath,
    PathPoint,
    PathPoints,
    _proves,
    cold_start,
    point_at,
    step,
)
from keyhole.learners.blocks.dantzig.solution import CERTIFICATE_TOLERANCE
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


def test_as_many_nonzeros_as_allowed_are_allowed() -> None:
    for lams in (None, [2.5, 1.5, 0.5]):
        way = dantzig.path(np.eye(3), [3.0, 2.0, 1.0], lams, max_nonzeros=2)
        assert way.status == "limit"
        assert way.nonzeros.max() == 2 if lams else way.lams[-1] == 1.0


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


# --- The parts


def test_weights_between_two_thresholds() -> None:
    way = DantzigPath(
        np.array([4.0, 2.0, 1.0]),
        (np.array([0]), np.array([0, 2]), np.array([2])),
        (np.array([1.0]), np.array([3.0, 1.0]), np.array([-1.0])),
        *(3, "optimal", 0.0, 0.0, 0.0),
    )
    assert len(way) == 3
    assert way.nonzeros.tolist() == [1, 2, 1]
    assert [way.weights(i).tolist() for i in range(3)] == [[1, 0, 0], [3, 0, 1], [0, 0, -1]]
    told = {9.0: [1, 0, 0], 4.0: [1, 0, 0], 3.5: [1.5, 0, 0.25], 2.0: [3, 0, 1]}
    for lam, w in {**told, 1.25: [0.75, 0, -0.5], 1.0: [0, 0, -1]}.items():
        assert way.at(lam).tolist() == w
    with pytest.raises(ProblemError, match="at least"):
        way.at(0.999)
    with pytest.raises(ProblemError, match="at least"):
        way.at(np.nan)
    with pytest.raises(ProblemError, match="at least"):
        PathPoints(2).done("limit").at(1.0)


def test_points_are_written_if_they_are_proven() -> None:
    points, nothing = PathPoints(3), (np.zeros(0, np.int64), np.zeros(0))
    assert points.add(2.0, *nothing, (1e-9, 3e-9, 2e-9))
    assert points.add(1.0, np.array([1]), np.array([0.5]), (2e-9, 1e-9, CERTIFICATE_TOLERANCE))
    for proof in ((2e-8, 0.0, 0.0), (0.0, 2e-8, 0.0), (0.0, 0.0, 2e-8)):
        assert not points.add(0.5, *nothing, proof)
    way = points.done("limit")
    assert (way.lams.tolist(), way.d, way.status) == ([2.0, 1.0], 3, "limit")
    assert (way.primal_residual, way.dual_residual, way.gap) == (2e-9, 3e-9, CERTIFICATE_TOLERANCE)
    same, empty = PathPoint(np.array([1]), np.array([0.5]), *nothing), PathPoint(*nothing, *nothing)
    assert not points.jumps_to(same)
    for other in (
        empty,
        same._replace(columns=np.array([2])),
        same._replace(w=np.array([0.5 + 1e-8])),
        PathPoint(np.array([1, 0]), np.array([0.5, 1e-8]), *nothing),
    ):
        assert points.jumps_to(other)
    assert not points.jumps_to(same._replace(w=np.array([0.5 + 1e-10])))


def test_a_ray_that_proves() -> None:
    """b.u >= lam |u|_1 with G u = 0 up to a millionth: below lam nothing is feasible."""
    G, b = np.ones((2, 2)), np.array([3.0, 1.0])
    u = np.array([2.0, -2.0])  # b.u = 4, |u|_1 = 4: nothing below lam = 1
    here = PathPoint(np.array([0]), np.array([2.0]), np.zeros(0, np.int64), np.zeros(0))
    for lam, proves in ((1.0, True), (0.5, True), (1.0 + 1e-7, True), (1.0 + 1e-5, False)):
        assert _proves(G, b, u, here, lam) == proves
    for leak, proves in ((1.9e-6, True), (2.1e-6, False)):  # |w|_1 = 2 times this, of b.u = 4
        assert _proves(G + 0.5 * leak * np.eye(2), b, u, here, 1.0) == proves


def test_a_path_of_two_by_hand() -> None:
    """w_0 enters at 3, w_1 at 1.5 where the rows meet, and both go on to the solution."""
    way = dantzig.path(np.array([[2.0, 1.0], [1.0, 2.0]]), [3.0, 1.0])
    assert way.status == "optimal"
    ticks = np.linspace(-2.0, 2.0, 801)
    v0, v1 = np.meshgrid(ticks, ticks)
    far = np.maximum(np.abs(3.0 - 2.0 * v0 - v1), np.abs(1.0 - v0 - 2.0 * v1))
    for lam in np.linspace(0.0, 3.0, 13):
        w = way.at(float(lam))
        assert np.abs([3.0 - 2.0 * w[0] - w[1], 1.0 - w[0] - 2.0 * w[1]]).max() <= lam + 1e-9
        shorter = (far <= lam) & (np.abs(v0) + np.abs(v1) < np.abs(w).sum() - 1e-9)
        assert not shorter.any()
    assert way.weights(len(way) - 1) == pytest.approx([5 / 3, -1 / 3])


def test_a_refreshed_step_mends_a_drifted_inverse() -> None:
    G, b = moments(6, 30, seed=4)
    size, s = float(np.abs(b).max()), 1.0
    z = cold_start(G, b, size)
    for _ in range(60):
        code, s, z = step(G, z, s, size, False)
        if code == DONE:
            break
    assert code == DONE
    right = point_at(z, 0.0)
    np.testing.assert_allclose(right.w[np.argsort(right.columns)], np.linalg.solve(G, b))
    for drift in (1.0 + 1e-6, 1.5):  # refined away, or inverted afresh
        z.inv[:6, :6] *= drift
        z.basic[:4] *= 1.0 + 1e-3
        code, _, z = step(G, z, 0.5, size, True)
        assert code == DONE
        for s in (0.0, 0.1):  # the rates too: b - G w = s size sign at every s
            here = point_at(z, s)
            w = np.zeros(6)
            w[here.columns] = here.w
            np.testing.assert_allclose(np.abs(b - G @ w), s * size, atol=1e-7 * size)
            assert here.w == pytest.approx(right.w, abs=1e-7) or s > 0.0


@pytest.mark.parametrize("size", [0.2, 1.0, 5.0])
def test_where_w_is_not_unique_it_may_jump(size: float) -> None:
    """Two points at one threshold, both of them answers; in any units of b."""
    jumps = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.sign(rng.normal(size=(5, 6)))
        G, b = X.T @ X / 5, size * (X.T @ np.sign(rng.normal(size=5))) / 5
        way = dantzig.path(G, b)
        assert way.status == "optimal"
        jumps += int((np.diff(way.lams) == 0.0).sum())
        for i, lam in enumerate(way.lams):
            w = way.weights(i)
            assert np.abs(b - G @ w).max() <= lam + 1e-8 * size
            best = np.abs(dantzig.solve(G, b, lam).w).sum()
            assert np.abs(w).sum() == pytest.approx(best, abs=1e-7 * size)
    assert jumps > 0
