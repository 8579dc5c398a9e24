"""Files at addresses, and folders whose names are values."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra
from keyhole.streams import collect, read

pa, feather, pq = (extra(f"pyarrow{name}", "files") for name in ("", ".feather", ".parquet"))
fsspec = extra("fsspec", "cluster")


def rows(i: int) -> Any:
    return pa.table({"a": [1.0 * i, 2.0, 3.0], "c": ["u", "v", "u"], "y": [1.0, 2.0, 3.0 + i]})


@pytest.fixture
def memory() -> Iterator[Any]:
    """The file system of memory://, empty before and after."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that says nothing."""

    def log_message(self, *words: Any) -> None:
        return


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def same(one: kh.BlockStream, other: kh.BlockStream) -> bool:
    return one.names == other.names and all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(collect(one), collect(other), strict=True)
    )


def write(memory: Any, name: str, table: Any) -> None:
    with memory.open(name, "wb") as file:
        if name.endswith(".parquet"):
            pq.write_table(table, file)
        elif name.endswith(".arrow"):
            feather.write_feather(table, file, compression="uncompressed")
        else:
            file.write(table.to_pandas().to_csv(index=False).encode())


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_memory_is_read_like_a_disk(memory: Any, tmp_path: Path, ending: str) -> None:
    for i in (1, 0):
        write(memory, f"/flats/{i}.{ending}", rows(i))
    (tmp_path / "here").mkdir()
    for i in range(2):
        pq.write_table(rows(i), tmp_path / "here" / f"{i}.parquet")
    disk = read(tmp_path / "here", target="y")
    assert same(read("memory://flats", target="y"), disk)
    assert same(read(f"memory://flats/*.{ending}", target="y"), disk)
    assert same(read([f"memory://flats/{i}.{ending}" for i in range(2)], target="y"), disk)
    stream = read(f"memory://flats/1.{ending}", target="y")
    assert len(collect(stream)[1]) == 3
    assert len(collect(stream)[1]) == 3, "again and again"


def test_a_web_server(tmp_path: Path) -> None:
    for i in range(2):
        pq.write_table(rows(i), tmp_path / f"{i}.parquet")
        rows(i).to_pandas().to_csv(tmp_path / f"{i}.csv.gz", index=False)
    with served(tmp_path) as address:
        for ending in ("parquet", "csv.gz"):
            names = [f"{address}/{i}.{ending}" for i in range(2)]
            local = [tmp_path / f"{i}.{ending}" for i in range(2)]
            assert same(read(names, target="y"), read(local, target="y"))
        remote = kh.sums([f"{address}/{i}.parquet" for i in range(2)], target="y")
        near = kh.sums([tmp_path / f"{i}.parquet" for i in range(2)], target="y")
        for name, array in near.arrays().items():
            assert np.array_equal(array, remote.arrays()[name])
        with pytest.raises(DataError, match=rf"there is no file {address}/9\.csv"):
            read(f"{address}/9.csv", target="y")
    with pytest.raises(DataError, match=r"http://127\.0\.0\.1.*cannot be read"):
        read(f"{address}/0.parquet", target="y")


def test_a_file_that_changes_is_noticed(memory: Any) -> None:
    write(memory, "/a.csv", rows(0))
    stream = read("memory://a.csv", target="y")
    write(memory, "/a.csv", pa.concat_tables([rows(1), rows(2)]))
    with pytest.raises(DataError, match=r"a\.csv was changed while it was in use"):
        collect(stream)


def test_what_cannot_be_read_is_said(memory: Any) -> None:
    write(memory, "/x/notes.txt", rows(0))
    for address, words in (
        ("memory://nothing.csv", "there is no file memory://nothing.csv"),
        ("memory://x", "memory://x has no CSV, Parquet"),
        ("memory://x/*.csv", "has no CSV"),
        ("nosuch://a.csv", "nosuch://a.csv cannot be read: Protocol not known"),
    ):
        with pytest.raises(DataError) as told:
            read(address, target="y")
        assert words in str(told.value)
        assert "\n" not in str(told.value)


