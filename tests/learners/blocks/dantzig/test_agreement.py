"""The homotopy against HiGHS, on every kind of problem that might break it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.learners.blocks.dantzig import solve as dantzig
from keyhole.problem import Floats

KINDS = (
    "rademacher", "gauss", "one factor", "toeplitz", "ties", "copies", "singular", "indefinite",
    "sampled pairs", "integers", "almost zero",
)  # fmt: skip


def problem(kind: str, d: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """G and b of one kind: moments of a design, except where the kind says otherwise."""
    n = int(rng.integers(max(1, d // 2), 4 * d + 2))
    if kind == "singular":
        n = max(1, d // 4)
    if kind == "ties":
        n = min(n, 6)
    X = rng.normal(size=(n, d))
    if kind in ("rademacher", "sampled pairs"):
        X = np.sign(X)
    elif kind == "one factor":
        X = 0.6 * X + rng.normal(size=(n, 1))
    elif kind == "toeplitz":
        for j in range(1, d):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    elif kind == "ties":
        X = np.sign(np.round(X))
    elif kind == "copies":
        X[:, rng.integers(d, size=d // 3)] = X[:, rng.integers(d, size=d // 3)]
        X[:, rng.integers(d)] = 0.0
    w = np.where(rng.random(d) < 6.0 / d, rng.normal(size=d), 0.0)
    y = X @ np.round(w) if kind == "ties" else X @ w + 0.1 * rng.normal(size=n)
    if kind == "sampled pairs":
        X *= rng.random((n, d)) < 0.4  # unbiased moments of what was seen: indefinite
        G, b = X.T @ X / (0.16 * n), X.T @ y / (0.4 * n)
        G[np.diag_indices(d)] *= 0.4
        return G, b
    G, b = X.T @ X / n, X.T @ y / n
    if kind == "indefinite":
        noise = rng.normal(size=(d, d)) / np.sqrt(d)
        G = G + 0.4 * (noise + noise.T)
    elif kind == "integers":
        G = rng.integers(-2, 3, size=(d, d)).astype(np.float64)
        G, b = G + G.T, rng.integers(-3, 4, size=d).astype(np.float64)
    elif kind == "almost zero":
        G = np.zeros((d, d))
        G[:3, :3] = np.eye(min(d, 3))
    return (G + G.T) / 2, b


def agree(G: Floats, b: Floats, lam: Floats | float) -> None:
    """Both engines say the same, and the homotopy proves it to an independent observer."""
    mine = dantzig.solve(G, b, lam, engine="homotopy")
    other = dantzig.solve(G, b, lam, engine="highs")
    assert mine.status == other.status != "limit"
    bound = np.broadcast_to(np.asarray(lam), b.shape)
    size = np.abs(b).max() or 1.0
    if mine.status == "infeasible":
        assert mine.feasible_scale == pytest.approx(other.feasible_scale, rel=1e-6)
        assert b @ mine.dual > bound @ np.abs(mine.dual)
        assert np.abs(G @ mine.dual).max() <= 1e-8 * np.abs(mine.dual).max() * np.abs(G).max()
        return
    total = np.abs(mine.w).sum()
    assert total == pytest.approx(np.abs(other.w).sum(), rel=1e-8, abs=1e-12 * size)
    assert (np.abs(b - G @ mine.w) - bound).max() <= 1e-8 * size
    assert np.abs(G @ mine.dual).max() <= 1 + 1e-8
    assert b @ mine.dual - bound @ np.abs(mine.dual) == pytest.approx(
        total, rel=1e-8, abs=1e-12 * size
    )


def threshold(kind: str, i: int, b: Floats, rng: np.random.Generator) -> Floats | float:
    """From above max|b| far down; every third one differs by coordinate, some are exact ties."""
    lam = float(np.abs(b).max() * np.exp(rng.uniform(np.log(0.003), np.log(1.1))))
    if kind in ("ties", "integers") and i % 2:
        lam = round(4 * lam) / 4
    return lam * rng.uniform(0.3, 1.5, len(b)) if i % 3 == 1 else lam


@pytest.mark.parametrize("kind", KINDS)
def test_small_problems(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for i in range(60):
        d = 1 + int(40 * rng.random() ** 2)
        G, b = problem(kind, d, rng)
        agree(G, b, threshold(kind, i, b, rng))


@pytest.mark.parametrize("kind", KINDS)
def test_large_problems(kind: str) -> None:
    rng = np.random.default_rng(100 + KINDS.index(kind))
    for i, d in enumerate((60, 90, 130, 250)):
        G, b = problem(kind, d, rng)
        lam = threshold(kind, i, b, rng)
        agree(G, b, lam if d < 250 else np.maximum(lam, 0.1 * np.abs(b).max()))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_small_integers_are_full_of_ties(data: st.DataObject) -> None:
    d = data.draw(st.integers(1, 6))
    entry = st.integers(-2, 2)
    G = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            G[i, j] = G[j, i] = data.draw(entry)
    b = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=d, max_size=d)), dtype=np.float64)
    lam = data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=d, max_size=d))
    agree(G, b, np.array(lam))


@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts_agree(kind: str) -> None:
    """From the basis of a neighbour: G, b and lam have all moved."""
    rng = np.random.default_rng(200 + KINDS.index(kind))
    for i in range(8):
        d = (5, 30, 70, 110)[i % 4]
        G, b = problem(kind, d, rng)
        lam = threshold(kind, i, b, rng)
        noise = 0.02 * rng.normal(size=(d, d)) / np.sqrt(d)
        near = dantzig.solve(G + noise + noise.T, b + 0.02 * rng.normal(size=d), lam)
        cold = dantzig.solve(G, b, lam, engine="homotopy")
        warm = dantzig.solve(G, b, lam, engine="homotopy", start=near.basis)
        assert warm.status == cold.status != "limit"
        if warm.status == "optimal":
            assert np.abs(warm.w).sum() == pytest.approx(np.abs(cold.w).sum(), rel=1e-8)


@pytest.mark.parametrize("kind", ["toeplitz", "one factor", "sampled pairs"])
def test_warm_starts_with_falling_thresholds_agree(kind: str) -> None:
    """The lasso's basis is not the answer's: rows and columns differ, and it has to be repaired."""
    rng, repaired = np.random.default_rng(300 + KINDS.index(kind)), 0
    for i in range(12):
        d = (50, 80, 150)[i % 3]
        G, b = problem(kind, d, rng)
        start = None
        for share in (0.5, 0.35, 0.25, 0.18, 0.13):
            lam: Floats | float = share * float(np.abs(b).max())
            if i % 4 == 3:  # some rows are equations, some ask for nothing
                lam = lam * np.ones(d)
                lam[:2], lam[2:4] = 0.0, np.inf
            cold = dantzig.solve(G, b, lam, engine="homotopy")
            warm = dantzig.solve(G, b, lam, engine="homotopy", start=start)
            assert warm.status == cold.status != "limit"
            if warm.status != "optimal":
                break
            assert np.abs(warm.w).sum() == pytest.approx(np.abs(cold.w).sum(), rel=1e-8)
            unequal = set(warm.basis.columns) != set(warm.basis.rows)
            repaired += start is not None and unequal and warm.pivots > 0
            start = warm.basis
    assert repaired >= 5
