"""The smallest alpha of weak supermodularity against its definition, set by set."""

import functools
import itertools

import numpy as np
import pytest

from keyhole.analysis.exact import supermodular
from keyhole.analysis.exact.sparse_eigenvalues import SparseSpectrum, sparse_spectrum
from keyhole.analysis.exact.supermodular import smallest_alpha
from keyhole.problem import Floats


def by_definition(X: Floats, y: Floats, k: int) -> float:
    """Every S in T, |T| <= k, with least squares for each set."""

    @functools.cache
    def g(S: frozenset[int]) -> float:
        if not S:
            return float(y @ y)
        columns = X[:, sorted(S)]
        w = np.linalg.lstsq(columns, y, rcond=1e-8)[0]
        return float(((y - columns @ w) ** 2).sum())

    worst = 1.0
    for size in range(2, k + 1):
        for T in itertools.combinations(range(X.shape[1]), size):
            for m in range(size - 1):
                for chosen in itertools.combinations(T, m):
                    S = frozenset(chosen)
                    gains = sum(g(S) - g(S | {i}) for i in T if i not in S)
                    if gains > 1e-10 * float(y @ y):
                        worst = max(worst, (g(S) - g(frozenset(T))) / gains)
    return worst


def data(kind: str, d: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([d, len(kind)])
    X = rng.normal(size=(40, d))
    if kind == "correlated":
        X = X @ np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(range(d), range(d)))).T
    elif kind == "duplicates":
        X[:, d // 2 :] = X[:, : d - d // 2]
    elif kind == "zero column":
        X[:, 1] = 0.0
    return X, X @ rng.normal(size=d) + rng.normal(size=40)


@pytest.mark.parametrize("kind", ["independent", "correlated", "duplicates", "zero column"])
@pytest.mark.parametrize("d", [2, 4, 6])
def test_exact_for_all_k(kind: str, d: int) -> None:
    X, y = data(kind, d)
    for k in range(1, d + 1):
        alpha = smallest_alpha(X.T @ X, X.T @ y, float(y @ y), k)
        assert alpha.low == alpha.high == pytest.approx(by_definition(X, y, k), rel=1e-6)


@pytest.mark.parametrize("kind", ["independent", "correlated"])
def test_an_interval_when_there_are_many_pairs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(kind, 6)
    monkeypatch.setattr(supermodular, "MAX_PAIRS", 20)
    for k in range(3, 7):
        alpha = smallest_alpha(X.T @ X, X.T @ y, float(y @ y), k)
        assert alpha.low <= by_definition(X, y, k) * (1 + 1e-9)
        assert alpha.high >= by_definition(X, y, k) * (1 - 1e-9)
        assert alpha.width > 0
        assert "up to size 2" in alpha.how


def test_orthogonal_columns_are_supermodular() -> None:
    X, y = np.eye(6)[:, :4], np.arange(6.0)
    assert smallest_alpha(X.T @ X, X.T @ y, float(y @ y), 4).high == pytest.approx(1.0)


def test_nothing_to_compare() -> None:
    assert smallest_alpha(np.eye(3), np.zeros(3), 0.0, 2).high == 1.0
    assert smallest_alpha(np.zeros((3, 3)), np.zeros(3), 1.0, 2).high == 1.0


def test_how_much_enumeration_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """3 nominal seconds unless told otherwise, where not all pairs of sets can be gone through."""
    spent: list[float] = []

    def counted(A: Floats, k: int, *, seconds: float) -> SparseSpectrum:
        spent.append(seconds)
        return sparse_spectrum(A, k)

    monkeypatch.setattr(supermodular, "MAX_PAIRS", 0)
    monkeypatch.setattr(supermodular, "sparse_spectrum", counted)
    G, c = np.eye(4) + 0.1, np.array([1.0, 0.5, 0.25, 0.1])
    smallest_alpha(G, c, 3.0, 3)
    smallest_alpha(G, c, 3.0, 3, seconds=2.0)
    assert spent == [3.0, 2.0]
