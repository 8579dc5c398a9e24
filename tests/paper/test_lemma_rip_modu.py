"""`lemma:RIP.modu`: g is (k, kappa^2)-weakly supermodular, by enumeration of all S in T, |T| <= k.

kappa is the restricted condition number for sparsity k (`definition:restricted-condition-number`):
the largest singular value of any k columns over the smallest of any k columns.
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from keyhole.learners.blocks.fit.set_function import residual
from keyhole.problem import Floats

D, N, K = 6, 25, 4
SetFunction = Callable[[tuple[int, ...]], float]


def designs() -> Iterator[tuple[Floats, Floats]]:
    """Independent, correlated, unequally scaled and nearly collinear columns; 30 of them."""
    rng = np.random.default_rng(4)
    for i in range(30):
        X = rng.standard_normal((N, D))
        if i % 4 == 1:
            X = X + 1.5 * rng.standard_normal((N, 1))
        if i % 4 == 2:
            X *= 2.0 ** rng.integers(-2, 3, D)
        if i % 4 == 3:
            X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
        y = X @ rng.standard_normal(D) * rng.integers(0, 2) + rng.standard_normal(N)
        yield X, y


def g_of(X: Floats, y: Floats) -> SetFunction:
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    values = {
        S: residual(G, c, yy, len(y), S)
        for size in range(K + 2)
        for S in itertools.combinations(range(D), size)
    }
    return values.__getitem__


def restricted_condition_number(X: Floats, k: int) -> float:
    spectra = [
        np.linalg.svd(X[:, S], compute_uv=False) for S in itertools.combinations(range(D), k)
    ]
    return max(float(s[0]) for s in spectra) / min(float(s[-1]) for s in spectra)


def pairs(k: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All S, T with S in T and |T| <= k."""
    for size in range(k + 1):
        for T in itertools.combinations(range(D), size):
            for part in range(size + 1):
                for S in itertools.combinations(T, part):
                    yield S, T


def violation(g: SetFunction, alpha: float, k: int) -> float:
    """The most by which g(S) - g(T) exceeds alpha times the sum of single gains."""
    worst = 0.0
    for S, T in pairs(k):
        single = sum(g(S) - g(tuple(sorted({*S, i}))) for i in T if i not in S)
        worst = max(worst, g(S) - g(T) - alpha * single)
    return worst


def test_g_is_monotone_and_weakly_supermodular() -> None:
    for X, y in designs():
        g = g_of(X, y)
        assert all(g(T) <= g(S) + 1e-12 for S, T in pairs(K))
        kappa = restricted_condition_number(X, K)
        assert violation(g, kappa**2, K) <= 1e-10 * g(())


def test_isometries_have_small_condition_numbers() -> None:
    """RIP(epsilon, k) gives kappa <= (1 + epsilon)/(1 - epsilon)."""
    for X, _ in designs():
        scaled = X / np.sqrt(N)
        spectra = [
            np.linalg.svd(scaled[:, S], compute_uv=False)
            for S in itertools.combinations(range(D), K)
        ]
        epsilon = max(max(s[0] - 1, 1 - s[-1]) for s in spectra)
        if epsilon < 1:
            assert restricted_condition_number(X, K) <= (1 + epsilon) / (1 - epsilon) + 1e-9


def test_plain_supermodularity_is_a_broken_twin() -> None:
    """alpha = 1 would be supermodularity: regression is not supermodular."""
    assert max(violation(g_of(X, y), 1.0, K) for X, y in designs()) > 1e-3


def test_alpha_without_the_normalisation_is_a_broken_twin() -> None:
    """`lem:regression_sub` takes columns of norm at most 1; 1/sigma_min^2 alone proves nothing.

    g does not change when X is multiplied by a number, 1/sigma_min^2 does.
    """
    worst = 0.0
    for X, y in designs():
        spectra = [
            np.linalg.svd(X[:, S], compute_uv=False) for S in itertools.combinations(range(D), K)
        ]
        alpha = 1 / min(float(s[-1]) for s in spectra) ** 2
        worst = max(worst, violation(g_of(X, y), alpha, K))
    assert worst > 1e-3


def test_gains_as_if_features_were_uncorrelated_are_a_broken_twin() -> None:
    """yy - sum c_j^2 / G_jj counts twice what two features share, until it is below 0."""
    lowest = 0.0
    for X, y in designs():
        single = (X.T @ y) ** 2 / (X**2).sum(axis=0)
        lowest = min(lowest, float(y @ y - np.sort(single)[-K:].sum()) / N)
        assert residual(X.T @ X, X.T @ y, float(y @ y), N, range(D)) >= 0
    assert lowest < -1e-3


def test_a_price_for_each_feature_is_a_broken_twin() -> None:
    """g(S) + price |S|, the in-batch loss with a penalty, is not monotone."""
    X, y = next(designs())
    g = g_of(X, y)
    price = 0.05 * g(())
    assert any(g(T) + price * len(T) > g(S) + price * len(S) + 1e-12 for S, T in pairs(K))
