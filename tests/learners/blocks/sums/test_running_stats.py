"""Centres and spreads from what arrived, whatever the units."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.sums.column_stats import Running, add, centres, mean, running, variance


def seen_of(values: list[float]) -> Running:
    seen = running(1)
    for value in values:
        add(seen, 0, value)
    return seen


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40),
    st.floats(-1e9, 1e9),
    st.floats(1e-3, 1e9),
)
def test_mean_and_variance_are_those_of_numpy(
    values: list[float], offset: float, unit: float
) -> None:
    data = np.array(values) * unit + offset
    seen = seen_of(data.tolist())
    size = np.abs(data).max() + 1e-300
    np.testing.assert_allclose(mean(seen)[0], data.mean(), rtol=1e-12, atol=1e-12 * size)
    around = data - data[0]
    np.testing.assert_allclose(
        variance(seen)[0], around.var(ddof=1), rtol=1e-9, atol=1e-12 * (around**2).max()
    )


def test_absent_values_change_nothing() -> None:
    seen = seen_of([1.0, float("nan"), 3.0])
    assert seen.reads[0] == 2.0
    assert mean(seen)[0] == 2.0
    assert mean(running(1))[0] == centres(running(1))[0] == 0.0


def test_a_large_offset_keeps_its_digits() -> None:
    """Sums of raw squares would lose the variance of 1 in 1e18: the broken twin."""
    data = 1e9 + np.array([0.0, 1.0, 2.0, 1.0])
    np.testing.assert_allclose(variance(seen_of(data.tolist()))[0], 2.0 / 3.0)
    raw = (np.float64((data**2).sum()) - 4.0 * data.mean() ** 2) / 3.0
    assert abs(raw - 2.0 / 3.0) > 0.1


def test_a_centre_is_shrunk_only_where_it_may_be_zero() -> None:
    signs = seen_of([1.0, -1.0, 1.0, 1.0])
    assert centres(signs)[0] == 0.0
    far = seen_of([101.0, 99.0, 101.0, 101.0])
    assert abs(centres(far)[0] - 100.5) < 0.01
    # in other units the same, exactly
    many = seen_of([1024.0 * v for v in (101.0, 99.0, 101.0, 101.0)])
    assert centres(many)[0] == 1024.0 * centres(far)[0]
