"""A VAW started from a memory is a VAW that saw the rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.fit import vaw as kernels
from keyhole.learners.blocks.fit.vaw import Start, ensemble
from keyhole.learners.blocks.sums.memories import memories, remember


@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
def test_it_goes_on_where_the_memory_ends(seed: int, unit: float) -> None:
    """Guesses equal x'(A + xx')^-1 b with A, b over all rows, old and new, in any units."""
    rng = np.random.default_rng(seed)
    n, d = 30, 4
    units = np.array([1.0, unit, 1.0, unit])
    X, y = rng.standard_normal((n, d)) * units, rng.standard_normal(n)
    kept = memories(d, [np.inf])
    remember(kept, np.arange(d), X[:20], y[:20])
    runs = ensemble(1, d + 1)
    runs.place[0, :4], runs.size[0] = [3, 1, 0, d], 4
    features = np.append(np.arange(d), d)
    ridge, sizes = 0.7, 1.5 * units
    kernels.start(runs, 0, features, kept, Start(0, sizes, ridge))
    V = [3, 1, 0]
    A = np.diag([*(ridge * sizes[V] ** 2), 1.0])
    rows = np.column_stack([X[:, V], np.ones(n)])
    A += rows[:20].T @ rows[:20]
    b = rows[:20].T @ y[:20]
    guesses = np.empty(1)
    for t in range(20, n):
        x = rows[t]
        kernels.guess(runs, np.append(X[t], 1.0), guesses)
        scale = 1.0 / np.sqrt(np.diag(A))
        full = (A + np.outer(x, x)) * np.outer(scale, scale)
        expected = (x * scale) @ np.linalg.solve(full, b * scale)
        np.testing.assert_allclose(guesses[0], expected, rtol=1e-6, atol=1e-9)
        kernels.learn(runs, float(y[t]))
        A += np.outer(x, x)
        b += x * y[t]


def test_from_nothing_it_starts_at_zero() -> None:
    kept = memories(2, [np.inf])
    remember(kept, np.arange(2), np.ones((5, 2)), np.ones(5))
    runs = ensemble(2, 3)  # the second run has no place at all
    runs.place[0, :2], runs.size[0] = [0, 2], 2
    kernels.start(runs, 0, np.arange(3), kept, Start(-1, np.ones(2), 1.0))
    guesses = np.empty(2)
    kernels.guess(runs, np.ones(3), guesses)
    assert guesses.tolist() == [0.0, 0.0]


def test_a_feature_of_unknown_size_keeps_the_weight_zero() -> None:
    kept = memories(2, [np.inf])
    runs = ensemble(1, 3)
    runs.place[0], runs.size[0] = [0, 1, 2], 3
    origin = Start(0, np.array([0.0, 1.0]), 1.0)
    kernels.start(runs, 0, np.arange(3), kept, origin)
    guesses = np.empty(1)
    for _ in range(5):
        kernels.guess(runs, np.array([1e9, 1.0, 1.0]), guesses)
        kernels.learn(runs, 1.0)
    assert runs.theta[0, 0] == 0.0
    assert runs.theta[0, 1] > 0.1


def test_a_matrix_that_rounding_made_indefinite_says_nothing() -> None:
    """x'Px is -3 for the first run, infinite for the second: both guess theta.x and do not learn.

    The third has x'Px = 0, which is allowed, and the fourth 3.
    """
    runs, guesses = ensemble(4, 2), np.empty(4)
    runs.size[:], runs.place[:] = 2, [0, 1]
    runs.theta[:] = [0.5, 0.25]
    runs.P[:, 0, 0], runs.P[:, 1, 1] = [1.0, 1e308, 0.0, 2.0], [-1.0, 1e308, 0.0, 0.25]
    before = runs.P.copy()
    kernels.guess(runs, np.array([1.0, 2.0]), guesses)
    assert guesses.tolist() == [1.0, 1.0, 1.0, 0.25]
    assert runs.s.tolist() == [1.0, 1.0, 1.0, 4.0]
    kernels.learn(runs, 7.0)
    assert runs.theta.tolist() == [[0.5, 0.25]] * 3 + [[3.5, 1.0]]
    assert (runs.P[:3] == before[:3]).all()
    assert runs.P[3].tolist() == [[1.0, -0.25], [-0.25, 0.1875]]
