"""What a file becomes: every format, every kind of column, the same features again."""

import gzip
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import keyhole as kh
from keyhole.problem.optional_imports import extra
from keyhole.streams import FileStream, ReadStream, collect, read, write

arrow: Any = extra("pyarrow", "files")
pd: Any = extra("pandas", "dev")
ipc: Any = extra("pyarrow.ipc", "files")
parquet: Any = extra("pyarrow.parquet", "files")

NAN = float("nan")
TEXT = """\
age,smoker,colour,ill,bmi,price
31,true,red,0.5,24.5,1
,false,blue,1,31,-2.5
54,,red,NA,22,3
40,true,,2,,4
28,true,green,2,20,
"""
NAMES = ("age", "smoker", "colour=blue", "colour=green", "colour=red", "ill", "bmi")
X = np.array(
    [
        [31, 1, 0, 0, 1, 0.5, 24.5],
        [NAN, 0, 1, 0, 0, 1, 31],
        [54, NAN, 0, 0, 1, NAN, 22],
        [40, 1, NAN, NAN, NAN, 2, NAN],
    ]
)
Y = np.array([1, -2.5, 3, 4])
COLUMNS: dict[str, list[Any]] = {
    "age": [31, None, 54, 40, 28],
    "smoker": [True, False, None, True, True],
    "colour": ["red", "blue", "red", None, "green"],
    "ill": [0.5, 1.0, None, 2.0, 2.0],
    "bmi": [24.5, 31.0, 22.0, None, 20.0],
    "price": [1.0, -2.5, 3.0, 4.0, None],
}


def as_csv(folder: Path) -> str:
    (folder / "t.csv").write_text(TEXT)
    return str(folder / "t.csv")


