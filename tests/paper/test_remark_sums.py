"""The remark that sums of weakly supermodular functions are weakly supermodular.

For functions that do not grow with S, the sum has the largest alpha of its parts: each part has

    g(S) - g(T) <= alpha_b sum (g(S) - g(S + i)) <= alpha sum (g(S) - g(S + i)).
"""

import pytest

from tests.paper.test_lemma_union_modular import SetFunction, least_alpha, regression


def added(parts: list[SetFunction]) -> SetFunction:
    return lambda S: sum(g(S) for g in parts)


def smaller(parts: list[SetFunction]) -> SetFunction:
    return lambda S: min(g(S) for g in parts)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_sum_has_at_most_the_largest_alpha(k: int) -> None:
    for seed in range(0, 24, 3):
        parts = [regression(seed + b) for b in range(3)]
        largest = max(least_alpha(g, k) for g in parts)
        assert least_alpha(added(parts), k) <= largest * (1 + 1e-9)


def test_the_smaller_of_two_is_a_broken_twin() -> None:
    """What holds for sums does not for minima."""
    beyond = 0
    for seed in range(0, 24, 3):
        parts = [regression(seed + b) for b in range(3)]
        beyond += least_alpha(smaller(parts), 3) > 1.05 * max(least_alpha(g, 3) for g in parts)
    assert beyond > 0


def test_functions_that_grow_are_outside_the_remark() -> None:
    """Two features: alpha is 2 of one that falls, 1 of one that grows, and 8/3 of their sum."""

    def ratio(g: list[float]) -> float:  # g of 0, 1 and 2 features, whichever they are
        return (g[0] - g[2]) / (2 * (g[0] - g[1]))

    falls, grows = [1.0, 0.75, 0.0], [0.0, 0.1, 0.2]
    assert ratio(falls) == pytest.approx(2.0)
    assert ratio(grows) == pytest.approx(1.0)
    assert ratio([a + b for a, b in zip(falls, grows, strict=True)]) == pytest.approx(8 / 3)
