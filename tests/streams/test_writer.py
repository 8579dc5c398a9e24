"""What is written is read back, and a file is whole or not there."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import keyhole as kh
from keyhole.streams import ArrayStream, FileStream, GeneratedStream, collect, read, write

SUFFIXES = [".csv", ".csv.gz", ".tsv", ".parquet", ".arrow", ".feather"]

values = st.floats(-1e150, 1e150, allow_nan=False)
names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1
)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(data=st.data())
def test_a_stream_comes_back(suffix: str, tmp_path: Path, data: st.DataObject) -> None:
    n, d = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 4))
    X = data.draw(nps.arrays(np.float64, (n, d), elements=values | st.just(np.nan)))
    y = data.draw(nps.arrays(np.float64, n, elements=values))
    labels = data.draw(st.lists(names, min_size=d + 1, max_size=d + 1, unique=True))
    path = tmp_path / f"t{suffix}"
    write(ArrayStream(X, y, labels[1:]), path, target=labels[0])
    stream = read(path, target=labels[0])
    assert stream.names == tuple(labels[1:])
    got_X, got_y = collect(stream)
    np.testing.assert_array_equal(got_X, X)
    np.testing.assert_array_equal(got_y, y)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_and_nameless_features(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    words = ["a,b", 'c"d"', "e"]
    write({"w": words, "x": np.array([1.5, np.nan, 3], np.float32), "y": [1, 2, 3]}, path)
    stream = read(path, target="y")
    assert stream.names == ("w=a,b", 'w=c"d"', "w=e", "x")
    np.testing.assert_array_equal(
        collect(stream)[0], np.column_stack([np.eye(3), [1.5, np.nan, 3]])
    )
    write(ArrayStream(np.eye(2, dtype=np.float32), [1.0, 2.0]), path)
    again = read(path, target="y")
    assert again.names == ("x0", "x1")
    assert isinstance(again, FileStream)
    assert again.dtype == (np.float64 if "sv" in suffix else np.float32)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    stream, _ = kh.streams.realizable(d=4, k=1, n=100, seed=0)
    for name in ("a.csv.gz", "b.csv.gz"):
        write(stream, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_whatever_goes_wrong_leaves_what_was_there(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_text("precious")

    def chunks() -> Iterator[tuple[Any, Any]]:
        yield np.ones((3, 2)), np.ones(3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(GeneratedStream(2, None, chunks), path)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == [path.name]


def test_a_written_file_can_be_read_by_others(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write({"a": [1]}, tmp_path / "t.csv")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "t.csv")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ({"a": [1]}, "t.xlsx", "cannot tell a format from the name t.xlsx: use .csv, .csv.gz"),
        ({"a": [1]}, "no/where/t.csv", "No such file or directory"),
        ({"a": [1], "b": [1, 2]}, "t.csv", "columns must be of one length"),
        ({}, "t.csv", "columns must be of one length"),
        (ArrayStream([[1.0]], [1.0], ["y"]), "t.csv", "must not be the name of a feature, got 'y'"),
    ],
)
def test_errors(source: Any, name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(kh.DataError) as caught:
        write(source, tmp_path / name)
    assert message in str(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1.0, 2.0], "y": [1.0]},
        {"a": [[1.0], [2.0]], "y": [[1.0], [2.0]]},
        {"a": 1.0, "y": 2.0},
        {},
    ],
)
def test_columns_that_are_no_columns_are_refused(tmp_path: Path, columns: dict[str, Any]) -> None:
    with pytest.raises(kh.DataError, match="columns must be of one length"):
        write(columns, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())
