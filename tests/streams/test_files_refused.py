"""What a file may not be: each time one clear line, with the place and the remedy."""

import datetime
import gzip
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.optional_imports import extra
from keyhole.streams import collect, csv_table, read, write
from keyhole.streams.csv_table import CsvTable

arrow: Any = extra("pyarrow", "files")
pd: Any = extra("pandas", "dev")

BAD_TEXT: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "t.csv is empty"),
    "blank": (b"\n \n", "t.csv is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "t.csv is empty"),
    "header only": (b"a,y\n", "t.csv has columns but no rows"),
    "header and blank lines": (b"a,y\n\n\n", "t.csv has columns but no rows"),
    "short row": (b"a,y\n1,2\n\n3\n", "t.csv, line 4: 1 cell where the header has 2"),
    "long row": (b'a,b,y\n"1\n2",x,2\n1,2,3,4\n', "t.csv, line 4: 4 cells where the header has 3"),
    "duplicate names": (b"a,b,a,y\n1,2,3,4\n", "t.csv: columns 1 and 3 are both called 'a'"),
    "no name": (b",a,y\n0,1,2\n", "t.csv: column 1 has no name; name it, or leave it out: ignore"),
    "unknown target": (b"a,price\n1,2\n", "t.csv has no column 'y': it has a, price"),
    "near target": (b"a,yy\n1,2\n", "t.csv has no column 'y' (did you mean 'yy'?)"),
    "only the target": (b"y\n1\n", "t.csv has no column left to be a feature"),
    "target of text": (
        b"a,y\n1,2\n3,\n5,high\n",
        "t.csv, line 4: the target 'y' must be numbers, got 'high': correct the cell, or say",
    ),
    "target of dates": (b"a,y\n1,2024-01-31\n", "the target 'y' holds dates or times: it must be"),
    "target missing": (b"a,y\n1,\n2,NA\n", "t.csv: the target 'y' is missing in every row"),
    "dates": (b"when,y\n2024-01-31,1\n", "t.csv: column 'when' holds dates or times: leave it out"),
    "times": (b"when,y\n2024-01-31 10:00:00,1\n", "or make numbers of it (dates=['ordinal']"),
    "a bad cell": (
        b"age,y\n31,1\n32,2\nabc,3\n",
        "t.csv, line 4: column 'age' is mostly numbers, got 'abc': correct the cell, or say that",
    ),
    "a flag among numbers": (
        b"a,y\n1,1\ntrue,3\n",
        "line 3: column 'a' is mostly numbers, got 'tr",
    ),
    "infinite": (b"a,y\n1,1\n\n-inf,3\n", "t.csv, line 4: column 'a' is infinite"),
    "infinite target": (b"a,y\n1,1\n2,Infinity\n", "t.csv, line 3: the target 'y' is infinite"),
    "too large": (b"a,y\n1,1\n2e200,3\n", "t.csv, line 3: column 'a' is 2e+200, beyond 1e+150"),
    "another separator": (
        b"a;y|z\n1;2|3\n",
        "t.csv has one column, 'a;y|z': is its separator ';'? Say separator=';'",
    ),
    "not text": (b"a,y\nx,1\ncaf\xff,2\n", "t.csv, line 3: not UTF-8: say which encoding it is"),
    "another alphabet": (
        "при,y\nx,1\n".encode("cp1251"),
        "t.csv, line 1: not UTF-8: say which encoding it is, such as encoding='cp1252'",
    ),
    "zip": (b"PK\x03\x04rest", "t.csv is a damaged zip file: File is not a zip file"),
    "a page": (b"<!DOCTYPE html>", "t.csv is a web page: give CSV (also compressed), JSON lin"),
    "carriage returns": (b"a,y\r1,2\r", "lines that end in a bare carriage return"),
    "clash of names": (b"c,c=x,y\nx,1,1\nz,2,2\n", "two features would be called 'c=x'"),
    "hexadecimal": (b"a,y\n1,1\n0x10,2\n", "t.csv, line 3: '0x10' is not a number (column 'a')"),
}


def refused(make: Any) -> str:
    with pytest.raises(kh.KeyholeError) as caught:
        make()
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("case", BAD_TEXT)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_bad_text(case: str, packed: bool, tmp_path: Path) -> None:
    data, message = BAD_TEXT[case]
    if packed and case in ("empty", "zip", "a page"):
        data, message = b"", "t.csv is empty"  # of gzip, what is inside is text
    (tmp_path / "t.csv").write_bytes(gzip.compress(data) if packed else data)
    assert message in refused(lambda: collect(read(tmp_path / "t.csv", target="y")))


