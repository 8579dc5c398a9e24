"""Block by block: cuts fall between rows, and memory does not grow with the file."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole.problem.optional_imports import extra
from keyhole.streams import collect, read, write
from keyhole.streams.csv_dialect import last_row_end
from keyhole.streams.csv_table import CsvTable

arrow: Any = extra("pyarrow", "files")
parquet: Any = extra("pyarrow.parquet", "files")


def as_text(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_MINIMAL).writerows(rows)
    return text.getvalue()


cells = st.text(st.sampled_from('a",\n '), max_size=6)


@given(st.lists(st.lists(cells, min_size=2, max_size=2), max_size=6), st.integers(0, 60))
def test_cuts_fall_between_rows(rows: list[list[str]], stop: int) -> None:
    ends = [len(as_text(rows[:i])) for i in range(len(rows) + 1)]
    stop = min(stop, ends[-1])
    # However much of the text has been read, the cut is after the last row that is complete.
    assert last_row_end(as_text(rows)[:stop].encode()) == max(e for e in ends if e <= stop)


def a_naive_cut(data: bytes) -> int:
    return data.rfind(b"\n") + 1


def test_the_naive_cut_is_caught() -> None:
    rows = [["a", "b\nc"], ["d", "e"]]
    part = as_text(rows)[:6].encode()
    assert a_naive_cut(part) != last_row_end(part) == 0


@pytest.mark.parametrize("block", [16, 64, 1000, 1 << 22])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_blocks_of_any_size_hold_the_same(
    block: int, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CsvTable, "block_bytes", block)
    rng = np.random.default_rng(0)
    n = 150
    a = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    levels = np.array(["x\ny", 'p"q"', "r,s"])
    codes = rng.integers(0, 3, n)
    write({"a": a, "b": levels[codes], "y": np.arange(n)}, tmp_path / f"t{suffix}")
    stream = read(tmp_path / f"t{suffix}", target="y")
    assert stream.names == ("a", 'b=p"q"', "b=r,s", "b=x\ny")
    X, y = collect(stream)
    np.testing.assert_array_equal(X[:, 0], a)
    np.testing.assert_array_equal(X[:, 1:], codes[:, None] == [1, 2, 0])
    np.testing.assert_array_equal(y, np.arange(n))


def test_a_file_is_read_a_block_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No read is larger than a block, no more is held than a block and a row."""
    block = 1 << 14
    monkeypatch.setattr(CsvTable, "block_bytes", block)
    stream, _ = kh.streams.realizable(d=5, k=1, n=20_000, seed=0)
    write(stream, tmp_path / "t.csv")
    opened = read(tmp_path / "t.csv", target="y")
    sizes: list[int] = []
    parse = CsvTable._parse

    def counted(self: CsvTable, data: bytes, *rest: Any) -> Any:
        sizes.append(len(data))
        return parse(self, data, *rest)

    monkeypatch.setattr(CsvTable, "_parse", counted)
    passes = opened.blocks()
    next(passes)
    assert len(sizes) == 1  # nothing is read ahead
    rows = 1 + sum(len(y) for _, y in passes)
    assert rows > 1
    assert max(sizes) <= block + 200
    assert sum(sizes) > 20 * block


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_memory_does_not_grow_with_the_file(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Arrow holds at its most is the same for a file of eight times the length."""
    monkeypatch.setattr(CsvTable, "block_bytes", 1 << 16)
    most = {}
    for n in (20_000, 160_000):
        rng = np.random.default_rng(0)
        path = tmp_path / f"{n}{suffix}"
        columns = {f"x{i}": rng.normal(size=n) for i in range(6)} | {"y": rng.normal(size=n)}
        if suffix == ".parquet":
            # One row group of many pages: the case in which a whole file is easily held.
            shape = {"row_group_size": n, "data_page_size": 1 << 14, "use_dictionary": False}
            parquet.write_table(arrow.table(columns), path, **shape)
        else:
            write(columns, path)
        del columns
        stream = read(path, target="y")
        before = arrow.total_allocated_bytes()
        held = [arrow.total_allocated_bytes() - before for _ in stream.blocks()]
        most[n] = max(held)
        assert len(held) > 4
    # 20,000 rows are 1.1 MB; whatever holds the file would hold 9 MB of the longer one.
    assert most[160_000] <= 2 * most[20_000] + (1 << 20)


def test_many_rows_at_once_and_few(tmp_path: Path) -> None:
    stream, _ = kh.streams.realizable(d=3, k=1, n=10_000, seed=0)
    write(stream, tmp_path / "t.parquet")
    opened = read(tmp_path / "t.parquet", target="y")
    assert {len(y) for _, y in opened.blocks(9000)} == {9000, 1000}
    assert {len(y) for _, y in opened.blocks(2500)} <= {2500, 4096 - 2500, 10_000 - 2 * 4096}
    with pytest.raises(kh.ProblemError, match="rows must be at least 1, got 0"):
        next(opened.blocks(0))
