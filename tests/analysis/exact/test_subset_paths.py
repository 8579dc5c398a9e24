"""Good subsets of every size: no exchange of one feature helps, and they are as good as greedy."""

import itertools

import numpy as np
import pytest

from keyhole.analysis.exact.best_subset import best_subset
from keyhole.analysis.exact.subset_paths import subset_path
from keyhole.problem import Floats, ProblemError


def rss(X: Floats, y: Floats, S: list[int]) -> float:
    w = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
    return float(((y - X[:, S] @ w) ** 2).sum())


@pytest.mark.parametrize("seed", range(5))
def test_no_exchange_helps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 9)) @ rng.normal(size=(9, 9)) * 10.0 ** np.arange(-4, 5)
    y = rng.normal(size=40)
    path = subset_path(X.T @ X, X.T @ y, float(y @ y), 6)
    assert [len(S) for S in path] == list(range(7))
    for k, S in enumerate(path[1:], start=1):
        own = rss(X, y, S.tolist())
        others = (
            [*(i for i in S.tolist() if i != out), j]
            for out, j in itertools.product(S.tolist(), range(9))
            if j not in S
        )
        assert own <= min(rss(X, y, T) for T in others) * (1 + 1e-9)
        best = best_subset(X.T @ X, X.T @ y, float(y @ y), k).rss
        assert best <= own * (1 + 1e-9)
        if k == 1:
            assert own == pytest.approx(best)


def test_two_that_are_only_good_together() -> None:
    """Forward selection alone, the twin, keeps the decoy it began with."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    X = np.column_stack([a + 0.01 * b, a, a - b + 0.5 * rng.normal(size=200)])
    y = b
    path = subset_path(X.T @ X, X.T @ y, float(y @ y), 2)
    assert path[1].tolist() == [2]
    assert path[2].tolist() == [0, 1]


def test_dependent_columns_and_nothing_to_explain() -> None:
    X = np.random.default_rng(1).normal(size=(20, 2))
    G = np.column_stack([X, X.sum(axis=1), X[:, 0], np.zeros(20)])
    y = X[:, 0] + X[:, 1] ** 3
    path = subset_path(G.T @ G, G.T @ y, float(y @ y), 5)
    assert [len(S) for S in path] == [0, 1, 2, 2, 2, 2]
    assert [S.tolist() for S in subset_path(np.eye(2), np.zeros(2), 0.0, 2)] == [[], [], []]
    assert [len(S) for S in subset_path(np.zeros((2, 2)), np.zeros(2), 1.0, 2)] == [0, 0, 0]
    with pytest.raises(ProblemError, match="k must be at most d = 2, got 3"):
        subset_path(np.eye(2), np.ones(2), 2.0, 3)
