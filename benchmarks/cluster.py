"""What it costs to spread work: `python -m benchmarks.cluster`.

    python -m benchmarks.cluster [--rows 20000000] [--features 64] [--shards 20] [--folder DIR]
                                 [--only PART ...] [--json FILE]

Parts: `sums` (one process, one for each core, Dask, and pyarrow with NumPy written by hand),
`games` (what a game costs on Dask beside playing it), `paper` (10^9 rows x 200 on 64 workers, from
the cost of a shard measured here). Seconds on the clock and of the processor are told apart: on a
machine that others use only the latter mean something. The rows (8 bytes for each number) are
written to a temporary folder, or to DIR, where they are found again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import keyhole as kh
from benchmarks.common.versions import cores, machine
from keyhole.problem import Floats
from keyhole.problem.optional_imports import extra
from keyhole.saving.parallel import as_completed, one_thread

GROUP = 1 << 16  # rows of a row group
PARTS = ("sums", "games", "paper")
PAPER_ROWS, PAPER_FEATURES, PAPER_WORKERS = 10**9, 200, 64


def write_shards(folder: Path, rows: int, d: int, shards: int) -> None:
    """Shards of rows with a mean far from zero, unless they are there already."""
    arrow, parquet = extra("pyarrow", "files"), extra("pyarrow.parquet", "files")
    folder.mkdir(parents=True, exist_ok=True)
    each = -(-rows // shards)
    names = [*(f"x{j}" for j in range(d)), "y"]
    for i in range(shards):
        path = folder / f"{rows}x{d}-{i:03d}.parquet"
        if path.exists():
            continue
        rng, left = np.random.default_rng(i), min(each, rows - i * each)
        part = path.with_suffix(".part")
        schema = arrow.schema([(name, arrow.float64()) for name in names])
        with parquet.ParquetWriter(part, schema, compression="none", use_dictionary=False) as file:
            while left > 0:
                X = 20.0 + rng.standard_normal((min(GROUP, left), d))
                file.write_table(arrow.table([*X.T, X[:, 0] - X[:, 1]], schema=schema))
                left -= len(X)
        part.replace(path)


def by_hand(folder: Path, rows: int, d: int) -> Floats:
    """The covariance with pyarrow and NumPy, as one would write it: about the first mean."""
    parquet, names = extra("pyarrow.parquet", "files"), [f"x{j}" for j in range(d)]
    origin, n = None, 0
    G, c, total = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    label = square = 0.0
    for path in sorted(folder.glob(f"{rows}x{d}-*.parquet")):
        with parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=4096, columns=[*names, "y"]):
                X = np.column_stack([batch.column(name).to_numpy() for name in names])
                y = batch.column("y").to_numpy()
                if origin is None:
                    origin = X.mean(axis=0), float(y.mean())
                Z, v = X - origin[0], y - origin[1]
                G += Z.T @ Z
                c += Z.T @ v
                total += Z.sum(axis=0)
                label += float(v.sum())
                square += float(v @ v)
                n += len(y)
    covariance: Floats = G / n - np.outer(total, total) / n**2
    return covariance


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, seconds on the clock, seconds of the processor in all processes."""
    began, before = time.perf_counter(), _processor()
    found = run()
    return found, time.perf_counter() - began, _processor() - before


