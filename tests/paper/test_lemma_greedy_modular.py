"""`lemma:greedy-modular`: one greedy step closes a share 1/(alpha |V|) of the gap to any V."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from keyhole.learners.blocks.fit.set_function import greedy, residual
from keyhole.problem import Floats

D, N, K = 6, 25, 3
Chooser = Callable[[Floats, Floats, float], int]


def designs() -> Iterator[tuple[Floats, Floats]]:
    rng = np.random.default_rng(11)
    for i in range(40):
        X = rng.standard_normal((N, D)) + (i % 3) * rng.standard_normal((N, 1))
        w = np.where(rng.permutation(D) < 3, rng.standard_normal(D), 0.0)
        yield X, X @ w + 0.3 * rng.standard_normal(N)


def smallest_alpha(X: Floats, y: Floats) -> float:
    """The least alpha for which g is (K, alpha)-weakly supermodular, by enumeration."""
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    sizes = range(K + 1)
    sets = [S for size in sizes for S in itertools.combinations(range(D), size)]
    g = {S: residual(G, c, yy, N, S) for S in sets}
    alpha = 1.0
    for T in sets:
        for S in sets:
            if {*S} < {*T}:
                rest = [i for i in T if i not in S]
                single = sum(g[S] - g[tuple(sorted([*S, i]))] for i in rest)
                if g[S] - g[T] > 1e-12:
                    alpha = max(alpha, (g[S] - g[T]) / single)
    return alpha


def holds(choose: Chooser, alpha_of: Callable[[Floats, Floats], float]) -> bool:
    for X, y in designs():
        G, c, yy = X.T @ X, X.T @ y, float(y @ y)
        alpha = alpha_of(X, y)
        after = residual(G, c, yy, N, [choose(G, c, yy)])
        empty = residual(G, c, yy, N, [])
        for size in range(1, K + 1):
            for V in itertools.combinations(range(D), size):
                g = residual(G, c, yy, N, V)
                if after - g > (1 - 1 / (alpha * size)) * (empty - g) + 1e-12:
                    return False
    return True


def best(G: Floats, c: Floats, yy: float) -> int:
    return int(greedy(G, c, yy, N, 1)[0][0])


def test_the_greedy_step() -> None:
    assert holds(best, smallest_alpha)


def test_other_features_are_broken_twins() -> None:
    """The worst feature, and the one with the largest |c_j| when scales differ."""
    assert not holds(lambda G, c, yy: int(np.argmin(c**2 / np.diag(G))), smallest_alpha)
    assert not holds(lambda G, c, yy: 0, smallest_alpha)


def test_ignoring_alpha_is_a_broken_twin() -> None:
    """The share 1/|V| of a supermodular function is more than regression gives."""
    assert not holds(best, lambda X, y: 1.0)
