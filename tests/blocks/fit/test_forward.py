"""Forward selection from sums against least squares on rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole.blocks.fit.forward import select
from keyhole.blocks.sums.memories import Memories, memories, remember
from keyhole.problem import Floats


def full_memory(X: Floats, y: Floats) -> Memories:
    kept = memories(X.shape[1], [np.inf])
    remember(kept, np.arange(X.shape[1]), X, y)
    return kept


@given(st.integers(0, 10_000), st.floats(1e-9, 1e9))
def test_with_everything_read_it_is_greedy_least_squares(seed: int, unit: float) -> None:
    """Gains, order and what is left agree with regressions on the rows, in any units."""
    rng = np.random.default_rng(seed)
    n, d = 60, 6
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    y = X[:, 0] - 2.0 * X[:, 1] + rng.standard_normal(n) + 5.0
    units = np.where(np.arange(d) % 2, unit, 1.0)
    found = select(full_memory(X * units, y), 0, most=3, threshold=0.0)

    def rest(S: list[int]) -> float:
        A = np.column_stack([np.ones(n), X[:, S]])
        residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
        return float(residual @ residual) / n

    chosen: list[int] = []
    for j, gain in zip(found.chosen.tolist(), found.gains.tolist(), strict=True):
        gains = {i: rest(chosen) - rest([*chosen, i]) for i in range(d) if i not in chosen}
        np.testing.assert_allclose(gain, gains[j], rtol=1e-6, atol=1e-9 * float(y @ y) / n)
        chosen.append(j)
    for i in range(d):
        if i not in chosen and found.D[i] > 0.05:
            gain = found.r[i] ** 2 / found.D[i]
            np.testing.assert_allclose(
                gain, rest(chosen) - rest([*chosen, i]), rtol=1e-5, atol=1e-8 * float(y @ y) / n
            )


def test_noise_is_rarely_chosen_and_a_signal_always() -> None:
    """400 noise features at 4 standard errors: P(any false one) <= 400 * 2 * Phi(-4) = 2.6 %.

    Over 20 fixed seeds more than 5 false ones would have probability below 1e-6 (binomial). The
    broken twin, a threshold of 1, chooses noise every time.
    """
    false = twin = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((500, 401))
        kept = full_memory(X, X[:, 7] + rng.standard_normal(500))
        found = select(kept, 0, most=20, threshold=4.0).chosen
        assert found[0] == 7
        false += len(found) - 1
        twin += len(select(kept, 0, most=20, threshold=1.0).chosen) - 1
    assert false <= 5
    assert twin == 20 * 19


def test_copies_constants_and_rare_features_are_passed_over() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100)
    X = np.column_stack([x, x, np.full(100, 3.0), rng.standard_normal(100)])
    kept = full_memory(X, 2.0 * x + 0.1 * rng.standard_normal(100))
    assert len(select(kept, 0, most=4, threshold=5.0).chosen) == 1
    few = memories(2, [np.inf])
    remember(few, np.array([0]), np.ones((3, 1)), np.ones(3))  # 3 reads are too few
    assert len(select(few, 0, most=2, threshold=0.0).chosen) == 0
    assert len(select(memories(2, [np.inf]), 0, most=2, threshold=0.0).chosen) == 0
