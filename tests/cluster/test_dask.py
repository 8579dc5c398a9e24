"""Work spread over a scheduler and two workers that are programs of their own: the same bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.optional_imports import extra
from keyhole.saving.parallel import as_completed, cluster
from tests.helpers.cli import in_this_process
from tests.helpers.cluster import Programs, programs

pa, pq = extra("pyarrow", "files"), extra("pyarrow.parquet", "files")
SHARDS, ROWS = 6, 1000
LINE = ("--learners", "random,mean", "--budgets", "3,5", "-k", 2, "--seeds", 4)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six shards of thirty features and a column of text."""
    folder = tmp_path_factory.mktemp("data")
    for i in range(SHARDS):
        rng = np.random.default_rng(i)
        X = rng.normal(50.0 + i, 1.0, (ROWS, 30))
        columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(30)}
        columns["colour"] = rng.choice(["red", "green"], ROWS)
        columns["y"] = X[:, 3] - X[:, 4] + rng.normal(size=ROWS)
        pq.write_table(pa.table(columns), folder / f"{i:02d}.parquet")
    return folder


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """A scheduler and two workers."""
    with programs(tmp_path_factory.mktemp("dask")) as started:
        started.worker()
        started.worker()
        started.wait_for(2)
        yield started


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Programs]:
    """A scheduler and two workers that may be killed."""
    with programs(tmp_path) as started:
        started.worker()
        started.worker()
        started.wait_for(2)
        yield started


@pytest.fixture(scope="module")
def one_process(data: Path) -> list[dict[str, Any]]:
    """The games of the sweep, played by one process."""
    source = ("--target", "y", "-j", 1, "--json")
    return games_of(in_this_process("compare", data / "00.parquet", *LINE, *source).stdout)


