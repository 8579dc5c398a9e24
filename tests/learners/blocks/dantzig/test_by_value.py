"""The Dantzig program on small problems, quick without compilation: by hand and against linprog."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from keyhole.learners.blocks.dantzig import homotopy as kernels
from keyhole.learners.blocks.dantzig import solve as dantzig
from keyhole.learners.blocks.dantzig.solution import (
    DantzigBasis,
    DantzigSolution,
    Diagnostics,
    proven,
)
from keyhole.learners.blocks.dantzig.threshold import compatibility_threshold, printed_threshold
from keyhole.problem import Floats


def test_thresholds_by_their_formulas() -> None:
    told = {"noise_sd": 0.5, "failure_probability": 0.1}
    first = math.sqrt(8 * math.log(20 * 8 / 0.1) / (20 * 3)) * (0.5 + 8 / 3)
    assert printed_threshold(20, 8, 3, **told) == pytest.approx(first, rel=1e-12)
    assert printed_threshold(20, 8, 3, **told, scale=0.5) == pytest.approx(first / 2, rel=1e-12)
    L, s, r, g = math.log(80), 40, 3.0, 7.0
    second = (8 / 3 + 1) * g / s * L + (6.9 + 0.6) * math.sqrt(r * L / s)
    second += 2 * math.sqrt(3 * g * L / s)
    assert compatibility_threshold(40, 8, r, g, **told) == pytest.approx(second, rel=1e-12)
    half = compatibility_threshold(40, 8, r, g, **told, scale=0.5)
    assert half == pytest.approx(second / 2, rel=1e-12)


def smallest(G: Floats, b: Floats, lam: Floats) -> float:
    """The least |w|_1, infinite if nothing is feasible: w = p - q with p, q >= 0."""
    bound = np.where(np.isinf(lam), 1e6, lam)
    A, top = np.block([[G, -G], [-G, G]]), np.concatenate([b + bound, bound - b])
    found = linprog(np.ones(2 * len(b)), A_ub=A, b_ub=top, bounds=(0, None))
    return float(found.fun or 0.0) if found.status == 0 else math.inf


def check(G: Floats, b: Floats, lam: Floats, start: DantzigBasis | None = None) -> DantzigSolution:
    """The homotopy's answer is as short as linprog's, and sits where its basis says."""
    answer = dantzig.solve(G, b, lam, engine="homotopy", start=start)
    expected = smallest(G, b, lam)
    if math.isinf(expected):
        assert answer.status == "infeasible"
        assert b @ answer.dual > lam @ np.abs(answer.dual)
        return answer
    assert answer.status == "optimal"
    assert np.abs(answer.w).sum() == pytest.approx(expected, rel=1e-7, abs=1e-9)
    residual = b - G @ answer.w
    assert (np.abs(residual) <= lam + 1e-8 * np.abs(b).max()).all()
    basis = answer.basis
    assert set(np.flatnonzero(answer.w)) <= set(basis.columns.tolist())
    np.testing.assert_allclose(np.abs(residual[basis.rows]), lam[basis.rows], atol=1e-8)
    columns = answer.w[basis.columns]
    moved, tight = np.abs(columns) > 1e-9, lam[basis.rows] > 1e-9
    np.testing.assert_array_equal(basis.column_signs[moved], np.sign(columns)[moved])
    np.testing.assert_array_equal(basis.row_signs[tight], np.sign(residual[basis.rows])[tight])
    assert basis.weights is not None
    np.testing.assert_allclose(basis.weights, columns, atol=1e-9)
    return answer


def moments(kind: str, d: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    n = max(1, d // 2) if kind == "singular" else 3 * d
    X = rng.standard_normal((n, d))
    if kind == "correlated":
        X += rng.standard_normal((n, 1))
    if kind == "ties":
        X = np.sign(X)
    w = np.where(rng.random(d) < 0.5, np.round(3 * rng.standard_normal(d)), 0.0)
    G, b = X.T @ X / n, X.T @ (X @ w) / n
    if kind == "indefinite":
        noise = 0.4 * rng.standard_normal((d, d))
        G = G + noise + noise.T
    if kind != "ties":
        b = b + 0.1 * rng.standard_normal(d)
    return G, b


@pytest.mark.parametrize("kind", ["plain", "correlated", "singular", "ties", "indefinite"])
@pytest.mark.parametrize("d", [1, 2, 4, 7, 13])
def test_answers_are_as_short_as_those_of_linprog(kind: str, d: int) -> None:
    rng = np.random.default_rng(d)
    for share in (0.6, 0.2, 0.03):
        G, b = moments(kind, d, rng)
        lam = np.full(d, share * np.abs(b).max())
        check(G, b, lam)
        check(G, b, lam * rng.uniform(0.3, 1.5, d))


@pytest.mark.parametrize("kind", ["plain", "correlated", "singular", "indefinite"])
def test_starts_from_neighbours_change_nothing(kind: str) -> None:
    rng = np.random.default_rng(3)
    for d in (6, 14, 30):
        G, b = moments(kind, d, rng)
        start = None
        for share in (0.6, 0.35, 0.2, 0.12):
            lam = np.full(d, share * np.abs(b).max())
            answer = check(G, b, lam, start)
            if answer.status != "optimal":
                break
            again = check(G, b, lam, answer.basis)
            assert again.pivots == 0
            bare = DantzigBasis(*(getattr(answer.basis, name) for name in BARE))
            assert check(G, b, lam, bare).pivots == 0
            b = b + 0.02 * rng.standard_normal(d)
            noise = 0.01 * rng.standard_normal((d, d))
            G, start = G + noise + noise.T, answer.basis


BARE = ("columns", "column_signs", "rows", "row_signs")


def test_each_weight_of_a_soft_threshold_takes_a_pivot() -> None:
    b = np.array([3.0, -2.0, 1.5, 0.25, -0.5])
    for lam, count in [(4.0, 0), (2.5, 1), (1.75, 2), (1.0, 3), (0.3, 4), (0.1, 5)]:
        answer = check(np.eye(5), b, np.full(5, lam))
        assert answer.w.tolist() == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - lam, 0))
        assert answer.nonzeros == answer.pivots == count


def test_equations_and_rows_that_ask_for_nothing() -> None:
    rng = np.random.default_rng(5)
    for d in (3, 6, 12):
        G, b = moments("plain", d, rng)
        lam = np.full(d, 0.3 * np.abs(b).max())
        lam[0], lam[1] = 0.0, np.inf
        answer = dantzig.solve(G, b, lam, engine="homotopy")
        assert answer.status == "optimal"
        assert np.abs(answer.w).sum() == pytest.approx(smallest(G, b, lam), rel=1e-7)
        assert (b - G @ answer.w)[0] == pytest.approx(0.0, abs=1e-8)


def test_what_a_certificate_proves() -> None:
    one = np.ones(1)
    good = (1e-9, 1.0, 2.0, 2.0, 0.7, 1e-9, 2.0)
    assert proven("optimal", good, one) == ("optimal", 5e-10, 0.0, 1e-9, 1.0)
    excess = (4e-8, *good[1:])
    assert proven("optimal", excess, one) == ("limit", 2e-8, 0.0, 1e-9, 0.7)
    assert proven("optimal", excess, 0 * one) == ("limit", 2e-8, 0.0, 1e-9, np.inf)
    ray = (1.0, 1e-7, 2.0, 0.5, 1.5, 3.0, 2.0)
    assert proven("infeasible", ray, one) == ("infeasible", 0.5, 2e-7 / 0.5, np.inf, 1.5)
    weak = (1.0, 1e-6, 2.0, 0.5, 1.5, 3.0, 2.0)
    assert proven("infeasible", weak, one) == ("limit", 0.5, 0.0, 3.0, 1.5)
    assert proven("limit", good, one)[0] == "limit"
    # Up to 1e-8, or a millionth, to the last bit.
    for edge in ((1e-8, 1.0, 2.0, 2.0, 0.7, 0.0, 1.0), (0.0, 1.0, 2.0, 2.0, 0.7, 1e-8, 1.0)):
        assert proven("optimal", edge, 0 * one)[0] == "optimal"
        assert proven("optimal", edge, 0 * one)[4] == 1.0
    assert proven("infeasible", (1.0, 1e-6, 1.0, 1.0, 1.5, 3.0, 2.0), one)[0] == "infeasible"
    assert proven("infeasible", (1.0, 0.0, 0.0, 0.0, 1.5, 3.0, 2.0), one)[0] == "limit"
    assert proven("optimal", (0.5, *good[1:6], 0.0), one)[1] == 0.5  # relative to nothing


def test_diagnostics_count() -> None:
    G, b = np.eye(2), np.array([1.0, 3.0])
    solved = dantzig.solve(G, b, 2.0, engine="homotopy")
    told = Diagnostics(1, 1, 1).after(solved, 7, 2.0)
    assert told == Diagnostics(2, 1, 1, 7, 2.0, 1, solved.gap)
    assert Diagnostics(1, 1, 1).after(solved._replace(status="infeasible"), 7, 2.0).infeasible == 2
    assert Diagnostics(1, 1, 1).after(solved._replace(status="limit"), 7, 2.0).unsolved == 2


@pytest.mark.parametrize("kind", ["plain", "correlated", "ties"])
def test_a_path_is_made_of_answers(kind: str) -> None:
    G, b = moments(kind, 6, np.random.default_rng(8))
    path = dantzig.path(G, b)
    assert path.lams[0] == pytest.approx(np.abs(b).max())
    for i in range(1, len(path)):
        for lam in (path.lams[i], 0.5 * (path.lams[i] + path.lams[i - 1])):
            total = np.abs(path.at(lam)).sum()
            assert total == pytest.approx(smallest(G, b, np.full(6, lam)), rel=1e-6, abs=1e-8)
        assert path.nonzeros[i] == np.count_nonzero(path.weights(i))


@pytest.mark.parametrize("kind", ["plain", "correlated", "singular", "indefinite"])
@pytest.mark.parametrize("size", [1.0, 40.0])
def test_highs_finds_the_same(kind: str, size: float) -> None:
    rng = np.random.default_rng(11)
    for d in (1, 3, 6):
        for share in (1.2, 0.4, 0.05):
            G, b = moments(kind, d, rng)
            b *= size
            lam = share * np.abs(b).max() * rng.uniform(0.5, 1.0, d)
            expected = smallest(G, b, lam)
            answer = dantzig.solve(G, b, lam, engine="highs")
            if math.isinf(expected):
                assert answer.status == "infeasible"
                mine = dantzig.solve(G, b, lam, engine="homotopy")
                assert answer.feasible_scale == pytest.approx(mine.feasible_scale, rel=1e-6)
                continue
            assert answer.status == "optimal"
            assert np.abs(answer.w).sum() == pytest.approx(expected, rel=1e-7, abs=1e-9 * size)
            assert (np.abs(b - G @ answer.w) <= lam + 1e-8 * np.abs(b).max()).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["chain", "factor", "pairs"])
def test_starts_whose_rows_are_not_their_columns_are_repaired(kind: str, seed: int) -> None:
    rng, d = np.random.default_rng(seed), 40
    X = rng.standard_normal((60, d))
    if kind == "chain":
        for j in range(1, d):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    if kind == "factor":
        X = 0.6 * X + rng.standard_normal((60, 1))
    w = np.where(rng.random(d) < 0.15, rng.standard_normal(d), 0.0)
    y = X @ w + 0.1 * rng.standard_normal(60)
    if kind == "pairs":
        X *= rng.random((60, d)) < 0.6
    G, b = X.T @ X / 60, X.T @ y / 60
    start = None
    for share in (0.5, 0.35, 0.25, 0.18, 0.13, 0.09):
        lam = np.full(d, share * np.abs(b).max())
        if seed == 3:
            lam *= rng.uniform(0.5, 1.0, d)
        answer = check(G, b, lam, start)
        if answer.status != "optimal":
            break
        start = answer.basis


@pytest.mark.parametrize("kind", ["plain", "chain", "pairs"])
@pytest.mark.parametrize("d", [49, 64])
def test_answers_on_a_working_set(kind: str, d: int) -> None:
    """Few of many coordinates matter; a start that is the answer takes no pivot at all."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((3 * d, d))
    if kind == "chain":
        for j in range(1, d):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    y = X[:, :6] @ rng.standard_normal(6) + 0.3 * rng.standard_normal(3 * d)
    if kind == "pairs":
        X *= rng.random((3 * d, d)) < 0.7
    G, b = X.T @ X / (3 * d), X.T @ y / (3 * d)
    for share in (0.5, 0.25):
        lam = share * np.abs(b).max() * rng.uniform(0.8, 1.0, d)
        cold = check(G, b, lam)
        assert cold.engine == "homotopy"
        assert cold.pivots > 0
        again = check(G, b, lam, cold.basis)
        if set(cold.basis.columns) == set(cold.basis.rows):  # else the lasso has another basis
            assert again.pivots == 0
        bare = DantzigBasis(*(getattr(cold.basis, name) for name in BARE))
        assert check(G, b, lam, bare).pivots == 0
        noise = 0.01 * rng.standard_normal((d, d))
        moved = G + noise + noise.T, b + 0.02 * rng.standard_normal(d), 0.95 * lam
        check(*moved, cold.basis)
        check(*moved, bare)
        upside_down = DantzigBasis(bare.columns, -bare.column_signs, bare.rows, -bare.row_signs)
        check(*moved, upside_down)


