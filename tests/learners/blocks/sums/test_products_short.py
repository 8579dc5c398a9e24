"""Each way to add up products, on rows few enough for kernels that are not compiled."""

import numpy as np
import pytest

from keyhole.learners.blocks.sums.moments import MAX_CACHED_D, Moments
from keyhole.problem import StateError


@pytest.mark.parametrize(
    ("d", "rows", "width"),
    [
        (12, 30, 3),
        (MAX_CACHED_D + 1, MAX_CACHED_D // 8 + 2, 9),
        (MAX_CACHED_D + 1, 4, 3),
        (60, 20, 60),
    ],
    ids=["row by row", "feature by feature", "few entries", "as a block"],
)
def test_moments_are_sums_of_products(d: int, rows: int, width: int) -> None:
    rng = np.random.default_rng(0)
    moments, XX, N, Xy = Moments(d), np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    for _ in range(rows):
        S, y = np.sort(rng.choice(d, width, replace=False)), float(rng.normal())
        x = rng.normal(size=width)
        moments.add(S, x, y)
        XX[np.ix_(S, S)] += np.outer(x, x)
        N[np.ix_(S, S)] += 1
        Xy[S] += x * y
    np.testing.assert_allclose(moments.XX, XX, atol=1e-10)
    np.testing.assert_allclose(moments.Xy, Xy, atol=1e-10)
    np.testing.assert_array_equal(moments.N, N)
    assert moments.n == rows


def test_arrays_of_other_moments_are_refused() -> None:
    moments = Moments(3)
    moments.add(np.array([0, 2]), np.array([1.0, 2.0]), 3.0)
    arrays = moments.arrays()
    assert Moments(3).with_arrays(arrays) == moments
    with pytest.raises(StateError, match="is of 3 features and 1 rows"):
        Moments(4).with_arrays(arrays)
    with pytest.raises(StateError, match="is of 3 features and -1 rows"):
        Moments(3).with_arrays({**arrays, "n": np.array(-1)})
    empty = Moments(3).with_arrays(Moments(3).arrays())
    assert empty.n == 0
