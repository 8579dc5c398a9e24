"""The door of the Dantzig program: what it accepts, refuses and proves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import ArrayLike

from keyhole.learners.blocks.dantzig import homotopy as kernels
from keyhole.learners.blocks.dantzig import solve as dantzig
from keyhole.learners.blocks.dantzig.solution import proven
from keyhole.problem import Floats, ProblemError

EYE = np.eye(3)
B = np.array([3.0, -2.0, 0.5])


def assert_optimal(
    G: ArrayLike, b: Floats, lam: ArrayLike, answer: dantzig.DantzigSolution
) -> None:
    """The whole certificate by dense products, nothing shared with the code under test."""
    G = np.asarray(G, dtype=np.float64)
    bound = np.broadcast_to(np.asarray(lam, dtype=np.float64), b.shape)
    assert answer.status == "optimal"
    objective = np.abs(answer.w).sum()
    assert (np.abs(b - G @ answer.w) - bound).max() <= 1e-8 * np.abs(b).max()
    assert np.abs(G @ answer.dual).max() <= 1 + 1e-8
    used = answer.dual != 0
    value = b @ answer.dual - bound[used] @ np.abs(answer.dual[used])
    assert abs(objective - value) <= 1e-8 * (objective or 1.0)
    assert answer.nonzeros == np.count_nonzero(answer.w)


def spiked(d: int, seed: int, rows: int = 0) -> tuple[Floats, Floats]:
    """G and b of a least-squares problem with five large weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows or 3 * d, d))
    y = X[:, :5] @ np.array([2.0, -1.0, 1.0, 0.5, -0.5])[: min(5, d)] + rng.normal(size=len(X))
    return X.T @ X / len(X), X.T @ y / len(X)


@pytest.mark.parametrize("engine", dantzig.ENGINES)
def test_identity_is_soft_thresholding(engine: str) -> None:
    answer = dantzig.solve(EYE, B, 1.0, engine=engine)
    assert answer.w == pytest.approx([2.0, -1.0, 0.0], abs=1e-12)
    assert_optimal(EYE, B, 1.0, answer)


@pytest.mark.parametrize("engine", dantzig.ENGINES)
@pytest.mark.parametrize("lam", [3.0, 1e300, np.inf])
def test_a_large_threshold_leaves_nothing(engine: str, lam: float) -> None:
    answer = dantzig.solve(EYE, B, lam, engine=engine)
    assert answer.nonzeros == 0
    assert_optimal(EYE, B, lam, answer)


@pytest.mark.parametrize("engine", dantzig.ENGINES)
def test_zero_threshold_is_an_equation(engine: str) -> None:
    G, b = spiked(8, seed=1)
    lam = np.where(np.arange(8) < 4, 0.0, 0.3)
    answer = dantzig.solve(G, b, lam, engine=engine)
    assert_optimal(G, b, lam, answer)
    assert np.abs(b - G @ answer.w)[:4].max() < 1e-9
    assert dantzig.solve(G, b, 0.0, engine=engine).w == pytest.approx(np.linalg.solve(G, b))


def test_infinite_threshold_of_one_coordinate_drops_its_row() -> None:
    G, b = spiked(6, seed=2)
    lam = np.array([0.1, np.inf, 0.1, 0.1, 0.1, 0.1])
    answer = dantzig.solve(G, b, lam)
    assert_optimal(G, b, lam, answer)
    assert answer.dual[1] == 0