@pytest.fixture
def hive(tmp_path: Path) -> Path:
    """city=.../year=...: years are numbers, one city is not known."""
    for i, (city, year) in enumerate([("Ulm", 2025), ("Bonn", 2024), ("Ulm", 2024)]):
        folder = tmp_path / f"city={city}" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(rows(i), folder / "part.parquet")
    folder = tmp_path / "city=__HIVE_DEFAULT_PARTITION__" / "year=2023"
    folder.mkdir(parents=True)
    pq.write_table(rows(7), folder / "part.parquet")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "x.parquet").write_bytes(b"unfinished")
    return tmp_path


def test_folders_become_columns(hive: Path) -> None:
    stream = read(hive, target="y")
    assert stream.names == ("a", "c=u", "c=v", "city=Bonn", "city=Ulm", "year")
    X, _ = collect(stream)
    # In alphabetical order of the paths: city=Bonn, city=Ulm, city=__HIVE...
    assert X[::3, 5].tolist() == [2024.0, 2024.0, 2025.0, 2023.0]
    assert X[:9:3, 4].tolist() == [0.0, 1.0, 1.0]
    assert np.isnan(X[9:, 3:5]).all(), "absent where the folder says so"
    assert [one.option for one in stream.assumed] == ["partitions", "partitions"]
    assert read(hive, target="y", partitions=True).assumed == ()
    assert same(read(hive, target="y", partitions=True), stream)


def test_or_are_left_out(hive: Path) -> None:
    stream = read(hive, target="y", partitions=False)
    assert stream.names == ("a", "c=u", "c=v")
    assert len(collect(stream)[1]) == 12


def test_folders_of_csv_and_at_an_address(hive: Path, memory: Any) -> None:
    for path in sorted(hive.glob("city=*/year=*/part.parquet")):
        below = path.relative_to(hive).with_suffix(".csv")
        write(memory, f"/flats/{below}", pq.read_table(path))
    assert same(read("memory://flats", target="y"), read(hive, target="y"))
    text = read("memory://flats", target="y", categorical=["year"])
    assert "year=2024" in (text.names or ())


def test_a_column_of_the_file_wins(tmp_path: Path) -> None:
    (tmp_path / "a=9").mkdir()
    pq.write_table(rows(5), tmp_path / "a=9" / "part.parquet")
    assert collect(read(tmp_path, target="y"))[0][:, 0].tolist() == [5.0, 2.0, 3.0]


def test_folders_that_do_not_go_together(tmp_path: Path) -> None:
    for folder in ("year=2024", "month=1"):
        (tmp_path / folder).mkdir()
        pq.write_table(rows(0), tmp_path / folder / "part.parquet")
    with pytest.raises(DataError, match=r"is not in a folder year=\.\.\., but others are"):
        read(tmp_path, target="y")


def test_files_in_the_order_of_a_column(hive: Path, tmp_path_factory: Any) -> None:
    X, _ = collect(read(hive, target="y", order_by="year"))
    assert X[::3, 5].tolist() == [2023.0, 2024.0, 2024.0, 2025.0]
    folder = tmp_path_factory.mktemp("dates")
    for name, day in (("a", "2024-03-01"), ("b", "2024-01-01"), ("c", "2024-02-01")):
        (folder / f"{name}.csv").write_text(f"when,x,y\n{day},{ord(name)},1\n{day},0,2\n")
    stream = read(folder, target="y", ignore=["when"], order_by="when")
    assert collect(stream)[0][::2, 0].tolist() == [98.0, 99.0, 97.0]
    known = kh.sums(folder, target="y", ignore=["when"], order_by="when")
    assert known.rounds == 6
    with pytest.raises(DataError, match=r"has no column 'wen' to sort files by \(order_by\)"):
        read(folder, target="y", order_by="wen")


def test_sums_of_folders(hive: Path, tmp_path: Path) -> None:
    known, stream = kh.sums(hive, target="y"), read(hive, target="y")
    assert known.names == stream.names
    np.testing.assert_allclose(known.covariance, kh.sums(stream).covariance, atol=1e-9)
    assert kh.sums(hive, target="y", partitions=False).names == ("a", "c=u", "c=v")
