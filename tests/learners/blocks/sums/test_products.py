"""Sums of products over partially seen rows: three ways that agree to the last bit."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.learners.blocks.sums import moments as products
from keyhole.learners.blocks.sums.moments import Gathered, Moments, Rows, unpack_triangle
from keyhole.problem import Floats, Indices

Sums = tuple[Floats, Indices]
Way = Callable[[Floats, NDArray[np.bool_], Sums], None]


def kernel_way(name: str) -> Way:
    def add(X: Floats, seen: NDArray[np.bool_], sums: Sums) -> None:
        rows, d = X.shape
        offsets = np.concatenate(([0], seen.sum(axis=1).cumsum())).astype(np.int32)
        features = np.nonzero(seen)[1].astype(np.int32)
        room: tuple[Gathered, ...] = ()
        if name == "by_feature":
            order = np.empty((2, len(features)), dtype=np.int32)
            room = (Gathered(np.empty(d + 1, dtype=np.int32), order),)
        seen_rows = Rows(offsets, features, X[seen], np.zeros(rows))
        getattr(products, name)(seen_rows, 0, rows, products.PairSums(d, *sums), *room)

    return add


def by_library(X: Floats, seen: NDArray[np.bool_], sums: Sums) -> None:
    """The same sums by NumPy's products, in whatever order those add."""
    upper = np.triu_indices(X.shape[1])
    Z = np.where(seen, X, 0.0)
    sums[0][:] += (Z.T @ Z)[upper]
    sums[1][:] += (seen.T.astype(np.int64) @ seen)[upper]


WAYS = {name: kernel_way(name) for name in ("by_row", "by_feature", "as_block")}


def examples(d: int, rows: int, share: float, seed: int) -> tuple[Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d)) * 10.0 ** rng.integers(-9, 9, (rows, d))
    X[rng.random((rows, d)) < 0.1] = 0.0
    X[rng.random((rows, d)) < 0.1] = -0.0
    X[rng.random((rows, d)) < 0.01] = 1e150
    seen = rng.random((rows, d)) < share
    seen[:: max(1, rows // 3)] = False  # rows of which nothing was seen
    seen[1 :: max(2, rows // 3)] = True
    return X, seen


def summed(way: Way, X: Floats, seen: NDArray[np.bool_], blocks: int = 3) -> Sums:
    """Sums that hold something already when the last of some blocks is added."""
    triangle = X.shape[1] * (X.shape[1] + 1) // 2
    sums = np.zeros(triangle), np.zeros(triangle, dtype=np.int64)
    for part in np.array_split(np.arange(len(X)), blocks):
        way(X[part], seen[part], sums)
    return sums


@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
@pytest.mark.parametrize(
    ("d", "rows"),
    [(1, 5), (2, 130), (3, 65), (16, 64), (31, 200), (127, 40), (128, 70), (129, 3), (257, 66)],
)
def test_the_three_ways_agree_to_the_last_bit(d: int, rows: int, share: float) -> None:
    X, seen = examples(d, rows, share, seed=d + rows)
    expected = summed(WAYS["by_row"], X, seen, blocks=1)
    for way in WAYS.values():
        for blocks in (1, 3):
            got = summed(way, X, seen, blocks)
            assert got[0].tobytes() == expected[0].tobytes()
            np.testing.assert_array_equal(got[1], expected[1])


@pytest.mark.parametrize("name", list(WAYS))
def test_each_way_gives_the_sums_up_to_rounding(name: str) -> None:
    X, seen = examples(129, 150, 0.5, seed=1)
    X[np.abs(X) > 1e100] = 1.0
    got, counts = summed(WAYS[name], X, seen)
    full, N = np.empty((129, 129)), np.empty((129, 129), dtype=np.int64)
    unpack_triangle(got, 129, full)
    unpack_triangle(counts, 129, N)
    Z = np.where(seen, X, 0.0)
    assert (np.abs(full - Z.T @ Z) <= 1e-12 * (np.abs(Z).T @ np.abs(Z))).all()
    np.testing.assert_array_equal(N, seen.T.astype(np.int64) @ seen)


def test_a_product_that_adds_in_another_order_is_told_apart() -> None:
    """Broken twin: right to 1e-12, and not the same bits once a sum holds something."""
    X, seen = examples(40, 192, 0.9, seed=2)
    X[np.abs(X) > 1e100] = 1.0
    expected = summed(WAYS["as_block"], X, seen)
    twin = summed(by_library, X, seen)
    np.testing.assert_array_equal(twin[1], expected[1])
    assert twin[0].tobytes() != expected[0].tobytes()


# --- Moments of rows that are nearly complete: added as blocks, wherever they are cut

D, ROWS = 48, 300
assert products.BLOCK_SHARE * D + products.BLOCK_OVERHEAD < 0.95 * D


def nearly_complete() -> tuple[NDArray[np.int64], Floats, Floats]:
    rng = np.random.default_rng(3)
    bought = np.full((ROWS, D), -1)
    values = rng.standard_normal((ROWS, D))
    for t in range(ROWS):
        S = np.flatnonzero(rng.random(D) < 0.97)
        bought[t, : len(S)] = S
    return bought, values, rng.standard_normal(ROWS)


def test_reading_saving_and_copying_at_any_round_leave_the_same_bits() -> None:
    bought, values, y = nearly_complete()
    whole = Moments(D)
    whole.add_rows(bought, values, y)
    for step in (1, 7, 20, 64, 299):  # fewer rows than FEW at a time go another way
        moments = Moments(D)
        for first in range(0, ROWS, step):
            rows = slice(first, first + step)
            moments.add_rows(bought[rows], values[rows], y[rows])
            assert moments.N.max() > 0  # a read
            if first % 3 == 0:
                moments = Moments.from_arrays(moments.arrays())
            elif first % 3 == 1:
                moments = copy.deepcopy(moments)
        assert moments == whole


def test_plus_adds_what_is_still_buffered() -> None:
    bought, values, y = nearly_complete()
    parts = [Moments(D), Moments(D)]
    for part, rows in zip(parts, (slice(0, 100), slice(100, ROWS)), strict=True):
        part.add_rows(bought[rows], values[rows], y[rows])
    whole = Moments(D)
    whole.add_rows(bought, values, y)
    merged = parts[0] + parts[1]
    assert merged == parts[1] + parts[0]
    assert merged.n == ROWS
    np.testing.assert_array_equal(merged.N, whole.N)
    np.testing.assert_allclose(merged.XX, whole.XX, rtol=1e-12, atol=1e-12)


def test_a_learner_that_reads_everything_plays_the_same_singly_and_in_blocks() -> None:
    stream, _ = kh.streams.realizable(D, 2, ROWS, noise_sd=0.1, seed=4)
    X, y = kh.streams.collect(stream)

    def made() -> kh.DantzigLearner:
        return kh.DantzigLearner(kh.Problem(D, 2, D), seed=0, noise_sd=0.1, threshold_scale=0.01)

    slow, fast, cut = made(), made(), made()
    one_by_one = [one.y_hat for one in kh.rounds(slow, kh.streams.ArrayStream(X, y))]
    np.testing.assert_array_equal(fast.advance(X, y), one_by_one)
    played = []
    for first in range(0, ROWS, 23):
        played += cut.advance(X[first : first + 23], y[first : first + 23]).tolist()
        assert np.isfinite(cut.moments.XX).all()  # a read
        cut = copy.deepcopy(cut)
    assert played == one_by_one
    assert slow._moments == fast._moments == cut._moments
    assert slow.weights.any()
