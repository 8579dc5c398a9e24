"""Files as people have them: JSON lines, titles, bounds, spellings, pickles, columns of nothing."""

import bz2
import gzip
import io
import json
import lzma
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow  # type: ignore[import-untyped]
import pyarrow.feather  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest

import keyhole as kh
from keyhole.streams import FileStream, collect, csv_dialect, csv_table, read
from keyhole.streams.csv_dialect import Untitled
from keyhole.streams.read_options import ReadArguments
from keyhole.streams.shards import data_files, plan_shards, scan_as_json, scan_file, scan_from_json

ROWS = [
    {"age": 31 + i % 40, "ward": "ab"[i % 2], "ok": i % 3 == 0, "y": i % 7 + 0.5} for i in range(60)
]
JSON = "".join(json.dumps(row) + "\n" for row in ROWS)


def made(folder: Path, data: str | bytes, name: str = "t.csv", **arguments: Any) -> FileStream:
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    stream = read(folder / name, **{"target": "y", **arguments})
    assert isinstance(stream, FileStream)
    return stream


def refused(folder: Path, data: str | bytes, name: str = "t.csv", **arguments: Any) -> str:
    with pytest.raises(kh.KeyholeError) as caught:
        collect(made(folder, data, name, **arguments))
    return str(caught.value)


def whats(stream: FileStream) -> list[str]:
    return [one.what for one in stream.assumed]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "t.jsonl": bytes,
    "t.ndjson": bytes,
    "t.json": bytes,
    "t.txt": bytes,
    "t.jsonl.gz": gzip.compress,
    "t.jsonl.bz2": bz2.compress,
    "t.ndjson.xz": lzma.compress,
    "bom.jsonl": lambda data: b"\xef\xbb\xbf" + data,
}


