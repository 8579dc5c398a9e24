"""Compressed files, spreadsheets, several files, dates, codes for missing, rows that are played."""

import bz2
import datetime
import lzma
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.optional_imports import extra
from keyhole.streams import collect, read
from keyhole.streams.cell_formats import CodeCounter
from keyhole.streams.files import read_with
from keyhole.streams.read_options import COMMAND_SYNTAX, ReadArguments

arrow: Any = extra("pyarrow", "files")
TEXT = b"a,c,y\n" + b"".join(
    b"%d,%s,%d\n" % (i, b"uv"[i % 2 : i % 2 + 1], 2 * i) for i in range(99)
)


def refused(make: Any) -> str:
    with pytest.raises(kh.KeyholeError) as caught:
        make()
    message = str(caught.value)
    assert "\n" not in message
    return message


def packed(folder: Path, kind: str) -> Path:
    path = folder / f"t.csv.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inside.csv", TEXT)
            archive.writestr("__MACOSX/._inside.csv", b"x")
    elif kind == "zst":
        path.write_bytes(arrow.compress(TEXT, codec="zstd", asbytes=True))
    else:
        path.write_bytes(bz2.compress(TEXT) if kind == "bz2" else lzma.compress(TEXT))
    return path


@pytest.mark.parametrize("kind", ["bz2", "xz", "zst", "zip"])
def test_compressed_files(kind: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(TEXT)
    X, y = collect(read(tmp_path / "t.csv", target="y"))
    path = packed(tmp_path, kind)
    found = collect(read(path, target="y"))
    np.testing.assert_array_equal(found[0], X)
    np.testing.assert_array_equal(found[1], y)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert path.name in refused(lambda: collect(read(path, target="y")))


def test_archives_that_are_not_one_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)
    assert "an archive of 2 files (a.csv, b.csv)" in refused(
        lambda: read(tmp_path / "t.zip", target="y")
    )
    with zipfile.ZipFile(tmp_path / "t.zip", "w"):
        pass
    refused(lambda: read(tmp_path / "t.zip", target="y"))


MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(path: Path, sheets: dict[str, list[list[object]]], more: str = "") -> Path:
    """The smallest workbook of Excel with these rows."""
    names = list(enumerate(sheets, start=1))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>'
        + "".join(f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in names)
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="r{i}" Type="{OFFICE}/worksheet" Target="worksheets/s{i}.xml"/>'
            for i, _ in names
        )
        + "</Relationships>",
    }
    for i, name in names:
        rows = "".join(_row(r, row) for r, row in enumerate(sheets[name], start=1)) + more
        xml = f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
        parts[f"xl/worksheets/s{i}.xml"] = xml
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0"?>{text}')
    return path


def _row(number: int, cells: Sequence[object]) -> str:
    found = ""
    for letter, value in zip("ABCDEFG", cells, strict=False):
        place = f'r="{letter}{number}"'
        if isinstance(value, str):
            found += f'<c {place} t="inlineStr"><is><t>{value}</t></is></c>'
        elif value is not None:
            found += f"<c {place}><v>{value}</v></c>"
    return f'<row r="{number}">{found}</row>'


ROWS: list[list[object]] = [["age", "sex", "y"], [31, "f", 2.5], [None, "m", 3], [], [44, "f", 4]]


