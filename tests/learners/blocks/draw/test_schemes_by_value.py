"""Schemes of drawing by value, quick without compilation: by counting, and by their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from keyhole.learners.blocks.draw import sampling
from keyhole.learners.blocks.draw.mixed_sampling import (
    MixedScheme,
    mixed_scheme,
    shares,
    with_one_more,
)
from keyhole.problem import Indices, ProblemError


def ints(*numbers: int) -> Indices:
    return np.array(numbers, dtype=np.int64)


def test_more_than_is_left_cannot_be_drawn() -> None:
    for m in (4, -1):
        with pytest.raises(ProblemError, match="m must be at"):
            mixed_scheme(np.ones(4), [2], m)
    for S in ([2, 1], [1, 1]):
        with pytest.raises(ProblemError, match="support must be"):
            mixed_scheme(np.ones(4), S, 1)


def choose(n: int, m: int) -> int:
    return math.comb(n, m) if m >= 0 and n >= 0 else 0


@pytest.mark.parametrize("n", range(1, 7))
def test_shares_by_counting_subsets(n: int) -> None:
    q = [Fraction(i + 1, n * (n + 1) // 2) for i in range(n)]
    for m in range(n + 1):
        a, b, c, e = shares(n, m)
        for i in range(n):
            P = Fraction(0)
            for f in range(n if m else 0):
                more = int(f != i)
                P += q[f] * Fraction(choose(n - 1 - more, m - 1 - more), choose(n - 1, m - 1))
            assert a + b * float(q[i]) == pytest.approx(float(P))
            for j in set(range(n)) - {i}:
                PP = Fraction(0)
                for f in range(n if m else 0):
                    more = 2 - (f in (i, j))
                    PP += q[f] * Fraction(choose(n - 1 - more, m - 1 - more), choose(n - 1, m - 1))
                assert c + e * float(q[i] + q[j]) == pytest.approx(float(PP))


def test_with_one_more_keeps_the_order() -> None:
    for j in (0, 3, 9):
        assert with_one_more(ints(2, 5), j).tolist() == sorted([2, 5, j])


def test_a_mixed_draw_is_a_draw_by_weight_and_a_uniform_rest() -> None:
    w = np.array([0.0, 3.0, 9.0, 1.0, 0.5, 0.0, 2.0])
    scheme = mixed_scheme(w, [2], 3)
    for round in range(20):
        first = sampling.categorical(4, round, scheme.q, purpose=6)
        rest = sampling.complement_subset(4, round, 7, 2, sorted([2, first]), purpose=7)
        expected = sorted([first, *rest.tolist()])
        assert scheme.draw(4, round, purpose=6).tolist() == expected
        assert scheme.read(4, round, purpose=6).tolist() == sorted([2, *expected])
    assert mixed_scheme(w, [2], 0).draw(0, 1).tolist() == []
    assert mixed_scheme(w, [2], 6).draw(0, 1).tolist() == [0, 1, 3, 4, 5, 6]


def test_a_scheme_by_its_definition() -> None:
    w = np.array([0.0, 3.0, 9.0, -1.0, 0.5, 0.0, 2.0])
    q = [0, 3 / 6.5, 0, 1 / 6.5, 0.5 / 6.5, 0, 2 / 6.5]
    scheme = mixed_scheme(w, [2], 4)
    np.testing.assert_allclose(scheme.q, q, rtol=1e-12)
    a, b, c, e = 3 / 5, 2 / 5, 3 * 2 / 20, 3 * 2 / 20
    single = [1.0 if i == 2 else a + b * q[i] for i in range(7)]
    np.testing.assert_allclose(scheme.single, single, rtol=1e-12)
    for i in range(7):
        for j in range(7):
            P = c + e * (q[i] + q[j])
            if i == j or 2 in (i, j):
                P = min(single[i], single[j])
            assert scheme.pair(i, j) == pytest.approx(P, rel=1e-12)
    assert scheme.spread == pytest.approx((1 / a, 1 / c))
    assert scheme.sees_all_pairs
    assert scheme.marks(ints(2, 1)).tolist() == [-1.0, scheme.q[1]]
    arrays = scheme.arrays()
    assert arrays.marks.tolist() == [-1.0 if i == 2 else scheme.q[i] for i in range(7)]
    assert arrays.m == 4
    assert tuple(arrays.spread) == scheme.spread
    assert not scheme.q.flags.writeable
    assert not scheme.support.flags.writeable


@pytest.mark.parametrize(
    ("d", "S", "m", "spread"),
    [(3, [0, 1, 2], 0, (1.0, 1.0)), (3, [0, 1], 1, (1.0, 1.0)), (3, [0, 1], 0, (np.inf, np.inf)),
     (4, [0], 1, (3.0, np.inf)), (4, [0], 2, (1.5, 3.0)), (4, [], 0, (np.inf, np.inf))],
)  # fmt: skip
def test_the_spread_where_little_is_outside(
    d: int, S: list[int], m: int, spread: tuple[float, float]
) -> None:
    scheme = mixed_scheme(np.ones(d), S, m)
    assert scheme.spread == pytest.approx(spread)
    assert scheme.sees_all_pairs == (spread[1] < np.inf)


def test_a_feature_without_weight_may_never_be_drawn() -> None:
    scheme = MixedScheme(ints(), np.array([0.0, 0.25, 0.75]), 1)
    assert scheme.spread == (np.inf, np.inf)


def test_weights_that_mean_nothing_are_uniform() -> None:
    for w in ([0.0, 0.0, 0.0, 5.0], [np.inf, 1.0, 1.0, 1.0]):
        np.testing.assert_allclose(mixed_scheme(np.array(w), [3], 3).q, [1 / 3, 1 / 3, 1 / 3, 0])
    heavy = np.array([1.0, 2.0, 1.0, 0.0])
    np.testing.assert_allclose(mixed_scheme(heavy, [], 2).q, [0.25] * 4)
    np.testing.assert_allclose(mixed_scheme(heavy, [], 3).q, [0.25, 0.5, 0.25, 0])
    np.testing.assert_allclose(mixed_scheme(heavy * 8e307, [], 3).q, [0.25, 0.5, 0.25, 0])
    np.testing.assert_allclose(mixed_scheme(heavy * 1e-310, [], 3).q, [0.25, 0.5, 0.25, 0])


def test_inclusion_by_its_definition() -> None:
    scheme = sampling.inclusion_complement(6, [1, 3], 3)
    p, q = 3 / 4, 3 * 2 / (4 * 3)
    assert scheme.single.tolist() == [p, 1.0, p, 1.0, p, p]
    assert scheme.pair([0, 0, 1, 1], [0, 2, 3, 2]).tolist() == [p, q, 1.0, p]
    union = sampling.inclusion_union(6, [1], 2)
    assert union.single.tolist() == [2 / 6, 1.0, *[2 / 6] * 4]
    assert float(union.pair(0, 2)) == 2 / 30
    assert sampling.inclusion_uniform(6, 2).single.tolist() == [2 / 6] * 6


@pytest.mark.parametrize(
    ("d", "S", "m", "all_pairs"),
    [(2, [0, 1], 0, True), (2, [0], 0, False), (2, [0], 1, True), (3, [0], 1, False),
     (3, [0], 2, True), (3, [], 1, False), (3, [], 2, True), (1, [], 1, True)],
)  # fmt: skip
def test_whether_all_pairs_are_seen(d: int, S: list[int], m: int, all_pairs: bool) -> None:
    assert sampling.inclusion_complement(d, S, m).sees_all_pairs == all_pairs
