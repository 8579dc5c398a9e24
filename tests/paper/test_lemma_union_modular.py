"""`lemma:union-modular`: S -> g(U + S) is (k - |U|, alpha)-weakly supermodular like g."""

import itertools
from collections.abc import Callable

import numpy as np

from keyhole.learners.blocks.fit.set_function import residual

D, N, K = 6, 25, 4
Set = frozenset[int]
SetFunction = Callable[[Set], float]


def regression(seed: int) -> SetFunction:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) + rng.standard_normal((N, 1))
    y = X @ rng.standard_normal(D) + rng.standard_normal(N)
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    values = {
        frozenset(S): residual(G, c, yy, N, S)
        for size in range(D + 1)
        for S in itertools.combinations(range(D), size)
    }
    return values.__getitem__


def union(g: SetFunction, U: Set) -> SetFunction:
    return lambda S: g(U | S)


def least_alpha(g: SetFunction, k: int) -> float:
    """The least alpha of weak supermodularity over S in T, |T| <= k; inf if not monotone."""
    alpha = 1.0
    for size in range(k + 1):
        for T in map(frozenset, itertools.combinations(range(D), size)):
            for part in range(size):
                for S in map(frozenset, itertools.combinations(sorted(T), part)):
                    gain = g(S) - g(T)
                    single = sum(g(S) - g(S | {i}) for i in T - S)
                    if gain < -1e-12:
                        return float("inf")
                    if gain > 1e-12:
                        alpha = max(alpha, gain / single if single > 0 else float("inf"))
    return alpha


def test_the_union_keeps_alpha() -> None:
    for seed in range(8):
        g = regression(seed)
        alpha = least_alpha(g, K)
        for size in range(K):
            for U in map(frozenset, itertools.combinations(range(D), size)):
                assert least_alpha(union(g, U), K - size) <= alpha * (1 + 1e-9)


def test_keeping_k_is_a_broken_twin() -> None:
    """(k, alpha) for g(U + .) instead of (k - |U|, alpha) is false: the sets become too large."""
    worst = 0.0
    for seed in range(8):
        g = regression(seed)
        alpha = least_alpha(g, 2)
        for j in range(D):
            worst = max(worst, least_alpha(union(g, frozenset({j})), 2) / alpha)
    assert worst > 1.05


def test_leaving_features_out_instead_is_a_broken_twin() -> None:
    """S -> g(S - U) is not what the slots see: a feature of U alone then gains nothing."""
    g = regression(0)
    U = frozenset({0})
    ours, twin = least_alpha(union(g, U), 3), [g(S - U) for S in [U, frozenset[int]()]]
    assert ours < float("inf")
    assert twin[0] == twin[1]
    assert g(U) < twin[0]