def compare(*options: object) -> subprocess.Popen[str]:
    """`keyhole compare` as a program."""
    words = ["compare", *map(str, (*LINE, *options)), "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "keyhole", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def games(command: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """What it played, without the time that took."""
    out, err = command.communicate(timeout=300)
    assert command.returncode == 0, err
    return games_of(out)


def games_of(out: str) -> list[dict[str, Any]]:
    """The games in an answer, without the time that they took."""
    found: list[dict[str, Any]] = json.loads(out)["games"]
    return [{key: value for key, value in game.items() if key != "seconds"} for game in found]


def test_sums_have_the_same_bits(data: Path, two: Programs) -> None:
    alone = kh.sums(data, target="y")
    with cluster(two.address):
        pids = {outcome.result for outcome in as_completed([(os.getpid, ())] * 20)}
        assert os.getpid() not in pids, "it was computed elsewhere"
        assert kh.sums(data, target="y").same(alone)


def test_a_broken_shard_is_named_and_nothing_else_is_lost(
    data: Path, two: Programs, tmp_path: Path
) -> None:
    for path in data.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    whole = (tmp_path / "05.parquet").read_bytes()
    # The end of a Parquet file says where everything is: it opens, and breaks in the middle.
    (tmp_path / "05.parquet").write_bytes(b"PAR1" + b"\0" * 39_996 + whole[40_000:])
    cache = tmp_path / "kept"
    with cluster(two.address):
        with pytest.raises(kh.DataError, match=r"05\.parquet.*all others are"):
            kh.sums(tmp_path, target="y", cache=cache)
        assert len(list(cache.glob("*.npz"))) == SHARDS - 1
        (tmp_path / "05.parquet").write_bytes(whole)
        assert kh.sums(tmp_path, target="y", cache=cache).same(kh.sums(data, target="y"))


def test_what_a_call_raises_comes_back(two: Programs) -> None:
    with cluster(two.address):
        calls = [(int, ("7",)), (int, ("seven",)), (int, ("8",))]
        found = {outcome.index: outcome for outcome in as_completed(calls)}
    assert (found[0].result, found[2].result) == (7, 8)
    with pytest.raises(ValueError, match="seven"):
        _ = found[1].result


def test_a_sweep_is_the_same_as_on_one_process(
    data: Path, two: Programs, one_process: list[dict[str, Any]]
) -> None:
    source = (data / "00.parquet", "--target", "y")
    assert games(compare(*source, "--cluster", two.address)) == one_process


def test_versions_that_differ_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import keyhole.version\nkeyhole.version.__version__ = '0.0.1'\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with programs(tmp_path) as started:
        with (
            pytest.raises(kh.ClusterError, match="has no workers: start some"),
            cluster(started.address),
        ):
            pass
        started.worker({"PYTHONPATH": path})
        started.wait_for(1)
        wanted = rf"has keyhole 0\.0\.1, and this process {kh.__version__}: install the same"
        with pytest.raises(kh.ClusterError, match=wanted), cluster(started.address):
            pass
        done = in_this_process("compare", *LINE, "--cluster", started.address)
        assert done.returncode == 2
        assert "has keyhole 0.0.1" in done.stderr.splitlines()[-1]


def test_workers_without_keyhole_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['keyhole'] = None\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with programs(tmp_path) as started:
        started.worker({"PYTHONPATH": path})
        started.wait_for(1)
        with (
            pytest.raises(kh.ClusterError, match=r"cannot import keyhole.*install keyhole"),
            cluster(started.address),
        ):
            pass


def test_no_scheduler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyhole.saving.parallel.SCHEDULER_TIMEOUT", 0.5)
    with (
        pytest.raises(kh.ClusterError, match="no Dask scheduler answers at tcp://127"),
        cluster("tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_sum(data: Path, fresh: Programs) -> None:
    alone, told = kh.sums(data, target="y"), list[int]()
    victim = fresh.running[1]

    def progress(done: int, rows: int) -> None:
        told.append(done)
        if len(told) == 2:
            victim.send_signal(signal.SIGKILL)
            victim.wait()

    with cluster(fresh.address):
        found = kh.sums(data, target="y", progress=progress)
    assert victim.returncode == -signal.SIGKILL
    assert found.same(alone)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_sweep(
    data: Path, fresh: Programs, tmp_path: Path, one_process: list[dict[str, Any]]
) -> None:
    source, kept = (data / "00.parquet", "--target", "y"), tmp_path / "games.jsonl"
    command = compare(*source, "--cluster", fresh.address, "--results", kept)
    wait_for_lines(kept, 2)
    fresh.running[1].send_signal(signal.SIGKILL)
    fresh.running[1].wait()
    assert games(command) == one_process
    assert len(kept.read_text().splitlines()) == 16


@pytest.mark.slow
def test_processes_of_this_machine_killed_in_the_middle(data: Path) -> None:
    calls: list[Any] = [(_die_once, (str(data / "died"), i)) for i in range(6)]
    found = sorted(outcome.result for outcome in as_completed(calls, 2))
    assert found == list(range(6))
    with pytest.raises(kh.ClusterError, match="3 workers were lost one after the other"):
        list(as_completed([(_die, ()), (_die, ())], 2))


def _die_once(flag: str, i: int) -> int:
    if i == 2 and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return i


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_done_and_the_rest_is_played_later(
    data: Path, two: Programs, tmp_path: Path, one_process: list[dict[str, Any]]
) -> None:
    source, kept = (data / "00.parquet", "--target", "y"), tmp_path / "games.jsonl"
    for where in (("--cluster", two.address), ("-j", 2)):
        kept.unlink(missing_ok=True)
        command = compare(*source, *where, "--results", kept)
        wait_for_lines(kept, 2)
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=120)
        done = len(kept.read_text().splitlines())
        if command.returncode == 130:  # or it was done before the signal came
            assert json.loads(out)["interrupted"], err
            assert 2 <= len(json.loads(out)["games"]) <= done < 16
        assert games(compare(*source, *where, "--results", kept)) == one_process
        assert len(kept.read_text().splitlines()) == 16, "what was there is not played again"


def wait_for_lines(path: Path, lines: int) -> None:
    until = time.monotonic() + 120
    while not path.exists() or len(path.read_text().splitlines()) < lines:
        assert time.monotonic() < until, "no game was played"
        time.sleep(0.02)


@pytest.mark.slow
def test_memory_of_a_worker_is_for_blocks(tmp_path: Path) -> None:
    # 640 MB of numbers in row groups of 8 MB, for workers that may have 500 MB: what a worker needs
    # beyond what it had before is measured, and less than a tenth of the data.
    folder = tmp_path / "data"
    folder.mkdir()
    rng, d, size = np.random.default_rng(0), 40, 0
    for i in range(4):
        with pq.ParquetWriter(folder / f"{i}.parquet", _schema(d)) as writer:
            for _ in range(20):
                X = rng.normal(size=(25_000, d))
                size += X.nbytes
                writer.write_table(pa.table([*X.T, X[:, 0]], schema=_schema(d)))
    with programs(tmp_path) as started:
        pid = started.worker(None, "--memory-limit", "500MB")
        started.wait_for(1)
        with cluster(started.address):
            kh.sums(folder / "0.parquet", target="y", ignore=[f"x{j}" for j in range(2, d)])
            before = peak(pid)
            found = kh.sums(folder, target="y")
        grown = peak(pid) - before
    assert found.rounds == 2_000_000
    assert size > 500e6
    assert grown < size / 10, f"{grown / 1e6:.0f} MB more for {size / 1e6:.0f} MB of data"


def _schema(d: int) -> Any:
    return pa.schema([(f"x{j}", pa.float64()) for j in range(d)] + [("y", pa.float64())])


def peak(pid: int) -> float:
    """The most memory that a process ever had, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.slow
def test_a_local_cluster_by_way_of_joblib(data: Path) -> None:
    distributed, joblib = extra("distributed", "cluster"), extra("joblib", "cluster")
    alone = kh.sums(data, target="y")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as local,
        distributed.Client(local),
        joblib.parallel_config(backend="dask"),
    ):
        assert kh.sums(data, target="y").same(alone)
