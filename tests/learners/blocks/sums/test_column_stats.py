"""Column facts against numpy and scipy, in blocks, with gaps."""

import numpy as np
import pytest
from scipy.stats import kurtosis

from keyhole.learners.blocks.sums.column_stats import ColumnSums


def test_facts_are_those_of_the_whole_array() -> None:
    rng = np.random.default_rng(0)
    X = np.array([0.0, 1e3, -5.0, 0.0]) + rng.exponential(size=(1000, 4))
    X[:, 3] = rng.random(1000) < 0.1
    X[rng.random((1000, 4)) < 0.1] = np.nan
    sums = ColumnSums(4)
    for rows in np.array_split(X, 7):
        sums.add(rows)
    facts = sums.facts()
    np.testing.assert_allclose(facts.mean, np.nanmean(X, axis=0))
    np.testing.assert_allclose(facts.sd, np.nanstd(X, axis=0))
    np.testing.assert_array_equal(facts.low, np.nanmin(X, axis=0))
    np.testing.assert_array_equal(facts.high, np.nanmax(X, axis=0))
    expected = kurtosis(X, fisher=False, nan_policy="omit")
    np.testing.assert_allclose(facts.kurtosis, np.asarray(expected), rtol=1e-6)
    np.testing.assert_allclose(facts.absent, np.isnan(X).mean(axis=0))
    assert facts.binary.tolist() == [False, False, False, True]


def test_a_constant_column_has_no_spread() -> None:
    sums = ColumnSums(1)
    sums.add(np.full((10, 1), 3.0, dtype=np.float32))
    facts = sums.facts()
    assert facts.sd[0] == 0
    assert facts.kurtosis[0] == 0
    assert facts.mean[0] == pytest.approx(3.0)


def test_a_column_that_is_always_absent() -> None:
    sums = ColumnSums(2)
    sums.add(np.array([[np.nan, 0.0], [np.nan, 1.0]]))
    facts = sums.facts()
    assert facts.absent.tolist() == [1.0, 0.0]
    assert facts.binary.tolist() == [False, True]
    assert (facts.mean[0], facts.sd[0]) == (0.0, 0.0)
