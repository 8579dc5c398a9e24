"""Moments: sums that do not depend on buffering, exact estimates by enumeration, accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.learners.blocks.sums import moments as kernels
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.problem import DataError, Floats, Indices, ProblemError

Row = tuple[Indices, Floats, float]


def rows_of(d: int, n: int, seed: int, fullest: int | None = None) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        size = rng.integers(0, (d if fullest is None else fullest) + 1)
        S = np.sort(rng.choice(d, size, replace=False)).astype(np.int64)
        rows.append((S, rng.standard_normal(size), float(rng.standard_normal())))
    return rows


def singly(d: int, rows: Iterable[Row]) -> Moments:
    moments = Moments(d)
    for row in rows:
        moments.add(*row)
    return moments


def padded(rows: Sequence[Row], dtype: str = "int32") -> tuple[Any, ...]:
    width = max((len(S) for S, _, _ in rows), default=0)
    bought = np.full((len(rows), width), -1, dtype=dtype)
    values = np.full((len(rows), width), np.nan)  # what is beside a -1 must not matter
    for t, (S, x, _) in enumerate(rows):
        bought[t, : len(S)], values[t, : len(S)] = S, x
    return bought, values, np.array([y for _, _, y in rows])


def test_the_sums_are_what_they_say() -> None:
    d, rows = 5, rows_of(5, 60, seed=1)
    moments = singly(d, rows)
    X, seen = np.zeros((60, d)), np.zeros((60, d), dtype=np.int64)
    y = np.array([y for _, _, y in rows])
    for t, (S, x, _) in enumerate(rows):
        X[t, S], seen[t, S] = x, 1
    np.testing.assert_allclose(moments.XX, X.T @ X, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(moments.N, seen.T @ seen)
    np.testing.assert_allclose(moments.Xy, X.T @ y, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(moments.X, X.sum(0), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(moments.Y, seen.T @ y, rtol=1e-13, atol=1e-13)
    assert moments.n == 60
    assert math.isclose(moments.y, y.sum(), rel_tol=1e-13)
    assert math.isclose(moments.yy, y @ y, rel_tol=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 40), st.data())
def test_sums_do_not_depend_on_blocks_or_on_being_read(
    seed: int, d: int, n: int, data: st.DataObject
) -> None:
    rows = rows_of(d, n, seed)
    expected = singly(d, rows)
    moments, t = Moments(d), 0
    while t < n:
        step = data.draw(st.integers(1, n - t))
        moments.add_rows(
            *padded(rows[t : t + step], data.draw(st.sampled_from(["int32", "int64"])))
        )
        t += step
        data.draw(st.sampled_from([Moments.copy, lambda m: m.XX, lambda m: m.n]))(moments)
    assert moments == expected


def test_sums_do_not_depend_on_blocks_across_folds_and_full_buffers() -> None:
    # 3 folds; d = 40 sums both row by row and round by round, the buffer fills in between.
    rows = rows_of(40, 3 * kernels.FOLD + 17, seed=3, fullest=4)
    whole, pieces = Moments(40), Moments(40)
    whole.add_rows(*padded(rows))
    for first in range(0, len(rows), 1000):
        pieces.add_rows(*padded(rows[first : first + 1000]))
        pieces.add_rows(*padded([]))
        assert pieces.n == min(first + 1000, len(rows))
        assert pieces.yy > 0  # a read: empties the buffer
    by_one = singly(40, rows)
    assert whole == pieces == by_one
    total = recent = 0.0  # the two levels, spelt out for one sum
    for t, (_, _, y) in enumerate(rows, start=1):
        recent += y * y
        if t % kernels.FOLD == 0:
            total, recent = total + recent, 0.0
    assert whole.yy == total + recent
    # Both levels of both are in use here: the order of addition would show.
    part = Moments(40)
    part.add_rows(*padded(rows[: kernels.FOLD + 99]))
    assert whole + part == part + whole


def test_a_buffer_full_of_entries_is_emptied_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(30, 200, seed=4)
    expected = singly(30, rows)
    monkeypatch.setattr("keyhole.learners.blocks.sums.moments._MAX_BUFFER_ENTRIES", 31)
    assert singly(30, rows) == expected
    moments = Moments(30)
    moments.add_rows(*padded(rows))
    assert moments == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 30), st.integers(0, 30))
def test_plus_restrict_copy_and_arrays(seed: int, d: int, n: int, m: int) -> None:
    rows = rows_of(d, n + m, seed)
    a, b, both = singly(d, rows[:n]), singly(d, rows[n:]), singly(d, rows)
    merged = a + b
    assert merged == b + a
    assert merged.n == n + m
    np.testing.assert_array_equal(merged.N, both.N)
    np.testing.assert_allclose(merged.XX, both.XX, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal((a + Moments(d)).XX, a.XX)

    S = np.random.default_rng(seed).permutation(d)[: 1 + seed % d]
    part = both.restrict(S)
    assert part.n == both.n
    assert (part.y, part.yy) == (both.y, both.yy)
    for name in ("Xy", "X", "Y"):
        np.testing.assert_array_equal(getattr(part, name), getattr(both, name)[S])
    for name in ("XX", "N"):
        np.testing.assert_array_equal(getattr(part, name), getattr(both, name)[np.ix_(S, S)])
    # Restricting is the same as never having seen the others.
    S = np.sort(S)
    kept = [(np.searchsorted(S, F[np.isin(F, S)]), x[np.isin(F, S)], y) for F, x, y in rows]
    assert both.restrict(S) == singly(len(S), kept)

    twin, saved = a.copy(), Moments.from_arrays(a.arrays())
    before = a.XX
    for row in rows[n:]:
        twin.add(*row)
        saved.add(*row)
    assert twin == saved == both
    np.testing.assert_array_equal(a.XX, before)  # a copy has a life of its own


def test_any_kind_of_input_will_do() -> None:
    rows = rows_of(6, 8, seed=10)
    expected = singly(6, rows)
    lists, frozen, strided = Moments(6), Moments(6), Moments(6)
    for S, x, y in rows:
        lists.add(S.tolist(), x.tolist(), y)
        wide = np.zeros((len(x), 2))
        wide[:, 0] = x
        strided.add(S.astype(np.uint8), wide[:, 0], np.float32(y))
        S.flags.writeable = x.flags.writeable = False
        frozen.add(S, x, y)
    assert lists == frozen == expected
    np.testing.assert_array_equal(strided.XX, expected.XX)


@pytest.mark.parametrize(
    ("features", "values", "y"),
    [
        ([0, 1], [1.0, math.nan], 1.0),
        ([0, 1], [1.0, math.inf], 1.0),
        ([0, 1], [1.0, 1e151], 1.0),
        ([0, 1], [1.0, 2.0], math.nan),
        ([0, 1], [1.0, 2.0], -1e200),
        ([0, 1], [1.0], 1.0),
        ([[0, 1]], [[1.0, 2.0]], 1.0),
        ([1, 0], [1.0, 2.0], 1.0),
        ([1, 1], [1.0, 2.0], 1.0),
        ([-1, 1], [1.0, 2.0], 1.0),
        ([-2, 1], [1.0, 2.0], 1.0),
        ([0, -1, -1], [1.0, 2.0, 3.0], 1.0),  # -1 ends a row in a block, it is not a feature
        ([0, 3], [1.0, 2.0], 1.0),
        ([0.0, 1.0], [1.0, 2.0], 1.0),
        ([0, 1], ["a", "b"], 1.0),
        ([0, 1], [1.0, None], 1.0),
        ([0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0], 1.0),
        ([0], [1.0], "x"),
    ],
)
def test_a_bad_row_is_refused_and_changes_nothing(features: Any, values: Any, y: Any) -> None:
    moments = singly(3, rows_of(3, 5, seed=5))
    before = moments.copy()
    with pytest.raises(DataError):
        moments.add(features, values, y)
    assert moments == before
    if np.ndim(features) == 1 and len(features) == 2 == len(values):
        with pytest.raises(DataError):  # good rows first: the whole block is refused
            moments.add_rows([[0, 2], features], [[1.0, 1.0], values], [0.0, y])
        assert moments == before


def test_bad_arguments_are_refused() -> None:
    moments = singly(3, rows_of(3, 5, seed=6))
    calls: list[Callable[[], object]] = [
        lambda: Moments(0),
        lambda: moments + Moments(4),
        lambda: moments.restrict([]),
        lambda: moments.restrict([1, 1]),
        lambda: moments.restrict([3]),
        lambda: moments.restrict([0.5]),
    ]
    for call in calls:
        with pytest.raises(ProblemError):
            call()
    arrays = moments.arrays()
    wrong: list[dict[str, Any]] = [{}, {**arrays, "total": arrays["total"][1:]}, {**arrays, "d": 4}]
    wrong.append({**arrays, "pairs": arrays["pairs"].astype(float)})
    for bad in wrong:
        with pytest.raises(DataError):
            Moments.from_arrays(bad)
    assert moments != Moments(3)
    assert moments != 3


def test_sums_stay_accurate_over_many_rows() -> None:
    # 2 million rows of the same value: roundings all push the same way while a running sum stays
    # between two powers of two, the worst case for it. The exact sum is n * v.
    n, x = 2_000_000, 0.1
    moments = Moments(1)
    block = np.zeros((100_000, 1), dtype=np.int32), np.full((100_000, 1), x), np.full(100_000, x)
    for _ in range(n // 100_000):
        moments.add_rows(*block)

    def error(total: float) -> float:
        exact = n * Fraction(x * x)
        return float(abs(Fraction(total) - exact) / exact)

    # Every term goes through fewer than FOLD additions in `recent`, n / FOLD in `total`, one more
    # in the view, each off by at most u = 2^-53 of the running value, which is below the sum; so
    # the relative error is <= (FOLD + n / FOLD + 2) u up to O(u^2), with no probability in it.
    bound = (kernels.FOLD + n / kernels.FOLD + 2) * 2.0**-53
    for total in (moments.XX[0, 0], moments.Xy[0], moments.yy):
        assert error(total) <= bound
    # Broken twin: one running sum over all rows.
    assert error(float(np.cumsum(np.full(n, x * x))[-1])) > bound
    # The bound at 10^8 rounds, as promised in the docstring.
    assert (kernels.FOLD + 1e8 / kernels.FOLD + 2) * 2.0**-53 < 2.3e-12