@pytest.mark.parametrize("name", PACKED)
def test_json_lines_are_the_rows_of_a_csv(name: str, tmp_path: Path) -> None:
    text = "age,ward,ok,y\n"
    text += "".join(f"{r['age']},{r['ward']},{str(r['ok']).lower()},{r['y']}\n" for r in ROWS)
    plain = made(tmp_path, text, "plain.csv")
    stream = made(tmp_path, PACKED[name](JSON.encode()), name)
    assert stream.names == plain.names == ("age", "ward=a", "ward=b", "ok")
    for one, other in zip(collect(stream), collect(plain), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(collect(stream)[0], collect(stream)[0])  # pass after pass


def test_arrow_files_are_the_rows_of_a_parquet_file(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    expected = collect(read(tmp_path / "t.parquet", target="y"))
    for packing in ("lz4", "zstd", "uncompressed"):
        pyarrow.feather.write_feather(table, tmp_path / "t.feather", compression=packing)
        for one, other in zip(
            collect(read(tmp_path / "t.feather", target="y")), expected, strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_json_of_all_kinds(tmp_path: Path) -> None:
    rows = '{"a": {"b": 1, "c": {"d": true}}, "y": 1}\n\n{"y": 2, "t": "two\\nlines", "a": null}\n'
    stream = made(tmp_path, rows, "t.jsonl")
    assert stream.names == ("a.b", "a.c.d", "t=two\nlines", "a")
    np.testing.assert_array_equal(
        collect(stream)[0], [[1.0, 1.0, np.nan, np.nan], [np.nan, np.nan, 1.0, np.nan]]
    )
    one = made(tmp_path, '{"x": 1}\n{"y": 2}\n{"x": null, "y": 3}\n', "one.jsonl")
    assert (one.rounds, one.left_out) == (2, 1)
    as_text = made(tmp_path, '{"a": "1.5", "y": 1}\n{"a": 2, "y": 2}\n', "t.jsonl")
    assert collect(as_text)[0].tolist() == [[1.5], [2.0]]
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(2):
        (folder / f"{i}.jsonl").write_text(JSON)
    assert read(folder, target="y").rounds == 2 * len(ROWS)


BAD_JSON: dict[str, tuple[str | bytes, str]] = {
    "text in numbers": (
        '{"a":1,"y":1}\n\n{"a":"x","y":1}\n{"a":2,"y":1}\n',
        "line 3: column 'a' is",
    ),
    "not JSON": ('{"a":1,"y":1}\n{"a":1,"y"\n', "t.jsonl, line 2: not an object on one line"),
    "an array": ('[{"a":1,"y":1},\n{"a":2,"y":1}]', "(this is an array): write one object per"),
    "numbers": ('{"a":1,"y":1}\n[1,2]\n', "t.jsonl, line 2: ['1', '2'] is not an object"),
    "twice": ('{"a":1,"a":2,"y":1}\n', "the key 'a' is there twice"),
    "deep": ('{"a":' * 100_000 + "}" * 100_000, "line 1: not an object on one line"),
    "nothing": ("{}\n{}\n", "has no object with a key in it"),
    "latin": (b'{"a":"\xe9","y":1}\n', "line 1: not UTF-8, as JSON has to be"),
    "infinite": ('{"a":1e400,"y":1}\n', "line 1: column 'a' is infinite"),
}


@pytest.mark.parametrize("case", BAD_JSON)
def test_bad_json_is_refused_by_its_line(case: str, tmp_path: Path) -> None:
    data, message = BAD_JSON[case]
    assert message in refused(tmp_path, data, "t.jsonl")


# The file, how many rows are titles, and the names without the target.
TITLED: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "one": ("Patients of May\na,b,y\n1,2,3\n4,5,6\n", 1, ("a", "b")),
    "two and a blank": ("Patients\nMay, all wards\n\na,b,y\n1,2,3\n4,5,6\n", 3, ("a", "b")),
    "quoted": ('"Wards 1, 2"\na,b,y\n1,2,3\n4,5,6\n', 1, ("a", "b")),
    "padded, as sheets are": ("Patients,,\n,,\na,b,y\n1,2,3\n4,5,6\n", 2, ("a", "b")),
    "other separator": ("Mai, alle\na;b;y\n1,5;2;3\n4,5;5;6\n", 1, ("a", "b")),
    "after a mark": ("\ufeffPatients\na,b,y\n1,2,3\n", 1, ("a", "b")),
}


@pytest.mark.parametrize("case", TITLED)
def test_titles_are_found_and_told(case: str, tmp_path: Path) -> None:
    data, rows, names = TITLED[case]
    stream = made(tmp_path, data)
    told = [one for one in stream.assumed if one.option == "skip_rows"]
    assert len(told) == 1
    assert told[0].what.startswith("a row of" if rows == 1 else f"{rows} rows of titles (")
    X, y = collect(stream)
    assert (stream.names, y[0]) == (names, 3.0)
    said = made(tmp_path, data, skip_rows=rows)
    assert "skip_rows" not in [one.option for one in said.assumed]
    np.testing.assert_array_equal(collect(said)[0], X)
    assert "t.csv" in refused(tmp_path, data, skip_rows=0)


NO_TITLES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("a,y\n1,2\n3,4\n", {}),
    "bars in cells": ("t,y\np|q,2\nr|s,4\n", {}),
    "a comment": ("# x\na,b,y\n1,2,3\n", {}),
    "fewer names than cells": ("a,y\n1,2,3\n4,5,6\n", {}),
    "numbers in the next": ("Title\n1,2,3\n4,5,6\n", {"target": "c3"}),
    "said otherwise": ("Title\na,b,y\n1,2,3\n", {"header": False, "target": "c1"}),
}


@pytest.mark.parametrize("case", NO_TITLES)
def test_near_misses_are_no_titles(case: str, tmp_path: Path) -> None:
    data, more = NO_TITLES[case]
    dialect = csv_dialect.sniff(data.encode(), ReadArguments(**{"target": "y", **more}), ",")
    assert dialect.dialect.skip_rows == 0
    assert "skip_rows" not in [one.option for one in dialect.assumed]


def test_lines_below_titles_keep_their_numbers(tmp_path: Path) -> None:
    data = "Title\nof two lines\na,b,y\n1,2,3\n4,x,6\n4,5,6\n4,5,6\n"
    assert "t.csv, line 5: column 'b'" in refused(tmp_path, data)
    assert "skip_rows must be" in refused(tmp_path, data, skip_rows=-1)
    for size in (1, 3, 7):
        source = Untitled(io.BytesIO(data.encode()), 2)
        parts = []
        while part := source.read(size):
            parts.append(part)
        assert b"".join(parts).decode() == "\n\n" + data.split("\n", 2)[2]


@pytest.mark.parametrize("block", [16, 1 << 20])
def test_bounds_are_read_as_asked(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_table.CsvTable, "block_bytes", block)
    cells = ["1", "2", "3", "<5", ">= 100", "≤ 0.3", "7", "> 8 "]
    data = "a,y\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))
    stream = made(tmp_path, data)
    bounds = [1.0, 2.0, 3.0, 5.0, 100.0, 0.3, 7.0, 8.0]
    assert collect(stream)[0][:, 0].tolist() == bounds
    assert whats(stream) == ["4 cells such as '<5' in 'a' their bound"]
    said = made(tmp_path, data, censored="bound")
    assert (whats(said), collect(said)[0][:, 0].tolist()) == ([], bounds)
    absent = collect(made(tmp_path, data, censored="absent"))[0][:, 0]
    assert np.flatnonzero(np.isnan(absent)).tolist() == [3, 4, 5, 7]
    message = refused(tmp_path, data, censored="refuse")
    assert "got '<5' (is it a bound? Say censored='bound')" in message
    assert "censored can be bound, absent, refuse, got 'bond' (did you" in refused(
        tmp_path, data, censored="bond"
    )


def test_bounds_before_all_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table.CsvTable, "block_bytes", 16)
    cells = ["<5"] * 9 + ["7"] * 9 + ["> 9"] * 9
    data = "a,y\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))
    expected = [5.0] * 9 + [7.0] * 9 + [9.0] * 9
    assert collect(made(tmp_path, data))[0][:, 0].tolist() == expected