def test_a_working_set_that_proves_infeasibility() -> None:
    """Two rows ask for different values of the same sum; the rest is easy."""
    d = 60
    G, b = np.eye(d), np.linspace(0.0, 0.5, d)
    G[0, 1] = G[1, 0] = 1.0
    b[0], b[1] = 3.0, 1.0
    answer = check(G, b, np.full(d, 0.4))
    assert answer.status == "infeasible"
    assert answer.feasible_scale == pytest.approx(1.0 / 0.4)
    assert check(G, b, np.full(d, 1.01)).status == "optimal"


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_contradictions_are_proven_wherever_they_stand(order: tuple[int, ...]) -> None:
    """Rows 0 and 1 ask the same sum for 3 and 1; the proof is their difference."""
    G = np.eye(4)
    G[0, 1] = G[1, 0] = 1.0
    b = np.array([3.0, 1.0, 2.0, -1.0])
    index = np.array(order)
    for lam in (np.full(4, 0.5), np.array([0.3, 0.6, 0.1, 0.2])):
        told = check(G[np.ix_(index, index)], b[index], lam[index])
        assert told.status == "infeasible"
        np.testing.assert_allclose(G[np.ix_(index, index)] @ told.dual, 0.0, atol=1e-9)
        scale = 2.0 / (lam[0] + lam[1])
        assert told.feasible_scale == pytest.approx(scale)


@pytest.mark.parametrize("d", [12, 60])
def test_no_more_pivots_than_allowed(d: int) -> None:
    """Also where the working set gets too large on the way, and all coordinates go on."""
    G, b = moments("plain", d, np.random.default_rng(2))
    lam, given = np.full(d, 0.02 * np.abs(b).max()), dantzig.NOWHERE
    code, needed, *_ = kernels.solve(G, b, lam, given, 5000, False)
    assert code == 0
    assert needed > 20 if d > 48 else needed > 5
    for allowed in (0, 1, needed // 2, needed - 1, needed):
        code, made, w, u, _, _ = kernels.solve(G, b, lam, given, allowed, False)
        assert made <= allowed
        if code == 0:
            assert allowed == needed
            assert b @ u - lam @ np.abs(u) == pytest.approx(np.abs(w).sum())
