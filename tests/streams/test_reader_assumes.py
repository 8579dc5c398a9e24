"""What the reader assumes about a messy file, and near misses where it must assume nothing."""

import csv
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole.streams import FileStream, collect, csv_dialect, csv_table, read
from keyhole.streams.csv_dialect import Decoded, Uncommented
from keyhole.streams.read_options import ReadArguments, assumptions_line


def made(folder: Path, data: str | bytes, **arguments: Any) -> FileStream:
    path = folder / "t.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    stream = read(path, **{"target": "y", **arguments})
    assert isinstance(stream, FileStream)
    return stream


def whats(stream: FileStream) -> list[str]:
    return [one.what for one in stream.assumed]


# By habit: the file, what is assumed, the first column.
ZOO: dict[str, tuple[str | bytes, list[str], list[float]]] = {
    "plain": ("a,y\n1,2\n3,4\n", [], [1, 3]),
    "semicolons": ("a;y\n1;2\n3;4\n", ["separator ';'"], [1, 3]),
    "tabs": ("a\ty\n1\t2\n", [r"separator '\t'"], [1]),
    "bars": ("a|y\n1|2\n", ["separator '|'"], [1]),
    "decimal commas": ("a;y\n1,5;2\n0,125;4\n", ["separator ';'", "decimal ','"], [1.5, 0.125]),
    "decimal commas in quotes": ('a,y\n"1,5",2\n"2,25",4\n', ["decimal ','"], [1.5, 2.25]),
    "100,0": ('a,y\n100,2\n"100,0",4\n', ["decimal ','"], [100, 100]),
    "German numbers": (
        "a;y\n1.234,5;2\n1.234.567,25;3\n",
        ["separator ';'", "decimal ','", "thousands '.'"],
        [1234.5, 1234567.25],
    ),
    "English numbers": ('a,y\n"1,234",2\n12,3\n', ["thousands ','"], [1234, 12]),
    "Swiss numbers": ("a,y\n1'234.5,2\n12,3\n", ['thousands "\'"'], [1234.5, 12]),
    "French numbers": (
        "a;y\n1 234,5;2\n12;3\n",
        ["separator ';'", "decimal ','", "thousands ' '"],
        [1234.5, 12],
    ),
    "currency": ("a,y\n€ 100,2\n€ 7.50,3\n", ["'€' a unit in 'a'"], [100, 7.5]),
    "currency behind": (
        "a;y\n1.100,50 €;2\n-9 €;3\n",
        ["separator ';'", "decimal ','", "thousands '.'", "'€' a unit in 'a'"],
        [1100.5, -9],
    ),
    "percent": ("a,y\n35 %,2\n7%,3\n", ["'%' a unit in 'a'"], [35, 7]),
    "units": ("a,y\n80 m²,2\n95.5 m²,3\n", ["'m²' a unit in 'a'"], [80, 95.5]),
    "cp1252": ("größe,y\n1,2\n".encode("cp1252"), ["encoding 'cp1252'"], [1]),
    "utf-16": ("a,y\n1,2\n".encode("utf-16"), ["encoding 'utf-16'"], [1]),
    "utf-16 without a mark": ("a,y\n1,2\n".encode("utf-16-le"), ["encoding 'utf-16-le'"], [1]),
    "comments": (
        '# by "me\n#\na,b,y\n1,9,2\n# so far\n3,9,4\n',
        ["comment '#'"],
        [1, 3],
    ),
    "comments after a mark": (
        b"\xef\xbb\xbf# one\na,b,y\n1,9,2\n3,9,4\n",
        ["comment '#'"],
        [1, 3],
    ),
    "single quotes": ("'a','b','y'\n1,'x, z',2\n3,'w',4\n", ['quote "\'"'], [1, 3]),
}


@pytest.mark.parametrize("case", ZOO)
def test_habits_are_found_and_told(case: str, tmp_path: Path) -> None:
    data, expected, first = ZOO[case]
    stream = made(tmp_path, data)
    assert whats(stream) == expected
    X, _ = collect(stream)
    np.testing.assert_array_equal(X[:, 0], first)
    again, _ = collect(stream)
    np.testing.assert_array_equal(again, X)


