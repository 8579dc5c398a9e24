"""Sorting of small subsets: each way is taken, and none of them moves what it should not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.learners.blocks.draw.sorting import sort


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([1, 2, 17, 63, 64, 65, 128, 129, 500, 5000, 2**31 - 1]),
    st.sampled_from([0, 1, 2, 8, 15, 16, 17, 40, 64, 129, 500]),
    st.integers(0, 2**32),
)
def test_sorted_is_what_numpy_sorts(n: int, m: int, seed: int) -> None:
    m = min(n, m)
    rng = np.random.default_rng(seed)
    numbers = rng.choice(n, m, replace=False) if n < 10**4 else rng.integers(0, n, 2 * m + 1)
    numbers = rng.permutation(np.unique(numbers))[:m].astype(np.int64)
    out, space = numbers.copy(), np.full((2, len(numbers) + 1), -1, dtype=np.int64)
    sort(out, n, space[0], space[1])
    np.testing.assert_array_equal(out, np.sort(numbers))


def test_the_largest_and_the_smallest_number_of_each_word() -> None:
    n = 64 * 20
    edges = np.array([v for b in range(20) for v in (64 * b, 64 * b + 63)], dtype=np.int64)
    out = edges[::-1].copy()
    space = np.empty((2, len(out) + 1), dtype=np.int64)
    sort(out, n, space[0], space[1])
    np.testing.assert_array_equal(out, edges)
