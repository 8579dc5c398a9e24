"""Gram against the obvious two-pass computation, absent cells included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.sums.data_sums import Gram
from keyhole.problem import DataError, Floats


def gram_of(X: Floats, y: Floats, cuts: list[int]) -> Gram:
    gram = Gram(X.shape[1])
    for rows, labels in zip(np.split(X, cuts), np.split(y, cuts), strict=True):
        gram.add(rows, labels)
    return gram


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    d=st.integers(1, 5),
    absent=st.sampled_from([0.0, 0.2, 0.9]),
    cut=st.integers(0, 40),
)
def test_absent_cells_count_as_column_means(
    seed: int, n: int, d: int, absent: float, cut: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 1.0, (n, d))
    X[rng.random(X.shape) < absent] = np.nan
    y = rng.normal(-2.0, 1.0, n)
    gram = gram_of(X, y, [min(cut, n)])
    filled = X.copy()
    for j in range(d):
        here = ~np.isnan(X[:, j])
        # Nothing seen of a column: any constant will do with an intercept; the code takes 0.
        filled[~here, j] = X[here, j].mean() if here.any() else 0.0
    raw, centred = gram.raw(), gram.centred()
    np.testing.assert_allclose(raw.G, filled.T @ filled, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(raw.c, filled.T @ y, rtol=1e-10, atol=1e-10)
    assert raw.yy == pytest.approx(y @ y)
    Z, v = filled - filled.mean(axis=0), y - y.mean()
    np.testing.assert_allclose(centred.G, Z.T @ Z, atol=1e-9)
    np.testing.assert_allclose(centred.c, Z.T @ v, atol=1e-9)
    np.testing.assert_allclose(centred.mean_x, filled.mean(axis=0), atol=1e-10)
    assert centred.yy == pytest.approx(v @ v, abs=1e-9)
    assert centred.mean_y == pytest.approx(y.mean())


def test_a_mean_far_from_zero_costs_no_digits() -> None:
    rng = np.random.default_rng(0)
    Z, v = rng.normal(size=(1000, 2)), rng.normal(size=1000)
    # Powers of two keep Z + 2^30 exact to 2^-22, so the reference is known to about 1e-6.
    gram = gram_of(Z + 2.0**30, v + 2.0**30, [300, 600])
    naive = (Z + 2.0**30).T @ (Z + 2.0**30) - 1000 * np.outer(*[(Z + 2.0**30).mean(axis=0)] * 2)
    exact = Z.T @ Z - 1000 * np.outer(Z.mean(axis=0), Z.mean(axis=0))
    assert np.abs(gram.centred().G - exact).max() < 1e-3
    assert np.abs(naive - exact).max() > 1.0, "sums about zero lose everything here"


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9 - 0.3, 1e12 + 0.7])
def test_a_constant_column_is_nothing_once_centred(value: float) -> None:
    """Rounding must not survive as a column of its own: scaled to unit size it would be noise."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(5000, value), rng.normal(size=5000)])
    centred = gram_of(X, rng.normal(size=5000), [100, 3000]).centred()
    assert centred.G[0].tolist() == centred.G[:, 0].tolist() == [0.0, 0.0]
    assert centred.c[0] == 0.0
    assert np.array_equal(centred.G, centred.G.T)
    # A column that does vary, by a billionth of its size, is kept.
    X[:, 0] = 1e6 + 1e-3 * rng.normal(size=5000)
    kept = gram_of(X, rng.normal(size=5000), [100, 3000]).centred()
    assert kept.G[0, 0] == pytest.approx(5000 * 1e-6, rel=0.1)


def test_infinite_values_are_refused_and_nothing_changes() -> None:
    gram = gram_of(np.ones((2, 2)), np.ones(2), [1])
    before = gram.raw()
    with pytest.raises(DataError, match="row 3, feature 1"):
        gram.add(np.array([[1.0, 2.0], [1.0, np.inf]]), np.ones(2))
    np.testing.assert_array_equal(gram.raw().G, before.G)
    assert gram.n == 2


def test_nothing_yet() -> None:
    gram = Gram(2)
    gram.add(np.empty((0, 2)), np.empty(0))
    assert gram.n == 0
    assert gram.centred().yy == 0.0
    assert gram.raw().G.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("absent", [(0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.2, 0.2)])
def test_sums_of_one_origin_add(absent: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(30, 4)) + 100.0 for _ in absent]
    labels = [rng.normal(size=30) + X[:, 0] for X in parts]
    for X, share in zip(parts, absent, strict=True):
        X[rng.random(X.shape) < share] = np.nan
    whole = Gram(4)
    whole.add(parts[0], labels[0])
    one, other, total = whole.beside(), whole.beside(), whole.beside()
    whole.add(parts[1], labels[1])
    one.add(parts[0], labels[0])
    other.add(parts[1], labels[1])
    for gram in (one, whole.beside(), other):
        total.include(gram)
    assert total.n == whole.n == 60
    assert total.has_gaps == any(absent)
    for name in ("G", "c", "yy", "mean_x", "mean_y"):
        found, expected = (getattr(gram.centred(), name) for gram in (total, whole))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