@pytest.mark.parametrize("block", [8, 20, 1 << 22])
def test_lines_are_counted_across_blocks(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CsvTable, "block_bytes", block)
    good = b"".join(b'%d,"b\n%d",1\r\n' % (i, i % 3) for i in range(30))  # two lines to a row
    for bad, message in (
        (b"1,2\r\n", "t.csv, line 62: 2 cells where the header has 3"),
        (b"x,b,1\r\n", "t.csv, line 62: column 'a' is mostly numbers, got 'x'"),
        (b"inf,b,1\r\n", "t.csv, line 62: column 'a' is infinite"),
        (b"1,b,x\r\n", "t.csv, line 62: the target 'y' must be numbers, got 'x'"),
        (b"1,\xff,1\r\n", "t.csv, line 62: not UTF-8"),
    ):
        (tmp_path / "t.csv").write_bytes(b"a,b,y\r\n" + good + bad + good)
        assert message in refused(lambda: collect(read(tmp_path / "t.csv", target="y")))


def test_blocks_of_different_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a column is does not follow from its first block: rows 1 to 8 are one block or more."""
    monkeypatch.setattr(CsvTable, "block_bytes", 8)
    for first, then, message in (
        ("1", "x", "t.csv, line 10: column 'a' is mostly numbers, got 'x'"),
        ("true", "x", "t.csv, line 10: column 'a' is mostly true and false, got 'x'"),
        ("true", "1", "t.csv: column 'a' holds numbers in some rows, true and false in others"),
        ("x", "2024-01-01", "t.csv: column 'a' holds dates or times"),
    ):
        (tmp_path / "t.csv").write_text("a,y\n" + f"{first},1\n" * 8 + f"{then},1\n" * 8)
        assert message in refused(lambda: read(tmp_path / "t.csv", target="y"))
        assert read(tmp_path / "t.csv", target="y", categorical=["a"]).d == 2
    (tmp_path / "t.csv").write_text("a,y\n" + ",1\n" * 8 + "1,1\n" * 8 + "2.5,1\n" * 8)
    assert np.nansum(collect(read(tmp_path / "t.csv", target="y"))[0]) == 8 + 20


def test_a_quote_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CsvTable, "block_bytes", 64)
    monkeypatch.setattr(csv_table, "MAX_ROW_BYTES", 256)
    (tmp_path / "t.csv").write_text('a,y\n1,1\n"2,2\n' + "3,3\n" * 200)
    message = refused(lambda: read(tmp_path / "t.csv", target="y"))
    assert message == 't.csv: the row of line 3 does not end; is a quote (") open?'


def test_truncated_and_damaged_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    stream = kh.streams.ArrayStream(rng.normal(size=(500, 3)), rng.normal(size=500))
    for name, message in (
        ("t.csv.gz", "t.csv.gz is a truncated gzip file"),
        ("t.parquet", "t.parquet is damaged or cut short"),
        ("t.arrow", "t.arrow is damaged or cut short"),
    ):
        path = tmp_path / name
        write(stream, path)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        assert message in refused(lambda path=path: collect(read(path, target="y")))
        path.write_bytes(whole[:12])
        refused(lambda path=path: collect(read(path, target="y")))
        path.write_bytes(b"nothing of the kind")
        assert "does not begin like one" in refused(lambda path=path: read(path, target="y"))
    write(stream, tmp_path / "u.csv.gz")
    data = bytearray((tmp_path / "u.csv.gz").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "u.csv.gz").write_bytes(data)
    assert "u.csv.gz is a damaged gzip file" in refused(
        lambda: read(tmp_path / "u.csv.gz", target="y")
    )


def test_damage_inside_parquet(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    write({"a": rng.normal(size=5000), "y": np.arange(5000.0)}, tmp_path / "t.parquet")
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    data[10:60] = b"\xaa" * 50
    (tmp_path / "t.parquet").write_bytes(data)
    assert "damaged" in refused(lambda: collect(read(tmp_path / "t.parquet", target="y")))


TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "no rows": ({"a": np.array([]), "y": np.array([])}, "the dataframe has columns but no rows"),
    "text target": (
        {"a": [1, 2], "y": ["1", "x"]},
        "row 2: the target 'y' must be numbers, got 'x'",
    ),
    "numerals as target": ({"a": [1], "y": ["1"]}, "the target 'y' holds text: it must be numbers"),
    "date": ({"a": [datetime.date(2024, 1, 1)], "y": [1]}, "column 'a' holds dates or times"),
    "duration": ({"a": [datetime.timedelta(1)], "y": [1]}, "column 'a' holds dates or times"),
    "list": ({"a": [[1, 2]], "y": [1]}, "column 'a' holds neither numbers nor text: leave it out"),
    "bytes": ({"a": [b"x"], "y": [1]}, "column 'a' holds neither numbers nor text"),
    "infinite": ({"a": [1, 2, np.inf], "y": [1, 2, 3]}, "the dataframe, row 3: column 'a' is inf"),
    "infinite float32": (
        {"a": np.array([1, -np.inf], np.float32), "y": [1, 2]},
        "row 2: column 'a' is inf",
    ),
    "infinite target": ({"a": [1, 2], "y": [np.nan, np.inf]}, "row 2: the target 'y' is infinite"),
    "target all nan": ({"a": [1, 2], "y": [np.nan, None]}, "'y' is missing in every row"),
    "a bad cell": ({"a": ["1", "2", "x"], "y": [1, 2, 3]}, "row 3: column 'a' is mostly numbers"),
    "identifiers": (
        {"a": [f"id{i}" for i in range(51)], "y": range(51)},
        "column 'a' has more than 50 different texts, such as 'id0': leave it out (ignore=['a']) "
        "or allow more (most_levels=200)",
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_bad_tables(case: str) -> None:
    columns, message = TABLES[case]
    frame = arrow.table({name: arrow.array(list(cells)) for name, cells in columns.items()})
    assert message in refused(lambda: collect(read(frame, target="y")))


def test_more_levels_on_request() -> None:
    frame = arrow.table({"a": [f"id{i}" for i in range(51)], "y": range(51)})
    assert read(frame, target="y", most_levels=51).d == 51


FINE = arrow.table({"age": [1, 2], "colour": ["red", "blue"], "y": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "colur"}, "has no column 'colur' (did you mean 'colour'?)"),
        ({"target": "y", "ignore": ["aeg"]}, "has no column 'aeg' (did you mean 'age'?)"),
        ({"target": "y", "categorical": ["q"]}, "has no column 'q': it has age, colour, y"),
        ({"target": "y", "ignore": ["y"]}, "'y' is the target: it cannot be anything else as well"),
        ({"target": "y", "categorical": ["y"]}, "'y' is the target"),
        ({"target": "y", "features": ["y", "age"]}, "'y' is the target"),
        ({"target": "y", "features": ["size"]}, "has no column for the feature 'size'"),
        ({"target": "y", "features": ["age", "age"]}, "two features would be called 'age'"),
        (
            {"target": "y", "features": ["colour"]},
            "row 1: column 'colour' must be numbers, got 're",
        ),
        ({"target": "y", "features": []}, "no column left to be a feature"),
        ({"target": "y", "most_levels": 0}, "most_levels must be at least 1, got 0"),
        ({"target": "y", "most_levels": 1}, "more than 1 different texts"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    assert message in refused(lambda: read(FINE, **arguments))


def test_bad_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prices.csv").write_text("a,y\n1,2\n")
    (tmp_path / "none").mkdir()
    for source, message in (
        (tmp_path / "price.csv", "price.csv (did you mean 'prices.csv'?)"),
        (tmp_path / "nowhere" / "x.csv", "there is no file"),
        (tmp_path / "none", "is a folder without any CSV"),
        ({"a": [1]}, "source must be a path, '-' for standard input, or a dataframe, got a dict"),
        (np.zeros((2, 2)), "got a ndarray"),
        (pd.DataFrame({0: [1], 1: [2]}), "must be named by strings, got 0"),
        (pd.DataFrame({"a": [1, "x", 2.5], "y": [1, 2, 3]}), "the dataframe"),
    ):
        assert message in refused(lambda source=source: read(source, target="y"))
    for frame in (
        pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"]),
        arrow.table([[1], [2], [3]], names=["a", "a", "y"]),
    ):
        assert "'a'" in refused(lambda frame=frame: read(frame, target="y"))
    parquet: Any = extra("pyarrow.parquet", "files")
    parquet.write_table(frame, tmp_path / "t.parquet")
    message = "t.parquet: columns 1 and 2 are both called 'a'"
    assert refused(lambda: read(tmp_path / "t.parquet", target="y")) == message
    for arguments, message in (
        ({"separator": ",,"}, "separator must be one character, got ',,'"),
        ({"separator": ",", "decimal": ","}, "separator and decimal must differ, both are ','"),
    ):
        assert message in refused(
            lambda a=arguments: read(tmp_path / "prices.csv", target="y", **a)
        )


def test_a_file_that_changes_is_not_mixed_up(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,2\n")
    stream = read(path, target="y")
    path.write_text("a,y\n1,2\n3,4\n")
    assert (
        refused(lambda: collect(stream)) == "t.csv was changed while it was in use: read it again"
    )
    path.unlink()
    assert re.match("t.csv cannot be read: No such file", refused(lambda: collect(stream)))


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = "pyarrow is needed here and is not installed: pip install 'keyhole[files]'"
    assert refused(lambda: read(tmp_path / "t.csv", target="y")) == message
    assert refused(lambda: write({"a": [1]}, tmp_path / "u.csv")) == message
    assert os.listdir(tmp_path) == ["t.csv"]
