"""Random optimism: distribution, order, special cases."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.draw.sorting import largest
from keyhole.learners.blocks.fit.stepwise_selection import Selection, sampled_gains
from keyhole.problem import Floats


def selection(r: list[float], D: list[float], counts: list[float], noise: float = 1.0) -> Selection:
    empty = np.empty(0)
    return Selection(
        empty.astype(np.int64), empty, np.array(r), np.array(D), noise, np.array(counts)
    )


@given(st.lists(st.floats(-1e6, 1e6), max_size=40), st.integers(0, 45))
def test_largest_is_a_stable_sort(values: list[float], m: int) -> None:
    score = np.array(values)
    expected = np.argsort(-score, kind="stable")[:m]
    out = np.empty(min(m, len(score)), dtype=np.int64)
    largest(score, out)
    np.testing.assert_array_equal(out, expected)


def gains(t: int, found: Selection, optimism: float = 1.0, seed: int = 3) -> Floats:
    score = np.empty(len(found.r))
    sampled_gains(np.uint64(seed), t, found, optimism, score)
    return score


def mean_gain(optimism: float) -> float:
    """The mean of 4 x 5,000 sampled gains of features with r = 0, D = 1, n = 4."""
    found = selection([0.0] * 4, [1.0] * 4, [4.0] * 4)
    return float(np.mean([gains(t, found, optimism) for t in range(1, 5_001)]))


def test_the_optimism_is_a_normal_standard_error() -> None:
    """E (g/2)^2 = 1/4; sd of the mean 0.25 sqrt(2/20000) = 0.0025, five of them (P < 1e-6).

    Broken twin: an optimism of 1.1 gives 0.3025.
    """
    assert abs(mean_gain(1.0) - 0.25) < 0.0125
    assert abs(mean_gain(1.1) - 0.25) > 0.0125


def test_a_constant_feature_is_as_uncertain_as_one_that_has_shown_nothing() -> None:
    """E (g'^2 + g^2)/4 = (1 + o^2)/4, what r ~ N(0, 1/4) has in the mean; o = 1/2: 0.3125.

    sd of the mean 0.3125 sqrt(2/20000) = 0.0031, five of them. Broken twin: g alone, 0.0625.
    """
    found = selection([0.0] * 4, [0.0] * 4, [4.0] * 4)
    draws = [gains(t, found, 0.5) for t in range(1, 5_001)]
    assert abs(np.mean(draws) - 0.3125) < 0.0157
    assert abs(mean_gain(0.5) - 0.3125) > 0.0157


def test_chance_decides_and_combinations_gain_nothing() -> None:
    found = selection([0.5, 0.0, 0.0, 9.0], [1.0, 0.0, 0.0, 0.01], [9.0, 9.0, 0.0, 9.0])
    score = gains(1, found, seed=0)
    assert score[2] == 0.0  # never read: such features come up in an order of their own
    assert score[1] > 0.0  # all reads the same: a rare event may hide there
    assert score[3] == 0.0  # a combination of what was chosen, however large r looks
    again = gains(1, found, seed=0)
    np.testing.assert_array_equal(score, again)
    other = gains(2, found, seed=0)
    assert score[0] != other[0]


def test_gains_are_by_what_is_left_of_a_feature() -> None:
    """Without optimism r^2/D; with it and r = 0, noise g^2/n whatever D is; else between them."""
    r, D = [0.3, -0.3, 0.3, 0.3, 0.3], [1.0, 0.5, 0.06, 0.05, 0.5]
    counts = [9.0, 9.0, 9.0, 9.0, 0.0]
    plain = gains(5, selection(r, D, counts, noise=2.0), optimism=0.0)
    np.testing.assert_allclose(plain, [0.09, 0.18, 1.5, 0.0, 0.0])
    n = np.array([4.0, 9.0, 16.0, 25.0])
    zero = [0.0] * 4
    whole = gains(5, selection(zero, [1.0] * 4, n.tolist(), noise=2.0), optimism=0.5)
    part = gains(5, selection(zero, [1.0, 0.5, 0.25, 0.1], n.tolist(), noise=2.0), optimism=0.5)
    np.testing.assert_allclose(part, whole)
    single = gains(5, selection(zero, [1.0] * 4, [1.0] * 4), optimism=1.0)  # g^2 itself
    np.testing.assert_allclose(whole, 2.0 * 0.25 * single / n)
    both = gains(5, selection([3.0] * 4, [0.25] * 4, n.tolist(), noise=2.0), optimism=0.5)
    error = 0.5 * np.sqrt(2.0 * 0.25 * single / n)  # of either sign
    off = np.abs(np.sqrt(both * 0.25) - 3.0)
    np.testing.assert_allclose(off, error, rtol=1e-9)
