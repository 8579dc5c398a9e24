"""svmlight files and tables of lists: read as scikit-learn reads them, refused by line."""

from __future__ import annotations

import bz2
import gzip
import io
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_svmlight_file  # type: ignore[import-untyped]

import keyhole as kh
from keyhole.streams import collect, read
from keyhole.testing import check_stream

TEXT = "# words\n+1 qid:3 1:0.5 7:2 # first\n\n-1 3:1e-2\r\n 0.5\n2 10:nan 9:.5\n"
ROWS = np.zeros((4, 10))
ROWS[0, [0, 6]], ROWS[1, 2], ROWS[3, 8], ROWS[3, 9] = (0.5, 2.0), 0.01, 0.5, np.nan


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_comments_queries_empty_lines_and_indices_in_any_order(tmp_path: Path) -> None:
    stream = read(put(tmp_path / "words.svm", TEXT), target="label")
    X, y = collect(stream)
    assert np.array_equal(X, ROWS, equal_nan=True)
    assert y.tolist() == [1.0, -1.0, 0.5, 2.0]
    assert (stream.d, stream.rounds, stream.names, stream.target) == (10, 4, None, "label")
    assert [one.option for one in stream.assumed] == ["zero_based"]
    check_stream(lambda: read(tmp_path / "words.svm", target="label"))


row = st.tuples(
    st.floats(-1e6, 1e6).map(lambda v: round(v, 6)),
    st.dictionaries(st.integers(0, 30), st.floats(-1e3, 1e3).map(lambda v: round(v, 6))),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(row, min_size=1, max_size=8), st.booleans())
def test_reads_what_scikit_learn_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], zero_based: bool
) -> None:
    first = 0 if zero_based else 1
    lines = [
        " ".join([repr(y), *(f"{j + first}:{v!r}" for j, v in sorted(pairs.items()))])
        for y, pairs in rows
    ]
    text = "\n".join(lines)
    path = put(tmp_path_factory.mktemp("svm") / "a.libsvm", text)
    X, y = load_svmlight_file(
        io.BytesIO(text.encode()), n_features=31, zero_based=zero_based, dtype=np.float64
    )
    stream = read(path, target="label", zero_based=zero_based, n_features=31, yes_no=False)
    ours, labels = collect(stream)
    assert np.array_equal(ours, X.toarray())
    assert np.array_equal(labels, y)