def as_gzip(folder: Path) -> Path:
    (folder / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    return folder / "t.csv.gz"


def as_two_gzip_members(folder: Path) -> Path:
    both = gzip.compress(TEXT[:50].encode()) + gzip.compress(TEXT[50:].encode())
    (folder / "t.csv.gz").write_bytes(both)
    return folder / "t.csv.gz"


def as_excel_would(folder: Path) -> Path:
    text = TEXT.replace(".", "#").replace(",", ";").replace("#", ",").replace("\n", "\r\n")
    (folder / "t.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    return folder / "t.csv"


def as_parquet(folder: Path) -> Path:
    parquet.write_table(arrow.table(COLUMNS), folder / "t.parquet", row_group_size=2)
    return folder / "t.parquet"


def as_arrow_file(folder: Path) -> Path:
    table = arrow.table(COLUMNS)
    with ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return folder / "t.arrow"


def as_arrow_stream(folder: Path) -> Path:
    table = arrow.table(COLUMNS)
    with ipc.new_stream(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return folder / "t.arrow"


def as_dictionaries(folder: Path) -> Path:
    table = arrow.table(COLUMNS)
    table = table.set_column(2, "colour", table["colour"].dictionary_encode())
    parquet.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


SOURCES: dict[str, Callable[[Path], object]] = {
    "csv": as_csv,
    "csv.gz": as_gzip,
    "csv.gz of two members": as_two_gzip_members,
    "parquet": as_parquet,
    "parquet, dictionaries": as_dictionaries,
    "arrow": as_arrow_file,
    "arrow stream": as_arrow_stream,
    "pyarrow": lambda _: arrow.table(COLUMNS),
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "pandas, categorical": lambda _: pd.DataFrame(COLUMNS).astype({"colour": "category"}),
    "pandas, another index": lambda _: pd.DataFrame(COLUMNS, index=[4, 9, 2, 2, 0]),
    "polars": lambda _: pl.DataFrame(COLUMNS),
    "polars, lazy": lambda _: pl.LazyFrame(COLUMNS),
}


def same(stream: ReadStream) -> None:
    assert stream.names == NAMES
    assert (stream.d, stream.rounds, stream.left_out) == (7, 4, 1)
    got_X, got_y = collect(stream)
    np.testing.assert_array_equal(got_X, X)
    np.testing.assert_array_equal(got_y, Y)


@pytest.mark.parametrize("form", SOURCES)
def test_every_form_holds_the_same(form: str, tmp_path: Path) -> None:
    stream = read(SOURCES[form](tmp_path), target="price")
    same(stream)
    kh.testing.check_stream(lambda: stream)


def test_separators_and_decimal_points(tmp_path: Path) -> None:
    same(read(as_excel_would(tmp_path), target="price", separator=";", decimal=","))
    (tmp_path / "t.tsv").write_text(TEXT.replace(",", "\t"))
    same(read(tmp_path / "t.tsv", target="price"))


def test_quotes_blank_lines_and_no_last_newline(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text('\n"a, ""b""","c\nd", y\n"1","p\nq",2\n\n3,"r ""s""",4')
    stream = read(tmp_path / "q.csv", target="y")
    assert stream.names == ('a, "b"', "c\nd=p\nq", 'c\nd=r "s"')
    np.testing.assert_array_equal(collect(stream)[0], [[1, 1, 0], [3, 0, 1]])


def test_standard_input_can_be_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stream = read("-", target="price")
    same(stream)
    same(stream)
    assert len(list(tmp_path.iterdir())) == 1
    del stream
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_can_be_read_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    packed = gzip.compress(TEXT.encode())
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(packed,))
    writer.start()
    stream = read(tmp_path / "pipe", target="price")
    writer.join()
    same(stream)
    same(stream)


def test_ignored_columns_may_hold_anything() -> None:
    frame = pl.DataFrame({"a": [1, 2], "when": ["2024-01-01"] * 2, "b": [[1], [2]], "y": [1, 2]})
    stream = read(
        frame.with_columns(pl.col("when").str.to_date()), target="y", ignore=["when", "b"]
    )
    assert stream.names == ("a",)


def test_codes_are_categorical_on_request(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("code,y\n01,1\n1,2\n,3\nA,4\n")
    stream = read(tmp_path / "c.csv", target="y", categorical=["code"])
    assert stream.names == ("code=01", "code=1", "code=A")
    want = [[1, 0, 0], [0, 1, 0], [NAN] * 3, [0, 0, 1]]
    np.testing.assert_array_equal(collect(stream)[0], want)
    frame = arrow.table({"code": [3, 1, None], "y": [True, False, True]})
    stream = read(frame, target="y", categorical=["code"])
    assert stream.names == ("code=1", "code=3")
    np.testing.assert_array_equal(collect(stream)[1], [1, 0, 1])


def test_text_with_a_few_numerals_is_text(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("icd,y\nE11,1\n250,2\nE10,3\n")
    assert read(tmp_path / "c.csv", target="y").names == ("icd=250", "icd=E10", "icd=E11")


def test_further_words_for_missing(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("a,b,y\n1,none known,1\n-,red,2\n")
    stream = read(tmp_path / "m.csv", target="y", missing=["-", "none known"])
    np.testing.assert_array_equal(collect(stream)[0], [[1, NAN], [NAN, 1]])


def test_a_column_without_any_value_is_always_absent(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b,y\n1,,1\n2,,2\n")
    for source in (tmp_path / "e.csv", arrow.table({"a": [1, 2], "b": [None] * 2, "y": [1, 2]})):
        np.testing.assert_array_equal(collect(read(source, target="y"))[0], [[1, NAN], [2, NAN]])


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["float32", "float32"], np.float32),
        (["float32", "bool"], np.float32),
        (["float32", "int16"], np.float32),
        (["float32", "int32"], np.float64),
        (["float64", "float32"], np.float64),
        (["bool", "int8"], np.float64),
    ],
)
def test_single_precision_stays_where_it_is_exact(types: list[str], expected: Any) -> None:
    columns = [np.array([0, 1, 1]).astype(t) for t in types]
    stream = read(arrow.table({"a": columns[0], "b": columns[1], "y": [1.0, 2, 3]}), target="y")
    assert isinstance(stream, FileStream)
    assert stream.dtype == expected
    block, labels = next(stream.blocks())
    assert block.dtype == expected
    assert labels.dtype == np.float64
    np.testing.assert_array_equal(block, [[0, 0], [1, 1], [1, 1]])


def test_decimals_and_large_whole_numbers() -> None:
    money = arrow.array([1, 2]).cast(arrow.decimal128(30, 5))
    large = arrow.array([2**63, 2**53 + 1], arrow.uint64())
    stream = read(arrow.table({"a": money, "b": large, "y": money}), target="y")
    np.testing.assert_array_equal(collect(stream)[0], [[1, 2.0**63], [2, 2.0**53]])


def test_the_features_of_an_earlier_stream(tmp_path: Path) -> None:
    first = read(as_csv(tmp_path), target="price")
    later = arrow.table(
        {"colour": ["pink", "red", None], "bmi": [1, 2, 3], "new": ["?"] * 3, "smoker": [True] * 3}
    )
    with pytest.raises(kh.DataError, match="has no column for the feature 'age'"):
        read(later, target=None, features=first.names)
    later = later.append_column("age", [[7, 8, 9]]).append_column("ill", [[None] * 3])
    stream = read(later, target=None, features=first.names)
    assert stream.names == first.names
    got_X, got_y = collect(stream)
    want = [
        [7, 1, 0, 0, 0, NAN, 1],  # pink was not known: no colour that was
        [8, 1, 0, 0, 1, NAN, 2],
        [9, 1, NAN, NAN, NAN, NAN, 3],
    ]
    np.testing.assert_array_equal(got_X, want)
    assert np.isnan(got_y).all()
    reordered = read(
        as_csv(tmp_path), target="price", features=("colour=red", "bmi", "colour=blue")
    )
    np.testing.assert_array_equal(collect(reordered)[0], X[:, [4, 6, 2]])


def test_a_whole_game_from_a_file(tmp_path: Path) -> None:
    made, truth = kh.streams.realizable(d=12, k=2, n=3000, seed=3, noise_sd=0.1)
    write(made, tmp_path / "game.parquet")
    stream = read(tmp_path / "game.parquet", target="y")
    problem = kh.Problem(stream.d, 2, 2, names=stream.names)
    ledger = kh.play(kh.FixedSubset(problem, support=truth.support), stream)
    plain = kh.play(kh.FixedSubset(kh.Problem(12, 2, 2), support=truth.support), made)
    assert ledger.loss == plain.loss
    assert (kh.hindsight(stream, 2, intercept=False).support == truth.support).all()


def test_hindsight_takes_absent_cells_for_the_mean_of_their_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    full = rng.normal(3, 1, (400, 4))
    y = full @ [1.0, 0, -2, 0] + 1
    holes = np.where(rng.random(full.shape) < 0.2, NAN, full)
    write(kh.streams.ArrayStream(holes, y), tmp_path / "holes.csv")
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    by_hand = kh.hindsight(kh.streams.ArrayStream(filled, y), 2, intercept=True)
    found = kh.hindsight(read(tmp_path / "holes.csv", target="y"), 2, intercept=True)
    np.testing.assert_allclose(found.weights, by_hand.weights, rtol=1e-9)
    assert found.loss.high == pytest.approx(by_hand.loss.high)
