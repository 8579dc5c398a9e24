"""Exact searches on problems small enough for kernels that are not compiled: by enumeration."""

import itertools

import numpy as np
import pytest

from keyhole.blocks.exact.sparse_eigenvalues import search, sparse_spectrum, upper_bound
from keyhole.blocks.exact.subset import best_subset
from keyhole.blocks.exact.supermodular import smallest_alpha
from keyhole.problem import Floats


def design(kind: str, d: int = 6, n: int = 12) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(len(kind))
    X = rng.standard_normal((n, d))
    if kind == "correlated":
        X = X @ (np.eye(d) + 0.7)
    if kind == "wide":
        X = X[: d - 2]
    if kind == "copies":
        X[:, 3] = -2.0 * X[:, 1]
        X[:, 5] = 0.0
    return X, X @ rng.standard_normal(d) + rng.standard_normal(len(X))


def rss(X: Floats, y: Floats, S: tuple[int, ...]) -> float:
    w = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
    return float(((y - X[:, S] @ w) ** 2).sum())


@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("d", [6, 10])
@pytest.mark.parametrize("kind", ["plain", "correlated", "wide", "copies"])
def test_best_subsets(kind: str, d: int, k: int) -> None:
    k = min(k, d - 1)
    X, y = design(kind, d, 3 * d)
    found = best_subset(X.T @ X, X.T @ y, float(y @ y), k, seconds=60.0)
    best = min(rss(X, y, S) for S in itertools.combinations(range(d), k))
    assert found.exact
    assert found.rss == pytest.approx(best, abs=1e-9 * float(y @ y))
    assert rss(X, y, tuple(found.support)) == pytest.approx(best, abs=1e-9 * float(y @ y))
    stopped = best_subset(X.T @ X, X.T @ y, float(y @ y), k, seconds=0.0)
    assert stopped.lower <= best + 1e-9 * float(y @ y)
    assert stopped.rss >= best - 1e-9 * float(y @ y)


def test_labels_or_columns_that_are_all_0() -> None:
    nothing = best_subset(np.eye(3), np.zeros(3), 0.0, 2)
    assert (nothing.rss, nothing.lower, len(nothing.support)) == (0.0, 0.0, 0)
    empty = best_subset(np.zeros((3, 3)), np.zeros(3), 4.0, 2)
    assert (empty.rss, empty.lower, len(empty.support)) == (4.0, 4.0, 0)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("kind", ["plain", "correlated", "copies"])
def test_sparse_spectra(kind: str, k: int) -> None:
    X, _ = design(kind)
    G = X.T @ X / len(X)
    values = [np.linalg.eigvalsh(G[np.ix_(S, S)]) for S in itertools.combinations(range(len(G)), k)]
    found = sparse_spectrum(G, k)
    low, high = min(v[0] for v in values), max(v[-1] for v in values)
    assert found.high.low - 1e-9 <= high <= found.high.high + 1e-9
    assert found.low.low - 1e-9 <= low <= found.low.high + 1e-9
    assert found.high.width <= 1e-6 * high
    assert found.low.width <= 1e-6 * high


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["plain", "correlated"])
def test_weak_supermodularity(kind: str, k: int) -> None:
    """The largest (g(S) - g(S + R)) / sum_R (g(S) - g(S + j)), |S| + |R| <= k, by enumeration."""
    X, y = design(kind, d=5)
    g = {
        S: rss(X, y, S) if S else float(y @ y)
        for m in range(k + 1)
        for S in itertools.combinations(range(5), m)
    }
    worst = 1.0
    for S, value in g.items():
        rest = [j for j in range(5) if j not in S]
        for m in range(2, k - len(S) + 1):
            for R in itertools.combinations(rest, m):
                single = sum(value - g[tuple(sorted((*S, j)))] for j in R)
                worst = max(worst, (value - g[tuple(sorted((*S, *R)))]) / single)
    found = smallest_alpha(X.T @ X, X.T @ y, float(y @ y), k)
    assert found.low - 1e-9 <= worst <= found.high + 1e-9
    assert found.width <= 1e-6 * worst


@pytest.mark.parametrize("k", [1, 2, 3])
def test_sparse_spectra_of_indefinite_matrices(k: int) -> None:
    rng = np.random.default_rng(k)
    A = rng.standard_normal((6, 6))
    A = A + A.T
    values = [np.linalg.eigvalsh(A[np.ix_(S, S)]) for S in itertools.combinations(range(6), k)]
    found = sparse_spectrum(A, k, semidefinite=False)
    low, high = min(v[0] for v in values), max(v[-1] for v in values)
    assert low < 0.0
    assert found.low.low == pytest.approx(low)
    assert found.low.high == pytest.approx(low)
    assert found.high.low == pytest.approx(high)
    assert found.high.high == pytest.approx(high)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", ["plain", "correlated", "copies"])
def test_bounds_of_sparse_eigenvalues_hold(kind: str, k: int) -> None:
    X, _ = design(kind)
    G = X.T @ X / len(X)
    largest = max(
        np.linalg.eigvalsh(G[np.ix_(S, S)])[-1] for S in itertools.combinations(range(6), k)
    )
    assert upper_bound(G, k)[0] >= largest - 1e-12
    if k == 1:
        assert upper_bound(G, k)[0] == pytest.approx(largest)  # the largest diagonal entry
    value, S = search(G, k)
    assert value == pytest.approx(np.linalg.eigvalsh(G[np.ix_(S, S)])[-1])
    assert value <= largest + 1e-12
