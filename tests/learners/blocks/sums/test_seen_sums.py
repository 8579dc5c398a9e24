"""SeenSums against the same sums written plainly, weights included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.sums.seen_sums import (
    COUNT,
    FIRST,
    PRODUCT,
    SECOND,
    SeenSums,
    fewest,
    place,
)
from keyhole.problem import Floats, ProblemError


def rows(d: int, n: int, seed: int) -> tuple[Floats, Floats]:
    """Rows of which about a third was not read (NaN), and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 1.0, (n, d))
    X[rng.random(X.shape) < 0.35] = np.nan
    return X, rng.standard_normal(n)


def added(X: Floats, y: Floats, sums: SeenSums) -> SeenSums:
    for x, label in zip(X, y, strict=True):
        bought = np.flatnonzero(~np.isnan(x) | (np.arange(len(x)) % 2 == 0))
        sums.add(bought, x[bought], float(label))  # every other absent value was bought
    return sums


@given(d=st.integers(1, 6), n=st.integers(0, 12), seed=st.integers(0, 10**6))
def test_the_sums_are_what_they_say(d: int, n: int, seed: int) -> None:
    X, y = rows(d, n, seed)
    sums = added(X, y, SeenSums(d))
    seen, Z = (~np.isnan(X)).astype(float), np.where(np.isnan(X), 0.0, X)
    for i in range(d):
        for j in range(i, d):
            both = seen[:, i] * seen[:, j]
            record = sums.pairs[place(np.array(i), np.array(j), d)]
            expected = np.zeros(4)
            expected[[PRODUCT, COUNT, FIRST, SECOND]] = (
                Z[:, i] @ Z[:, j],
                both.sum(),
                Z[:, i] @ both,
                Z[:, j] @ both,
            )
            np.testing.assert_allclose(record, expected, atol=1e-9)
    np.testing.assert_allclose(sums.singles, [Z.T @ y, seen.T @ y], atol=1e-9)
    np.testing.assert_allclose(sums.totals, [n, y.sum(), y @ y], atol=1e-9)
    np.testing.assert_array_equal(sums.counts, seen.sum(axis=0))


def test_a_lower_weight_is_as_if_rows_had_been_fewer() -> None:
    X, y = rows(4, 10, 1)
    twice, once = SeenSums(4), added(X, y, SeenSums(4))
    added(X, y, added(X, y, twice))
    twice.scale(0.5)
    np.testing.assert_allclose(twice.pairs, once.pairs, rtol=1e-12)
    np.testing.assert_allclose(twice.singles, once.singles, rtol=1e-12)
    np.testing.assert_allclose(twice.totals, once.totals, rtol=1e-12)


def test_a_copy_has_a_life_of_its_own() -> None:
    X, y = rows(4, 10, 2)
    sums = added(X, y, SeenSums(4))
    twin = sums.copy()
    np.testing.assert_array_equal(twin.pairs, sums.pairs)
    added(X, y, sums)
    assert twin.totals[0] == 10.0


def test_the_fewest_rows_of_a_set() -> None:
    sums = SeenSums(4)
    for features, times in [([0, 1], 5), ([1, 2], 3), ([0, 2], 2), ([3], 9)]:
        for _ in range(times):
            sums.add(np.array(features), np.ones(len(features)), 0.0)
    fewest_of = [fewest(sums.pairs, sums.counts, np.array(S)) for S in ([0, 1], [0, 1, 2], [0, 3])]
    assert fewest_of == [5.0, 2.0, 0.0]
    assert fewest(sums.pairs, sums.counts, np.array([3])) == 9.0


def test_a_row_has_features() -> None:
    with pytest.raises(ProblemError, match="d must be at least 1, got 0"):
        SeenSums(0)