def test_spreadsheets(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", {"Data": ROWS})
    stream = read(path, target="y")
    assert (stream.names, stream.assumed) == (("age", "sex=f", "sex=m"), ())
    np.testing.assert_array_equal(collect(stream)[0][:, 0], [31, np.nan, 44])
    two = workbook(tmp_path / "two.xlsx", {"One": ROWS, "Two": [["a", "y"], [1, 2], ["x", 3]]})
    assert [a.what for a in read(two, target="y").assumed] == ["sheet 'One', the first of 2"]
    assert "two.xlsx, sheet Two, line 3: column 'a'" in refused(
        lambda: read(two, target="y", sheet="Two")
    )
    assert "has no sheet 'Tow' (did you mean 'Two'?)" in refused(
        lambda: read(two, target="y", sheet="Tow")
    )


def test_spreadsheets_that_cannot_be_used(tmp_path: Path) -> None:
    far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    path = workbook(tmp_path / "t.xlsx", {"Data": ROWS}, far)  # a few bytes, 17 billion cells
    assert "a sheet of 1,048,576 rows and 16,384 columns" in refused(lambda: read(path, target="y"))
    path = workbook(tmp_path / "t.xlsx", {"Data": []})
    assert refused(lambda: read(path, target="y")) == "t.xlsx is empty"
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"junk" * 500)
    assert "damaged or locked" in refused(lambda: read(tmp_path / "t.xls", target="y"))
    (tmp_path / "t.csv").write_bytes(TEXT)
    assert "is no spreadsheet" in refused(lambda: read(tmp_path / "t.csv", target="y", sheet="S"))


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ('r="ABCDE2000000000"', "has a cell ABCDE2000000000, and a sheet has at most"),
        ("s='1' r = 'XFD1048576'", "a sheet of 1,048,576 rows and 16,384 columns"),
        ('r="AAAA1000"', "has a cell AAAA1000, and a sheet has at most"),
    ],
)
@pytest.mark.parametrize("name", ["t.xlsx", "t.csv"])
def test_hostile_cells_are_refused_before_they_are_parsed(
    cell: str, says: str, name: str, tmp_path: Path
) -> None:
    # In a process of its own, for the parser may abort: the tests go on whatever it does.
    workbook(tmp_path / name, {"Data": ROWS}, f"<row><c {cell}><v>1</v></c></row>")
    assert says in run_in_process(tmp_path / name)


def test_a_parser_that_aborts_takes_nobody_with_it(tmp_path: Path) -> None:
    # A reference that is not seen before: its tag holds a ">".
    far = '<row><c s=">" r="ABCDE2000000000"><v>1</v></c></row>'
    path = workbook(tmp_path / "t.xlsx", {"Data": ROWS}, far)
    assert "t.xlsx could not be read, it is damaged or too large" in run_in_process(path)