def test_an_index_of_0_says_where_indices_begin(tmp_path: Path) -> None:
    path = put(tmp_path / "a.svm", "1 0:5\n2 3:1\n")
    stream = read(path, target="label")
    assert (stream.d, stream.assumed) == (4, ())
    with pytest.raises(kh.DataError, match="has the index 0"):
        read(path, target="label", zero_based=False)
    later = put(tmp_path / "b.svm", "1 3:1\n")
    assert [read(later, target="label", zero_based=zero).d for zero in (True, False)] == [4, 3]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_compressed_and_recognised_by_what_it_holds(pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "words.dat"
    path.write_bytes(pack(TEXT.encode()))
    assert np.array_equal(collect(read(path, target="label"))[0], ROWS, equal_nan=True)


def test_a_table_of_times_is_no_svmlight_file(tmp_path: Path) -> None:
    path = put(tmp_path / "trains.csv", "5 12:30\n6 14:10\n")
    with pytest.raises(kh.KeyholeError, match="no column 'label'"):
        read(path, target="label")


def test_several_files_are_one_stream_of_the_most_features(tmp_path: Path) -> None:
    put(tmp_path / "a.svm", "1 1:5\n2 2:1\n")
    put(tmp_path / "b.svm", "3 4:1\n")
    X, y = collect(read(tmp_path, target="label"))
    assert X.tolist() == [[5, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert y.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 2:3\nx 1:1\n", "a.svm, line 2: the label must be a number, got 'x'"),
        ("1,2 1:1\n", "line 1: .* one label per line, not several"),
        ("# c\n1 2:3\n\n1 2\n", "line 4: expected index:value, got '2'"),
        ("1 2:a\n", "line 1: expected index:value, got '2:a'"),
        ("1 2:3:4\n", "line 1: expected index:value, got '2:3:4'"),
        ("1 2:\n", "line 1: expected index:value, got '2:'"),
        ("1 1.5:2\n", "line 1: expected index:value, got '1.5:2'"),
        ("1 1:1\n1 2:3 2:4\n", "line 2: feature 2 comes twice"),
        ("1 1:1\n1 4:3 2:4 4:1\n", "line 2: feature 4 comes twice"),
        ("1 -2:1\n", "line 1: index -2 is not between 0 and"),
        ("1 4294967296:1\n", "line 1: index 4294967296 is not between 0 and"),
        ("1 2:inf\n", "line 1: the value of feature 2 is inf"),
        ("inf 2:1\n", "line 1: the target 'label' is inf"),
        ("# nothing\n\n", "no line with a label"),
        ("1\n2\n", "no pair in any row: say how many features there are, n_features"),
    ],
)
def test_refused_by_line(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(kh.DataError, match=says):
        collect(read(put(tmp_path / "a.svm", text), target="label"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"target": "y"}, "has no column 'y': it has label, indices, values"),
        ({"target": "label", "n_features": 9}, "has 10 features or more, n_features is 9"),
        ({"target": "label", "absent": "none"}, "absent must be"),
        ({"target": "label", "categorical": ["values"]}, "leave out categorical"),
        ({"target": "label", "features": ["age"]}, "there is no 'age'"),
    ],
)
def test_what_cannot_be_asked_of_it(options: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(kh.KeyholeError, match=says):
        read(put(tmp_path / "a.svm", TEXT), **options)


def test_a_second_file_has_the_features_of_the_first(tmp_path: Path) -> None:
    path = put(tmp_path / "b.svm", "1 2:3\n")
    assert read(path, target="label", n_features=10).d == 10
    some = read(put(tmp_path / "a.svm", TEXT), target=None, features=["x6", "x99", "feature 0"])
    X, y = collect(some)
    assert X.tolist() == [[2.0, 0.0, 0.5], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert np.isnan(y).all()


def test_labels_of_two_values_are_yes_and_no_where_that_is_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path / "a.svm", "-1 1:1\n+1 2:1\n-1 2:1\n")
    assert collect(read(path, target="label"))[1].tolist() == [-1, 1, -1]
    stream = read(path, target="label", yes_no=True)
    assert stream.answers is not None
    assert collect(stream)[1].tolist() == [0, 1, 0]


TABLE = {
    "y": [1.0, None, 3.0, 4.0],
    "indices": [[5, 0], [1], None, []],
    "values": [[2.0, 1.0], [3.0], None, []],
}
FULL = np.zeros((3, 6))
FULL[0, [0, 5]] = 1.0, 2.0


def test_lists_of_parquet_and_frames(tmp_path: Path) -> None:
    table = pa.table(TABLE)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    for source in (tmp_path / "a.parquet", table):
        stream = read(source, target="y")
        X, y = collect(stream)
        assert np.array_equal(X, FULL)
        assert y.tolist() == [1.0, 3.0, 4.0]
        assert (stream.rounds, stream.left_out, stream.assumed) == (3, 1, ())
    check_stream(lambda: read(tmp_path / "a.parquet", target="y", absent="unknown"))
    unknown = collect(read(table, target="y", absent="unknown"))[0]
    assert np.array_equal(unknown, np.where(FULL == 0, np.nan, FULL), equal_nan=True)


def test_lists_by_other_names_and_of_float32() -> None:
    counts = pa.array([[1.5], [2.5]], pa.list_(pa.float32()))
    table = pa.table({"y": [1.0, 2.0], "words": [[1], [0]], "counts": counts})
    X, _ = collect(read(table, target="y"))
    assert X.dtype == np.float32
    assert X.tolist() == [[0.0, 1.5], [2.5, 0.0]]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"values": [[2.0], [3.0], None, []]}, "row 1: 2 indices and 1 values"),
        ({"age": [1, 2, 3, 4]}, r"column 'age' is not part of the sparse rows.*ignore=\['age'\]"),
        ({"indices": [[0, 0], [1], None, []]}, "row 1: feature 0 comes twice"),
    ],
)
def test_lists_that_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(kh.DataError, match=says):
        collect(read(pa.table({**TABLE, **change}), target="y"))


def test_which_lists_are_meant_must_be_clear() -> None:
    lists = {"y": [1.0], "a": [[1]], "b": [[2]], "c": [[0.5]]}
    with pytest.raises(kh.DataError, match="which of a, b, c are the indices and values"):
        read(pa.table(lists), target="y")
    assert read(pa.table(lists), target="y", ignore=["b"]).d == 2