# Near misses: nothing is assumed, and the first feature is as it was before.
NEAR: dict[str, tuple[str, str]] = {
    "one comma more than cells": ("a;b,y\n1;2,3\n", "a;b=1;2"),
    "a header that begins with #": ("#a,b,y\n1,2,3\n4,5,6\n", "#a"),
    "commas in text": ('a,y\n"x, z",1\n"w, z",2\n', "a=w, z"),
    "letters behind numbers": ("a,y\n12A,1\n14B,2\n", "a=12A"),
    "one unit here, another there": ("a,y\n5 kg,1\n5 lb,2\n", "a=5 kg"),
    "a unit nobody knows": ("a,y\n5 apples,1\n6 apples,2\n", "a=5 apples"),
    "an apostrophe": ("'a,y\n'x,1\n'z,2\n", "'a='x"),
    "versions": ("a,y\n1.2.3,1\n1.10.0,2\n", "a=1.10.0"),
    "telephones": ("a,y\n030 1234,1\n040 999,2\n", "a=030 1234"),
    "names that are numbers": ("2019,2020,y\n1,2,3\n4,5,6\n7,8,9\n", "2019"),
}


@pytest.mark.parametrize("case", NEAR)
def test_near_misses_are_read_as_ever(case: str, tmp_path: Path) -> None:
    data, first = NEAR[case]
    stream = made(tmp_path, data)
    assert stream.assumed == ()
    assert stream.names[0] == first


def test_what_is_not_clear_is_not_assumed(tmp_path: Path) -> None:
    either = "a;y\n1,234;2\n2,250;3\n"  # one thousand or one and a bit?
    assert whats(made(tmp_path, either)) == ["separator ';'"]
    assert made(tmp_path, either).names == ("a=1,234", "a=2,250")
    assert collect(made(tmp_path, either, decimal=","))[0].tolist() == [[1.234], [2.25]]
    assert collect(made(tmp_path, either, thousands=","))[0].tolist() == [[1234], [2250]]


def test_what_is_said_wins(tmp_path: Path) -> None:
    stream = made(tmp_path, "a;y\n1,5;2\n", separator=";", decimal=",")
    assert stream.assumed == ()
    assert made(tmp_path, "€ 1,2\n", header=False, target="c2").names == ("c1",)
    stream = made(tmp_path, "a,y\n5 kg,1\n6 kg,2\n", categorical=["a"])
    assert (stream.names, stream.assumed) == (("a=5 kg", "a=6 kg"), ())
    assert made(tmp_path, "a,b,y\n1,2,3\n%x\n4,5,6\n", comment="%").rounds == 2
    with pytest.raises(kh.DataError, match=r"has no column 'y': it has # a$"):
        made(tmp_path, "# a\na,b,y\n1,2,3\n4,5,6\n", comment="")


def test_a_missing_header(tmp_path: Path) -> None:
    data = "1.5,x,3\n4,z,6\n7,x,9\n"
    stream = made(tmp_path, data, target="c3")
    assert stream.names == ("c1", "c2=x", "c2=z")
    assert whats(stream) == ["no header, columns called c1 to c3"]
    assert stream.rounds == 3
    with pytest.raises(
        kh.DataError, match=r"no column 'rent': it has c1, c2, c3 \(assumed no head"
    ):
        made(tmp_path, data, target="rent")
    # Whoever names a cell of the first row takes it for a header.
    assert made(tmp_path, data, target="3").names == ("1.5", "x=x", "x=z")
    # A first row that has text above numbers is one.
    with pytest.raises(kh.DataError, match=r"no column 'c3': it has a, b, 9$"):
        made(tmp_path, "a,b,9\n1,2,3\n4,5,6\n7,8,9\n", target="c3")
    again = read(tmp_path / "t.csv", target=None, features=["9"])
    assert again.rounds == 3


def test_an_assumption_that_fails_further_down_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_dialect, "SNIFFED_BYTES", 64)
    monkeypatch.setattr(csv_table.CsvTable, "block_bytes", 64)
    stream = made(tmp_path, "a,b,y\n" + "5 kg,7 %,1\n" * 30 + "heavy,8 %,2\n")
    assert stream.names == ("a=5 kg", "a=heavy", "b")
    assert whats(stream) == ["'%' a unit in 'b'"]
    # Groups of thousands that come later are found where the mark is known.
    stream = made(tmp_path, "a,y\n" + "5,1\n" * 30 + '"1,500",2\n', thousands=",")
    assert collect(stream)[0][-1].tolist() == [1500]


def test_errors_tell_what_was_assumed(tmp_path: Path) -> None:
    with pytest.raises(kh.DataError) as caught:
        made(tmp_path, "a;y\n1;2\n2;3\nfew;4\n")
    assert str(caught.value) == (
        "t.csv, line 4: column 'a' is mostly numbers, got 'few': correct the cell, or say that it "
        "means a missing value (missing=['few']), leave the column out (ignore=['a']) or take it "
        "for levels (categorical=['a']) (assumed separator ';'; to say otherwise: separator)"
    )
    with pytest.raises(kh.DataError, match=r"got '1,250' \(is the decimal ','\? Say decimal=','\)"):
        made(tmp_path, "a;y\n1;2\n2;3\n1,250;4\n")