def run_in_process(path: Path) -> str:
    """What reading a file says in a process of its own; a signal that ends it is an error."""
    code = (
        "import sys, keyhole as kh, keyhole.streams\n"
        "try: keyhole.streams.read(sys.argv[1], target='y')\n"
        "except kh.KeyholeError as error: print(error)"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_several_files(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "1.csv").write_text("a,c,y\n1,u,1\n2,v,2\n")
    (parts / "2.csv").write_text("y;c;a\n3;w;2,5\n")  # another order, other habits
    (parts / "README.txt").write_text("not a table")
    for source in (parts, str(parts / "*.csv"), [parts / "1.csv", str(parts / "2.csv")]):
        stream = read(source, target="y")
        assert stream.names == ("a", "c=u", "c=v", "c=w")
        X, y = collect(stream)
        assert (X[:, 0].tolist(), y.tolist()) == ([1, 2, 2.5], [1, 2, 3])
        assert [a.what for a in stream.assumed] == ["separator ';'", "decimal ','"]
    (parts / "3.csv").write_text("a,c,y\n1,u,1\ninf,v,2\n")
    assert "3 files, 3.csv, line 3: column 'a' is infinite" in refused(
        lambda: collect(read(parts, target="y"))
    )
    (parts / "3.csv").write_text("a,d,y\n1,u,1\n")
    assert "3.csv has no column 'c', 1.csv has one" in refused(lambda: read(parts, target="y"))
    assert "no file fits the pattern" in refused(lambda: read(str(parts / "*.tsv"), target="y"))


def test_files_of_other_types_together(tmp_path: Path) -> None:
    """A column that is whole in one file and single precision in the other loses nothing."""
    kh.streams.write({"a": [2**25 + 1], "y": [1.0]}, tmp_path / "1.parquet")
    single = np.array([0.5], np.float32)
    kh.streams.write({"a": single, "y": [2.0]}, tmp_path / "2.parquet")
    X, _ = collect(read(tmp_path, target="y"))
    assert X[:, 0].tolist() == [2**25 + 1, 0.5]
    kh.streams.write({"a": np.array(["x"]), "y": [2.0]}, tmp_path / "3.parquet")
    assert "column 'a' holds numbers and text" in refused(lambda: read(tmp_path, target="y"))
    (tmp_path / "4.csv").write_bytes(TEXT)
    assert "not of one format" in refused(lambda: read(tmp_path, target="y"))


WHEN = [datetime.datetime(2024, 1, 31, 6), datetime.datetime(2023, 12, 3, 18), None]
PARTS = ("ordinal", "month", "weekday", "hour")
EXPECTED = [[19753.25, 1, 3, 6], [19694.75, 12, 7, 18], [np.nan] * 4]


@pytest.mark.parametrize(
    "cells",
    [
        ("2024-01-31 06:00:00", "2023-12-03T18:00:00"),
        ("2024-01-31T06:00Z", "2023-12-03 18:00+05:00"),  # what the clock showed
        ("31.01.2024 06:00", "3.12.2023 18:00:00"),
        ("1/31/2024 6:00", "12/03/2023 18:00"),
        ("31/1/2024 6:00", "03/12/2023 18:00"),
    ],
)
def test_dates_are_numbers_on_request(cells: Sequence[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"when,y\n{cells[0]},1\n{cells[1]},2\n,3\n")
    stream = read(tmp_path / "t.csv", target="y", dates=PARTS)
    assert stream.names == tuple(f"when:{part}" for part in PARTS)
    assert stream.groups == {"when": stream.names}
    np.testing.assert_array_equal(collect(stream)[0], EXPECTED)
    again = read(tmp_path / "t.csv", target=None, features=["when:hour", "when:month"])
    np.testing.assert_array_equal(collect(again)[0], np.array(EXPECTED)[:, [3, 1]])


def test_dates_of_frames_and_dates_that_are_refused(tmp_path: Path) -> None:
    frame = arrow.table({"when": WHEN, "y": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(collect(read(frame, target="y", dates=PARTS))[0], EXPECTED)
    assert "(dates=['ordinal']; also month" in refused(lambda: read(frame, target="y"))
    for cells, words in (
        (("1/3/2024", "2/4/2024"), "not clear which number is the month"),
        (("2024-01-31", "2024-02-31"), "line 3: column 'when' must be dates like the first"),
        (("2024-01-31", "soon"), "no column holds dates"),
        (("1", "2"), "no column holds dates"),
    ):
        (tmp_path / "t.csv").write_text(f"when,y\n{cells[0]},1\n{cells[1]},2\n")
        assert words in refused(
            lambda: collect(read(tmp_path / "t.csv", target="y", dates="month"))
        )
    assert "did you mean 'month'?" in refused(lambda: read(frame, target="y", dates=["monht"]))


def codes(*column: float) -> dict[float, int]:
    counter = CodeCounter(1)
    for value in column:  # row by row: nothing depends on how rows are cut
        counter.add(np.array([[value]]))
    return counter.codes().get(0, {})


AGES = [float(20 + i % 60) for i in range(90)]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([*AGES, *[999.0] * 3], {999.0: 3}),
        ([*AGES, *[-1.0] * 3], {-1.0: 3}),
        ([*AGES, *[-99.0] * 4, *[9999.0] * 5], {-99.0: 4, 9999.0: 5}),
        ([*AGES, *[999.0] * 2], {}),  # too rare
        ([*AGES, *[99.0] * 5], {}),  # old people
        ([0.0, 1.0, 2.0, *[-1.0] * 5], {}),  # a step like others
        ([1.0, 1.0, *[-1.0] * 5], {}),  # a sign
        ([-50.0, 50.0, *[-1.0] * 5], {}),  # in the midst
        ([*AGES, *[999.0] * 3, 1000.0], {}),  # not alone out there
        ([np.nan, *[999.0] * 3], {}),  # nothing to be far from
        ([0.0, 5e4, 8e4, *[99999.0] * 4], {}),  # a long tail
        ([*AGES, *[500.0] * 9], {}),  # nobody's code
    ],
)
def test_codes_are_spikes_far_outside(column: list[float], expected: dict[float, int]) -> None:
    assert codes(*column) == expected


def test_codes_are_left_out_on_request(tmp_path: Path) -> None:
    rows = "".join(f"{20 + i % 60},{i}\n" for i in range(90))
    (tmp_path / "t.csv").write_text("a,y\n" + rows + "999,1\n" * 3 + "-,2\nunknown,3\n")
    assert "(missing=['-'] or missing=['auto'])" in refused(
        lambda: read(tmp_path / "t.csv", target="y")
    )
    stream = read(tmp_path / "t.csv", target="y", missing="auto")
    assert stream.codes == {"a": {999.0: 3}}
    assert [a.what for a in stream.assumed] == [
        "'-' means no value",
        "'unknown' means no value",
        "999 (3 times) in 'a' no value",
    ]
    X, _ = collect(stream)
    assert np.isnan(X[-5:, 0]).all()
    assert not np.isnan(X[:-5, 0]).any()
    (tmp_path / "t.csv").write_text("a,y\n1,2\n2,2\nmany,3\n")
    assert "got 'many'" in refused(lambda: read(tmp_path / "t.csv", target="y", missing="auto"))


def test_a_row_whose_target_is_a_code_is_left_out(tmp_path: Path) -> None:
    rows = "".join(f"{20 + i % 60},{i % 40}\n" for i in range(90))
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + rows + "21,9999\n" * 4 + "30,7\n")
    plain = read(path, target="y")
    assert (plain.rounds, plain.left_out, plain.codes) == (95, 0, {})
    stream = read(path, target="y", missing="auto")
    assert (stream.rounds, stream.left_out) == (91, 4)
    assert stream.codes == {"y": {9999.0: 4}}
    assert [a.what for a in stream.assumed] == ["9999 (4 times) in 'y' no value"]
    X, y = collect(stream)
    assert len(X) == len(y) == 91
    assert y.max() == 39
    assert X[-1, 0] == 30
    assert "the label 9999 (4 times)" in " ".join(str(kh.diagnose(plain, 1, 1)).split())
    # Of rows that are counted, those without a label are some: nothing beyond them is looked at.
    few = read_with(path, ReadArguments("y", missing=("auto",), rounds=93))
    assert (few.rounds, few.left_out, len(collect(few)[1])) == (90, 3, 90)


def test_answers_of_yes_and_no_are_no_codes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{99 if i % 3 else 1}\n" for i in range(60)))
    stream = read(path, target="y", missing="auto", positive="99")
    assert (stream.rounds, stream.left_out, stream.codes) == (60, 0, {})


def test_reading_says_how_far_it_is(tmp_path: Path) -> None:
    path, told = tmp_path / "t.csv", list[int]()
    path.write_text("a,y\n" + "1,2\n2,3\n" * 100)
    read_with(path, ReadArguments("y", missing=("auto",), progress=told.append))
    assert told.count(200) == 2  # the first pass, and the one that looks for codes


def test_diagnose_lists_codes() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [np.where(np.arange(300) % 20 == 0, 999.0, rng.normal(50, 9, 300)), AGES[:1] * 300]
    )
    X[:, 1] += rng.normal(size=300)
    found = str(kh.diagnose(kh.streams.ArrayStream(X, X[:, 1], ["age", "b"]), 1, 2))
    assert "age 999 (15 times)" in " ".join(found.split())
    X[:, 0] = X[:, 1]
    assert "(--missing auto" not in str(kh.diagnose(kh.streams.ArrayStream(X, X[:, 1]), 1, 2))


