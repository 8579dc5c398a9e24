"""Exact searches on small problems, by enumeration."""

import itertools
import math

import numpy as np
import pytest

from keyhole.analysis.exact.best_subset import best_subset
from keyhole.analysis.exact.branch_and_bound import Leaf, enumerate_all
from keyhole.analysis.exact.sparse_eigenvalues import search, sparse_spectrum, upper_bound
from keyhole.analysis.exact.supermodular import smallest_alpha
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


@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_an_enumeration_that_leaves_nothing_out(r: int) -> None:
    """Nothing is known of what candidates may explain, so every set has to be looked at."""
    X, y = design("correlated", 7, 20)
    X, y = X / np.linalg.norm(X, axis=0), y / np.linalg.norm(y)
    for always in ((), (2,)):
        C = np.array([j for j in range(7) if j not in always])
        leaf = Leaf(np.array(always, dtype=np.int64), C, np.zeros(len(C)), -10.0)
        best = np.full(len(always) + r, -1, dtype=np.int64)
        found, visited = enumerate_all(X.T @ X, X.T @ y, leaf, r, 1.0, best)
        expected = min(rss(X, y, (*always, *S)) for S in itertools.combinations(C.tolist(), r))
        assert found == pytest.approx(expected, rel=1e-9)
        assert rss(X, y, tuple(best.tolist())) == pytest.approx(expected, rel=1e-9)
        partial = range(1, max(r, 2))  # the last of a set is not visited, unless it is all of it
        at_most = sum(math.comb(len(C), n) for n in partial)
        assert visited <= at_most


def test_the_bound_by_the_frobenius_norm() -> None:
    """Signs at random, so that no split helps: 1 + sqrt((k-1)/k k (k-1)) c of equal sizes c."""
    rng = np.random.default_rng(0)
    signs = np.triu(np.where(rng.random((30, 30)) < 0.5, -1.0, 1.0), 1)
    A = np.eye(30) + 0.3 * (signs + signs.T)
    for k in (2, 3):
        expected = 1.0 + math.sqrt((k - 1) / k * k * (k - 1)) * 0.3
        assert upper_bound(A, k)[0] == pytest.approx(expected)
    A[0, 1] = A[1, 0] = 0.9
    assert upper_bound(A, 2)[0] == pytest.approx(1.9)