def _processor() -> float:
    """Of this process, of those it waited for, and of those that are running below it."""
    own = sum(
        resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own + _running(os.getpid())


def _running(parent: int) -> float:
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            try:
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                total += sum(map(int, fields[11:15])) / tick + _running(child)
            except OSError:  # it has just ended
                continue
    return total


def measure_sums(folder: Path, rows: int, d: int, shards: int) -> dict[str, Any]:
    """Seconds of every way to add the rows up; the results are compared."""
    joblib, distributed = extra("joblib", "cluster"), extra("distributed", "cluster")
    write_shards(folder, rows, d, shards)
    files, jobs = str(folder / f"{rows}x{d}-*.parquet"), cores()
    found: dict[str, Any] = {"rows": rows, "features": d, "shards": shards, "cores": jobs}
    found["load"] = os.getloadavg()[0]
    for path in folder.glob(f"{rows}x{d}-*.parquet"):  # all of them from the same place: memory
        path.read_bytes()
    with one_thread():
        hand, *found["by hand"] = timed(lambda: by_hand(folder, rows, d))
    alone, *found["one process"] = timed(lambda: kh.sums(files, target="y", jobs=1))
    assert np.allclose(alone.covariance, hand, atol=1e-9)
    few = [f"x{j}" for j in range(2, d)]  # workers that are there, with what they need imported
    kh.sums(files, target="y", ignore=few, jobs=jobs)
    many, *found["processes"] = timed(lambda: kh.sums(files, target="y", jobs=jobs))
    assert many.same(alone), "the same bits"
    cluster = distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        kh.sums(files, target="y", ignore=few)
        far, *found["Dask"] = timed(lambda: kh.sums(files, target="y"))
    assert far.same(alone), "the same bits"
    return found


def measure_games(tasks: int = 200) -> dict[str, Any]:
    """Milliseconds of an empty game: the clock, divided by how many there were."""
    joblib, distributed = extra("joblib", "cluster"), extra("distributed", "cluster")
    found: dict[str, Any] = {"tasks": tasks, "load": os.getloadavg()[0]}
    calls: list[Any] = [(float, ("1",))] * tasks
    jobs = cores()
    list(as_completed(calls[:jobs], jobs))
    _, clock, _ = timed(lambda: list(as_completed(calls, jobs)))
    found["processes ms"] = 1e3 * clock / tasks
    cluster = distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        list(as_completed(calls[:jobs]))
        times = [timed(lambda: list(as_completed(calls)))[1:] for _ in range(5)]
    found["Dask ms"] = sorted(1e3 * clock / tasks for clock, _ in times)
    found["Dask processor ms"] = sorted(1e3 * processor / tasks for _, processor in times)
    return found


def on_paper(folder: Path, rows: int) -> dict[str, Any]:
    """10^9 rows x 200 on 64 workers, from the processor seconds of a few shards of that width."""
    d = PAPER_FEATURES
    shards = 2
    write_shards(folder, rows, d, shards)
    files = str(folder / f"{rows}x{d}-*.parquet")
    kh.sums(files, target="y", ignore=[f"x{j}" for j in range(2, d)])
    known, _, processor = timed(lambda: kh.sums(files, target="y", jobs=1))
    _, _, adding = timed(lambda: known + known_again(known))
    each, per_row = (1 << 26) // (d + 1), processor / rows
    pieces = -(-PAPER_ROWS // each)
    client = pieces * (adding + 0.01)  # 10 ms for a task on Dask, measured as `games`
    return {
        "rows": rows,
        "microseconds a row": 1e6 * per_row,
        "shards": pieces,
        "seconds a shard": each * per_row,
        "milliseconds to add one": 1e3 * adding,
        "workers' hours": per_row * PAPER_ROWS / 3600,
        "minutes on 64": (per_row * PAPER_ROWS / PAPER_WORKERS + client) / 60,
        "TB to read": PAPER_ROWS * (d + 1) * 8 / 1e12,
    }


def known_again(known: kh.DataSums) -> kh.DataSums:
    """The same sums under another name, so that they can be added."""
    from dataclasses import replace

    return replace(known, parts=())


def show(found: dict[str, Any]) -> None:
    """The numbers, a line each."""
    for part, rows in found.items():
        print(f"\n{part}")
        for name, value in rows.items():
            numbers = value if isinstance(value, list) else [value]
            told = ", ".join(f"{n:,.4g}" if isinstance(n, float) else f"{n:,}" for n in numbers)
            print(f"  {name:<24} {told}")
    if "sums" in found:
        of = found["sums"]
        for i, what in enumerate(("clock", "processor")):
            one = of["one process"][i]
            print(f"\n  by the {what}: one process / by hand {one / of['by hand'][i]:.2f}")
            for way in ("processes", "Dask"):
                times = one / of[way][i]
                print(f"  by the {what}: one process / {way} {times:.2f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser("benchmarks.cluster", description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--rows", type=int, default=20_000_000, help="of the part `sums`")
    add("--features", type=int, default=64)
    add("--shards", type=int, default=20)
    add("--folder", type=Path, help="where the rows are kept")
    add("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    add("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    print(", ".join(machine()))
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if "sums" in options.only:
            found["sums"] = measure_sums(folder, options.rows, options.features, options.shards)
        if "games" in options.only:
            found["games"] = measure_games()
        if "paper" in options.only:
            found["paper"] = on_paper(folder, max(options.rows // 10, 100_000))
    show(found)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