def test_only_rows_that_are_played_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,y\n1,1\n2,\n3,2\n"4",3\nx,4\n5\n')
    for rounds in (1, 2, 3):
        stream = read_with(tmp_path / "t.csv", ReadArguments("y", rounds=rounds))
        assert (stream.rounds, len(collect(stream)[1])) == (rounds, rounds)
    request = ReadArguments("y", rounds=4, syntax=COMMAND_SYNTAX)
    assert (
        "line 6: column 'a' is mostly numbers, got 'x': correct the cell, or say that it means a "
        "missing value (--missing x), leave the column out (--ignore a) or"
        in refused(lambda: read_with(tmp_path / "t.csv", request))
    )
    frame = arrow.table({"a": [1.0, np.inf], "y": [1.0, 2.0]})
    assert collect(read_with(frame, ReadArguments("y", rounds=1)))[1].tolist() == [1]
    frame = arrow.table({"a": [1.0, np.inf], "y": [1.0, None]})  # no target: not played
    assert collect(read(frame, target="y"))[1].tolist() == [1]


def test_unknown_levels_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("c\nu\nv\nw\n\nw\n")
    stream = read_with(
        tmp_path / "t.csv", ReadArguments(None, features=["c=u"], known=["c=u", "c=v"])
    )
    X, _ = collect(stream)
    assert X[:, 0].tolist() == [1, 0, 0, 0]  # a blank line is no row
    assert stream.unknown == {"c": 2}