def test_bounds_with_units_and_of_the_target(tmp_path: Path) -> None:
    data = "a;y\n<0,5 mg/l;1,5\n1,25 mg/l;>9\n7,5 mg/l;2\n"
    stream = made(tmp_path, data)
    assert collect(stream)[0][:, 0].tolist() == [0.5, 1.25, 7.5]
    assert collect(stream)[1].tolist() == [1.5, 9.0, 2.0]
    absent = made(tmp_path, data, censored="absent")
    assert (absent.rounds, absent.left_out) == (2, 1)


def test_groups_such_as_under_65_stay_levels(tmp_path: Path) -> None:
    stream = made(tmp_path, "a,y\n<65,1\n>=65,2\n<65,3\n")
    assert (stream.names, stream.assumed) == (("a=<65", "a=>=65"), ())


def test_what_is_no_bound_either_is_named(tmp_path: Path) -> None:
    data = "a,y\n<5,1\n1,2\nn/k,3\n2,4\n"
    assert "line 4: column 'a' is mostly numbers, got 'n/k'" in refused(tmp_path, data)
    found = collect(made(tmp_path, data, missing="auto"))[0][:, 0]
    np.testing.assert_array_equal(found, [5.0, 1.0, np.nan, 2.0])


def test_shards_read_bounds_alike(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,1\n<5,2\n3,3\n")
    request = ReadArguments("y")
    place = data_files(tmp_path / "t.csv", request)[0]
    scan = scan_file(place, request)
    kept = json.loads(json.dumps(scan_as_json(scan)))
    for one in (scan, scan_from_json(place, request, kept)):
        plan = plan_shards([one], request)
        assert collect(plan.stream(plan.shards[0]))[0][:, 0].tolist() == [1.0, 5.0, 3.0]


def test_one_level_however_it_is_written(tmp_path: Path) -> None:
    words = ["Yes", "YES", "yes", "No", "no ", "", "yes"]
    data = "smoker,y\n" + "".join(f"{word},{i}\n" for i, word in enumerate(words))
    stream = made(tmp_path, data)
    assert stream.names == ("smoker=No", "smoker=yes")
    assert whats(stream) == [
        "'no ' in 'smoker' the same as 'No'",
        "'YES' and 'Yes' in 'smoker' the same as 'yes'",
    ]
    np.testing.assert_array_equal(collect(stream)[0][:, 1], [1.0, 1.0, 1.0, 0.0, 0.0, np.nan, 1.0])
    told = made(tmp_path, data, categorical=["smoker"])
    assert len(told.names) == 5
    assert not told.assumed
    new = made(tmp_path, "smoker,y\nYeS,1\nmaybe,2\n", features=stream.names)
    assert collect(new)[0].tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert new.unknown == {"smoker": 1}
    old = collect(made(tmp_path, data, features=["smoker=YES", "smoker=yes"]))[0]
    assert old[1:3].tolist() == [[1.0, 0.0], [0.0, 1.0]]  # a model of before told them apart


def test_one_label_however_it_is_written(tmp_path: Path) -> None:
    words = ["Ill", "ill", "WELL", "well", "", "ILL"]
    data = "a,y\n" + "".join(f"{i},{word}\n" for i, word in enumerate(words))
    stream = made(tmp_path, data)
    assert stream.answers == kh.streams.Answers("well", "ill")
    assert collect(stream)[1].tolist() == [0.0, 0.0, 1.0, 1.0, 0.0]
    sick = made(tmp_path, data, positive="ILL")
    assert collect(sick)[1].tolist() == [1.0, 1.0, 0.0, 0.0, 1.0]
    again = made(tmp_path, "a,y\n1,Well\n2,iLL\n", positive=stream.answers)
    assert collect(again)[1].tolist() == [1.0, 0.0]
    assert "must be as before" in refused(
        tmp_path, "a,y\n1,Well\n2,dead\n", positive=stream.answers
    )


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_pickles_are_named_and_never_loaded(protocol: int, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    data = pickle.dumps(Trap(), protocol)
    names = ["t.pkl", "t.pickle"] if protocol == 0 else ["t.pkl", "t.csv", "t", "t.pkl.gz"]
    for name in names:
        message = refused(tmp_path, gzip.compress(data) if name.endswith("gz") else data, name)
        assert "is a pickle file" in message
        assert "to_parquet" in message
    assert not (tmp_path / "sprung").exists()


def test_columns_of_nothing_are_told(tmp_path: Path) -> None:
    rows = [{"a": i, "rare": 1.0 if i == 3 else None, "y": i % 5, "n": None} for i in range(150)]
    table = pyarrow.Table.from_pylist(rows)
    text = "a,rare,y,n\n" + "".join(
        f"{r['a']},{'' if r['rare'] is None else 1},{r['y']},\n" for r in rows
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=40)
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    for stream in (
        made(tmp_path, text),
        read(tmp_path / "t.parquet", target="y"),
        read(tmp_path / "t.feather", target="y"),
        read(table, target="y"),
    ):
        assert isinstance(stream, FileStream)
        assert stream.nearly_empty == {"rare": 149, "n": 150}
    assert made(tmp_path, "a,b,y\n1,,2\n2,3,4\n").nearly_empty == {}