@pytest.mark.parametrize("engine", ["auto", "highs"])
@pytest.mark.parametrize("d", [5, 80])
def test_infeasible_comes_with_proof_and_remedy(engine: str, d: int) -> None:
    G, b = spiked(d, seed=3, rows=max(1, d // 3))
    b = b + 0.2 * np.random.default_rng(0).normal(size=d)  # leaves the range of G
    lam = np.linspace(0.5, 1.5, d) * 1e-3
    answer = dantzig.solve(G, b, lam, engine=engine)
    assert answer.status == "infeasible"
    assert np.abs(G @ answer.dual).max() < 1e-9 * np.abs(answer.dual).max()
    assert b @ answer.dual > lam @ np.abs(answer.dual)
    scale = answer.feasible_scale
    assert (np.abs(b - G @ answer.w) <= scale * lam * (1 + 1e-9)).all()
    assert dantzig.solve(G, b, scale * lam * (1 + 1e-6), engine=engine).status == "optimal"
    assert dantzig.solve(G, b, scale * lam * (1 - 1e-4), engine=engine).status == "infeasible"


def test_contradicting_equations_have_no_remedy() -> None:
    G = np.ones((2, 2))
    answer = dantzig.solve(G, [1.0, 0.0], 0.0)
    assert answer.status == "infeasible"
    assert answer.feasible_scale == np.inf


def test_scaling_the_problem_scales_the_answer() -> None:
    G, b = spiked(60, seed=4)
    plain = dantzig.solve(G, b, 0.1)
    for g, s in ((1e-6, 1.0), (1.0, 1e-9), (1e7, 1e5)):
        scaled = dantzig.solve(g * G, s * b, s * 0.1)
        assert scaled.status == "optimal"
        assert scaled.w == pytest.approx(plain.w * s / g, rel=1e-9, abs=1e-12 * s / g)


@pytest.mark.parametrize("d", [20, 120])
def test_float32_and_fortran_order(d: int) -> None:
    G, b = spiked(d, seed=5)
    single = ((G + G.T) / 2).astype(np.float32)
    answer = dantzig.solve(single, b, 0.2)
    assert answer.engine == "homotopy"
    assert_optimal(single, b, 0.2, answer)
    strided = np.repeat(G, 2, axis=1)[:, ::2]
    assert dantzig.solve(np.asfortranarray(single), b, 0.2).w == pytest.approx(answer.w)
    assert dantzig.solve(strided, b, 0.2).w == pytest.approx(answer.w, abs=1e-4)


def test_coordinates_that_do_not_matter_are_not_read() -> None:
    G, b = spiked(60, seed=6)
    d = 400
    wide = np.full((d, d), np.nan)
    wide[:60], wide[:, :60] = 0.0, 0.0
    wide[:60, :60] = G
    longer = np.concatenate((b, np.zeros(d - 60)))
    answer = dantzig.solve(wide, longer, 0.3, engine="homotopy")
    assert answer.status == "optimal"
    assert_optimal(G, b, 0.3, dantzig.solve(G, b, 0.3))
    assert np.abs(answer.w).sum() == pytest.approx(np.abs(dantzig.solve(G, b, 0.3).w).sum())


def test_start_saves_pivots_and_changes_nothing() -> None:
    G, b = spiked(100, seed=7)
    rng = np.random.default_rng(7)
    noise = rng.normal(size=G.shape) * 0.005
    old = dantzig.solve(G + noise + noise.T, b * 1.01, 0.11)
    cold, warm = dantzig.solve(G, b, 0.1), dantzig.solve(G, b, 0.1, start=old.basis)
    assert_optimal(G, b, 0.1, warm)
    assert warm.w == pytest.approx(cold.w, abs=1e-10)
    assert warm.pivots < cold.pivots / 2
    again = dantzig.solve(G, b, 0.1, start=warm.basis)
    assert again.pivots == 0
    assert_optimal(G, b, 0.1, again)


def growing(seed: int, d: int = 200) -> Iterator[tuple[Floats, Floats, float]]:
    """G, b and lam of a stream of correlated rows with few entries seen, so G is indefinite."""
    rng = np.random.default_rng(seed)
    truth, G, b, t = np.zeros(d), np.zeros((d, d)), np.zeros(d), 0
    truth[rng.choice(d, 25, replace=False)] = rng.choice([-0.04, 0.04], 25)
    for size in (2000, 1000, 1500, 2000, 3000, 4000):
        X = rng.normal(size=(size, d))
        for j in range(1, d):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
        y = X @ truth + 0.1 * rng.normal(size=size)
        X = np.where(rng.random((size, d)) < 0.3, X, 0.0)
        G, b, t = G + X.T @ X / 0.09, b + X.T @ y / 0.3, t + size
        unbiased = G / t
        unbiased[np.diag_indices(d)] *= 0.3
        yield unbiased, b / t, 1.5 * float(np.abs(b / t).max()) * np.sqrt(d / t)


@pytest.mark.parametrize("seed", [0, 2])
def test_along_a_growing_stream_a_start_saves_half_of_the_pivots(seed: int) -> None:
    """Rows and columns of these answers differ: the lasso's support is a start, not the answer."""
    start, pivots, unequal = None, np.zeros(2), 0
    for G, b, lam in growing(seed):
        cold = dantzig.solve(G, b, lam, engine="homotopy")
        if start is not None:
            warm = dantzig.solve(G, b, lam, start=start, engine="homotopy")
            assert_optimal(G, b, lam, warm)
            assert np.abs(warm.w).sum() == pytest.approx(np.abs(cold.w).sum(), rel=1e-8)
            pivots += cold.pivots, warm.pivots
            unequal += set(warm.basis.columns) != set(warm.basis.rows)
        start = cold.basis
    assert unequal >= 3
    assert pivots[1] < pivots[0] / 2


def test_any_start_will_do() -> None:
    G, b = spiked(60, seed=8)
    G[3], G[:, 3] = G[4], G[:, 4]  # columns 3 and 4 are the same: a basis with both is singular
    G, b[3] = (G + G.T) / 2, b[4]
    some = np.arange(5)
    for rows in (some, some + 20):
        start = dantzig.DantzigBasis(some, -np.ones(5), rows, np.ones(5))
        assert_optimal(G, b, 0.1, dantzig.solve(G, b, 0.1, start=start, engine="homotopy"))
    with pytest.raises(ProblemError, match="start must be the basis of an answer with d = 3"):
        dantzig.solve(EYE, B, 1.0, start=start)


def test_weights_of_a_start_may_be_wrong_or_missing() -> None:
    G, b = spiked(120, seed=9)
    cold = dantzig.solve(G, b, 0.1)
    basis = cold.basis
    fields = basis.columns, basis.column_signs, basis.rows, basis.row_signs
    assert basis.weights is not None
    n = len(basis.weights)
    for weights in (None, basis.weights, np.full(n, 1e9), np.full(n, np.nan), np.zeros(0)):
        start = dantzig.DantzigBasis(*fields, weights)
        warm = dantzig.solve(G, b, 0.1, start=start, engine="homotopy")
        assert_optimal(G, b, 0.1, warm)
        assert warm.w == pytest.approx(cold.w, abs=1e-10)
    with pytest.raises(ProblemError, match="start must be the basis"):
        dantzig.solve(G, b, 0.1, start=dantzig.DantzigBasis(*fields, np.ones(n + 1)))


def test_highs_takes_over_when_the_homotopy_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    told = kernels.solve(EYE, B, np.ones(1), dantzig.NOWHERE, 100, False)
    monkeypatch.setattr(kernels, "solve", lambda *_: (3, *told[1:]))
    assert dantzig.solve(EYE, B, 1.0, engine="homotopy").status == "limit"
    answer = dantzig.solve(EYE, B, 1.0)
    assert answer.engine == "highs"
    assert_optimal(EYE, B, 1.0, answer)


@pytest.mark.parametrize("error", [1e-6, -1e-6])
@pytest.mark.parametrize("side", ["w", "u"])
def test_an_engine_that_lies_is_not_believed(side: str, error: float) -> None:
    """The broken twin: an answer off by a millionth, claimed to be optimal."""
    true = dantzig.solve(EYE, B, 1.0)
    w, u = true.w.copy(), true.dual.copy()
    (w if side == "w" else u)[0] += error
    j, lam = np.arange(3), np.ones(3)
    for x, y, wanted in ((true.w, true.dual, "optimal"), (w, u, "limit")):
        proof = kernels.certify(EYE, B, lam, j, x, j, y)
        status, *_ = proven("optimal", proof, lam)
        assert status == wanted


@pytest.mark.parametrize(
    ("G", "b", "lam", "said"),
    [
        (np.ones((2, 3)), B, 1.0, r"G must be a square matrix, got shape \(2, 3\)"),
        (EYE, B[:2], 1.0, r"b must have shape \(3,\) to match G, got \(2,\)"),
        (EYE, B, [1.0, 2.0], r"lam must be one number or have shape \(3,\), got \(2,\)"),
        (EYE, B, -1.0, "lam must be at least 0, got -1.0"),
        (EYE, B, [1.0, np.nan, 1.0], "lam must be at least 0, got nan"),
        (EYE, [1.0, np.nan, 1.0], 1.0, r"b must be finite, got b\[1\] = nan"),
    ],
)
def test_nonsense_is_refused(G: ArrayLike, b: ArrayLike, lam: ArrayLike, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        dantzig.solve(G, b, lam)


def test_unknown_engine_is_refused() -> None:
    with pytest.raises(ProblemError, match="did you mean 'highs'"):
        dantzig.solve(EYE, B, 1.0, engine="higs")


def test_importing_the_door_loads_no_engine() -> None:
    heavy = "highspy", "scipy"
    code = f"import sys, keyhole; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
