"""Forward selection from sums against least squares on rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.fit.stepwise_selection import select
from keyhole.learners.blocks.sums.memories import Memories, memories, remember
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


def test_reads_count_as_far_as_they_are_remembered() -> None:
    """Ten reads with a memory of 2 rounds are sum exp(-age/2) = 2.5 reads: too few, though 10."""
    x = np.array([1.0, -1.0] * 5)
    kept = memories(1, [np.inf, 2.0, 8.0])
    for value in x.tolist():
        remember(kept, np.array([0]), np.array([[value]]), np.array([2.0 * value]))
    counts = [float(np.exp(-np.arange(10) / tau).sum()) for tau in (np.inf, 2.0, 8.0)]
    assert counts[1] < 4 < counts[2]
    found = [select(kept, m, most=1, threshold=0.0) for m in range(3)]
    assert [len(f.chosen) for f in found] == [1, 0, 1]
    np.testing.assert_allclose([f.counts[0] for f in found], counts)


def test_four_reads_are_enough_and_a_standard_error_knows_how_many() -> None:
    """|r| against threshold sqrt(noise D / n), both by hand, under forgetting and without."""
    x, y = np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, -1.0, 1.0, -2.0])
    kept = memories(1, [np.inf])
    remember(kept, np.array([0]), x[:, None], y)
    # r = mean xy = 1.5, D = 1, noise = mean y^2 = 2.5, n = 4: r / error = 1.5 / sqrt(2.5 / 4)
    limit = 1.5 / np.sqrt(2.5 / 4)
    assert len(select(kept, 0, 1, 0.999 * limit).chosen) == 1
    assert len(select(kept, 0, 1, 1.001 * limit).chosen) == 0
    half = full_memory(np.tile(x, 4)[:, None], np.tile(y, 4))
    half.scale[0] = 0.5  # 16 rounds, half forgotten: n = 8
    limit = 1.5 / np.sqrt(2.5 / 8)
    assert len(select(half, 0, 1, 0.999 * limit).chosen) == 1
    assert len(select(half, 0, 1, 1.001 * limit).chosen) == 0


def test_what_is_left_of_the_label_is_never_less_than_a_thousandth() -> None:
    """y = 2 x + 1 leaves nothing; the noise stays at 1e-3 of the mean square of the label."""
    x = np.random.default_rng(0).standard_normal(50)
    y = 2.0 * x + 1.0
    found = select(full_memory(x[:, None], y), 0, most=1, threshold=2.0)
    assert found.chosen.tolist() == [0]
    np.testing.assert_allclose(found.noise, 1e-3 * float(np.mean(y**2)))
    np.testing.assert_allclose(found.gains, [float(np.var(y))])