def test_told() -> None:
    many = [kh.streams.read_options.Assumption(f"thing {i}", "missing") for i in range(12)]
    assert assumptions_line(many).endswith("thing 6, and 5 more; to say otherwise: missing")
    assert assumptions_line([]) == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoding": "utf-9"}, "encoding 'utf-9' is not known"),
        ({"encoding": "punycode"}, "encoding 'punycode' is not known"),
        ({"encoding": "unicode_escape"}, "encoding 'unicode_escape' is not known"),
        ({"encoding": "zlib"}, "encoding 'zlib' is not known"),
        ({"quote": "''"}, "quote must be one character"),
        ({"thousands": ".", "decimal": "."}, "thousands and decimal must differ"),
        ({"separator": "€"}, "separator must be one character of ASCII"),
        ({"comment": "#\n"}, "comment must be what lines begin with"),
        ({"encoding": "utf-16"}, "t.csv, after line 1: not utf-16"),
        ({"encoding": "ascii"}, "t.csv, after line 1: not ascii"),
    ],
)
def test_what_cannot_be_said(arguments: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(kh.KeyholeError, match=message):
        collect(made(tmp_path, "größe,y\n1,2\n34,5\n"[:-1], **arguments))


class Bytes:
    """A file that gives a few bytes at a time."""

    def __init__(self, data: bytes, most: int) -> None:
        self._file, self._most = io.BytesIO(data), most

    def read(self, size: int, /) -> bytes:
        return self._file.read(min(size, self._most))


@given(st.text(max_size=60), st.integers(1, 9), st.sampled_from(["utf-16", "utf-8", "utf-32"]))
def test_decoding_a_few_bytes_at_a_time(text: str, size: int, encoding: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    file, parts = Decoded(Bytes(text.encode(encoding), size), encoding, "t"), []
    while data := file.read(size):
        assert len(data) <= size
        parts.append(data)
    assert b"".join(parts).decode() == text


@given(
    st.lists(st.lists(st.text("a#\n\",'", max_size=4), min_size=2, max_size=2), max_size=6),
    st.integers(1, 9),
)
def test_comments_go_and_cells_stay(rows: list[list[str]], size: int) -> None:
    """Lines stay where they are, whatever stands in quotes."""
    text, plain = io.StringIO(newline=""), io.StringIO(newline="")
    for row in rows:
        csv.writer(plain, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(row)
        text.write('# "odd\n')
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(row)
    file, parts = Uncommented(Bytes(text.getvalue().encode(), size), "#", '"'), []
    while data := file.read(size):
        parts.append(data)
    found = b"".join(parts).decode()
    assert found.count("\n") == text.getvalue().count("\n")
    read_back = [row for row in csv.reader(io.StringIO(found, newline="")) if row]
    assert read_back == list(csv.reader(io.StringIO(plain.getvalue(), newline="")))


NUMBER = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@given(st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=8))
def test_plain_files_are_never_suspected(rows: list[tuple[float, float]]) -> None:
    """Commas, points and a header: nothing is assumed whatever the numbers are."""
    text = "a,y\n" + "".join(f"{a!r},{y!r}\n" for a, y in rows)
    found = csv_dialect.sniff(text.encode(), ReadArguments("y"), ",")
    assert found.assumed == []
    assert found.dialect == kh.streams.csv_dialect.CsvDialect()


@given(st.binary(max_size=300))
def test_any_bytes_give_an_answer(data: bytes) -> None:
    csv_dialect.sniff(data, ReadArguments("y"), ",")


def test_cells_made_to_take_long_do_not(tmp_path: Path) -> None:
    """A search that backtracks over 60,000 spaces, twice or thrice nested, would never end."""
    cell = "1" + " " * 60_000 + "x" + " " * 60_000 + "y"
    stream = made(tmp_path, f'a,y\n"{cell}",1\n"1,234",2\n')
    assert stream.d == 2


def test_streams_travel_to_other_processes(tmp_path: Path) -> None:
    stream = made(tmp_path, "a;b;y\n1,5;5 kg;2\n2,5;6 kg;3\n", missing="auto")
    copy = pickle.loads(pickle.dumps(stream))  # what joblib does
    np.testing.assert_array_equal(collect(copy)[0], collect(stream)[0])
