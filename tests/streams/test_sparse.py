"""Sparse streams: the rows of the dense stream, from any scipy format, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given

import keyhole as kh
from keyhole.problem import Floats
from keyhole.streams import ArrayStream, SparseStream, collect
from keyhole.streams.sparse import SparseRow, SparseRows
from keyhole.testing import check_stream


def matrix(seed: int, n: int = 30, d: int = 7, share: float = 0.4) -> Floats:
    rng = np.random.default_rng(seed)
    X: Floats = np.where(rng.random((n, d)) < share, rng.standard_normal((n, d)), 0.0)
    return X


@pytest.mark.parametrize("absent", ["zero", "unknown"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_keeps_to_the_rules_of_streams(absent: str, dtype: type) -> None:
    X = scipy.sparse.csr_array(matrix(0).astype(dtype))
    check_stream(lambda: SparseStream(X, np.arange(30.0), absent=absent))


@given(
    st.lists(st.integers(0, 40), max_size=12, unique=True),
    st.lists(st.integers(0, 40), max_size=12, unique=True),
    st.sampled_from([0.0, np.nan]),
    st.sampled_from([np.int32, np.int64]),
)
def test_what_a_row_sells_is_what_it_holds(
    has: list[int], asked: list[int], fill: float, kind: type
) -> None:
    indices: Any = np.array(sorted(has), dtype=kind)
    row = SparseRow(indices, indices + 0.5, 41, fill)
    features = np.array(sorted(asked), dtype=np.int64)
    expected = [j + 0.5 if j in has else fill for j in sorted(asked)]
    assert np.array_equal(row.values_at(features), expected, equal_nan=True)
    assert np.array_equal(np.asarray(row)[features], expected, equal_nan=True)


@given(st.integers(0, 10), st.integers(0, 10), st.integers(0, 10), st.integers(0, 10))
def test_slices_of_slices_are_those_of_the_array(a: int, b: int, c: int, e: int) -> None:
    X = matrix(1, n=9)
    full = scipy.sparse.csr_array(X)
    rows = SparseRows(full.indptr, full.indices, full.data, 7)
    assert np.array_equal(np.asarray(rows[a:b][c:e]), X[a:b][c:e])
    assert np.array_equal(rows[a:b].pairs[2], full[a:b].data)
    assert np.array_equal(rows[:, 2], X[:, 2])


@pytest.mark.parametrize("make", [scipy.sparse.csc_array, scipy.sparse.coo_matrix])
def test_any_format_is_converted(make: Callable[[Floats], object]) -> None:
    X, y = matrix(2), np.arange(30.0)
    rows, labels = collect(SparseStream(make(X), y))
    assert np.array_equal(rows, X)
    assert np.array_equal(labels, y)


def test_pairs_in_any_order_and_twice_are_summed_and_the_matrix_stays() -> None:
    parts = np.array([1.0, 2.0, 4.0]), np.array([3, 0, 3]), np.array([0, 3])
    X = scipy.sparse.csr_array(parts, shape=(1, 5))
    rows, _ = collect(SparseStream(X, [0.0]))
    assert rows.tolist() == [[2.0, 0.0, 0.0, 5.0, 0.0]]
    assert X.nnz == 3


def test_a_value_that_is_nan_is_absent_and_an_explicit_zero_is_known() -> None:
    X = scipy.sparse.csr_array((np.array([np.nan, 0.0]), np.array([0, 1]), np.array([0, 2])))
    assert np.isnan(collect(SparseStream(X, [1.0]))[0]).tolist() == [[True, False]]
    unknown = collect(SparseStream(X, [1.0], absent="unknown"))[0]
    assert unknown[0, 1] == 0.0


def test_wide_rows_are_written_out_a_few_at_a_time() -> None:
    X = scipy.sparse.csr_array((200, 3_000_000))
    stream = SparseStream(X, np.zeros(200))
    assert stream.names is None
    assert next(stream.blocks())[0].shape == (1, 3_000_000)
    assert len(next(stream.lazy_blocks())[1]) == 200


@pytest.mark.parametrize(
    ("X", "y", "options", "says"),
    [
        (np.eye(2), [1, 2], {}, "use kh.streams.ArrayStream"),
        (scipy.sparse.eye_array(2), [1, 2, 3], {}, "one label per row"),
        (scipy.sparse.eye_array(2), [1, np.inf], {}, "y must be finite"),
        (scipy.sparse.eye_array(2) * np.inf, [1, 2], {}, "row 0 has inf at feature 0"),
        (scipy.sparse.eye_array(2), [1, 2], {"absent": "nan"}, '"zero".*"unknown".*got \'nan\''),
        (scipy.sparse.eye_array(2), [1, 2], {"names": ["a"]}, "one entry per feature"),
        (scipy.sparse.csr_array((3, 0)), [1, 2, 3], {}, "rows and features"),
    ],
)
def test_refused(X: object, y: list[float], options: dict[str, str], says: str) -> None:
    with pytest.raises(kh.KeyholeError, match=says):
        SparseStream(X, y, **options)


def test_an_array_stream_of_a_sparse_matrix_names_the_stream_for_it() -> None:
    with pytest.raises(kh.DataError, match=r"kh\.streams\.SparseStream\(X, y\)"):
        ArrayStream(scipy.sparse.eye_array(2), [1.0, 2.0])  # type: ignore[arg-type]
